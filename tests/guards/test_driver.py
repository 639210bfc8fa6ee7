"""The merge driver: git's own merge, rebase and cherry-pick settle what can be proved, and nothing is ever lost."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from gitprun.guards.driver import read_driver
from tests.support.cli import git, prun
from tests.support.repos import Repo, make_repo

BASE = "model A {\n  id Int\n  a Int\n  b Int\n}\n"
MAIN = "model A {\n  id Int\n  a Int\n  b Int\n}\n\nmodel B {\n  id Int\n}\n"
UNIT = "model A {\n  id Int\n  a Int\n  b Int\n}\n\nmodel C {\n  id Int\n}\n"
BOTH = "model A {\n  id Int\n  a Int\n  b Int\n}\n\nmodel B {\n  id Int\n}\n\nmodel C {\n  id Int\n}\n"
CLASH_MAIN = BASE.replace("a Int", "a String")
CLASH_UNIT = BASE.replace("a Int", "a Bytes")
FILE = "db/schema.prisma"


@pytest.fixture(autouse=True)
def not_on_path(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever starts the tests from an active environment has git-prun on PATH, and others have not."""
    folders = (folder for folder in os.environ["PATH"].split(os.pathsep) if not (Path(folder) / "git-prun").exists())
    monkeypatch.setenv("PATH", os.pathsep.join(folders))


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    return make_repo(tmp_path / "r", db__schema_dot_prisma=BASE, notes_dot_txt="1\n2\n3\n")


def diverge(repo: Repo, main: str, unit: str) -> None:
    """Commit one side on main and the other on the branch topic; main is checked out."""
    repo.switch("topic", new=True)
    repo.commit("unit side", db__schema_dot_prisma=unit)
    repo.switch("main")
    repo.commit("main side", db__schema_dot_prisma=main)


def install(repo: Repo) -> None:
    """Install the driver."""
    said = prun(repo.path, "hooks", "install", "--driver", "--yes")
    assert (said.code, said.out) == (0, "driver: installed\n")


def own(repo: Repo) -> tuple[bytes, bytes | None, list[str]]:
    """Read what the driver touches."""
    attributes = repo.path / ".git" / "info" / "attributes"
    kept = attributes.read_bytes() if attributes.exists() else None
    return (repo.path / ".git" / "config").read_bytes(), kept, repo.status()


def test_it_asks_first_and_says_what_it_will_write(repo: Repo) -> None:
    before = own(repo)
    said = prun(repo.path, "hooks", "install", "--driver")
    assert (said.code, said.out, own(repo)) == (1, "", before)
    settings, rest = said.err.split(f"Into {repo.path}/.git/info/attributes, above what is there:\n")
    command = (
        f"if [ -x {sys.executable} ]; then {sys.executable} -P -m gitprun merge-file "
        "--path %P --marker-size %L -L ours -L base -L theirs %A %O %B; "
        "else git merge-file --marker-size %L -L ours -L base -L theirs %A %O %B; fi || exit 1"
    )
    expected = [
        f"Into {repo.path}/.git/config:",
        "  merge.prun.name = git prun: settle what can be proved, else as git merge-file",
        f"  merge.prun.driver = {command}",
        "  merge.prun.recursive = text",
    ]
    assert [
        line.replace("-L %X -L %S -L %Y", "-L ours -L base -L theirs") for line in settings.splitlines()
    ] == expected
    lines = rest.splitlines()
    assert lines[0].startswith("  # >>> git prun ")
    assert "  *.prisma merge=prun" in lines
    assert lines[-3:] == [
        "  # <<< git prun",
        "error: nothing was installed: the driver changes every merge git makes here",
        "hint: --yes lets it",
    ]


def test_with_the_program_on_the_path_it_is_called_by_its_name(
    repo: Repo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = tmp_path / "bin" / "git-prun"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nexec {sys.executable} -P -m gitprun "$@"\n')
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}:{os.environ['PATH']}")
    driver = dict(read_driver(repo.repository).settings)["merge.prun.driver"]
    assert driver.startswith(
        "if command -v git-prun >/dev/null; then git prun merge-file --path %P --marker-size %L -L "
    )
    install(repo)
    diverge(repo, MAIN, UNIT)
    assert git(repo.path, "merge", "-q", "topic").code == 0
    assert repo.read(FILE) == BOTH


