"""What workers do to a run: processes that will not die, floods of output; and a clock that jumps meanwhile."""

from __future__ import annotations

import os
import shutil
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from gitprun.supervisor.process import probe_identity
from tests.proof.plans import sh, write_plan
from tests.proof.rows import Row, Size
from tests.support.forker import Forker
from tests.support.repos import make_repo

FLOOD = {"quick": 20_000_000, "ci": 2_000_000_000, "full": 8_000_000_000}
# Each writes the pids of those that try to live on, one a line, to $TRACES/<unit>.
BEAT = 'echo $$ >>"$TRACES/$PRUN_UNIT"; trap "" TERM INT HUP; while :; do sleep 0.05; done'
ORPHANS = {
    "grandchild": f"(sh -c '{BEAT}' & wait) & sleep 0.2",
    "double-fork": f"(sh -c '{BEAT}' &) ; sleep 0.2",
    "session": f"setsid sh -c '{BEAT}' & sleep 0.2",
    "daemon": f"(setsid sh -c '({BEAT}) &' &) ; sleep 0.2",
    "clean-environment": f'env -i TRACES="$TRACES" PRUN_UNIT="$PRUN_UNIT" setsid sh -c \'{BEAT}\' & sleep 0.2',
    "respawner": (
        'cat >"$TRACES/again-$PRUN_UNIT.sh" <<EOF\n'
        'echo \\$\\$ >>"$TRACES/$PRUN_UNIT"\n'
        "trap 'setsid sh \"$TRACES/again-$PRUN_UNIT.sh\" & exit' TERM INT\n"
        "n=0; while [ \\$n -lt 1200 ]; do sleep 0.05; n=\\$((n+1)); done\n"
        'EOF\nsetsid sh "$TRACES/again-$PRUN_UNIT.sh" & sleep 0.2'
    ),
    "ignores-term": 'echo $$ >>"$TRACES/$PRUN_UNIT"; trap "" TERM INT HUP; while :; do sleep 0.05; done',
    "many": f"n=0; while [ $n -lt 50 ]; do (setsid sh -c '{BEAT}' &); n=$((n+1)); done; sleep 0.3",
}


def orphans(folder: Path, size: Size) -> Row:
    """Let workers leave processes of every shape, and count who is alive when their unit is over."""
    faults: list[str] = []
    traces = folder / "traces"
    traces.mkdir(parents=True)
    repo = make_repo(folder / "user", a_dot_txt="1\n")
    units = {name: sh(script.replace("'''", ""), 'timeout = "1s"') for name, script in ORPHANS.items()}
    seen = 0
    with Forker() as forker:
        for _ in range(1 if size == "quick" else 3):
            said = forker.run(
                repo.path, "run", str(write_plan(folder, units, 'run.grace = "0.3s"')), env={"TRACES": str(traces)}
            )
            if said.code not in (0, 1):
                faults.append(f"run: exit code {said.code}: {said.err[-300:]}")
            for name in ORPHANS:
                pids = [int(row) for row in (traces / name).read_text().split()] if (traces / name).exists() else []
                seen += len(pids)
                if not pids:
                    faults.append(f"{name}: nobody tried to live on")
                faults += [f"{name}: process {pid} survived" for pid in pids if _lives(pid, traces)]
                (traces / name).unlink(missing_ok=True)
    return Row(
        trial=f"{len(ORPHANS)} shapes of orphans: grandchild, double fork, setsid, respawner, TERM ignored ...",
        must="0 survivors within the ladder",
        found=f"{seen} processes that tried to live on, {len(faults)} faults",
        faults=tuple(faults),
    )


def _lives(pid: int, traces: Path) -> bool:
    """Tell whether a process of the trial still runs (a pid may have gone to somebody else)."""
    if probe_identity(pid) is None:
        return False
    try:
        return (
            os.fsencode(traces) in Path(f"/proc/{pid}/environ").read_bytes() + Path(f"/proc/{pid}/cmdline").read_bytes()
        )
    except OSError:
        return False


