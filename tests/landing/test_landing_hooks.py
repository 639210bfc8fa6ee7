"""The user's hooks, signing and identity, as ``git merge`` honours them; a refusal leaves no trace."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

import gitprun.landing.commit
import gitprun.landing.hooks
from gitprun.git.refs import NoIdentity
from gitprun.model.errors import PrunError
from tests.support.landing import land_branches, landing_events, states
from tests.support.repos import Repo, make_repo

pytestmark = pytest.mark.slow

POLICY = 'grep -Eq "^(feat|fix|chore)(\\([a-z]+\\))?: " "$1" || { echo "bad subject" >&2; exit 1; }'


def two_branches(path: Path, *names: str) -> Repo:
    repo = make_repo(path)
    for name in names or ("a", "b"):
        repo.switch(name, new=True, start="main")
        repo.commit(name, **{f"{name}_dot_new": f"{name}\n"})
    repo.switch("main")
    return repo


def trace(repo: Repo) -> tuple[object, ...]:
    git = repo.path / ".git"
    left = [path.name for path in git.glob("worktrees/*")]
    left += [name for name in ("MERGE_HEAD", "MERGE_MSG", "MERGE_MODE", "ORIG_HEAD") if (git / name).exists()]
    return left, repo.head, repo.status(), repo.git("ls-files", "-s"), repo.git("worktree", "list")


def test_hooks_run_in_gits_order_with_gits_arguments(tmp_path: Path) -> None:
    repo = two_branches(tmp_path / "repo")
    names = ("pre-merge-commit", "prepare-commit-msg", "commit-msg", "post-merge")
    twin = tmp_path / "twin"
    for name in names:
        repo.hook(
            name,
            'echo "$(basename "$0") $# ${2-} $(git write-tree)'
            ' $(cat "$(git rev-parse --git-dir)/MERGE_HEAD" 2>/dev/null)" >>../log',
        )
    shutil.copytree(repo.path, twin / "repo")
    Repo(twin / "repo").git("merge", "-q", "--no-ff", "-m", "merge: ship a", "a")
    report = land_branches(repo, "a", root=str(tmp_path / "rooms"))
    assert states(report) == {"a": "landed"}
    assert report.notes == (
        "hooks run on each merge: pre-merge-commit, prepare-commit-msg, commit-msg",
        "the post-merge hook ran",
    )
    assert repo.raw() == Repo(twin / "repo").raw()
    [private] = tmp_path.glob("rooms/landing/*/log")
    rows = (twin / "log").read_text().splitlines()
    assert private.read_text().splitlines() == rows[:3]
    assert (tmp_path / "log").read_text().split(" ")[:4] == rows[3].split(" ")[:4]
    tip, tree = repo.oid("a"), repo.oid("HEAD^{tree}")
    assert rows[1:3] == [f"prepare-commit-msg 2 merge {tree} {tip}", f"commit-msg 1  {tree} {tip}"]


def test_what_the_hooks_see(tmp_path: Path) -> None:
    repo = two_branches(tmp_path / "repo")
    log = tmp_path / "log"
    for name in ("pre-merge-commit", "prepare-commit-msg", "commit-msg"):
        state = "$(git rev-parse HEAD) $(git rev-parse -q --verify MERGE_HEAD)"
        repo.hook(name, f'echo "$(basename $0) $# ${{2-}} {state} $(ls | tr "\\n" " ")" >>{log}; cat >>{log}')
    report = land_branches(repo, "a", "b")
    assert states(report) == {"a": "landed", "b": "landed"}
    first = report.items[0].commit
    expected = []
    for head, unit, files in ((report.old, "a", "a.new a.txt "), (first, "b", "a.new a.txt b.new ")):
        tip = repo.oid(unit)
        # As with git merge, the first hook sees no MERGE_HEAD yet.
        expected += [
            f"pre-merge-commit 0  {head}  {files}",
            f"prepare-commit-msg 2 merge {head} {tip} {files}",
            f"commit-msg 1  {head} {tip} {files}",
        ]
    assert log.read_text().splitlines() == expected
    assert repo.git("worktree", "list").splitlines() == [f"{repo.path}  {repo.head[:7]} [main]"]
    assert not (repo.path / ".git" / "worktrees").exists() or not list((repo.path / ".git" / "worktrees").iterdir())


def test_a_refused_merge_leaves_no_trace(tmp_path: Path) -> None:
    repo = two_branches(tmp_path / "repo")
    repo.hook("commit-msg", POLICY)
    before = trace(repo)
    report = land_branches(repo, "a", "b")
    assert [(item.state, item.reason) for item in report.items] == [
        ("refused", "the commit-msg hook refused: bad subject")
    ] * 2
    assert trace(repo) == before
    assert landing_events(repo) == []
    assert states(land_branches(repo, "a", "b", message="feat: ship {branch}")) == {"a": "landed", "b": "landed"}


def test_one_branch_refused_by_a_hook_does_not_stop_the_others(tmp_path: Path) -> None:
    repo = two_branches(tmp_path / "repo", "a", "b", "c")
    repo.hook("pre-merge-commit", "test ! -e b.new || { echo no b >&2; exit 3; }")
    report = land_branches(repo, "a", "b", "c")
    assert states(report) == {"a": "landed", "b": "refused", "c": "landed"}
    assert report.items[1].reason == "the pre-merge-commit hook refused: no b"
    assert sorted(repo.files()) == ["a.new", "a.txt", "c.new"]


def test_hooks_find_the_target_checked_out_as_a_branch(tmp_path: Path) -> None:
    repo = two_branches(tmp_path / "repo")
    repo.branch("release")
    repo.hook("pre-merge-commit", '[ "$(git symbolic-ref --short HEAD)" != main ] || { echo not on main >&2; exit 1; }')
    before = trace(repo)
    [item] = land_branches(repo, "a").items
    assert (item.state, item.reason) == ("refused", "the pre-merge-commit hook refused: not on main")
    assert trace(repo) == before
    assert states(land_branches(repo, "a", into="release")) == {"a": "landed"}


@pytest.mark.parametrize(
    ("script", "said"),
    [
        ("git commit -q --no-verify -m own", "a hook made commits of its own"),
        ("git update-ref refs/heads/main a", "a hook made commits of its own"),
        ("git checkout -q --detach", "a hook made commits of its own"),
        ("git branch other", "a hook changed refs/heads/other, which a merge cannot take along"),
        ("git branch -D b; git stash store -m x HEAD", "a hook changed refs/heads/b, which"),
    ],
)
def test_whatever_a_hook_does_to_refs_stays_there(tmp_path: Path, script: str, said: str) -> None:
    repo = two_branches(tmp_path / "repo")
    repo.hook("pre-merge-commit", f"if [ -e a.new ] && [ ! -e b.new ]; then {script}; fi")
    before, refs = repo.head, repo.git("for-each-ref")
    report = land_branches(repo, "a")
    assert (report.items[0].state, report.items[0].reason.startswith(said)) == ("refused", True), report.items
    assert (repo.head, repo.git("for-each-ref"), repo.git("symbolic-ref", "HEAD")) == (before, refs, "refs/heads/main")
    # The next one is asked in a place that is as it was.
    assert states(land_branches(repo, "a", "b")) == {"a": "refused", "b": "landed"}


def test_what_a_hook_fetches_is_no_matter(tmp_path: Path) -> None:
    repo = two_branches(tmp_path / "repo")
    repo.git("clone", "-q", "--bare", ".", "../origin.git")
    repo.git("remote", "add", "origin", "../origin.git")
    repo.hook("pre-merge-commit", "git update-ref refs/remotes/origin/main HEAD; git tag v1; git remote >&2; exit 0")
    assert states(land_branches(repo, "a")) == {"a": "landed"}


@pytest.mark.parametrize("cleanup", ["default", "verbatim"])
def test_hooks_are_given_gits_own_text(tmp_path: Path, cleanup: str) -> None:
    repo = two_branches(tmp_path / "repo")
    repo.git("config", "merge.log", "true")
    repo.git("config", "commit.cleanup", cleanup)
    log = tmp_path / "log"
    for name in ("prepare-commit-msg", "commit-msg"):
        repo.hook(name, f'cat "$1" >>{log}; echo "<end $GIT_REFLOG_ACTION $(env | grep GITHEAD)>" >>{log}')
    twin = tmp_path / "twin"
    shutil.copytree(repo.path, twin)
    Repo(twin).git("merge", "-q", "--no-ff", "-m", "merge: ship a", "a")
    seen = log.read_text()
    log.unlink()
    assert states(land_branches(repo, "a")) == {"a": "landed"}
    assert log.read_text() == seen
    assert repo.raw() == Repo(twin).raw()


def test_hooks_find_the_users_settings_and_ignore_rules(tmp_path: Path) -> None:
    repo = two_branches(tmp_path / "repo")
    repo.git("config", "my.policy", "strict")
    repo.write(".git/more", "[my]\n\tother = included\n")
    repo.git("config", "include.path", "more")
    repo.write(".git/info/exclude", "*.tmp\n")
    linked = repo.worktree(tmp_path / "linked", "other", new=True)
    repo.git("config", "extensions.worktreeConfig", "true")
    linked.git("config", "--worktree", "my.own", "here")
    log = tmp_path / "log"
    repo.hook("commit-msg", f"git config my.policy >>{log}; git config my.other >>{log}; git config my.own >>{log};"
              f"git check-ignore x.tmp >>{log}; git rev-parse --is-inside-work-tree >>{log}")  # fmt: skip
    assert states(land_branches(linked, "a")) == {"a": "landed"}
    assert log.read_text().split() == ["strict", "included", "here", "x.tmp", "true"]


def test_the_place_of_hooks_is_as_sparse_as_the_checkout(tmp_path: Path) -> None:
    repo = make_repo(tmp_path / "repo", near__x="x\n", far__y="y\n")
    repo.switch("a", new=True)
    repo.commit("a", near__a="a\n", far__b="b\n")
    repo.switch("main")
    repo.git("sparse-checkout", "set", "near")
    log = tmp_path / "log"
    repo.hook("pre-merge-commit", f"find . -name .git -prune -o -type f -print | sort >{log}")
    assert states(land_branches(repo, "a")) == {"a": "landed"}
    assert log.read_text().split() == ["./near/a", "./near/x"]
    assert sorted(repo.files()) == ["far/b", "far/y", "near/a", "near/x"]


def test_a_hook_that_mends_the_merged_files_is_asked_once_more(tmp_path: Path) -> None:
    repo = two_branches(tmp_path / "repo")
    repo.hook("pre-merge-commit", "grep -q fixed a.new && exit 0; echo fixed >a.new; echo mended >&2; exit 1")
    report = land_branches(repo, "a")
    assert states(report) == {"a": "landed"}
    assert (repo.read("a.new"), repo.status()) == ("fixed\n", [])
    assert "a: the pre-merge-commit hook changed the merged files" in report.notes
    repo.git("fsck", "--strict")


def test_hooks_may_change_message_and_files(tmp_path: Path) -> None:
    repo = two_branches(tmp_path / "repo")
    repo.hook("pre-merge-commit", "echo formatted >a.new; git add a.new")
    repo.hook("prepare-commit-msg", 'echo "" >>"$1"; echo "Reviewed-by: hook" >>"$1"')
    twin = tmp_path / "twin"
    shutil.copytree(repo.path, twin)
    Repo(twin).git("merge", "-q", "--no-ff", "-m", "merge: ship a", "a")
    report = land_branches(repo, "a")
    assert states(report) == {"a": "landed"}
    assert (repo.read("a.new"), repo.status()) == ("formatted\n", [])
    # Git 2.39 itself leaves such a change of files in the index and out of the commit.
    assert Repo(twin).status() == ["M  a.new"]
    assert repo.git("log", "-1", "--format=%B") == Repo(twin).git("log", "-1", "--format=%B")
    assert "a: the pre-merge-commit hook changed the merged files" in report.notes


@pytest.mark.parametrize(
    ("script", "said"),
    [
        ('echo >"$1"', "its commit message is empty"),
        ("sleep 60", "the commit-msg hook did not finish within 0.3 s"),
        ("exit 7", "the commit-msg hook refused: exit code 7"),
        ("git commit -q --allow-empty --no-verify -m own", "a hook made commits of its own"),
    ],
)
def test_hooks_that_go_wrong(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, script: str, said: str) -> None:
    repo = two_branches(tmp_path / "repo")
    # The commit of the last script carries a change, or its tree would not tell it.
    repo.hook("commit-msg", script.replace("git commit", "echo x >x; git add x; git commit"))
    monkeypatch.setattr(gitprun.landing.hooks, "HOOK_TIMEOUT", 0.3 if "sleep" in script else 60.0)
    before = trace(repo)
    [item] = land_branches(repo, "a").items
    assert item.state == "refused"
    assert item.reason.startswith(said)
    assert trace(repo) == before


@pytest.mark.parametrize("relative", [True, False])
def test_hooks_path(tmp_path: Path, relative: bool) -> None:
    repo = two_branches(tmp_path / "repo")
    repo.write(".git/info/exclude", ".husky/_/\n")
    repo.write(".husky/_/commit-msg", f"#!/bin/sh\n{POLICY}\n", executable=True)
    repo.git("config", "core.hooksPath", ".husky/_" if relative else str(repo.path / ".husky/_"))
    assert states(land_branches(repo, "a")) == {"a": "refused"}
    linked = repo.worktree(tmp_path / "linked", "other", new=True)
    report = land_branches(linked, "a")
    assert states(report) == {"a": "landed" if relative else "refused"}
    missing = f"core.hooksPath names {linked.path}/.husky/_, which is not there: no hook is active"
    assert (missing in report.notes) is relative


def test_a_hook_that_is_not_executable_is_named(tmp_path: Path) -> None:
    repo = two_branches(tmp_path / "repo")
    hook = repo.hook("commit-msg", "exit 1")
    hook.chmod(0o644)
    report = land_branches(repo, "a")
    assert states(report) == {"a": "landed"}
    assert report.notes == (f"the hook {hook} is not executable, so it does not run",)


def test_a_post_merge_hook_cannot_undo_a_landing(tmp_path: Path) -> None:
    repo = two_branches(tmp_path / "repo")
    repo.hook("post-merge", 'echo "in $PWD: $1" >&2; exit 1')
    report = land_branches(repo, "a")
    assert states(report) == {"a": "landed"}
    assert report.notes == (f"the post-merge hook refused: in {repo.path}: 0 (the landing stands)",)


def test_linked_things_are_there_for_hooks(tmp_path: Path) -> None:
    repo = two_branches(tmp_path / "repo")
    repo.write(".git/info/exclude", "node_modules\n")
    repo.write("node_modules/lint", "#!/bin/sh\nexit 0\n", executable=True)
    repo.hook("commit-msg", "exec ./node_modules/lint")
    assert states(land_branches(repo, "a")) == {"a": "refused"}
    assert states(land_branches(repo, "a", link=("node_modules",))) == {"a": "landed"}
    assert (repo.path / "node_modules" / "lint").is_file()


def test_a_signer_that_waits_is_ended_and_nothing_changed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    repo = two_branches(tmp_path / "repo")
    signer = Repo(tmp_path).write("slowgpg", "#!/bin/sh\nsleep 60\n", executable=True)
    for key, value in {"commit.gpgSign": "true", "gpg.program": str(signer), "user.signingKey": "ABCD"}.items():
        repo.git("config", key, value)
    monkeypatch.setattr(gitprun.landing.commit, "SIGNING_TIMEOUT", 0.3)
    before = trace(repo)
    with pytest.raises(PrunError, match=r"signing the merge commit did not finish within 0\.3 s; nothing was changed"):
        land_branches(repo, "a")
    signer.write_text("#!/bin/sh\necho no key >&2; exit 2\n")
    with pytest.raises(PrunError, match=r"the merge commit could not be written: .*; nothing was changed"):
        land_branches(repo, "a")
    assert trace(repo) == before
    assert landing_events(repo) == []


def test_a_signed_merge(tmp_path: Path) -> None:
    repo = two_branches(tmp_path / "repo")
    key = tmp_path / "key"
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(key)], check=True)
    allowed = Repo(tmp_path).write("allowed", f"carl@example.test {key.with_suffix('.pub').read_text()}")
    settings = {
        "commit.gpgSign": "true",
        "gpg.format": "ssh",
        "user.signingKey": str(key),
        "gpg.ssh.allowedSignersFile": str(allowed),
    }
    for name, value in settings.items():
        repo.git("config", name, value)
    twin = tmp_path / "twin"
    shutil.copytree(repo.path, twin)
    Repo(twin).git("merge", "-q", "--no-ff", "-m", "merge: ship a", "a")
    assert states(land_branches(repo, "a")) == {"a": "landed"}
    repo.git("verify-commit", "HEAD")
    assert repo.raw() == Repo(twin).raw()
    repo.git("config", "merge.verifySignatures", "true")
    [item] = land_branches(repo, "b").items
    assert (item.state, item.reason) == (
        "refused",
        "merge.verifySignatures is on and its last commit has no good signature",
    )


def test_nobody_is_known(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    repo = two_branches(tmp_path / "repo")
    repo.git("config", "user.useConfigOnly", "true")
    for name in ("GIT_AUTHOR_NAME", "GIT_AUTHOR_EMAIL", "GIT_COMMITTER_NAME", "GIT_COMMITTER_EMAIL"):
        monkeypatch.delenv(name)
    before = trace(repo), (repo.path / ".git" / "config").read_bytes()
    with pytest.raises(NoIdentity, match="git does not know who you are"):
        land_branches(repo, "a")
    assert (trace(repo), (repo.path / ".git" / "config").read_bytes()) == before
