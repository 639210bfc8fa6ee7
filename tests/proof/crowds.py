"""Many commands in one repository at the same moment."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path

from tests.proof.plans import sh, write_plan
from tests.proof.rows import Row, Size
from tests.support.forker import Forker
from tests.support.repos import Repo, make_repo

AT_ONCE = 20
ROUNDS = {"quick": 1, "ci": 25, "full": 100}


def crowd(folder: Path, size: Size) -> Row:
    """Make 20 workspaces at once again and again; then 20 commands of all kinds at once."""
    faults: list[str] = []
    made = mixed = 0
    with ExitStack() as stack, ThreadPoolExecutor(AT_ONCE) as pool:
        forkers = [stack.enter_context(Forker()) for _ in range(AT_ONCE)]
        repo = make_repo(folder / "user", **{f"d{n}__f_dot_txt": f"{n}\n" for n in range(50)})
        for number in range(ROUNDS[size]):
            said = list(pool.map(lambda n: forkers[n].run(repo.path, *_creation(n)), range(AT_ONCE)))
            made += AT_ONCE
            faults += [f"round {number}: new: exit code {one.code}: {one.err[-200:]}" for one in said if one.code != 0]
            said = list(pool.map(lambda n: forkers[n].run(repo.path, "remove", f"w{n}"), range(AT_ONCE)))
            faults += [f"round {number}: remove: exit code {one.code}: {one.err[-200:]}" for one in said if one.code]
            faults += [f"round {number}: {left}" for left in _leftovers(repo)]
            for n in range(AT_ONCE):
                repo.git("update-ref", "-d", f"refs/heads/b{n}")
        run = make_repo(folder / "mixed", a_dot_txt="1\n")
        units = {f"u{n}": sh("echo $PRUN_UNIT >$PRUN_UNIT.txt") for n in range(6)}
        plan = str(write_plan(folder, units))
        first = forkers[0].run(run.path, "run", plan)
        assert first.code == 0, first.err
        for number in range(max(1, ROUNDS[size] // 5)):
            lines = _mixed(plan)
            said = list(pool.map(lambda n, words: forkers[n].run(run.path, *words), range(AT_ONCE), lines))
            mixed += AT_ONCE
            for words, one in zip(lines, said, strict=True):
                if one.code not in (0, 1):
                    faults.append(f"mixed {number}: {' '.join(words)}: exit code {one.code}: {one.err[-200:]}")
        faults += _leftovers(run)
    return Row(
        trial=f"{AT_ONCE} creations at once, {ROUNDS[size]} rounds; {AT_ONCE} commands of all kinds at once",
        must="0 failures, 0 leftovers",
        found=f"{made} creations, {mixed} mixed commands, {len(faults)} faults",
        faults=tuple(faults),
    )


def _creation(number: int) -> tuple[str, ...]:
    return ("new", f"w{number}", f"b{number}", *(("--clone",) if number % 2 else ()))


def _mixed(plan: str) -> list[tuple[str, ...]]:
    looks: list[tuple[str, ...]] = [("status",), ("status", "--json"), ("show", "u1"), ("diff", "u2"), ("log", "u3")]
    looks += [("forecast",), ("ledger", "verify"), ("rescue", "--list"), ("gc", "--dry-run"), ("monitor", "--once")]
    acts: list[tuple[str, ...]] = [("run", plan), ("run", plan), ("gc",), ("gc",), ("collect", "u1"), ("collect", "u2")]
    acts += [("merge", "--dry-run"), ("reconcile",), ("undo", "--list"), ("workspace", "list")]
    return looks + acts


def _leftovers(repo: Repo) -> list[str]:
    """Name what no command should leave."""
    git = repo.path / ".git"
    # What prun itself locks by is never removed.
    locks = [path for path in git.rglob("*.lock") if not path.is_relative_to(git / "prun")]
    found = [f"leftover {path}" for path in locks]
    found += [f"leftover {path}" for path in repo.path.parent.rglob(".prun-trash-*")]
    found += [f"leftover {path}" for path in repo.path.parent.rglob(".probe-*")]
    said = repo.git("worktree", "list", "--porcelain")
    if "prunable" in said:
        found.append("a worktree is registered and not there")
    quarantine = repo.path / ".git" / "prun" / "quarantine"
    found += [f"leftover {path}" for path in (quarantine.glob("*/*/*") if quarantine.is_dir() else ())]
    return found
