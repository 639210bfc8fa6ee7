"""What the caller's environment and configuration must not change, and what a worker will not find."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from gitprun.model.prompts import named_paths
from tests.support.cli import prun
from tests.support.inside import inside
from tests.support.repos import Repo, make_repo
from tests.support.runs import run_units, sh, unit_of, workspace


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    return make_repo(tmp_path / "repo")


def named(repo: Repo, name: str) -> Repo:
    return Repo(repo.path.parent / "repo.prun" / "named" / name)


def test_variables_of_another_repository_reach_nobody(repo: Repo, tmp_path: Path) -> None:
    outer = make_repo(tmp_path / "outer", o_dot_txt="1\n")
    linked = outer.worktree(tmp_path / "linked", "side", new=True)
    linked.write("staged.txt", "s\n")
    linked.git("add", "staged.txt")
    admin = outer.path / ".git" / "worktrees" / "linked"
    before, tips = (admin / "index").read_bytes(), outer.git("for-each-ref")
    leak = {"GIT_DIR": str(admin), "GIT_INDEX_FILE": str(admin / "index"), "GIT_PREFIX": "x/"}
    seen = "env | grep -E '^GIT_(DIR|INDEX_FILE|WORK_TREE|PREFIX|COMMON_DIR|OBJECT_DIRECTORY)=' | wc -l"
    run = ("run", "--unit", "id=a", "--executor", "command", "--prompt", "x", "--verify", f"test $({seen}) = 0")
    said = prun(repo.path, *run, "--command", f"sh -c '{seen.replace(chr(39), chr(34))} >seen'", env=leak)
    assert said.code == 0, said.err
    assert repo.files("refs/prun/r1/a")["seen"].strip() == "0"
    assert prun(repo.path, "new", "n", "n", env=leak).code == 0
    assert prun(repo.path, "exec", "n", "s", "x", "--command", "touch made", env=leak).code == 0
    assert prun(repo.path, "merge", "a", "n", "--no-verify", env=leak).code == 0
    assert sorted(repo.files()) == ["a.txt", "made", "seen"]
    assert ((admin / "index").read_bytes(), outer.git("for-each-ref")) == (before, tips)
    assert not (outer.path / ".git" / "prun").exists()


def test_hooks_that_lead_nowhere_are_said_and_those_of_the_checkout_run(
    repo: Repo, capsys: pytest.CaptureFixture[str]
) -> None:
    repo.commit("husky", _dot_gitignore=".husky/_/\n")
    repo.write(".husky/_/pre-commit", "#!/bin/sh\n! git diff --cached | grep -q FORBIDDEN\n", executable=True)
    repo.git("config", "core.hooksPath", ".husky/_")
    said = inside(capsys, repo.path, "new", "n", "n")
    assert (said.code, said.err) == (
        0,
        "warning: hooks not active in n: core.hooksPath=.husky/_ is not there (pre-commit);"
        " git prun exec commits through those of your checkout\n",
    )
    said = inside(capsys, repo.path, "exec", "n", "s", "x", "--command", "sh -c 'echo FORBIDDEN >bad'")
    assert said.code == 1
    assert "not committed: the pre-commit hook refused" in said.out
    assert (repo.oid("n"), named(repo, "n").read("bad")) == (repo.head, "FORBIDDEN\n")


def test_a_landing_says_that_a_hook_never_saw_the_work(repo: Repo, capsys: pytest.CaptureFixture[str]) -> None:
    repo.hook("pre-commit", "exit 0")
    run_units(repo, sh("a", "echo 1 >one"), sh("b", "echo 2 >two"))
    assert "hooks not run: pre-commit" in unit_of(repo, "a").as_json()["collect_notes"]
    said = inside(capsys, repo.path, "merge", "a", "b")
    assert said.code == 0
    warning = "warning: the pre-commit hook has not seen what units did: git runs it for no merge"
    assert said.err.splitlines().count(warning) == 1


def test_setup_that_only_the_users_repository_has(repo: Repo, capsys: pytest.CaptureFixture[str]) -> None:
    repo.git("config", "user.name", "Dev One")
    repo.git("config", "user.email", "dev@example.test")
    (repo.path / ".git" / "info").mkdir(exist_ok=True)
    (repo.path / ".git" / "info" / "exclude").write_text("hidden.txt\n*.log\n")
    script = "echo noise >run.log; echo x >hidden.txt; echo y >b.txt; git add -A; git commit -qm mine; echo 2 >a.txt"
    run_units(repo, sh("a", script))
    facts = unit_of(repo, "a").as_json()
    assert facts["changed"] == ["a.txt", "b.txt"]
    assert repo.git("log", "-1", "--format=%an <%ae>", "refs/prun/kept/r1/a/head") == "Dev One <dev@example.test>"
    assert "hidden.txt" not in repo.files("refs/prun/kept/r1/a/head")
    settings = Repo(workspace(repo, "r1", "a")).git("config", "--list", "--local").splitlines()
    assert {"user.name=Dev One", "user.email=dev@example.test"} <= {*settings}


def test_the_users_own_settings_change_no_answer(repo: Repo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    repo.branch("n")
    odd = tmp_path / "gitconfig"
    odd.write_text(
        "[diff]\n\texternal = true\n\tnoprefix = true\n[color]\n\tui = always\n[status]\n\tshowUntrackedFiles = no\n"
        "[merge]\n\tff = only\n[core]\n\tpager = cat\n\tquotePath = false\n[log]\n\tshowSignature = true\n"
        "[pull]\n\trebase = true\n"
    )
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(odd))
    run_units(repo, sh("a", "echo 2 >a.txt; echo n >new.txt"))
    assert unit_of(repo, "a").as_json()["changed"] == ["a.txt", "new.txt"]
    assert prun(repo.path, "merge", "a").code == 0
    assert prun(repo.path, "diff", "a").out == (
        "diff --git a/a.txt b/a.txt\nindex d00491f..0cfbf08 100644\n--- a/a.txt\n+++ b/a.txt\n@@ -1 +1 @@\n-1\n+2\n"
        "diff --git a/new.txt b/new.txt\nnew file mode 100644\nindex 0000000..8ba3a16\n--- /dev/null\n+++ b/new.txt\n"
        "@@ -0,0 +1 @@\n+n\n"
    )
    assert len(repo.git("log", "--merges", "--no-show-signature", "--format=%H").splitlines()) == 1


def test_what_a_workspace_will_not_hold_is_said(repo: Repo, capsys: pytest.CaptureFixture[str]) -> None:
    repo.commit("ignore", _dot_gitignore="*.db\n", schema_dot_sql="a\n")
    repo.write("schema.sql", "b\n")
    repo.git("add", "schema.sql")
    repo.write("plan.md", "do table b\n")
    repo.write("fix.db", "x\n")
    said = inside(capsys, repo.path, "new", "n", "n")
    assert said.err.splitlines() == [
        "warning: 2 uncommitted changes in your checkout (schema.sql, plan.md) will not be visible to the workspace n,"
        " nor what git ignores (fix.db)"
    ]
    said = inside(capsys, repo.path, "exec", "n", "s", "Read plan.md, then fix.db.", "--command", "true")
    assert said.err.splitlines()[0] == (
        "warning: the prompt names fix.db, plan.md, which is in your checkout but not in the workspace"
    )
    assert repo.status() == ["M  schema.sql", "?? plan.md"]


def test_line_ends_that_git_alone_calls_changed_are_no_uncommitted_work(
    repo: Repo, capsys: pytest.CaptureFixture[str]
) -> None:
    repo.commit("crlf", w_dot_txt="a\r\nb\r\n", code_dot_py="x=1\n")
    repo.write(".gitattributes", "*.txt text eol=lf\n")
    repo.git("add", ".gitattributes")
    repo.git("commit", "-q", "-m", "rules")
    os.utime(repo.path / "w.txt", (1, 1))
    assert repo.status() == [" M w.txt"]
    assert inside(capsys, repo.path, "new", "n", "n").err == ""
    os.utime(named(repo, "n").path / "w.txt", (1, 1))
    said = inside(capsys, repo.path, "exec", "n", "s", "x", "--command", "sh -c 'echo x=2 >code.py'")
    assert said.err.splitlines() == [
        "warning: 1 files differ by line-end normalisation only and were left as they are in the base",
        "warning: nothing proves this work: no check is declared and none was found (POST_VERIFY_CMD)",
    ]
    assert repo.git("diff", "--name-only", "main", "n") == "code.py"


def test_a_prompt_of_any_length_is_looked_through_at_once() -> None:
    start = time.monotonic()
    assert named_paths("p" * 1_000_000 + " see a/b.txt, ./c.md; and .env. " + "x/" * 100_000) == {
        "a/b.txt",
        "c.md",
        ".env",
    }
    assert time.monotonic() - start < 2


def test_paths_outside_are_not_looked_for() -> None:
    assert named_paths("../secret.txt /etc/passwd https://x.example/a.b e.g. ... ./") == {"e.g"}


def test_a_huge_and_odd_prompt_arrives_unchanged(repo: Repo, tmp_path: Path) -> None:
    text = "--version\n$(touch pwned) `touch pwned` \"quote\" 'single' \\ back\r\n" + "p" * 140_000
    run_units(repo, sh("a", f"cat >{tmp_path}/got", prompt=text))
    got = (tmp_path / "got").read_bytes()
    assert got.startswith(text.encode() + b"\n")
    assert not list(repo.path.parent.rglob("pwned"))


def test_bare_repositories_may_have_to_be_named(
    repo: Repo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    settings = tmp_path / "gitconfig"
    settings.write_text("[safe]\n\tbareRepository = explicit\n[protocol]\n\tallow = never\n")
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(settings))
    for name, options in (("n", ()), ("c", ("--clone",))):
        assert inside(capsys, repo.path, "new", name, f"w/{name}", *options).code == 0
        said = inside(capsys, repo.path, "exec", name, "s", "x", "--command", f"touch {name}")
        assert said.code == 0, said.err
    run_units(repo, sh("a", "echo x >x"), sh("b", "echo y >y", workspace="worktree"))
    said = inside(capsys, repo.path, "merge", "a", "b", "w/n", "w/c")
    assert (said.code, sorted(repo.files())) == (0, ["a.txt", "c", "n", "x", "y"]), said.out
    assert inside(capsys, repo.path, "remove", "n", "c", "a", "b").code == 0
    assert inside(capsys, repo.path, "undo").code == 0


def test_what_git_is_told_by_variables_and_settings_changes_nothing(
    repo: Repo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    template = tmp_path / "template" / "hooks"
    template.mkdir(parents=True)
    for name in ("post-checkout", "post-commit", "post-index-change", "reference-transaction"):
        (template / name).write_text(f"#!/bin/sh\ntouch {tmp_path}/started\n")
        (template / name).chmod(0o755)
    settings = tmp_path / "gitconfig"
    settings.write_text(
        f"[init]\n\ttemplateDir = {template.parent}\n[alias]\n\tstatus = !touch {tmp_path}/started\n"
        "[status]\n\tshort = true\n\tbranch = true\n[log]\n\tdecorate = full\n[format]\n\tpretty = oneline\n"
        "[branch]\n\tautoSetupRebase = always\n[gc]\n\tauto = 1\n[transfer]\n\thideRefs = refs/prun\n"
        f'[includeIf "gitdir:{repo.path}/"]\n\tpath = {tmp_path}/work\n'
    )
    (tmp_path / "work").write_text("[user]\n\tname = At Work\n\temail = work@example.test\n")
    leak = {
        "GIT_CONFIG_GLOBAL": str(settings),
        "GIT_DEFAULT_HASH": "sha256",
        "GIT_TRACE": "1",
        "GIT_CONFIG_COUNT": "1",
        "GIT_CONFIG_KEY_0": "diff.noprefix",
        "GIT_CONFIG_VALUE_0": "true",
        "GIT_CONFIG_PARAMETERS": "'color.ui=always'",
        "GIT_LITERAL_PATHSPECS": "1",
        "GIT_NAMESPACE": "ns",
        "GIT_EXTERNAL_DIFF": "false",
        "GIT_TEMPLATE_DIR": str(template.parent),
        "GIT_QUARANTINE_PATH": str(tmp_path),
        "GIT_SHALLOW_FILE": str(tmp_path / "none"),
    }
    run = ("run", "--unit", "id=a", "--executor", "command", "--prompt", "x", "--verify", "true", "--command")
    said = prun(repo.path, *run, "sh -c 'git config user.email >n; git rev-parse --show-object-format >>n'", env=leak)
    assert said.code == 0, said.err
    assert repo.files("refs/prun/r1/a")["n"] == "work@example.test\nsha1"
    assert prun(repo.path, "merge", "a", "--no-verify", env=leak).code == 0
    assert not (tmp_path / "started").exists()
