"""Manifests and lock files that only a merge brings out of step."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from gitprun.judging.hotspots import Hotspot
from gitprun.judging.shared_folders import LOCKED
from gitprun.resolvers.manifests import NAMES, PAIRS, Pair, find_stale
from tests.support.landing import land_branches
from tests.support.repos import make_repo

BY_LOCK = {pair.lock: pair for pair in PAIRS}


def npm(**versions: str) -> tuple[bytes, bytes]:
    packages: dict[str, object] = {"": {"dependencies": versions}}
    packages |= {f"node_modules/{name}": {"version": version.lstrip("^")} for name, version in versions.items()}
    lock = {"lockfileVersion": 3, "packages": packages}
    return json.dumps({"dependencies": versions}).encode(), json.dumps(lock).encode()


def cargo(*names: str) -> tuple[bytes, bytes]:
    manifest = "[dependencies]\n" + "".join(f'{name} = "1"\n' for name in names)
    return manifest.encode(), "".join(f'[[package]]\nname = "{name}"\nversion = "1.0.0"\n' for name in names).encode()


def python(*names: str) -> tuple[bytes, bytes]:
    manifest = f"[project]\ndependencies = {json.dumps([f'{name}>=1' for name in names])}\n"
    rows = "".join(f'[[package]]\nname = "{name.replace("_", "-")}"\nversion = "1"\n' for name in names)
    return manifest.encode(), rows.encode()


def yarn(*names: str) -> tuple[bytes, bytes]:
    rows = "".join(f'{name}@^1.0.0:\n  version "1.0.0"\n\n' for name in names)
    return json.dumps({"dependencies": dict.fromkeys(names, "^1.0.0")}).encode(), rows.encode()


def test_the_names_are_the_pairs() -> None:
    assert LOCKED == NAMES


@pytest.mark.parametrize(
    ("lock", "make", "words"),
    [
        ("package-lock.json", lambda *names: npm(**dict.fromkeys(names, "^1.0.0")), "npm install --package-lock-only"),
        ("yarn.lock", yarn, "yarn install"),
        ("Cargo.lock", cargo, "cargo update --workspace"),
        ("uv.lock", python, "uv lock"),
        ("poetry.lock", python, "poetry lock"),
    ],
)
def test_a_package_that_only_the_manifest_has(lock: str, make, words: str) -> None:  # type: ignore[no-untyped-def]
    pair = BY_LOCK[lock]
    main, unit, both = make("a_x", "b"), make("a_x", "c"), make("a_x", "b", "c")
    assert find_stale(pair, [main, unit], both) == ()
    assert find_stale(pair, [main, unit], (both[0], main[1])) == (
        f"it does not agree with {pair.manifest} about c; make it anew with: {words}",
    )
    # What a side has itself is not the merge's fault.
    assert find_stale(pair, [main, (both[0], main[1])], (both[0], main[1])) == ()


def test_a_version_that_only_the_manifest_has() -> None:
    pair = BY_LOCK["package-lock.json"]
    old, new = npm(a="^1.0.0"), npm(a="^2.0.0")
    assert find_stale(pair, [old, new], (new[0], old[1])) == (
        "it does not agree with package.json about a; make it anew with: npm install --package-lock-only",
    )


@pytest.mark.parametrize("pair", PAIRS, ids=lambda pair: pair.lock)
@pytest.mark.parametrize("text", [b"", b"{", b"[]", b"\xff", b"[package]\nname = 1\n", b"{}"])
def test_what_cannot_be_read_says_nothing(pair: Pair, text: bytes) -> None:
    assert find_stale(pair, [], (text, text)) == ()


@pytest.mark.slow
def test_a_landing_stops_at_a_lock_that_lacks_what_its_manifest_names(tmp_path: Path) -> None:
    base, grown = npm(a="^1.0.0"), npm(a="^1.0.0", b="^1.0.0")
    repo = make_repo(tmp_path / "repo", other="o\n")

    def write(manifest: bytes, lock: bytes, **more: str) -> None:
        repo.write("web/package.json", json.dumps(json.loads(manifest) | more, indent=2) + "\n")
        repo.write("web/package-lock.json", json.dumps(json.loads(lock), indent=2) + "\n")

    write(*base)
    repo.commit("base")
    repo.switch("topic", new=True)
    write(*grown)
    repo.commit("topic asks for b and locks it")
    repo.switch("main")
    # Main's lock no longer says what its manifest asks for: no text of it can be merged with.
    repo.write("web/package-lock.json", '{"lockfileVersion": 3, "packages": {"node_modules/a": {}}}\n')
    repo.commit("main")
    report = land_branches(repo, "topic", hotspots=(Hotspot("web/package-lock.json", "ours"),))
    [item] = report.items
    assert (item.state, item.reason) == (
        "suspect",
        "web/package-lock.json: it does not agree with package.json about b; make it anew with: "
        "npm install --package-lock-only",
    )
