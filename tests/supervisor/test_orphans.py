"""Whatever shape a worker's processes take, none of them outlives it."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from gitprun.model.units import Exit
from gitprun.supervisor import orphans, process, process_tree
from gitprun.supervisor.orphans import end_orphans, read_record
from gitprun.supervisor.process import ProcessIdentity, find_marked, new_mark, probe_identity
from tests.support.bench import Bench
from tests.support.cases import crossed

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="orphans are only followed on Linux")

# Each line of `pids` is one process that is there; every shape writes as many as its number says.
LEAF = "sh -c 'echo $$ >>pids; exec sleep 1000'"
STUBBORN = "trap '' INT TERM HUP; "
AGAIN = LEAF.replace("exec sleep 1000", "exec sleep 0.01")
SHAPES = {
    "grandchild": (1, f'sh -c "{LEAF} & wait" &'),
    "double fork": (1, f"( ( {LEAF} & ) & )"),
    "own session": (1, f"setsid {LEAF} &"),
    "ignores signals": (1, f"({STUBBORN}setsid {LEAF}) &"),
    "respawner": (
        3,
        f'setsid sh -c "{STUBBORN}while :; do {AGAIN}; done" &',
    ),
    "runaway chain": (3, "setsid sh chain &"),
    "cleans its environment": (1, f"env -i /usr/bin/setsid {LEAF} &"),
    "cleans and forks twice": (1, f'env -i /bin/sh -c "( ( {LEAF} & ) & )"'),
    "hundred forks": (100, f"for i in $(seq 50); do {LEAF} & ( setsid {LEAF} & ); done"),
}
CHAIN = f"{STUBBORN}echo $$ >>pids\nsh chain & exit\n"
UNMARKED = ("cleans its environment", "cleans and forks twice")
OWN_GROUP = process_tree.find_home()


def may_make_groups() -> bool:
    group = process_tree.make_group(OWN_GROUP, f"prun-probe-{os.getpid()}")
    return group is not None and group.kill() and group.remove()


has_groups = pytest.mark.skipif(not may_make_groups(), reason="no cgroup (v2) may be made here")


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    (tmp_path / "chain").write_text(CHAIN)
    yield Bench(tmp_path)
    # Whatever failed, this one does not go on for ever.
    (tmp_path / "chain").unlink()


MEANS = ("cgroup", "descendants")


@pytest.fixture(params=MEANS)
def means(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Have trees ended by cgroup, and without."""
    if request.param == "descendants":
        monkeypatch.setattr(process, "_cgroup", lambda: "")
    elif not may_make_groups():
        pytest.skip("no cgroup (v2) may be made here")
    return str(request.param)


def started(shape: str) -> str:
    """Write the script that starts a shape and waits until all of it is there."""
    count, script = SHAPES[shape]
    return f": >>pids\n{script}\nwhile [ $(wc -l <pids) -lt {count} ]; do sleep 0.01; done\n"


@pytest.mark.parametrize(("means", "shape"), crossed(MEANS, tuple(SHAPES)), indirect=["means"])
def test_nothing_outlives_a_worker_that_ends(bench: Bench, means: str, shape: str) -> None:
    ended = bench.sh(started(shape) + "echo over", record=bench.record)
    assert bench.inhabitants() == []
    assert (ended.reason, ended.code, ended.survivors, ended.unproved) == ("exited", 0, (), "")
    assert ended.leftovers >= 1
    assert read_record(bench.record / "exit.json")["means"] == means


@pytest.mark.kill
@pytest.mark.parametrize("shape", SHAPES)
def test_nothing_outlives_a_worker_that_is_ended(bench: Bench, means: str, shape: str) -> None:
    ended = bench.sh(f"{STUBBORN}{started(shape)}while :; do sleep 0.01; done", timeout=3.0, grace=0.1)
    assert bench.inhabitants() == []
    assert (ended.reason, ended.signal, ended.survivors, ended.unproved) == ("timeout", signal.SIGKILL, (), "")
    # The worker's time, three steps of the ladder, and as long as a busy machine takes for what it leaves.
    assert ended.seconds < 3.0 + 3 * 0.1 + process_tree.LIMIT + 30


@pytest.mark.kill
@pytest.mark.parametrize("shape", SHAPES)
def test_nothing_outlives_a_warden_that_is_killed(bench: Bench, means: str, shape: str) -> None:
    if means == "descendants" and shape in UNMARKED:
        pytest.skip("without cgroups nothing tells whose it is")
    ended = bench.sh(started(shape) + "kill -KILL $PPID; exec sleep 1000", record=bench.record)
    assert bench.inhabitants() == []
    assert os.listdir(bench.record) == []
    assert replace(ended, leftovers=0) == Exit(
        code=None,
        signal=None,
        reason="stopped",
        seconds=0.0,
        detail="the warden process was killed, and the worker with it",
    )


