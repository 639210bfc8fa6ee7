"""Ticks over a run in the middle of its work: what the seed's monitor got wrong, and what it could not see."""

from __future__ import annotations

import os
import shutil
import time
import tracemalloc
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path

import pytest

from gitprun.ledger.roster import parse_name
from gitprun.model.errors import PrunError
from gitprun.monitor.loop import Monitor, Watching, watch
from gitprun.monitor.render import tick_line
from gitprun.observe.flags import FlagLimits, Tick
from gitprun.observe.inotify import Inotify
from gitprun.registry.make import WorkspaceSpec, make_user_workspace
from gitprun.supervisor.process import ProcessIdentity, probe_identity
from gitprun.workspaces.clone import make_clone, read_source
from tests.support.processes import start_program
from tests.support.repos import Repo, make_bare, make_repo
from tests.support.rows import payload_of
from tests.support.scene import RUN, Scene, begin, calm, flags, open_scene
from tests.support.workshop import fingerprint

pytestmark = pytest.mark.slow

LIMITED = (
    b'{"type":"turn.started"}\n{"type":"error","message":"exceeded retry limit, last status: 429 Too Many Requests"}\n'
)


@pytest.fixture
def scene(tmp_path: Path) -> Iterator[Scene]:
    with open_scene(tmp_path) as opened:
        begin(opened)
        yield opened


def me() -> ProcessIdentity:
    found = probe_identity(os.getpid())
    assert found is not None
    return found


def rest(tick: Tick) -> str:
    """Give the line of a tick without its time."""
    return calm(tick_line(tick)).split("  ", 1)[1]


def test_a_day_in_the_life_of_two_units(scene: Scene) -> None:
    for name in ("alpha", "beta"):
        scene.start(name)
    monitor = scene.monitor()
    said = [rest(monitor.tick())]
    scene.units["alpha"].work.write("new.py", "1\n")
    said.append(rest(monitor.tick()))
    scene.units["alpha"].work.write("new.py", "2\n")
    said.append(rest(monitor.tick()))
    said.append(rest(monitor.tick()))
    scene.finish("alpha")
    said.append(rest(monitor.tick()))
    scene.units["beta"].work.write("b.txt", "2\n")
    scene.finish("beta")
    said.append(rest(monitor.tick()))
    scene.over()
    said.append(rest(monitor.tick()))
    assert said == [
        "procs=codex:2/wrap:3  commits=main:0/all:0  (working/no-commit-yet)  :: alpha=0c/0d beta=0c/0d",
        "procs=codex:2/wrap:3  commits=main:0/all:0  (working/no-commit-yet)  [silent-edit]  :: alpha=0c/1d beta=0c/0d",
        "procs=codex:2/wrap:3  commits=main:0/all:0  (working/no-commit-yet)  [streak:3x,silent-edit]  "
        ":: alpha=0c/1d beta=0c/0d",
        "procs=codex:2/wrap:3  commits=main:0/all:0  (working/no-commit-yet)  [streak:4x]  :: alpha=0c/1d beta=0c/0d",
        "procs=codex:1/wrap:2  commits=main:0/all:1  (+1commit)  [agent-done-committed]  :: alpha=1c/0d beta=0c/0d",
        "procs=codex:0/wrap:1  commits=main:0/all:2  (+1commit)  [agent-done-committed]  :: alpha=1c/0d beta=1c/0d",
        "procs=codex:0/wrap:0  commits=main:0/all:2  (idle)  :: alpha=1c/0d beta=1c/0d",
    ]


def test_the_first_tick_raises_no_false_alarm(scene: Scene) -> None:
    scene.repo.write("wip.txt", "of the user\n")
    (scene.state / "runs" / RUN / "baseline.json").unlink()
    begin(scene)
    scene.start("alpha").work.write("new.py", "1\n")
    assert flags(scene.monitor().tick()) == []


def test_once_is_compared_with_the_start(scene: Scene) -> None:
    scene.start("alpha").work.write("new.py", "1\n")
    scene.repo.write("leak.py", "x\n")
    assert flags(scene.once()) == ["silent-edit", "main-dirty:1(alpha?)", "size-drift:+1files"]


