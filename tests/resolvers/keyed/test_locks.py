"""Lock files: packages of both sides, each block whole; and packages that are needed and not there."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gitprun.resolvers.base import FileConflict, Refused, Resolved
from gitprun.resolvers.cascade import run_cascade
from gitprun.resolvers.kinds import find_faults
from gitprun.resolvers.toml.locks import merge_lock
from gitprun.resolvers.yaml.pnpm import merge_pnpm
from gitprun.resolvers.yaml.yarn import merge_yarn

MERGES = {"Cargo.lock": merge_lock, "poetry.lock": merge_lock, "uv.lock": merge_lock, "pnpm-lock.yaml": merge_pnpm}


def merged(path: str, base: str, main: str, unit: str) -> str:
    answer = run_cascade(FileConflict(path, base.encode(), main.encode(), unit.encode()))
    assert answer.texts, answer.reason
    return answer.texts[0].text.decode()


def refusal(path: str, base: str, main: str, unit: str) -> str:
    found = MERGES.get(path, merge_yarn)(FileConflict(path, base.encode(), main.encode(), unit.encode()))
    assert isinstance(found, Refused), found
    return found.reason


def cargo(*packages: str) -> str:
    """Write a lock of ``name version needed,needed``."""
    text = "# @generated\nversion = 3\n"
    for package in packages:
        name, version, *needs = package.split(" ")
        text += f'\n[[package]]\nname = "{name}"\nversion = "{version}"\n'
        if needs:
            text += "dependencies = [\n" + "".join(f' "{need}",\n' for need in needs[0].split(",")) + "]\n"
    return text


def test_cargo_packages_in_their_order() -> None:
    base = cargo("a 1.0.0", "c 1.0.0 a", "x 0.1.0 a,c")
    main = cargo("a 1.0.0", "b 1.0.0", "c 1.0.0 a", "x 0.1.0 a,c")
    unit = cargo("a 1.0.1", "bb 2.0.0 a", "c 1.0.0 a", "x 0.1.0 a,bb,c")
    assert merged("Cargo.lock", base, main, unit) == cargo(
        "a 1.0.1", "b 1.0.0", "bb 2.0.0 a", "c 1.0.0 a", "x 0.1.0 a,bb,c"
    )


@pytest.mark.parametrize(
    ("main", "unit", "reason"),
    [
        (
            cargo("a 1.0.0", "b 1.0.0", "x 0.1.0 a,b"),
            cargo("a 1.0.0", "c 1.0.0", "x 0.1.0 a,c"),
            '"package" is changed on both sides, differently; regenerate with: cargo update -w',
        ),
        (
            cargo("a 1.0.1", "x 0.1.0 a"),
            cargo("a 1.0.2", "x 0.1.0 a"),
            'the package "a" is locked on both sides, differently; regenerate with: cargo update -w',
        ),
        (
            cargo("x 0.1.0"),
            cargo("a 1.0.0", "b 1.0.0 a", "x 0.1.0 a"),
            '"b 1.0.0" needs "a", which is not locked; regenerate with: cargo update -w',
        ),
        (
            cargo("a 1.0.0", "a 2.0.0", "b 1.0.0", "x 0.1.0 a"),
            cargo("a 1.0.0", "c 1.0.0 a", "x 0.1.0 a"),
            '"c 1.0.0" needs "a", which is locked at several versions; regenerate with: cargo update -w',
        ),
    ],
)
def test_cargo_refuses(main: str, unit: str, reason: str) -> None:
    assert refusal("Cargo.lock", cargo("a 1.0.0", "x 0.1.0 a"), main, unit) == reason


def poetry(digest: str, *packages: str) -> str:
    text = ""
    for package in packages:
        name, version, *needs = package.split(" ")
        text += f'[[package]]\nname = "{name}"\nversion = "{version}"\nfiles = [\n    {{file = "{name}.whl"}},\n]\n\n'
        if needs:
            text += "[package.dependencies]\n" + "".join(f'{need} = "*"\n' for need in needs[0].split(",")) + "\n"
    return text + f'[metadata]\nlock-version = "2.0"\ncontent-hash = "{digest}"\n'


def test_poetry_packages_and_one_new_hash() -> None:
    base = poetry("0", "a 1", "m 1 a")
    answer = merged("poetry.lock", base, poetry("1", "a 1", "b 1 a", "m 1 a"), poetry("0", "a 2", "m 1 a"))
    assert answer == poetry("1", "a 2", "b 1 a", "m 1 a")


def test_poetry_refuses_two_new_hashes() -> None:
    found = refusal("poetry.lock", poetry("0", "a 1"), poetry("1", "a 1", "b 1"), poetry("2", "a 1", "c 1"))
    assert found == (
        '"metadata.content-hash" is changed on both sides, differently ("1" and "2"); regenerate with: poetry lock'
    )


def uv(*packages: str) -> str:
    text = 'version = 1\nrequires-python = ">=3.11"\n'
    for package in packages:
        name, version, *needs = package.split(" ")
        text += f'\n[[package]]\nname = "{name}"\nversion = "{version}"\nsource = {{ registry = "https://r" }}\n'
        if needs:
            text += "dependencies = [\n" + "".join(f'    {{ name = "{n}" }},\n' for n in needs[0].split(",")) + "]\n"
    return text


def test_uv_packages() -> None:
    base = uv("a 1", "m 1 a")
    assert merged("uv.lock", base, uv("a 1", "b 1", "m 1 a"), uv("a 2", "m 1 a", "z 1")) == uv(
        "a 2", "b 1", "m 1 a", "z 1"
    )
    assert refusal("uv.lock", base, uv("a 1", "b 1", "m 1 a,b"), uv("a 1", "c 1", "m 1 a,c")) == (
        '"package" is changed on both sides, differently; regenerate with: uv lock'
    )


def pnpm(direct: str, *packages: str) -> str:
    text = "lockfileVersion: '9.0'\n\nimporters:\n\n  .:\n    dependencies:\n"
    for need in direct.split(","):
        name, version = need.split("@")
        text += f"      {name}:\n        specifier: ^{version}\n        version: {version}\n"
    text += "\npackages:\n"
    for package in packages:
        text += f"\n  {package.split(' ')[0]}:\n    resolution: {{integrity: sha512-{package[:3]}==}}\n"
    text += "\nsnapshots:\n"
    for package in packages:
        name, *needs = package.split(" ")
        text += f"\n  {name}:" + ("" if needs else " {}") + "\n"
        if needs:
            text += "    dependencies:\n" + "".join(f"      {n.replace('@', ': ')}\n" for n in needs[0].split(","))
    return text


def test_pnpm_importers_packages_and_snapshots() -> None:
    base = pnpm("m@1", "m@1 x@1", "x@1")
    main, unit = pnpm("a@1,m@1", "a@1 x@1", "m@1 x@1", "x@1"), pnpm("b@1,m@1", "b@1", "m@1 x@1", "x@1")
    assert merged("pnpm-lock.yaml", base, main, unit) == pnpm("a@1,b@1,m@1", "a@1 x@1", "b@1", "m@1 x@1", "x@1")


@pytest.mark.parametrize(
    ("main", "unit", "reason"),
    [
        (
            pnpm("m@2", "m@2", "x@1"),
            pnpm("m@3", "m@3", "x@1"),
            '"importers...dependencies.m" is changed on both sides, differently;'
            " regenerate with: pnpm install --lockfile-only",
        ),
        (
            pnpm("m@2", "m@2"),
            pnpm("b@1,m@1", "b@1 x@1", "m@1 x@1", "x@1"),
            '"b@1" needs "x 1", which is not locked; regenerate with: pnpm install --lockfile-only',
        ),
    ],
)
def test_pnpm_refuses(main: str, unit: str, reason: str) -> None:
    assert refusal("pnpm-lock.yaml", pnpm("m@1", "m@1 x@1", "x@1"), main, unit) == reason


def yarn(*blocks: str) -> str:
    """Write a lock of the first format from ``header version needed,needed``."""
    text = "# yarn lockfile v1\n\n"
    for block in blocks:
        header, version, *needs = block.split(" ")
        text += f'\n{header.replace(",", ", ")}:\n  version "{version}"\n'
        if needs:
            text += "  dependencies:\n" + "".join(f"    {n.replace('@', ' ')}\n" for n in needs[0].split(","))
    return text


def berry(*blocks: str) -> str:
    text = "__metadata:\n  version: 8\n"
    for block in blocks:
        header, version, *needs = block.split(" ")
        text += f'\n"{header.replace(",", ", ")}":\n  version: {version}\n'
        if needs:
            text += "  dependencies:\n" + "".join(f"    {n.replace('@', ': ')}\n" for n in needs[0].split(","))
    return text


def test_yarn_blocks_by_header() -> None:
    base = yarn("a@^1 1.0", "m@^1,m@^1.1 1.1 a@^1")
    main, unit = yarn("a@^1 1.0", "b@^2 2.0", "m@^1,m@^1.1 1.1 a@^1"), yarn("a@^1 1.2", "m@^1,m@^1.1 1.1 a@^1", "z@1 1")
    assert merged("yarn.lock", base, main, unit) == yarn("a@^1 1.2", "b@^2 2.0", "m@^1,m@^1.1 1.1 a@^1", "z@1 1")
    base = berry("a@npm:^1 1.0", "m@npm:^1,m@npm:^1.1 1.1 a@npm:^1")
    main, unit = berry("a@npm:^1 1.0", "b@npm:^2 2.0", "m@npm:^1,m@npm:^1.1 1.1 a@npm:^1"), base.replace("1.0", "1.2")
    assert merged("yarn.lock", base, main, unit) == main.replace("1.0", "1.2")


@pytest.mark.parametrize(
    ("main", "unit", "reason"),
    [
        (yarn("a@^1 1.1"), yarn("a@^1 1.2"), '"a@^1" is changed on both sides, differently'),
        (yarn(), yarn("a@^1 1.2"), '"a@^1" is removed on main and changed by the unit'),
        (yarn("a@^1,a@^2 2.0"), yarn("a@^1 1.0", "a@^2 2.1"), '"a@^2" is locked twice'),
        (yarn("b@^1 1.0"), yarn("a@^1 1.0", "c@^1 1.0 a@^1"), '"c@^1" needs "a@^1", which is not locked'),
    ],
)
def test_yarn_refuses(main: str, unit: str, reason: str) -> None:
    assert refusal("yarn.lock", yarn("a@^1 1.0"), main, unit) == f"{reason}; regenerate with: yarn install"


@pytest.mark.parametrize(
    ("path", "text", "faults"),
    [
        ("Cargo.lock", cargo("a 1", "b 1 a"), ()),
        ("Cargo.lock", cargo("a 1", "a 1"), ('"a 1" is locked twice',)),
        ("Cargo.lock", cargo("b 1 a"), ('"b 1" needs "a", which is not locked',)),
        ("Cargo.lock", "a = 1\na = 2\n", ('the file is no TOML: duplicate key "a"',)),
        ("uv.lock", uv("a 1", "a 1"), ('"a 1" is locked twice',)),
        ("pnpm-lock.yaml", pnpm("m@1", "m@1"), ()),
        (
            "pnpm-lock.yaml",
            pnpm("m@1", "m@1", "m@1"),
            ('duplicate key "packages.m@1"', 'duplicate key "snapshots.m@1"'),
        ),
        ("pnpm-lock.yaml", pnpm("m@2", "m@1"), ('"." needs "m 2", which is not locked',)),
        ("yarn.lock", yarn("a@^1 1.0"), ()),
        ("yarn.lock", yarn("a@^1 1.0", "a@^1 1.0"), ('"a@^1:" is there twice',)),
        ("yarn.lock", yarn("a@^1,a@^2 1.0", "a@^2 1.0"), ('"a@^2" is locked twice',)),
        ("yarn.lock", yarn("a@^1 1.0 b@1"), ('"a@^1" needs "b@1", which is not locked',)),
    ],
)
def test_faults(path: str, text: str, faults: tuple[str, ...]) -> None:
    assert find_faults(path, text.encode()) == faults


def test_a_side_that_changed_nothing() -> None:
    for path in ("Cargo.lock", "yarn.lock"):
        found = MERGES.get(path, merge_yarn)(FileConflict(path, b"version = 1\n", b"version = 2\n", b"version = 1\n"))
        assert isinstance(found, Resolved)
        assert found.text == b"version = 2\n"


Packages = Mapping[str, str]
WRITERS: dict[str, Callable[[Packages], str]] = {
    "Cargo.lock": lambda packages: cargo(*(f"{name} {packages[name]}" for name in sorted(packages))),
    "poetry.lock": lambda packages: poetry("0", *(f"{name} {packages[name]}" for name in sorted(packages))),
    "uv.lock": lambda packages: uv(*(f"{name} {packages[name]}" for name in sorted(packages))),
    "pnpm-lock.yaml": lambda packages: pnpm("m@1", *(f"{name}@{packages[name]}" for name in sorted(packages))),
    "yarn.lock": lambda packages: yarn(*(f"{name}@* {packages[name]}" for name in sorted(packages))),
}
PACKAGES = st.dictionaries(st.sampled_from(("n", "p", "q-r", "s", "t")), st.sampled_from("123"), max_size=5)


@pytest.mark.parametrize("path", WRITERS)
@given(base=PACKAGES, main=PACKAGES, unit=PACKAGES)
def test_any_packages_of_both_sides(path: str, base: Packages, main: Packages, unit: Packages) -> None:
    # Some packages that nobody touches tell how the file is sorted.
    base, main, unit = ({"a": "1", "m": "1", "z": "1", **packages} for packages in (base, main, unit))
    due: dict[str, str] = {}
    contested = False
    for name in {*base, *main, *unit}:
        old, one, two = base.get(name), main.get(name), unit.get(name)
        contested |= one not in (old, two) and two != old
        settled = two if one == old else one
        due |= {name: settled} if settled else {}
    write = WRITERS[path]
    asked = FileConflict(path, write(base).encode(), write(main).encode(), write(unit).encode())
    found = MERGES.get(path, merge_yarn)(asked)
    assert (found.text.decode() if isinstance(found, Resolved) else None) == (None if contested else write(due))