def test_marks_are_found_through_children_without(bench: Bench) -> None:
    mark, found = new_mark(), list[set[int]]()
    (bench.path / "clean").write_text("echo $$ >>pids\nsh leaf & wait\n")
    (bench.path / "leaf").write_text("echo $$ >>pids\nexec sleep 1000\n")

    def look(_warden: ProcessIdentity | None) -> None:
        while not (bench.path / "ready").exists():
            os.sched_yield()
        found.append({who.pid for who in find_marked(mark)})
        (bench.path / "seen").touch()

    await_three = "while [ $(wc -l <pids) -lt 3 ]; do sleep 0.01; done; touch ready"
    script = f"env -i /bin/sh clean & sh leaf & {await_three}; while [ ! -e seen ]; do sleep 0.01; done"
    (bench.path / "pids").touch()
    bench.sh(script, mark=mark, started=look)
    # The clean one has lost its mark, but it is a child of the worker; so is its own child.
    assert found[0] >= set(bench.pids())
    assert find_marked(mark) == ()
    assert find_marked(new_mark()) == ()


def test_a_record_of_another_attempt_is_not_believed(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    killed = list[str]()
    monkeypatch.setattr(orphans, "LOOKS", 2)
    monkeypatch.setattr(process_tree.Cgroup, "kill", lambda group: killed.append(group.path) or True)
    monkeypatch.setattr(process_tree.Cgroup, "remove", lambda group: killed.append(group.path) or True)
    (bench.record / "exit.json.part").write_text('{"mark": "aa", "group": "/sys/fs/cgroup/prun-aa"}')
    end_orphans(bench.record, "bb")
    (bench.record / "exit.json.part").write_text('{"mark": "aa", "group": "/sys/fs/cgroup/user.slice"}')
    end_orphans(bench.record)
    (bench.record / "exit.json.part").write_text('{"mark": "", "group": "/sys/fs/cgroup/prun-"}')
    end_orphans(bench.record)
    assert killed == []


def test_a_signal_goes_to_nobody_else() -> None:
    me = probe_identity(os.getpid())
    assert me is not None
    assert not process_tree.send(me.pid, b"1", signal.SIGKILL)
    assert not process_tree.send(4_194_305, me.start.encode(), signal.SIGKILL)


def test_what_cannot_be_listed_is_not_nobody(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process_tree, "list_processes", lambda: None)
    assert end_orphans(bench.record, "aa").unproved == "the list of processes cannot be read"


@has_groups
def test_a_group_is_gone_afterwards(bench: Bench) -> None:
    mark = new_mark()
    bench.sh(f"ls -d {OWN_GROUP}/prun-{mark}; cat /proc/self/cgroup; {started('own session')}", mark=mark)
    rows = bench.out.decode().splitlines()
    assert rows[0] == f"{OWN_GROUP}/prun-{mark}"
    assert [row for row in rows if row.startswith("0::") and row.endswith(f"/prun-{mark}")]
    assert not Path(rows[0]).exists()


@has_groups
def test_groups_made_inside_are_ended_too(bench: Bench) -> None:
    mark = new_mark()
    inner = f"{OWN_GROUP}/prun-{mark}/a.scope/b"
    bench.sh(f"mkdir -p {inner} && echo $$ >{inner}/cgroup.procs; {started('double fork')}", mark=mark)
    assert bench.inhabitants() == []
    assert not Path(f"{OWN_GROUP}/prun-{mark}").exists()


def test_the_folder_of_a_group_is_found_in_any_layout(monkeypatch: pytest.MonkeyPatch) -> None:
    texts = {"/proc/self/cgroup": b"4:memory:/other\n0::/user.slice/a b\n"}
    monkeypatch.setattr(process_tree, "read_file", lambda path, most=0: texts[path])
    monkeypatch.setattr(process_tree, "is_ours", lambda folder: True)
    row = b"41 31 0:38 %s %s rw,relatime shared:9 - cgroup2 cgroup2 rw\n"
    legacy = b"32 31 0:29 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu\n"
    for root, place, folder in (
        (b"/", b"/sys/fs/cgroup", "/sys/fs/cgroup/user.slice/a b"),
        (b"/", b"/sys/fs/cgroup/unified", "/sys/fs/cgroup/unified/user.slice/a b"),
        (b"/user.slice", rb"/mnt/c\040g", "/mnt/c g/a b"),
        (rb"/user.slice/a\040b", b"/sys/fs/cgroup", "/sys/fs/cgroup"),
        (b"/elsewhere", b"/sys/fs/cgroup", ""),
    ):
        texts["/proc/self/mountinfo"] = legacy + row % (root, place)
        assert process_tree.find_home() == folder
    texts["/proc/self/cgroup"] = b"4:memory:/other\n"
    assert process_tree.find_home() == ""


def test_a_mark_is_a_whole_word_of_its_own_variable(bench: Bench) -> None:
    found: list[tuple[ProcessIdentity, ...]] = []
    mark = new_mark()

    def look(_: ProcessIdentity | None) -> None:
        found.extend(find_marked(word) for word in (mark[1:], mark[:-1], "PRUN_MARK", "PATH"))

    bench.sh("true", mark=mark, started=look)
    assert found == [(), (), (), ()]