def test_processes_whose_command_line_speaks_of_codex_do_not_count(scene: Scene) -> None:
    other = start_program(["sh", "-c", ": codex exec; sleep 600"], start_new_session=True)
    try:
        assert rest(scene.monitor().tick()).startswith("procs=codex:0/wrap:1 ")
    finally:
        os.killpg(other.pid, 9)
        other.wait()


def test_a_stash_ends_nothing(scene: Scene) -> None:
    scene.start("alpha")
    monitor = scene.monitor()
    monitor.tick()
    scene.repo.write("a.txt", "wip\n")
    scene.repo.git("stash", "-q")
    tick = monitor.tick()
    assert (tick.note, flags(tick)) == ("working/no-commit-yet", ["ref-drift"])


def test_our_own_landing_ends_nothing_and_is_no_drift(scene: Scene) -> None:
    scene.start("beta")
    scene.start("alpha").work.write("new.py", "1\n")
    scene.finish("alpha")
    monitor = scene.monitor()
    monitor.tick()
    old = scene.repo.head
    scene.repo.git("merge", "-q", "--no-ff", "-m", "ship", f"refs/prun/{RUN}/alpha")
    new, target = scene.repo.head, "refs/heads/main"
    scene.note("landing.started", target=target, old=old, new=new)
    scene.note("landing.landed", "alpha", branch="prun/r1/alpha", target=target, commit=new)
    tick = monitor.tick()
    assert (tick.note, flags(tick), tick.now.main_commits) == ("+1commit", [], 2)


def test_a_branch_put_back_to_an_older_landing_is_drift(scene: Scene) -> None:
    old, target = scene.repo.head, "refs/heads/main"
    scene.note("landing.started", target=target, old=old, new=old)
    new = scene.repo.commit("by hand", c_dot_txt="1\n")
    (scene.state / "runs" / RUN / "baseline.json").unlink()
    scene.clock.wall = time.time()
    begin(scene)
    scene.start("alpha")
    monitor = scene.monitor()
    monitor.tick()
    scene.repo.git("reset", "-q", "--hard", old)
    assert [flag.about for flag in monitor.tick().flags if flag.name == "ref-drift"] == [(f"{target} {new} -> {old}",)]


def test_somebody_elses_merge_is_drift(scene: Scene) -> None:
    scene.start("alpha")
    monitor = scene.monitor()
    monitor.tick()
    scene.repo.commit("by hand", c_dot_txt="1\n")
    tick = monitor.tick()
    assert (tick.note, flags(tick)) == ("+1commit", ["ref-drift"])


def test_commits_that_vanish_are_noted(scene: Scene) -> None:
    scene.start("alpha")
    scene.repo.switch("topic", new=True)
    scene.repo.commit("x", c_dot_txt="1\n")
    scene.repo.switch("main")
    monitor = scene.monitor()
    assert monitor.tick().note == "+1commit"
    scene.repo.git("branch", "-D", "topic")
    assert monitor.tick().note == "-1commit"


def test_branches_ahead_of_the_base_before_the_run_count_for_nothing(tmp_path: Path) -> None:
    with open_scene(tmp_path) as scene:
        scene.repo.git("branch", "old", scene.repo.git("commit-tree", "HEAD^{tree}", "-p", "HEAD", "-m", "x"))
        begin(scene)
        scene.start("alpha")
        assert rest(scene.monitor().tick()).split("  ")[1] == "commits=main:0/all:0"


def test_the_worker_in_a_linked_worktree_that_commits(scene: Scene) -> None:
    scene.add("alpha", kind="worktree")
    work = scene.start("alpha").work
    monitor = scene.monitor()
    monitor.tick()
    work.commit("mine", c_dot_txt="1\n")
    tick = monitor.tick()
    # The index prun keeps is that of the base: committed or not, it is work that is not captured yet.
    assert rest(tick) == "procs=codex:1/wrap:2  commits=main:0/all:1  (+1commit)  :: alpha=1c/1d"


