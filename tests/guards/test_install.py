"""Hooks are installed beside a user's own, which is kept, called, and given back byte for byte."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.cli import program_environment, prun
from tests.support.live_unit import shell_out, start_unit
from tests.support.processes import start_program
from tests.support.repos import Repo, make_bare, make_repo

pytestmark = pytest.mark.slow

HOOKS = Path(__file__).parents[2] / "hooks"
NAMES = ("pre-commit", "pre-push", "reference-transaction")
OWN = """#!/bin/sh
{ echo "called with $*"; cat; } >>"$(git rev-parse --git-common-dir)/said"
"""


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    return make_repo(tmp_path / "r")


def listing(folder: Path) -> dict[str, tuple[bytes, int, int]]:
    """Read everything about the hooks that are no samples."""
    return {
        path.name: (path.read_bytes(), path.lstat().st_mode, path.lstat().st_mtime_ns)
        for path in folder.iterdir()
        if path.suffix != ".sample"
    }


def test_the_hooks_are_one_text_but_for_their_name() -> None:
    texts = {name: (HOOKS / name).read_text() for name in NAMES}
    assert all(text.count(f"hook={name}\n") == 1 for name, text in texts.items())
    assert len({text.replace(f"hook={name}\n", "hook=\n") for name, text in texts.items()}) == 1
    for name in (*NAMES, "claude-guard"):
        assert os.access(HOOKS / name, os.X_OK)
        assert subprocess.run(["sh", "-n", HOOKS / name], check=False).returncode == 0


def test_install_and_uninstall(repo: Repo) -> None:
    hooks = repo.path / ".git" / "hooks"
    before = listing(hooks)
    said = prun(repo.path, "hooks", "install")
    assert (said.code, said.out.splitlines()) == (
        0,
        [f"reference-transaction: installed in {hooks}", f"pre-push: installed in {hooks}"],
    )
    shown = prun(repo.path, "hooks", "status")
    assert (shown.code, shown.out.splitlines()) == (
        0,
        [
            "hook                   state          what it does",
            "reference-transaction  installed      "
            "a worker in a linked worktree makes, moves and deletes no refs, so it cannot commit",
            "pre-push               installed      a worker pushes nothing",
            "pre-commit             not installed  a worker is told earlier that it cannot commit",
        ],
    )
    again = prun(repo.path, "hooks", "install", "--all")
    assert again.out.splitlines() == [
        f"reference-transaction: already installed in {hooks}",
        f"pre-push: already installed in {hooks}",
        f"pre-commit: installed in {hooks}",
    ]
    assert f"python={sys.executable}\n" in (hooks / "pre-push").read_text()
    gone = prun(repo.path, "hooks", "uninstall")
    assert gone.out.splitlines() == [
        "reference-transaction: removed",
        "pre-push: removed",
        "pre-commit: removed",
    ]
    assert listing(hooks) == before
    assert prun(repo.path, "hooks", "uninstall").out == "no hook of git prun is installed here\n"
    assert prun(repo.path, "hooks", "status").code == 1


def test_one_hook_alone(repo: Repo) -> None:
    assert prun(repo.path, "hooks", "install", "--pre-push").code == 0
    assert set(listing(repo.path / ".git" / "hooks")) == {"pre-push"}


def test_a_users_hook_is_called_and_given_back(repo: Repo, tmp_path: Path) -> None:
    bare, hooks, said = make_bare(tmp_path / "bare", repo), repo.path / ".git" / "hooks", repo.path / ".git" / "said"
    for name in ("pre-push", "reference-transaction"):
        repo.hook(name, OWN.partition("\n")[2])
    (hooks / "pre-commit").write_text("not executable\n")
    repo.git("push", "-q", str(bare.path), "HEAD:refs/heads/x")
    repo.git("tag", "v1")
    plain = said.read_text()
    before = listing(hooks)
    told = prun(repo.path, "hooks", "install", "--all", "--yes")
    assert told.out.splitlines() == [
        f"{name}: installed; your hook is kept as {name}.before-prun and called after it"
        for name in ("reference-transaction", "pre-push", "pre-commit")
    ]
    said.unlink()
    repo.git("push", "-q", str(bare.path), "HEAD:refs/heads/x", "-f")
    bare.git("update-ref", "-d", "refs/heads/x")
    repo.git("tag", "-d", "v1")
    said.unlink()
    repo.git("push", "-q", str(bare.path), "HEAD:refs/heads/x")
    repo.git("tag", "v1")
    assert said.read_text() == plain
    assert "called with prepared\n" in plain
    assert f"called with {bare.path} {bare.path}\nHEAD {repo.head} refs/heads/x " in plain
    repo.git("commit", "-q", "--allow-empty", "-m", "the hook that is not executable stays so")
    assert prun(repo.path, "hooks", "uninstall").out.splitlines() == [
        f"{name}: removed; your hook is back" for name in ("reference-transaction", "pre-push", "pre-commit")
    ]
    assert listing(hooks) == before


def test_a_users_hook_still_refuses(repo: Repo) -> None:
    repo.hook("reference-transaction", 'echo "no tags" >&2; ! grep -q refs/tags')
    assert prun(repo.path, "hooks", "install").code == 0
    said = shell_out(["git", "tag", "v1"], repo.path)
    assert (said.code, said.err) == (128, "no tags\nno tags\nfatal: ref updates aborted by hook\n")


@pytest.mark.parametrize("first", ["#!/bin/sh\n", ""])
def test_a_users_hook_is_called_for_workers_too_after_ours(repo: Repo, first: str) -> None:
    """Also one without a first line, which git gives to the shell."""
    repo.write(".git/hooks/reference-transaction", first + OWN.partition("\n")[2], executable=True)
    live = start_unit(repo)
    said = repo.path / ".git" / "said"
    assert live.git("tag", "v1").code != 0
    assert "called with prepared" not in said.read_text()
    assert live.git("checkout", "-q", "--detach").code == 0
    assert f"called with prepared\n{'0' * 40} {repo.head} HEAD\n" in said.read_text()


@pytest.mark.parametrize(
    "script",
    [
        'name=$(basename "$0")\nexec run-hook "$name"\n',
        'exec run-hook "${0##*/}"\n',
        '. "$(dirname "$0")/h"\n',
        'source "$(dirname -- "$0")/_/husky.sh"\n',
        "import os, sys\nprint(os.path.basename(sys.argv[0]))\n",
    ],
)
def test_a_hook_that_looks_at_its_own_name_is_not_chained_unasked(repo: Repo, script: str) -> None:
    hook = repo.hook("pre-push", script)
    said = prun(repo.path, "hooks", "install")
    assert (said.code, said.out) == (1, "")
    assert said.err == (
        f"error: {hook} looks at its own name or is no script, so it may not work when called as pre-push.before-prun\n"
        "hint: --force chains it all the same; or let it call: git-prun hook pre-push\n"
    )
    assert set(listing(hook.parent)) == {"pre-push"}
    assert prun(repo.path, "hooks", "install", "--force").code == 0
    assert set(listing(hook.parent)) == {"pre-push", "pre-push.before-prun", "reference-transaction"}


def test_a_hook_that_is_a_link_comes_back_as_a_link(repo: Repo) -> None:
    real = repo.write("tools/check.sh", "#!/bin/sh\nexit 0\n", executable=True)
    link = repo.path / ".git" / "hooks" / "pre-push"
    link.symlink_to("../../tools/check.sh")
    assert prun(repo.path, "hooks", "install").code == 0
    assert (link.is_symlink(), real.read_text()) == (False, "#!/bin/sh\nexit 0\n")
    assert prun(repo.path, "hooks", "uninstall").code == 0
    assert os.readlink(link) == "../../tools/check.sh"


def test_other_programs_may_come_after_us(repo: Repo, tmp_path: Path) -> None:
    """Such as pre-commit, which moves what it finds to NAME.legacy and calls it from there."""
    bare, hooks = make_bare(tmp_path / "bare", repo), repo.path / ".git" / "hooks"
    repo.hook("pre-push", "touch .git/mine")
    assert prun(repo.path, "hooks", "install").code == 0
    (hooks / "pre-push").rename(hooks / "pre-push.legacy")
    repo.hook("pre-push", 'exec "$(dirname "$0")/pre-push.legacy" "$@"')
    repo.git("push", "-q", str(bare.path), "HEAD:refs/heads/x")
    assert (repo.path / ".git" / "mine").exists()
    assert prun(repo.path, "hooks", "install").err == (
        f"error: {hooks}/pre-push.before-prun is already there, and {hooks}/pre-push is not ours\n"
        "hint: one of the two has to go first\n"
    )
    said = prun(repo.path, "hooks", "uninstall")
    assert said.out == "reference-transaction: removed\n"
    assert said.err == (
        f"warning: {hooks}/pre-push is not ours any more; your hook from before is pre-push.before-prun\n"
    )


def test_an_edited_hook_of_ours_is_not_lost(repo: Repo) -> None:
    assert prun(repo.path, "hooks", "install").code == 0
    hook = repo.path / ".git" / "hooks" / "pre-push"
    hook.write_text(hook.read_text() + "echo mine\n")
    edited = hook.read_bytes()
    assert "edited" in prun(repo.path, "hooks", "status").out
    for action in ("install", "uninstall"):
        said = prun(repo.path, "hooks", action)
        assert (said.code, hook.read_bytes()) == (1, edited)
        assert "edited" in said.err
    assert prun(repo.path, "hooks", "install", "--force").code == 0
    assert hook.with_name("pre-push.edited").read_bytes() == edited
    assert "edited" not in prun(repo.path, "hooks", "status").out


class TestHooksPath:
    def test_an_ignored_folder_of_the_checkout_is_used(self, repo: Repo) -> None:
        repo.commit("ignore", _dot_gitignore="/.myhooks/\n")
        repo.git("config", "core.hooksPath", ".myhooks")
        assert prun(repo.path, "hooks", "install").code == 0
        assert set(listing(repo.path / ".myhooks")) == {"pre-push", "reference-transaction"}

    @pytest.mark.parametrize("tracked", [True, False])
    def test_a_folder_that_is_part_of_the_repository_is_not(self, repo: Repo, tracked: bool) -> None:
        repo.write(".githooks/pre-push", "#!/bin/sh\nexit 0\n", executable=True)
        if tracked:
            repo.commit("share hooks")
        repo.git("config", "core.hooksPath", ".githooks")
        said = prun(repo.path, "hooks", "install")
        assert (said.code, said.err) == (
            1,
            f"error: {repo.path}/.githooks is where core.hooksPath points, and its files are part of your repository\n"
            "hint: --force installs there all the same\n",
        )
        assert set(listing(repo.path / ".githooks")) == {"pre-push"}
        assert prun(repo.path, "hooks", "install", "--force").code == 0

    def test_a_folder_of_others_is_not(self, repo: Repo, tmp_path: Path) -> None:
        (tmp_path / "shared").mkdir()
        repo.git("config", "core.hooksPath", str(tmp_path / "shared"))
        assert prun(repo.path, "hooks", "install").err.startswith(
            f"error: {tmp_path}/shared is where core.hooksPath points, and it lies outside of this repository"
        )
        assert list((tmp_path / "shared").iterdir()) == []

    def test_hooks_that_are_switched_off(self, repo: Repo) -> None:
        repo.git("config", "core.hooksPath", "/dev/null")
        assert prun(repo.path, "hooks", "install").err == (
            "error: hooks are switched off here: core.hooksPath is /dev/null\nhint: git config --unset core.hooksPath\n"
        )

    def test_from_a_linked_worktree_and_in_a_bare_repository(self, repo: Repo, tmp_path: Path) -> None:
        linked, bare = repo.worktree(tmp_path / "linked", "side", new=True), make_bare(tmp_path / "b.git", repo)
        assert prun(linked.path, "hooks", "install").code == 0
        assert "pre-push" in listing(repo.path / ".git" / "hooks")
        assert prun(bare.path, "hooks", "install").code == 0
        linked.git("push", "-q", str(bare.path), "HEAD:refs/heads/pushed")
        assert bare.oid("pushed") == repo.head


@pytest.mark.parametrize(("answer", "code", "names"), [(b"n\n", 1, set()), (b"y\n", 0, {"pre-push"})])
def test_on_a_terminal_it_asks(repo: Repo, answer: bytes, code: int, names: set[str]) -> None:
    ours, theirs = pty.openpty()
    program = start_program(
        [sys.executable, "-m", "gitprun", "hooks", "install", "--pre-push"],
        cwd=repo.path,
        env=program_environment(),
        stdin=theirs,
        stdout=subprocess.PIPE,
        stderr=theirs,
    )
    os.close(theirs)
    os.write(ours, answer)
    assert program.wait(60) == code
    os.close(ours)
    assert program.stdout is not None
    program.stdout.close()
    assert set(listing(repo.path / ".git" / "hooks")) == names
