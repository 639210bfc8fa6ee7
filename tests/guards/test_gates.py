"""The gates of merges made with git itself: refused when dirty, in a live unit's way, or suspect; messages cleaned."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path

import pytest

from gitprun.landing import gate
from gitprun.landing.gate import clean_message, merged_heads, refuse_message
from gitprun.supervisor.process import probe_identity
from tests.support.cli import git, prun
from tests.support.landing import land_branches, states
from tests.support.live_unit import shell_out
from tests.support.processes import start_program
from tests.support.repos import Repo, make_repo
from tests.support.rows import payload_of

HOOKS = Path(__file__).parents[2] / "hooks"
NO_VERIFY = " (git merge --no-verify commits it all the same)\n"


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    """Make a repository with the gates, in which prun has had a run, and branches to be merged."""
    made = make_repo(tmp_path / "r", src__a_dot_txt="1\n2\n3\n4\n5\n", b_dot_txt="1\n2\n3\n4\n5\n")
    made.switch("topic", new=True)
    made.commit("unit side", src__a_dot_txt="1\n2\n3\n4\n5u\n", c_dot_txt="new\n")
    made.switch("main")
    made.commit("main side", src__a_dot_txt="1m\n2\n3\n4\n5\n")
    said = prun(made.path, "hooks", "install", "--pre-merge-commit", "--commit-msg")
    assert said.out.splitlines() == [f"{name}: installed in {made.path}/.git/hooks" for name in gates()]
    (made.path / ".git" / "prun" / "runs").mkdir(parents=True)
    return made


def gates() -> tuple[str, ...]:
    """Name the gates in the order of the status."""
    return ("pre-merge-commit", "commit-msg")


@pytest.fixture
def sleeper() -> Iterator[dict[str, object]]:
    """Keep a process alive, as a worker's warden is."""
    program = start_program(["sleep", "600"])
    who = probe_identity(program.pid)
    assert who is not None
    yield asdict(who)
    program.kill()
    program.wait()


def refused(repo: Repo, reason: str) -> None:
    """Merge and see it refused, with nothing committed."""
    before = repo.head
    said = git(repo.path, "merge", "--no-edit", "topic")
    assert (said.code != 0, repo.head) == (True, before)
    assert said.err.splitlines(keepends=True)[0] == f"git prun: refused: {reason}{NO_VERIFY}"


def test_the_gates_are_one_text_but_for_their_name() -> None:
    texts = {name: (HOOKS / name).read_text() for name in gates()}
    assert all(text.count(f"hook={name}\n") == 1 for name, text in texts.items())
    assert len({text.replace(f"hook={name}\n", "hook=\n") for name, text in texts.items()}) == 1
    assert [subprocess.run(["sh", "-n", HOOKS / name], check=False).returncode for name in gates()] == [0, 0]


def test_a_sound_merge_passes(repo: Repo) -> None:
    said = git(repo.path, "merge", "--no-edit", "topic")
    assert (said.code, said.err) == (0, "")
    assert repo.read("src/a.txt") == "1m\n2\n3\n4\n5u\n"


def test_status_and_uninstall(repo: Repo) -> None:
    shown = prun(repo.path, "hooks", "status").out.splitlines()
    assert [row.split()[:2] for row in shown[4:]] == [["pre-merge-commit", "installed"], ["commit-msg", "installed"]]
    assert prun(repo.path, "hooks", "uninstall").out.splitlines() == [f"{name}: removed" for name in gates()]


def test_a_dirty_checkout(repo: Repo) -> None:
    repo.write("b.txt", "changed\n")
    refused(repo, f"{repo.path} has changes that are not committed: b.txt")


def test_paths_of_a_unit_at_work(repo: Repo, sleeper: dict[str, object]) -> None:
    ledger = repo.ledger
    ledger.append(payload_of("run.started", {"base": repo.head, "coordinator": sleeper}), run="r1")
    for unit, paths in (("docs", ["docs/"]), ("code", ["src/**"])):
        ledger.append(payload_of("unit.queued", {"spec": {"paths": paths}}), run="r1", unit=unit)
    refused(repo, "unit r1/code is still at work on src/a.txt")
    repo.git("merge", "--abort")
    ledger.append(payload_of("unit.finished", {"state": "ready"}), run="r1", unit="code")
    assert git(repo.path, "merge", "--no-edit", "topic").code == 0


def test_what_is_merged_may_be_that_units_own_work(repo: Repo, sleeper: dict[str, object]) -> None:
    repo.git("branch", "prun/r1/code", "topic")
    repo.ledger.append(payload_of("run.started", {"base": repo.head, "coordinator": sleeper}), run="r1")
    repo.ledger.append(payload_of("unit.queued", {"spec": {"paths": ["src/**"]}}), run="r1", unit="code")
    assert git(repo.path, "merge", "--no-edit", "prun/r1/code").code == 0


