"""Whole runs and landings whose workers planted something for the checks to run."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from gitprun.judging.hotspots import Hotspot
from gitprun.landing.plan import Candidate
from gitprun.landing.prove import came_confined
from gitprun.ledger.events import Event
from gitprun.model.names import Oid, UnitId
from gitprun.model.units import ExecutorSettings, Unit
from gitprun.supervisor.sandbox import SandboxKind, find_sandbox
from gitprun.verify import surroundings
from tests.support.landing import candidate, land_branches, states
from tests.support.repos import Repo, make_repo
from tests.support.rows import event_of
from tests.support.runs import events_of, fingerprint, run_units, sh, unit_of, workspace

WALLS = find_sandbox()
needs_walls = pytest.mark.skipif(WALLS.kind is None, reason=f"nothing confines here: {WALLS.reason}")
SAID = "landlock, with a read-only view" if WALLS.own_view else str(WALLS.kind)
CODEX_SAYS = """
echo '{"type":"thread.started","thread_id":"0199aaaa-1111"}'
echo '{"type":"turn.completed","usage":{"input_tokens":1,"output_tokens":1}}'
printf '# a result\\nConclusion: done\\nFiles: some\\nOpen items: none\\nVerification: none\\n' >"$PRUN_RESULT"
"""


def codex(tmp_path: Path, planted: str) -> ExecutorSettings:
    """Make a program that stands for codex, and plants ``check.sh``."""
    program = tmp_path / "codex"
    (tmp_path / "planted").write_text(planted)
    program.write_text(f"#!/bin/sh\ncat >/dev/null\ncp {tmp_path}/planted check.sh\n{CODEX_SAYS}")
    program.chmod(0o755)
    return ExecutorSettings(program=str(program), env=(("MY_FLAG", "1"), ("MY_API_KEY", "hunter2")))


def unit(**rest: Any) -> Unit:
    return Unit(id=UnitId("a"), prompt="Do it.\n", executor="codex", timeout=60.0, **rest)


def hostile(repo: Repo, home: Path) -> str:
    """Write a check that tries what a worker may not, and notes in its workspace what it could do."""
    attempts = {
        "checkout": f"echo bad >{repo.path}/a.txt",
        "new file": f"echo bad >{repo.path}/planted",
        "hook": f"echo bad >{repo.path}/.git/hooks/pre-commit",
        "config": f"git -C {repo.path} config core.pager bad",
        "branch": f"git -C {repo.path} update-ref refs/heads/bad HEAD",
        "ledger": f"echo bad >>{repo.path}/.git/prun/ledger.jsonl",
        "home": f"echo bad >{home}/.profile",
        "link": f"ln {repo.path}/a.txt mine && echo bad >mine",
        "take": f"mv {repo.path}/a.txt mine",
        "coordinator": f"kill -9 {os.getpid()}",
        "secrets": f"cat /proc/{os.getpid()}/environ",
        "other unit": "mkdir ../planted",
    }
    lines = [f"({act}) >/dev/null 2>&1 && echo '{name}' >>done" for name, act in attempts.items()]
    daemon = "(setsid sh -c 'exec sleep 987' &)\nenv >seen\ntouch done"
    return "\n".join(["rm -f done", *lines, daemon, ""])


def leftovers(place: Path) -> list[str]:
    """List the daemons that a check left in a workspace."""
    found = subprocess.run(["pgrep", "-f", "^sleep 987$"], capture_output=True, text=True, check=False).stdout.split()
    # One that ends meanwhile is another test's.
    return [pid for pid in found if os.path.realpath(f"/proc/{pid}/cwd") == str(place)]


@needs_walls
@pytest.mark.parametrize("kind", ["clone", "worktree"])
def test_what_a_worker_planted_reaches_nothing(
    tmp_path: Path, sealed: Path, monkeypatch: pytest.MonkeyPatch, kind: Any
) -> None:
    monkeypatch.setenv("DEPLOY_TOKEN", "hunter2")
    repo = make_repo(tmp_path / "repo")
    settings, before = codex(tmp_path, hostile(repo, sealed)), fingerprint(repo)
    run_units(repo, unit(workspace=kind), verify=("sh check.sh",), executors={"codex": settings})
    place = workspace(repo, "r1", "a")
    # What it did at the checkout's path it did in its own workspace: that is what the path shows it.
    assert ((place / "done").read_text().split("\n"), leftovers(place)) == (["checkout", "new file", "take", ""], [])
    assert ((place / "planted").read_text(), (place / "mine").read_text()) == ("bad\n", "bad\n")
    assert fingerprint(repo) == before
    assert (sorted(path.name for path in sealed.iterdir()), repo.ledger.read().unreadable) == ([], ())
    seen = dict(row.split("=", 1) for row in (place / "seen").read_text().splitlines() if "=" in row)
    assert (seen.get("MY_FLAG"), seen.get("PRUN_UNIT"), "hunter2" in str(seen)) == ("1", "a", False)
    verdict = unit_of(repo, "a").as_json()["verdict"]
    assert (verdict["state"], verdict["confined"]) == ("pass", SAID)
    assert unit_of(repo, "a").state == "ready"


def test_what_an_unconfined_worker_planted_is_run_as_he_was_and_said(tmp_path: Path) -> None:
    repo = make_repo(tmp_path / "repo")
    settings = codex(tmp_path, f"echo reached >{tmp_path}/out")
    own = unit(sandbox="danger-full-access")
    run_units(repo, own, verify=("sh check.sh",), executors={"codex": settings})
    verdict = unit_of(repo, "a").as_json()["verdict"]
    assert (verdict["state"], verdict["confined"]) == ("pass", "none: its worker was not confined either")
    assert (tmp_path / "out").read_text() == "reached\n"


@needs_walls
def test_any_worker_can_be_checked_within_walls(tmp_path: Path) -> None:
    repo = make_repo(tmp_path / "repo")
    run_units(
        repo,
        sh("a", f"echo 'echo reached >{tmp_path}/out' >check.sh"),
        verify=("sh check.sh",),
        verify_sandbox="workspace-write",
    )
    verdict = unit_of(repo, "a").as_json()["verdict"]
    assert (verdict["state"], verdict["confined"], (tmp_path / "out").exists()) == ("fail", SAID, False)
    assert verdict["reason"].endswith('; it ran confined ([run] verify_sandbox = "none" lets it write elsewhere)')
    started = next(event for event in repo.ledger.read().events if event.kind == "run.started")
    assert started.payload.as_json()["verify_sandbox"] == "workspace-write"


def test_walls_can_be_declined(tmp_path: Path) -> None:
    repo = make_repo(tmp_path / "repo")
    settings = codex(tmp_path, f"echo reached >{tmp_path}/out")
    run_units(repo, unit(), verify=("sh check.sh",), executors={"codex": settings}, verify_sandbox="none")
    verdict = unit_of(repo, "a").as_json()["verdict"]
    assert (verdict["state"], verdict["confined"]) == ("pass", 'none: [run] verify_sandbox = "none"')


def test_where_nothing_ran_nothing_is_said_of_walls(tmp_path: Path) -> None:
    repo = make_repo(tmp_path / "repo")
    run_units(repo, sh("a", "echo 2 >a.txt"), verify=())
    assert [event.payload.as_json()["verdict"] for event in events_of(repo, "a") if event.kind == "unit.verified"] == [
        {"state": "absent", "reason": "no check is declared and none was detected", "checks": []}
    ]


def landing_repo(path: Path, out: Path) -> Repo:
    repo = make_repo(path, check_dot_sh="true\n")
    repo.switch("evil", new=True)
    repo.commit("evil", check_dot_sh=f"echo reached >{out}\n")
    repo.switch("other", new=True, start="main")
    repo.commit("other", other_dot_txt="1\n")
    repo.switch("main")
    return repo


@needs_walls
def test_a_merged_tree_is_checked_within_walls_if_one_worker_was(tmp_path: Path) -> None:
    out = tmp_path / "out"
    repo = landing_repo(tmp_path / "repo", out)
    evil = candidate(repo, "evil", run="r1", unit="evil", verdict="pass", confined=True)
    report = land_branches(
        repo, evil, candidate(repo, "other", run="r1", unit="other", verdict="pass"), verify=("sh check.sh",)
    )
    assert (states(report), out.exists()) == ({"evil": "red", "other": "landed"}, False)
    assert report.verdict is not None
    assert report.verdict.confined == SAID


def test_a_merged_tree_is_checked_without_walls_where_there_are_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        surroundings, "find_sandbox", lambda: SandboxKind(kind=None, reason="no Landlock in the kernel")
    )
    repo = landing_repo(tmp_path / "repo", tmp_path / "out")
    other = candidate(repo, "other", run="r1", unit="other", verdict="pass", confined=True)
    report = land_branches(repo, other, verify=("sh check.sh",))
    assert (states(report), report.notes) == (
        {"other": "landed"},
        ("the merged tree was checked unconfined: no Landlock in the kernel",),
    )
    repo.git("reset", "-q", "--keep", "HEAD~1")
    strict = land_branches(repo, other, verify=("sh  check.sh",), verify_sandbox="workspace-write")
    assert (states(strict), strict.items[0].reason) == (
        {"other": "unverified"},
        "the merged tree is not proved: sh  check.sh: it cannot be confined: no Landlock in the kernel",
    )


def test_branches_made_elsewhere_are_checked_as_the_user_would(tmp_path: Path) -> None:
    out = tmp_path / "out"
    repo = landing_repo(tmp_path / "repo", out)
    report = land_branches(repo, "evil", verify=("sh check.sh",))
    assert (states(report), out.exists()) == ({"evil": "landed"}, True)
    assert report.verdict is not None
    assert report.verdict.confined == "none: nothing in it came from a confined worker"


@needs_walls
def test_setup_and_after_commands_of_a_merged_tree_stay_within_walls(tmp_path: Path) -> None:
    """They are the user's commands, but what they start are the workers' files."""
    out = tmp_path / "out"
    repo = landing_repo(tmp_path / "repo", out)
    evil = candidate(repo, "evil", run="r1", unit="evil", verdict="pass", confined=True)
    report = land_branches(repo, evil, verify=("true",), setup=("sh check.sh",))
    assert (states(report), out.exists()) == ({"evil": "unverified"}, False)
    row = Hotspot(path="check.sh", policy="union", after=("sh check.sh", "echo made >made"), produces=("made",))
    report = land_branches(repo, evil, verify=("true",), hotspots=(row,), may_run_after=True)
    assert (states(report), out.exists()) == ({"evil": "red"}, False)


@needs_walls
def test_after_commands_write_into_the_merged_tree_within_walls(tmp_path: Path) -> None:
    repo = landing_repo(tmp_path / "repo", tmp_path / "out")
    other = candidate(repo, "other", run="r1", unit="other", verdict="pass", confined=True)
    row = Hotspot(path="other.txt", policy="union", after=("echo made >made",), produces=("made",))
    report = land_branches(repo, other, verify=("grep -q made made",), hotspots=(row,), may_run_after=True)
    assert states(report) == {"other": "landed"}
    assert repo.files()["made"] == "made"


PLANT = """
for program in config ../sub/.git/config; do mkdir -p ".git/$(dirname "$program")"; done
git init -q sub 2>/dev/null
for place in .git sub/.git; do
  git --git-dir "$place" config core.fsmonitor "touch {out}; false"
  git --git-dir "$place" config filter.bad.clean "touch {out}; cat"
  git --git-dir "$place" config core.hooksPath "$PWD/hooks"