@pytest.mark.parametrize("mine", [None, b"*.prisma merge=union\n", b"*.bin -diff"])
def test_uninstall_removes_exactly_what_was_written(repo: Repo, mine: bytes | None) -> None:
    if mine is not None:
        (repo.path / ".git" / "info" / "attributes").write_bytes(mine)
    before = own(repo)
    install(repo)
    assert own(repo)[2] == before[2] == []
    assert prun(repo.path, "hooks", "install", "--driver").out == "driver: already installed\n"
    status = prun(repo.path, "hooks", "status")
    assert status.out.splitlines()[-1].split(maxsplit=2) == [
        "driver",
        "installed",
        "git's own merges settle what git prun merge-file can prove",
    ]
    assert prun(repo.path, "hooks", "uninstall").out == "driver: removed\n"
    assert own(repo) == before
    assert prun(repo.path, "hooks", "uninstall").out == "no hook of git prun is installed here\n"


def test_a_driver_of_that_name_that_is_not_ours(repo: Repo) -> None:
    repo.git("config", "merge.prun.driver", "mine %A")
    before = own(repo)
    said = prun(repo.path, "hooks", "install", "--driver", "--yes")
    assert said.err.endswith(
        "error: merge.prun.driver is set to something that is not ours\nhint: --force replaces it\n"
    )
    assert prun(repo.path, "hooks", "uninstall").out == "no hook of git prun is installed here\n"
    assert own(repo) == before
    assert prun(repo.path, "hooks", "install", "--driver", "--yes", "--force").code == 0


def test_one_of_another_version_is_replaced(repo: Repo) -> None:
    install(repo)
    fresh = own(repo)
    attributes = repo.path / ".git" / "info" / "attributes"
    attributes.write_bytes(fresh[1].replace(b"*.prisma merge=prun\n", b"*.old merge=prun\n") if fresh[1] else b"")
    assert "edited, or of another version" in prun(repo.path, "hooks", "status").out
    install(repo)
    assert own(repo) == fresh


def test_what_the_repository_says_about_merging_goes_on_holding(repo: Repo) -> None:
    repo.commit(
        "attributes",
        _dot_gitattributes="# *.prisma merge=no\n*.prisma text merge=union\n*.md text\n",
        sub___dot_gitattributes="own.json -merge\n/here/*.toml binary\n",
    )
    install(repo)

    def said(path: str) -> str:
        return repo.git("check-attr", "merge", "--", path).rpartition(": ")[2]

    block = (repo.path / ".git" / "info" / "attributes").read_text()
    assert block.splitlines()[-4:] == [
        "*.prisma merge=union",
        "sub/**/own.json -merge",
        "sub/here/*.toml -merge",
        "# <<< git prun",
    ]
    assert [said(path) for path in ("a/x.prisma", "sub/a/own.json", "sub/here/x.toml")] == ["union", "unset", "unset"]