def test_a_unit_whose_worker_is_gone_is_in_nobodys_way(repo: Repo) -> None:
    gone = {"pid": 2, "start": "0", "boot": "none"}
    repo.ledger.append(payload_of("run.started", {"base": repo.head, "coordinator": gone}), run="r1")
    repo.ledger.append(payload_of("unit.queued", {"spec": {"paths": ["src/**"]}}), run="r1", unit="code")
    assert git(repo.path, "merge", "--no-edit", "topic").code == 0


def test_a_suspect_merge(repo: Repo, monkeypatch: pytest.MonkeyPatch) -> None:
    seen = []

    def audit(path: str, base: bytes | None, main: bytes, unit: bytes, merged: bytes) -> tuple[str, ...]:
        seen.append((path, base, main, unit, merged))
        return ("the key a is there twice", "so is b")

    monkeypatch.setattr("gitprun.resolvers.outline.audit", audit)
    unit = repo.oid("topic")
    repo.git("merge", "--no-commit", "topic")
    assert gate.refuse_merge(repo.repository, repo.ledger.read().history, {unit: "topic"}, print) == (
        "git merged src/a.txt, but look at it: the key a is there twice; so is b"
    )
    assert seen == [
        ("src/a.txt", b"1\n2\n3\n4\n5\n", b"1m\n2\n3\n4\n5\n", b"1\n2\n3\n4\n5u\n", b"1m\n2\n3\n4\n5u\n"),
    ]


def test_a_branch_that_takes_back_work_of_others(repo: Repo) -> None:
    repo.branch("stale", "main")
    main = repo.commit("meanwhile", s="1\n", src__a_dot_txt="new\n")
    repo.switch("stale")
    repo.commit("stale", mine="m\n")
    repo.git("reset", "-q", "--soft", "main")
    repo.git("commit", "-q", "-m", "stale")
    repo.switch("main")
    repo.git("merge", "-q", "--no-commit", "--no-ff", "stale")
    heads = {str(repo.oid("stale")): "stale"}
    reason = f"the branch takes back what {main[:10]} did here, and no commit of it says so"
    assert gate.refuse_merge(repo.repository, repo.ledger.read().history, heads, print) == (
        f"stale is suspect: s: {reason} (and 1 more)"
    )


def test_heads_are_read_off_the_environment() -> None:
    one, other = "1" * 40, "2" * 40
    environment = {f"GITHEAD_{one}": "topic", f"GITHEAD_{other}": "a/b", "GITHEAD_x": "no", "HOME": "/"}
    assert merged_heads(environment) == {one: "topic", other: "a/b"}


class TestMessages:
    def test_gits_list_of_conflicts_does_not_stay(self, repo: Repo) -> None:
        repo.commit("clash", src__a_dot_txt="1m\n2\n3\n4\n5m\n")
        assert git(repo.path, "merge", "topic").code == 1
        repo.write("src/a.txt", "1m\n2\n3\n4\n5mu\n")
        repo.git("add", "-A")
        assert git(repo.path, "commit", "--no-edit").code == 0
        assert repo.git("log", "-1", "--format=%B") == "Merge branch 'topic'"

    def test_a_message_that_names_another_branch(self, repo: Repo) -> None:
        repo.branch("other", "main~1")
        before = repo.head
        said = git(repo.path, "merge", "-m", "merge: ship other", "topic")
        assert (said.code != 0, repo.head) == (True, before)
        assert said.err.startswith(
            "git prun: refused: the message says that it ships other, but that is not what is merged"
            " (git commit --no-verify takes it all the same)\n"
        )
        assert git(repo.path, "commit", "-m", "merge: ship topic").code == 0

    @pytest.mark.parametrize(
        ("text", "reason"),
        [
            ("", "the merge has no message"),
            ("# only\n\n# comments\n", "the merge has no message"),
            ("Merge\n\n<<<<<<< HEAD\nx\n", "the message holds a conflict marker: '<<<<<<< HEAD'"),
            ("merge: ship nobody-knows\n", ""),
            ("merge: ship topic\n\nbody\n", ""),
            ("Merge\n\n====\n", ""),
        ],
    )
    def test_what_is_refused(self, repo: Repo, text: str, reason: str) -> None:
        assert refuse_message(repo.repository.git, text, [repo.oid("topic")]) == reason

    def test_only_gits_own_list_goes(self, tmp_path: Path) -> None:
        message = tmp_path / "message"
        for text, cleaned in (
            ("Merge\n\n# Conflicts:\n#\ta\n#\tb c\n", "Merge\n"),
            ("Merge\n\n# Conflicts:\n#\ta\n#\n# It looks like\n", "Merge\n\n# It looks like\n"),
            ("Merge\n\nmine: # Conflicts:\n\n", "Merge\n\nmine: # Conflicts:\n\n"),
        ):
            message.write_text(text)
            clean_message(message)
            assert message.read_text() == cleaned

    def test_other_commits_are_let_alone(self, repo: Repo) -> None:
        repo.write("b.txt", "changed\n")
        assert git(repo.path, "commit", "-am", "<<<<<<< HEAD").code == 0