done
mkdir -p hooks; printf '#!/bin/sh\ntouch {out}\n' >hooks/post-index-change; chmod +x hooks/post-index-change
echo '* filter=bad' >.gitattributes; echo more >>other.txt; echo made >made
"""


@needs_walls
def test_what_was_planted_in_the_clone_of_a_landing_is_not_run_by_git(tmp_path: Path) -> None:
    out = tmp_path / "out"
    repo = landing_repo(tmp_path / "repo", out)
    repo.git("update-index", "--add", "--cacheinfo", f"160000,{repo.head},sub")
    repo.git("commit", "-qm", "sub")
    repo.switch("plants", new=True)
    repo.write("check.sh", PLANT.format(out=out))
    repo.write("other.txt", "1\n")
    repo.git("add", "check.sh", "other.txt")
    repo.git("commit", "-qm", "plants")
    repo.switch("main")
    plants = candidate(repo, "plants", run="r1", unit="plants", verdict="pass", confined=True)
    row = Hotspot(path="other.txt", policy="union", after=("sh check.sh",), produces=("made",))
    report = land_branches(repo, plants, verify=("true",), hotspots=(row,), may_run_after=True)
    assert (states(report), out.exists()) == ({"plants": "landed"}, False)
    assert [repo.git("show", f"HEAD:{name}") for name in ("made", "other.txt")] == ["made", "1\nmore"]
    assert not [path.name for path in (tmp_path / "repo.prun").rglob("*.git")]


def queued(unit_id: str, executor: str, sandbox: str) -> Event:
    return event_of("unit.queued", 1.0, "r1", unit_id, {"spec": {"executor": executor, "sandbox": sandbox}})


def named(name: str, **facts: str) -> Event:
    return event_of("unit.preparing", 1.0, "named", name, facts)


EVENTS = (
    queued("a", "codex", "workspace-write"),
    queued("b", "command", "workspace-write"),
    queued("c", "codex", "danger-full-access"),
    *(event_of("unit.captured", 2.0, "r1", name, {"commit": name * 40}) for name in "abc"),
    named("one", branch="topic/one"),
    named("one", executor="codex", sandbox="workspace-write"),
    named("two", branch="topic/two"),
    named("two", executor="claude", sandbox="danger-full-access"),
    named("three", branch="topic/three"),
)


@pytest.mark.parametrize(
    ("branch", "tip", "confined"),
    [
        ("mine", "a", True),
        ("mine", "b", False),
        ("mine", "c", False),
        ("mine", "d", False),
        ("topic/one", "d", True),
        ("topic/two", "d", False),
        ("topic/three", "d", False),
    ],
)
def test_a_branch_is_known_by_whose_work_it_holds(branch: str, tip: str, confined: bool) -> None:
    asking = [Candidate(branch="other", tip=Oid("e" * 40)), Candidate(branch=branch, tip=Oid(tip * 40))]
    assert came_confined(asking, EVENTS) is confined