def test_an_agent_that_edits_and_commits_in_the_users_checkout(tmp_path: Path) -> None:
    with open_scene(tmp_path) as scene:
        scene.repo.write("a.txt", "human wip\n")
        begin(scene)
        scene.start("alpha")
        monitor = scene.monitor()
        monitor.tick()
        scene.units["alpha"].work.write("b.txt", "agent leak\n")
        scene.repo.write("b.txt", "agent leak\n")
        scene.repo.write("leak.py", "x\n")
        scene.repo.git("add", "leak.py")
        scene.repo.git("commit", "-q", "-m", "agent commit on main")
        scene.repo.write("stray.txt", "y\n")
        tick = monitor.tick()
        assert flags(tick) == ["silent-edit", "main-dirty:2(alpha+alpha?)", "ref-drift"]
        assert [flag.about for flag in tick.flags if flag.name != "runaway"][1:] == [
            ("b.txt", "stray.txt"),
            (f"refs/heads/main {tick.now.base} -> {scene.repo.head}",),
        ]
        assert tick.now.writers == {"b.txt": "alpha", "stray.txt": "alpha?"}
        assert scene.repo.read("a.txt") == "human wip\n"


def test_writers_are_told_by_content_when_several_ran(scene: Scene) -> None:
    for name in ("alpha", "beta"):
        scene.start(name)
    scene.units["beta"].work.write("src/x.py", "same\n")
    scene.repo.write("src/x.py", "same\n")
    scene.repo.write("src/y.py", "of nobody we know\n")
    assert flags(scene.once())[1:] == ["main-dirty:2(beta)", "size-drift:+2files"]


def test_what_the_user_does_after_the_run_is_his_business(scene: Scene) -> None:
    scene.start("alpha")
    scene.repo.write("leak.py", "x\n")
    scene.finish("alpha", "empty")
    scene.over()
    scene.repo.write("later.py", "x\n")
    scene.repo.commit("later", later_dot_txt="1\n")
    scene.repo.git("config", "user.nick", "x")
    assert [(flag.text, flag.about) for flag in scene.once().flags if flag.name != "runaway"] == [
        ("main-dirty:1(alpha?)", ("leak.py",))
    ]


def test_a_push_by_path_into_the_source(scene: Scene) -> None:
    scene.repo.git("tag", "v1")
    (scene.state / "runs" / RUN / "baseline.json").unlink()
    begin(scene)
    work = scene.start("alpha").work
    monitor = scene.monitor()
    monitor.tick()
    sneaky = work.commit("sneaky", b_dot_txt="x\n")
    work.git("push", "-q", str(scene.repo.path), "HEAD:refs/heads/surprise")
    work.git("push", "-q", "-f", str(scene.repo.path), "HEAD:refs/tags/v1")
    tick = monitor.tick()
    assert [(flag.text, flag.about) for flag in tick.flags if flag.name == "ref-drift"] == [
        ("ref-drift", (f"refs/heads/surprise new -> {sneaky}", f"refs/tags/v1 {tick.now.base} -> {sneaky}"))
    ]
    assert [flag for flag in flags(scene.once()) if flag == "ref-drift"] == ["ref-drift"]
    # Seen, never undone.
    assert scene.repo.oid("surprise") == sneaky


def test_hooks_and_settings_changed_under_a_running_unit(scene: Scene) -> None:
    scene.start("alpha")
    monitor = scene.monitor()
    monitor.tick()
    scene.repo.hook("post-checkout", "evil")
    scene.repo.git("config", "core.fsmonitor", "evil")
    assert [flags(monitor.tick()) for _ in range(2)] == [
        ["config-drift", "hook-drift"],
        ["streak:3x", "config-drift", "hook-drift"],
    ]


def test_a_unit_outside_its_fence(scene: Scene) -> None:
    scene.add("alpha", paths=("src/**",))
    work = scene.start("alpha").work
    work.write("src/x", "1\n")
    work.write("README", "1\n")
    monitor = scene.monitor()
    assert [(flag.text, flag.about) for flag in monitor.tick().flags if flag.name != "runaway"] == [
        ("fence:alpha", ("README",))
    ]
    (work.path / "README").unlink()
    assert flags(monitor.tick()) == ["silent-edit"]