class TestGitsOwnMerges:
    def test_a_merge(self, repo: Repo) -> None:
        diverge(repo, MAIN, UNIT)
        assert git(repo.path, "merge", "topic").code == 1
        repo.git("merge", "--abort")
        install(repo)
        said = git(repo.path, "merge", "--no-edit", "topic")
        assert said.code == 0
        assert 'git prun: "db/schema.prisma": settled (' in said.err
        assert (repo.read(FILE), repo.status()) == (BOTH, [])
        assert len(repo.raw().split("\nparent ")) == 3

    def test_a_rebase(self, repo: Repo) -> None:
        install(repo)
        diverge(repo, MAIN, UNIT)
        repo.switch("topic")
        assert git(repo.path, "rebase", "-q", "main").code == 0
        assert (repo.read(FILE), repo.status()) == (BOTH, [])

    def test_a_cherry_pick(self, repo: Repo) -> None:
        install(repo)
        diverge(repo, MAIN, UNIT)
        assert git(repo.path, "cherry-pick", "topic").code == 0
        assert (repo.read(FILE), repo.status()) == (BOTH, [])

    @pytest.mark.parametrize(
        "way", [("main", "merge", "-q", "topic"), ("topic", "rebase", "-q", "main"), ("main", "cherry-pick", "topic")]
    )
    def test_a_typescript_registry(self, repo: Repo, way: tuple[str, ...]) -> None:
        pytest.importorskip("tree_sitter_typescript")
        registry = "export const keys = {\n  users: ['users'] as const,\nMORE} as const;\n"
        bills, calls = (f"  {name}: ['{name}'] as const,\n" for name in ("bills", "calls"))
        install(repo)
        repo.commit("registry", src__keys_dot_ts=registry.replace("MORE", ""))
        repo.switch("topic", new=True)
        repo.commit("unit side", src__keys_dot_ts=registry.replace("MORE", calls))
        repo.switch("main")
        repo.commit("main side", src__keys_dot_ts=registry.replace("MORE", bills))
        repo.switch(way[0])
        assert git(repo.path, *way[1:]).code == 0
        assert (repo.read("src/keys.ts"), repo.status()) == (registry.replace("MORE", bills + calls), [])

    def test_in_a_linked_worktree_and_a_subfolder(self, repo: Repo, tmp_path: Path) -> None:
        install(repo)
        diverge(repo, MAIN, UNIT)
        linked = repo.worktree(tmp_path / "linked", "side", new=True, start="main")
        assert git(linked.path / "db", "merge", "-q", "topic").code == 0
        assert linked.read(FILE) == BOTH

    def test_merge_tree(self, repo: Repo) -> None:
        install(repo)
        diverge(repo, MAIN, UNIT)
        said = git(repo.path, "merge-tree", "--write-tree", "main", "topic")
        assert said.code == 0
        assert repo.git("cat-file", "blob", f"{said.out.splitlines()[0]}:{FILE}") == BOTH.rstrip("\n")

    @pytest.mark.parametrize("style", ["merge", "diff3"])
    def test_a_real_conflict_stays_one(self, repo: Repo, style: str) -> None:
        diverge(repo, CLASH_MAIN, CLASH_UNIT)
        repo.git("config", "merge.conflictStyle", style)
        assert git(repo.path, "merge", "topic").code == 1
        by_git, stages = repo.read(FILE), repo.git("ls-files", "-u")
        repo.git("merge", "--abort")
        install(repo)
        said = git(repo.path, "merge", "topic")
        assert said.code == 1
        assert 'git prun: "db/schema.prisma": 1 conflict left: ' in said.err
        assert unlabelled(repo.read(FILE)) == unlabelled(by_git)
        assert repo.git("ls-files", "-u") == stages
        assert repo.status() == [f"UU {FILE}"]

    def test_other_files_are_none_of_its_business(self, repo: Repo) -> None:
        install(repo)
        repo.switch("topic", new=True)
        repo.commit("unit side", notes_dot_txt="1\n2u\n3\n")
        repo.switch("main")
        repo.commit("main side", notes_dot_txt="1\n2m\n3\n")
        said = git(repo.path, "merge", "topic")
        assert (said.code, said.err) == (1, "")
        assert repo.read("notes.txt") == "1\n<<<<<<< HEAD\n2m\n=======\n2u\n>>>>>>> topic\n3\n"

    def test_binary_content_is_a_conflict_and_the_rest_is_merged(self, repo: Repo) -> None:
        install(repo)
        diverge(repo, BASE + "\0", BASE + "\0\0")
        repo.switch("topic")
        repo.commit("more", more_dot_txt="more\n")
        repo.switch("main")
        said = git(repo.path, "merge", "topic")
        assert (said.code, repo.status()) == (1, [f"UU {FILE}", "A  more.txt"])
        assert repo.read(FILE) == BASE + "\0"

    def test_both_sides_added_the_file(self, repo: Repo) -> None:
        install(repo)
        repo.switch("topic", new=True)
        repo.commit("unit side", new_dot_prisma="model A {\n  id Int\n}\n")
        repo.switch("main")
        repo.commit("main side", new_dot_prisma="model A {\n  id String\n}\n")
        assert git(repo.path, "merge", "topic").code == 1
        assert repo.status() == ["AA new.prisma"]
        assert unlabelled(repo.read("new.prisma")) == (
            "model A {\n<<<<<<<\n  id String\n=======\n  id Int\n>>>>>>>\n}\n"
        )


def unlabelled(text: str) -> str:
    """Take the labels off conflict markers: to drivers, older git does not tell them."""
    return "\n".join(line[:7] if line[:7] in ("<<<<<<<", "|||||||", ">>>>>>>") else line for line in text.split("\n"))


def test_without_prun_git_merges_as_it_always_did(repo: Repo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The driver stays configured when prun is uninstalled by force: both sides stand between markers, as ever."""
    gone = tmp_path / "gone"
    gone.write_text("#!/bin/sh\n")
    gone.chmod(0o755)
    diverge(repo, CLASH_MAIN, CLASH_UNIT)
    assert git(repo.path, "merge", "topic").code == 1
    by_git = repo.read(FILE)
    repo.git("merge", "--abort")
    monkeypatch.setattr(sys, "executable", str(gone))
    driver = read_driver(repo.repository)
    for key, value in driver.settings:
        repo.git("config", key, value)
    driver.attributes.write_bytes(driver.block)
    gone.unlink()
    said = git(repo.path, "merge", "topic")
    assert (said.code, said.err) == (1, "")
    assert unlabelled(repo.read(FILE)) == unlabelled(by_git)
    assert len(repo.git("ls-files", "-u").splitlines()) == 3


def test_a_driver_that_is_killed_loses_nothing(repo: Repo) -> None:
    """Git leaves a conflict, and from 2.42 on rather breaks the merge off."""
    install(repo)
    diverge(repo, MAIN, UNIT)
    repo.git("config", "merge.prun.driver", "kill -9 $$")
    before = repo.head
    assert git(repo.path, "merge", "topic").code != 0
    assert (repo.read(FILE), repo.head) == (MAIN, before)
