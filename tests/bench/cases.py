"""What is measured: each case times our way and the bare way in turn, in the same minute, and gives medians."""

from __future__ import annotations

import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
UNITS = 4


@dataclass(frozen=True, slots=True)
class Row:
    """One line of the table; times in seconds."""

    work: str
    ours: float
    other: float
    most: float

    @property
    def ratio(self) -> float:
        """Give how many times the bare way's time ours takes."""
        return self.ours / self.other


def environment(home: Path) -> dict[str, str]:
    """Give a neutral environment in which both ways run."""
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("GIT_", "PRUN_", "PYTHON"))}
    return {
        **kept,
        "HOME": str(home),
        "XDG_CACHE_HOME": str(home / ".cache"),
        "PYTHONPATH": str(ROOT),
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_AUTHOR_NAME": "Bench",
        "GIT_AUTHOR_EMAIL": "bench@example.test",
        "GIT_COMMITTER_NAME": "Bench",
        "GIT_COMMITTER_EMAIL": "bench@example.test",
    }


def call(argv: list[str], cwd: Path, env: dict[str, str]) -> float:
    """Run a program to its end and give its seconds; it must succeed."""
    began = time.perf_counter()
    done = subprocess.run(argv, cwd=cwd, env=env, capture_output=True, check=False)
    took = time.perf_counter() - began
    if done.returncode != 0:
        raise RuntimeError(f"{argv}: {done.returncode}\n{done.stdout.decode()}\n{done.stderr.decode()}")
    return took


@contextmanager
def scratch() -> Iterator[Path]:
    """Give a folder that is gone afterwards."""
    folder = Path(tempfile.mkdtemp(prefix="prun-bench-"))
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def make_repository(path: Path, files: int, env: dict[str, str]) -> None:
    """Make a repository of ``files`` small files in folders of 50."""
    call(["git", "init", "-q", "-b", "main", str(path)], path.parent, env)
    for number in range(files):
        folder = path / f"d{number // 2500}" / f"e{number // 50}"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"f{number}.txt").write_text(f"file {number}\n" * 20)
    call(["git", "add", "-A"], path, env)
    # Else git packs in the background, and the gc below finds it at it.
    call(["git", "-c", "gc.auto=0", "commit", "-qm", "base"], path, env)
    call(["git", "gc", "-q"], path, env)


def medians(rounds: int, *ways: Callable[[int], float]) -> list[float]:
    """Time several ways in turn, ``rounds`` times each after one warm-up, and give their medians."""
    times: list[list[float]] = [[] for _ in ways]
    for number in range(rounds + 1):
        for position, way in enumerate(ways):
            took = way(number)
            if number:
                times[position].append(took)
    return [statistics.median(row) for row in times]


BARE = """set -e
for u in 1 2 3 4; do git worktree add -q --no-track -b "$1-$u" "../bare-$1/$u" HEAD; done
for u in 1 2 3 4; do (cd "../bare-$1/$u" && echo work >"$1-$u.txt" && git add -A && git commit -qm "work $u"); done
for u in 1 2 3 4; do git merge -q --no-ff -m "merge $u" "$1-$u"; done
"""
PLAN = '[run]\nverify = ["true"]\n' + "".join(
    f'[[unit]]\nid = "u{n}"\nprompt = "work"\ncommand = ["sh", "-c", "echo work >$PRUN_RUN-{n}.txt"]\n'
    for n in range(1, UNITS + 1)
)


def loop(quick: bool) -> list[Row]:
    """Measure all that prun adds around four workers that do next to nothing, landing included."""
    rows = []
    for files, rounds in ((200, 5),) if quick else ((200, 9), (2_000, 7), (12_000, 5)):
        with scratch() as folder:
            env = environment(folder)
            for name in ("ours", "bare"):
                make_repository(folder / name, files, env)
            (folder / "plan.toml").write_text(PLAN)
            run = [sys.executable, "-m", "gitprun", "run", "--merge", str(folder / "plan.toml")]
            ours, bare = medians(
                rounds,
                lambda _: call(run, folder / "ours", env),  # noqa: B023
                lambda n: call(["sh", "-c", BARE, "sh", f"n{n}"], folder / "bare", env),  # noqa: B023
            )
            rows.append(Row(f"4 idle workers, {files} files: run, verify, land", ours, bare, 2.0))
    return rows