def test_a_worker_that_gives_no_sign_of_life(scene: Scene) -> None:
    work = scene.start("alpha").work
    monitor = scene.monitor(limits=FlagLimits(99, 600.0))
    monitor.tick()
    scene.clock.advance(599)
    assert flags(monitor.tick()) == []
    # Output is a sign of life, so is a change of a file; a clock that is set is none, and hides none.
    scene.log("alpha", b"working\n")
    scene.clock.advance(500)
    assert flags(monitor.tick()) == []
    scene.clock.wall += 86_400
    assert flags(monitor.tick()) == []
    work.write("x", "1\n")
    scene.clock.advance(500)
    assert flags(monitor.tick()) == ["silent-edit"]
    scene.clock.wall -= 2 * 86_400
    scene.clock.advance(600)
    assert flags(monitor.tick()) == ["stalled:alpha"]


def test_how_long_a_worker_was_silent_before_the_first_look(scene: Scene) -> None:
    scene.start("alpha")
    log = scene.log("alpha", b"x\n")
    scene.clock.advance(700)
    os.utime(log, (scene.clock.now() - 650, scene.clock.now() - 650))
    assert flags(scene.once()) == ["stalled:alpha"]


def test_a_worker_the_service_turns_away(scene: Scene) -> None:
    scene.start("alpha")
    scene.log("alpha", LIMITED)
    monitor = scene.monitor()
    assert [(flag.text, flag.about) for flag in monitor.tick().flags if flag.name != "runaway"] == [
        ("rate-limited:alpha", ("exceeded retry limit, last status: 429 Too Many Requests",))
    ]
    scene.log("alpha", b'{"type":"item.completed","item":{"type":"agent_message","text":"on it"}}\n')
    assert flags(monitor.tick()) == []


@pytest.mark.parametrize(
    ("kind", "said"),
    [("429", ["rate-limited:alpha"]), ("", ["rate-limited:alpha"]), ("bail", []), ("lost", []), ("no-thread", [])],
)
def test_a_unit_that_waits_for_its_next_attempt(scene: Scene, kind: str, said: list[str]) -> None:
    scene.start("alpha")
    scene.end("alpha")
    scene.note("unit.waiting", "alpha", failure=kind, reason="status 429")
    tick = scene.monitor().tick()
    assert (flags(tick), tick.note) == (said, "idle")


def test_a_later_attempt_works_in_a_workspace_of_its_own(scene: Scene) -> None:
    work = scene.start("alpha").work
    monitor = scene.monitor()
    monitor.tick()
    first = scene.units["alpha"].site.workspace
    work.path.rename(work.path.with_name("earlier"))
    source = read_source(scene.repo.repository)
    assert first.index is not None
    again = make_clone(source, work.path, scene.repo.head, "prun/r1/alpha")
    shutil.copy2(work.path / ".git" / "index", first.index)
    facts = {"workspace": "clone", "path": str(again.path), "identity": list(again.identity)}
    scene.note("unit.preparing", "alpha", attempt=2)
    scene.note("unit.prepared", "alpha", **facts)
    scene.note("unit.started", "alpha", process={})
    work.write("x", "1\n")
    assert [rest(monitor.tick()).partition(":: ")[2] for _ in range(2)] == ["alpha=0c/1d"] * 2


def test_an_output_of_2_gib_is_never_read_whole(scene: Scene) -> None:
    scene.start("alpha")
    path = scene.log("alpha", b"")
    os.truncate(path, 2 << 30)
    scene.log("alpha", b"\n" + LIMITED)
    monitor = scene.monitor(attentive=False)
    tracemalloc.start()
    try:
        assert flags(monitor.tick()) == ["rate-limited:alpha"]
        assert tracemalloc.get_traced_memory()[1] < 8 << 20
    finally:
        tracemalloc.stop()


def test_a_unit_nobody_works_on_any_more(tmp_path: Path) -> None:
    with open_scene(tmp_path) as scene:
        scene.note("run.started", base=scene.repo.head, coordinator={"pid": 1, "start": "never", "boot": "never"})
        begin(scene)
        scene.start("alpha")
        monitor = scene.monitor()
        assert flags(monitor.tick()) == []
        scene.end("alpha")
        tick = monitor.tick()
        assert (rest(tick), monitor.is_over(), monitor.all_well()) == (
            "procs=codex:0/wrap:0  commits=main:0/all:0  (idle)  [lost:alpha]  :: alpha=0c/0d",
            True,
            False,
        )


