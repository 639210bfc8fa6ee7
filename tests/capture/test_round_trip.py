"""Whatever files there are, their commit is what git itself would make of them, and they come back bit for bit."""

from __future__ import annotations

import itertools
import os
import stat
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gitprun.system.files import remove_tree
from tests.support.repos import Repo, make_repo
from tests.support.workshop import Workshop, open_workshop

pytestmark = pytest.mark.slow

# Names git and every file system here take, but for those that mean something to git or to us.
NAMES = st.one_of(
    st.sampled_from([b"a", b"b", b"A", b"d", b"e.txt", b"f.bin"]),
    st.binary(min_size=1, max_size=6).filter(
        lambda name: b"/" not in name and b"\0" not in name and name not in (b".", b"..") and not name.startswith(b".")
    ),
)
PATHS = st.lists(NAMES, min_size=1, max_size=4).map(b"/".join)
CONTENTS = st.one_of(
    st.sampled_from([b"", b"x\n", b"a\r\nb\r\n", b"a\nb\r\n", b"no end", b"\0\1\2", "é\n".encode("utf-16")]),
    st.binary(max_size=30),
)
ENTRIES = st.tuples(st.sampled_from(["file", "program", "link"]), CONTENTS)
TREES = st.dictionaries(PATHS, ENTRIES, max_size=8)
NUMBERS = itertools.count()


def put(top: Path, path: bytes, kind: str, content: bytes) -> None:
    """Make one entry; where a file is in the way of a folder, or the other way round, nothing is made."""
    full = os.path.join(os.fsencode(top), path)
    try:
        os.makedirs(os.path.dirname(full), exist_ok=True)
        if os.path.lexists(full):
            if stat.S_ISDIR(os.lstat(full).st_mode):
                return
            os.unlink(full)
    except (FileExistsError, FileNotFoundError, NotADirectoryError):
        return
    if kind == "link":
        os.symlink(b"target-" + content.replace(b"\0", b"0").replace(b"/", b"_"), full)
        return
    with open(full, "wb") as target:
        # No compiled program, which is no work.
        target.write(b"#!" + content if kind == "program" else content)
    os.chmod(full, 0o755 if kind == "program" else 0o644)


def whole(top: Path) -> dict[bytes, tuple[int, bytes]]:
    """Read a checkout: mode and content of everything but its git folder and outbox."""
    found = {}
    root = os.fsencode(top)
    for folder, folders, files in os.walk(root):
        folders[:] = [name for name in folders if name not in (b".git", b".prun")]
        for name in [*files, *(name for name in folders if os.path.islink(os.path.join(folder, name)))]:
            full = os.path.join(folder, name)
            seen = os.lstat(full)
            if name == b".git":
                continue
            content = os.readlink(full) if stat.S_ISLNK(seen.st_mode) else Path(os.fsdecode(full)).read_bytes()
            found[os.path.relpath(full, root)] = (seen.st_mode, content)
    return found


def as_git_adds(shop: Workshop, index: Path) -> str:
    """Let plain git make the tree of everything that is there."""
    env = {"GIT_INDEX_FILE": str(index), "GIT_DIR": str(shop.repo.path / ".git"), "GIT_WORK_TREE": str(shop.path)}
    shop.work.git("read-tree", shop.site.base, env=env)
    shop.work.git("-c", "core.safecrlf=false", "add", "-A", "--", ".", ":!.prun", env=env)
    tree = shop.work.git("write-tree", env=env)
    index.unlink()
    return tree


@pytest.fixture(scope="module", params=["", "core.autocrlf=input", "attributes"])
def repo(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Repo:
    repo = make_repo(tmp_path_factory.mktemp("round") / "repo", a="base\n", d__b="base\r\n", f_dot_bin=b"\0\r\n")
    if request.param == "attributes":
        repo.commit("attributes", _dot_gitattributes="* text=auto\n*.txt eol=crlf\n*.bin -text\n")
    elif request.param:
        repo.git("config", *request.param.split("="))
    return repo


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(TREES, st.sets(st.sampled_from([b"a", b"d/b", b"f.bin"])), st.sampled_from(["clone", "worktree"]))
def test_a_round_trip(repo: Repo, tree: dict[bytes, tuple[str, bytes]], gone: set[bytes], kind: str) -> None:
    number = next(NUMBERS)
    root = repo.path.parent / f"w{number}"
    shop = open_workshop(repo, root, kind, unit=f"u{number}")  # type: ignore[arg-type]
    try:
        for name in gone:
            os.unlink(os.path.join(os.fsencode(shop.path), name))
        for path, (entry, content) in tree.items():
            put(shop.path, path, entry, content)
        found = shop.capture()
        assert found.left_out == ()
        assert found.tree == as_git_adds(shop, root / "index")
        if not found.changed:
            return
        commit = shop.commit(found)
        again = repo.worktree(root / "again", f"again{number}", new=True, start=commit)
        assert repo.oid(f"{commit}^{{tree}}") == found.tree
        # What the line-end rules leave alone comes back bit for bit.
        if repo.git("config", "core.autocrlf", ok=(0, 1)) == "" and not (again.path / ".gitattributes").exists():
            assert whole(again.path) == whole(shop.path)
    finally:
        remove_tree(shop.path, shop.site.workspace.identity)