def status(quick: bool) -> list[Row]:
    """Measure ``git prun status`` on 20 units against importing what it is made of."""
    with scratch() as folder:
        env = environment(folder)
        make_repository(folder / "r", 20, env)
        plan = "".join(
            f'[[unit]]\nid = "u{n}"\nprompt = "x"\ncommand = ["sh", "-c", "echo {n} >{n}"]\n' for n in range(20)
        )
        (folder / "plan.toml").write_text('[run]\nverify = ["true"]\n' + plan)
        call([sys.executable, "-m", "gitprun", "run", str(folder / "plan.toml")], folder / "r", env)
        ours, other = medians(
            5 if quick else 21,
            lambda _: call([sys.executable, "-m", "gitprun", "status"], folder / "r", env),
            lambda _: call([sys.executable, "-c", "import click, pygit2"], folder / "r", env),
        )
    return [Row("git prun status, 20 units, against importing click, pygit2", ours, other, 2.0)]


def monitor(quick: bool) -> list[Row]:
    """Measure one tick over 20 workspaces in which 10 files each changed against ``git status`` in all of them."""
    from gitprun.git.repo import find_repository
    from gitprun.ledger.ledger import Ledger
    from gitprun.monitor.loop import Monitor, Watching

    files, units = (1_000, 20) if quick else (10_000, 20)
    with scratch() as folder:
        env = environment(folder)
        make_repository(folder / "r", files, env)
        plan = "".join(f'[[unit]]\nid = "u{n}"\nprompt = "x"\ncommand = ["true"]\n' for n in range(units))
        (folder / "plan.toml").write_text("[run]\nverify = []\n" + plan)
        run = [sys.executable, "-m", "gitprun", "run", str(folder / "plan.toml")]
        ran = subprocess.run(run, cwd=folder / "r", env=env, capture_output=True, text=True, check=False)
        places = [folder / "r.prun" / "r1" / f"u{n}" for n in range(units)]
        repository = find_repository(folder / "r")
        watched = Monitor(repository, Ledger(repository.state), Watching(run="r1"))

        def write(place: Path, at: int, content: str) -> None:
            (place / f"d{at // 2500}" / f"e{at // 50}" / f"f{at}.txt").write_text(content)

        def tick(number: int) -> float:
            for place in places:
                for each in range(10):
                    at = (number * 10 + each) * 61 % files
                    write(place, at, f"round {number} {each}\n")
                    if number:
                        back = ((number - 1) * 10 + each) * 61 % files
                        write(place, back, f"file {back}\n" * 20)
            began = time.perf_counter()
            seen = watched.tick()
            took = time.perf_counter() - began
            odd = [unit for unit in seen.now.units if len(unit.dirty or ()) != 10]
            if odd or len(seen.now.units) != units:
                raise RuntimeError(f"round {number}: {odd}\nthe run ended with {ran.returncode}:\n{ran.stderr}")
            return took

        def status_of_all(_: int) -> float:
            return sum(call(["git", "status", "--porcelain"], place, env) for place in places)

        ours, other = medians(5 if quick else 11, tick, status_of_all)
        watched.close()
    most = 1.0 if quick else 0.25
    return [Row(f"monitor tick, 20 workspaces, {files} files, 10 changed", ours, other, most)]


def hooks(quick: bool) -> list[Row]:
    """Measure our hook where nobody is a worker against a shell that does nothing: 100 calls of each."""
    from gitprun.guards.install import hooks_source

    with scratch() as folder:
        env = environment(folder)
        make_repository(folder / "r", 20, env)
        call(["git", "worktree", "add", "-q", str(folder / "r.prun" / "r1" / "u")], folder / "r", env)
        (folder / "r" / ".git" / "prun" / "runs" / "r1" / "other").mkdir(parents=True)
        make_repository(folder / "s", 20, env)
        hook, gate = (str(hooks_source() / name) for name in ("reference-transaction", "pre-merge-commit"))

        def calls(argv: list[str], place: Path, extra: dict[str, str]) -> float:
            return sum(call(argv, place, {**env, **extra}) for _ in range(100))

        linked = {"GIT_DIR": str(folder / "r" / ".git" / "worktrees" / "u")}
        main, other, merge, nothing = medians(
            3 if quick else 9,
            lambda _: calls([hook, "prepared"], folder / "r", {}),
            lambda _: calls([hook, "prepared"], folder / "r.prun" / "r1" / "u", linked),
            lambda _: calls([gate], folder / "s", {}),
            lambda _: calls(["sh", "-c", ":"], folder / "r", {}),
        )
    return [
        Row("100 hook calls in the user's checkout, against sh", main, nothing, 1.5),
        Row("100 hook calls in a linked worktree of his, against sh", other, nothing, 1.5),
        Row("100 calls of a merge's hook where prun had no run, against sh", merge, nothing, 1.5),
    ]


def forecast(quick: bool) -> list[Row]:
    """Measure the forecast of many branches against git's merge-tree on the same pairs."""
    from tests.bench.forecast import measure

    return measure(quick)


CASES: dict[str, Callable[[bool], list[Row]]] = {
    "loop": loop,
    "status": status,
    "monitor": monitor,
    "hooks": hooks,
    "forecast": forecast,
}