def test_a_workspace_that_cannot_be_read(scene: Scene) -> None:
    work = scene.start("alpha").work
    os.mkfifo(work.path / ".gitignore")
    assert rest(scene.monitor().tick()).endswith(":: alpha=0c/?d")


def test_a_workspace_that_was_removed(scene: Scene) -> None:
    scene.start("alpha").work.write("x", "1\n")
    scene.finish("alpha")
    scene.units["alpha"].remove()
    assert rest(scene.monitor().tick()).endswith(":: alpha=1c/0d")


def test_what_is_left_in_a_workspace_after_its_capture_shows(scene: Scene) -> None:
    scene.start("alpha").work.write("x", "1\n")
    scene.finish("alpha")
    scene.units["alpha"].work.write("later", "1\n")
    assert rest(scene.monitor().tick()).endswith(":: alpha=1c/1d")


def test_before_any_run_and_into_the_first(tmp_path: Path) -> None:
    repo = make_repo(tmp_path / "r")
    monitor = Monitor(repo.repository, repo.ledger, Watching())
    said = [rest(monitor.tick())]
    repo.commit("work of the user", x_dot_txt="1\n")
    said.append(rest(monitor.tick()))
    repo.ledger.append(payload_of("run.started", {"base": repo.head, "coordinator": {}}), run="r1")
    repo.ledger.append(payload_of("unit.queued"), run="r1", unit="alpha")
    said.append(rest(monitor.tick()))
    monitor.close()
    assert said == [
        "procs=codex:0/wrap:0  commits=main:0/all:0  (idle)  ::",
        "procs=codex:0/wrap:0  commits=main:1/all:1  (+1commit)  ::",
        "procs=codex:0/wrap:0  commits=main:1/all:1  (idle)  :: alpha=0c/0d",
    ]


def test_all_runs_at_work_are_shown(tmp_path: Path) -> None:
    repo = make_repo(tmp_path / "r")
    for run in ("r1", "r2", "r3"):
        repo.ledger.append(payload_of("run.started", {"base": repo.head, "coordinator": {}}), run=run)
        repo.ledger.append(payload_of("unit.queued"), run=run, unit="alpha")
    repo.ledger.append(payload_of("unit.finished", {"state": "empty"}), run="r1", unit="alpha")
    monitor = Monitor(repo.repository, repo.ledger, Watching())
    said = [rest(monitor.tick()).partition(":: ")[2]]
    repo.ledger.append(payload_of("unit.finished", {"state": "empty"}), run="r2", unit="alpha")
    said += [rest(monitor.tick()).partition(":: ")[2] for _ in range(2)]
    monitor.close()
    assert said == ["r2/alpha=0c/0d r3/alpha=0c/0d", "r2/alpha=0c/0d r3/alpha=0c/0d", "alpha=0c/0d"]


def test_named_workspaces_are_shown_like_units(tmp_path: Path) -> None:
    repo = make_repo(tmp_path / "r")
    ledger = repo.ledger
    for name in ("wave1-reports", "wave1/search"):
        wish = WorkspaceSpec(name=parse_name(name), branch=f"b/{name}", root=tmp_path / "r.prun")
        make_user_workspace(repo.repository, ledger, wish)
    monitor = Monitor(repo.repository, ledger, Watching())
    said = [rest(monitor.tick())]
    place = Repo(tmp_path / "r.prun" / "named" / "wave1-reports")
    ledger.append(payload_of("unit.preparing", {"coordinator": asdict(me())}), run="named", unit="wave1-reports")
    ledger.append(payload_of("unit.started", {"process": {}}), run="named", unit="wave1-reports")
    place.write("new.py", "1\n")
    repo.write("leak.py", "2\n")
    said.append(rest(monitor.tick()))
    commit = place.commit("work", new_dot_py="1\n")
    shutil.copy2(
        place.git("rev-parse", "--git-path", "index"), repo.repository.state / "runs/named/wave1-reports/index"
    )
    ledger.append(
        payload_of("unit.captured", {"commit": commit, "outcome": "committed"}), run="named", unit="wave1-reports"
    )
    ledger.append(payload_of("unit.finished", {"state": "ready"}), run="named", unit="wave1-reports")
    said += [rest(monitor.tick()) for _ in range(2)]
    monitor.close()
    assert said == [
        "procs=codex:0/wrap:0  commits=main:0/all:0  (idle)  :: wave1-reports=0c/0d wave1/search=0c/0d",
        "procs=codex:0/wrap:1  commits=main:0/all:0  (idle)  "
        "[silent-edit,main-dirty:1(wave1-reports?),size-drift:+1files]  :: wave1-reports=0c/1d wave1/search=0c/0d",
        "procs=codex:0/wrap:0  commits=main:0/all:1  (+1commit)  [main-dirty:1(wave1-reports?),agent-done-committed]"
        "  :: wave1-reports=1c/0d wave1/search=0c/0d",
        "procs=codex:0/wrap:0  commits=main:0/all:1  (idle)  :: wave1-reports=1c/0d wave1/search=0c/0d",
    ]