def floods(folder: Path, size: Size) -> Row:
    """Let workers write without end: bytes, one line, no text; look at disk, memory and what is told of it."""
    faults: list[str] = []
    folder.mkdir(parents=True, exist_ok=True)
    repo = make_repo(folder / "user", a_dot_txt="1\n")
    bytes_out, cap = FLOOD[size], 4_000_000 if size == "quick" else 64_000_000
    units = {
        "zeros": sh(f"head -c {bytes_out} /dev/zero; echo 1 >zeros.txt"),
        "one-line": sh(f"head -c {bytes_out // 4} /dev/zero | tr '\\\\0' x; echo 1 >one.txt"),
        "lines": sh(f"yes 'a line of output' | head -c {bytes_out // 4}; echo the end; echo 1 >lines.txt"),
        "not-text": sh(f"head -c {min(bytes_out // 20, 50_000_000)} /dev/urandom; echo 1 >random.txt"),
        "returns": sh("n=0; while [ $n -lt 20000 ]; do printf 'at %d\\\\r' $n; n=$((n+1)); done; echo 1 >returns.txt"),
    }
    plan = write_plan(folder, units, f"run.output_max = {cap}\nrun.jobs = 2")
    peak_disk = peak_memory = 0
    with Forker() as forker:
        child = forker.start(repo.path, "run", str(plan))
        with ThreadPoolExecutor(1) as pool:
            done = pool.submit(child.wait)
            while not done.done():
                peak_disk = max(peak_disk, _disk_of(repo.path / ".git" / "prun" / "runs"))
                peak_memory = max(peak_memory, _memory_of(child.pid))
                time.sleep(0.05)
            said = done.result()
        if said.code != 0:
            faults.append(f"run: exit code {said.code}: {said.err[-400:]}")
        for name in units:
            for words in (("log", name), ("show", name)):
                shown = forker.run(repo.path, *words)
                if shown.code != 0:
                    faults.append(f"{' '.join(words)}: exit code {shown.code}: {shown.err[-200:]}")
    kept = _disk_of(repo.path / ".git" / "prun" / "runs")
    if kept > len(units) * cap * 1.5:
        faults.append(f"{kept / 1e6:.0f} MB of output are kept, with {cap / 1e6:.0f} MB a unit")
    if peak_memory > 300_000_000:
        faults.append(f"the coordinator took {peak_memory / 1e6:.0f} MB")
    return Row(
        trial=f"{bytes_out / 1e9:g} GB of output; one line; not UTF-8; NUL; CR (cap {cap / 1e6:.0f} MB a unit)",
        must="bounded disk and memory, nothing dies",
        found=(
            f"{peak_disk / 1e6:.0f} MB of disk at most, {kept / 1e6:.0f} MB kept, {peak_memory / 1e6:.0f} MB of memory,"
            f" {len(faults)} faults"
        ),
        faults=tuple(faults),
    )


def _disk_of(folder: Path) -> int:
    """Add up what files take on disk, holes left out."""
    total = 0
    for top, _, files in os.walk(folder):
        for name in files:
            try:
                total += os.lstat(os.path.join(top, name)).st_blocks * 512
            except OSError:
                continue
    return total


def _memory_of(pid: int) -> int:
    """Give what a process alone holds in memory, in bytes."""
    try:
        rows = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    except OSError:
        return 0
    return sum(int(row.split()[1]) * 1024 for row in rows if row.startswith("Private_"))


def clocks(folder: Path, size: Size) -> Row:
    """Run the same plan under a steady clock and under one that jumps an hour back or forth at every look."""
    faults: list[str] = []
    scripts = {
        "quick": sh("echo 1 >quick.txt"),
        "slow": sh("sleep 1; echo 1 >slow.txt"),
        "late": sh("echo 1 >late.txt; sleep 30", 'timeout = "1s"'),
        "silent": sh("echo 1 >silent.txt; sleep 2"),
        "empty": sh("true"),
    }
    found = []
    with Forker() as forker:
        for jump in (0, 3600, -3600):
            repo = make_repo(folder / f"user{jump}", a_dot_txt="1\n")
            plan = write_plan(folder, scripts, 'run.grace = "0.3s"\nrun.stall = "30s"\nrun.stall_action = "end"')
            env = {"PROOF_CLOCK_JUMP": str(jump)}
            forker.run(repo.path, "run", str(plan), env=env)
            for words in (("status",), ("run", "--resume"), ("merge",), ("gc",)):
                said = forker.run(repo.path, *words, env=env)
                if said.code not in (0, 1):
                    faults.append(f"jump {jump}: {' '.join(words)}: exit code {said.code}: {said.err[-200:]}")
            run = repo.ledger.read().history.last
            assert run is not None
            refs = repo.git("for-each-ref", "--format=%(refname)", "refs/prun").splitlines()
            found.append(({name: unit.state for name, unit in run.units.items()}, refs, sorted(repo.files())))
            shutil.rmtree(repo.path)
    faults += [f"another outcome: {other}" for other in found[1:] if other != found[0]]
    return Row(
        trial="clock set back and forth by an hour at every look",
        must="no state changes by it",
        found=f"{len(scripts)} units, 3 clocks, {len(faults)} faults",
        faults=tuple(faults),
    )