def test_a_users_own_hook_is_called_after_it(tmp_path: Path) -> None:
    repo = make_repo(tmp_path / "r")
    repo.hook("commit-msg", 'echo "called with $*" >&2')
    assert prun(repo.path, "hooks", "install", "--commit-msg").code == 0
    said = shell_out(["git", "commit", "-q", "--allow-empty", "-m", "x"], repo.path)
    assert (said.code, said.err) == (0, "called with .git/COMMIT_EDITMSG\n")


def test_a_landing_has_looked_already(repo: Repo, sleeper: dict[str, object]) -> None:
    """Neither are the gates in its way, nor does a private worktree have to be made for them."""
    repo.ledger.append(payload_of("run.started", {"base": repo.head, "coordinator": sleeper}), run="r1")
    repo.ledger.append(payload_of("unit.queued", {"spec": {"paths": ["src/**"]}}), run="r1", unit="code")
    report = land_branches(repo, "topic")
    assert states(report) == {"topic": "landed"}
    assert report.notes == ()


@pytest.mark.parametrize(
    ("verdict", "reason"),
    [("fail", "its checks failed"), ("could-not-run", "its checks could not run"), ("", "it was never verified")],
)
def test_a_unit_that_is_not_proved(repo: Repo, verdict: str, reason: str) -> None:
    verdicts = {"verdict": {"state": verdict}} if verdict else {}
    repo.ledger.append(payload_of("run.started", {"base": repo.head}), run="r1")
    repo.ledger.append(payload_of("unit.queued", {"spec": {}}), run="r1", unit="code")
    repo.ledger.append(payload_of("unit.captured", {"commit": repo.oid("topic"), **verdicts}), run="r1", unit="code")
    repo.ledger.append(payload_of("unit.finished", {"state": "unverified"}), run="r1", unit="code")
    refused(repo, f"unit r1/code is not proved: {reason}")
    repo.git("merge", "--abort")
    repo.switch("topic")
    repo.commit("mended", d_dot_txt="d\n")
    repo.switch("main")
    assert git(repo.path, "merge", "--no-edit", "topic").code == 0


@pytest.mark.parametrize("verdict", ["pass", "absent"])
def test_a_unit_that_is_proved_or_has_no_checks(repo: Repo, verdict: str) -> None:
    repo.ledger.append(payload_of("run.started", {"base": repo.head}), run="r1")
    repo.ledger.append(payload_of("unit.queued", {"spec": {}}), run="r1", unit="code")
    facts = {"commit": repo.oid("topic"), "verdict": {"state": verdict}}
    repo.ledger.append(payload_of("unit.captured", facts), run="r1", unit="code")
    repo.ledger.append(payload_of("unit.finished", {"state": "ready"}), run="r1", unit="code")
    assert git(repo.path, "merge", "--no-edit", "topic").code == 0


def test_a_gate_without_a_run_says_that_it_is_silent(tmp_path: Path) -> None:
    repo = make_repo(tmp_path / "r")
    said = prun(repo.path, "hooks", "install", "--pre-merge-commit", "--commit-msg")
    silent = "silent until the first git prun run here; until then your merges are not looked at\n"
    assert (said.code, said.err) == (0, f"pre-merge-commit and commit-msg: {silent}")
    assert silent in prun(repo.path, "hooks", "status").err
    (repo.path / ".git" / "prun" / "runs").mkdir()
    assert prun(repo.path, "hooks", "install", "--pre-merge-commit").err == ""


def test_a_users_own_hook_behind_a_gate_runs_in_a_landing(repo: Repo, sleeper: dict[str, object]) -> None:
    prun(repo.path, "hooks", "uninstall")
    repo.hook("pre-merge-commit", f"echo called >>{repo.path}/.git/said")
    assert prun(repo.path, "hooks", "install", "--pre-merge-commit").code == 0
    repo.ledger.append(payload_of("run.started", {"base": repo.head, "coordinator": sleeper}), run="r1")
    repo.ledger.append(payload_of("unit.queued", {"spec": {"paths": ["src/**"]}}), run="r1", unit="code")
    assert states(land_branches(repo, "topic")) == {"topic": "landed"}
    assert (repo.path / ".git" / "said").read_text() == "called\n"


def test_where_prun_has_had_no_run_nothing_is_started(tmp_path: Path) -> None:
    repo = make_repo(tmp_path / "r")
    assert prun(repo.path, "hooks", "install", "--pre-merge-commit", "--commit-msg").code == 0
    for name in gates():
        hook = repo.path / ".git" / "hooks" / name
        hook.write_text(hook.read_text().replace("gitprun.cli.hook", "no.such.module"))
    repo.switch("topic", new=True)
    repo.commit("unit side", c_dot_txt="new\n")
    repo.switch("main")
    repo.write("a.txt", "dirty\n")
    said = git(repo.path, "merge", "--no-ff", "--no-edit", "topic")
    assert (said.code, said.err) == (0, "")