def test_an_unknown_run(tmp_path: Path) -> None:
    repo = make_repo(tmp_path / "r")
    with pytest.raises(PrunError, match="there is no run 'r7'"):
        Monitor(repo.repository, repo.ledger, Watching(run="r7"))


def test_a_bare_repository(scene: Scene, tmp_path: Path) -> None:
    bare = make_bare(tmp_path / "b.git", scene.repo)
    monitor = Monitor(bare.repository, bare.ledger, Watching())
    assert rest(monitor.tick()) == "procs=codex:0/wrap:0  commits=main:0/all:0  (idle)  ::"
    monitor.close()


def test_until_done_ends_with_the_last_unit(scene: Scene) -> None:
    for name in ("alpha", "beta"):
        scene.start(name)
    monitor, steps = scene.monitor(), iter(["alpha", "beta"])

    def pause() -> bool:
        scene.units[name := next(steps)].work.write(name, "1\n")
        scene.finish(name)
        return False

    said = [rest(tick).partition(":: ")[2] for tick in watch(monitor, pause=pause, until_done=True)]
    assert said == ["alpha=0c/0d beta=0c/0d", "alpha=1c/0d beta=0c/0d", "alpha=1c/0d beta=1c/0d"]
    assert (monitor.is_over(), monitor.all_well()) == (True, True)


def test_ticks_go_on_until_they_are_stopped(scene: Scene) -> None:
    pauses = iter([False, False, True])
    assert len(list(watch(scene.monitor(), pause=lambda: next(pauses)))) == 3


def test_a_tick_writes_nothing_and_takes_no_lock(scene: Scene) -> None:
    scene.start("alpha").work.write("a.txt", "2\n")
    monitor = scene.monitor()
    held = [scene.repo.path / ".git" / name for name in ("index.lock", "config.lock", "packed-refs.lock")]
    for lock in [*held, scene.state / "locks" / "ledger.lock"]:
        lock.touch()
    os.utime(scene.repo.path / "a.txt", (1, 1))
    before = fingerprint(scene.repo.path), fingerprint(scene.units["alpha"].path)
    for _ in range(12):
        monitor.tick()
    assert (fingerprint(scene.repo.path), fingerprint(scene.units["alpha"].path)) == before


def test_where_the_system_has_no_notices_to_give(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_: object) -> None:
        raise OSError(24, "Too many open files")

    monkeypatch.setattr(Inotify, "__init__", refuse)
    work = scene.start("alpha").work
    monitor = scene.monitor()
    monitor.tick()
    work.write("a.txt", "in place\n")
    scene.repo.write("b.txt", "in place\n")
    assert flags(monitor.tick()) == ["silent-edit", "main-dirty:1(alpha?)"]


def test_a_start_that_was_not_recorded_is_taken_from_the_first_look(tmp_path: Path) -> None:
    with open_scene(tmp_path) as scene:
        scene.start("alpha")
        scene.repo.write("before.txt", "x\n")
        monitor = scene.monitor()
        assert flags(monitor.tick()) == []
        scene.repo.write("after.txt", "x\n")
        assert flags(monitor.tick()) == ["main-dirty:1(alpha?)", "size-drift:+1files"]
        assert Repo(scene.repo.path).status() == ["?? after.txt", "?? before.txt"]
