"""Replay the merges of the ASE-2024 benchmark, whose results were tested once and for all: how many come out right.

``python -m tests.bench ase --data FOLDER --mirrors FOLDER [REPO ...]``. FOLDER of ``--data`` is a checkout or the git
folder of benedikt-schesch/AST-Merging-Evaluation, which publishes for every merge and tool a fingerprint of the merged
tree and the verdict of the tests. A tree with a known fingerprint inherits its verdict: nothing is built here.
``--mirrors`` holds a folder OWNER+NAME for each repository; nothing is written there.
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass, replace
from multiprocessing import get_context
from pathlib import Path

import pygit2

from gitprun.git.repo import find_repository
from gitprun.landing.combine import Combined
from gitprun.landing.engine import combine_alone
from gitprun.landing.plan import Candidate, LandingOptions
from gitprun.model.findings import EVERY_FINDING
from gitprun.model.names import Oid
from tests.bench.cases import environment
from tests.bench.fingerprints import Fingerprints, Memory
from tests.bench.replayed_merges import FAILED, OTHERS, PASSED, ReplayedMerge, compare, read_out, tabulate

TESTED = "results/combined/merges_tested"
# Where a tool has one of these, the merge is no fair comparison.
USELESS = {"Git_checkout_failed", "Not_tested", "Tests_timedout"}
SUFFIX = "_merge_fingerprint"
# Where a repository is now, of those that have moved since.
MOVED = {
    "datastax/java-driver": "apache/cassandra-java-driver",
    "joel-costigliola/assertj-core": "assertj/assertj",
    "masterthought/cucumber-reporting": "damianszczepanik/cucumber-reporting",
    "sander2798/enderstone": "SanderGielisse/Enderstone",
}
OPTIONS = LandingOptions(into="main", no_verify=True, dry_run=True, allow_suspect=EVERY_FINDING)

csv.field_size_limit(sys.maxsize)


@dataclass(frozen=True, slots=True, kw_only=True)
class Replay:
    """One repository to replay: its name in the benchmark, where it is, and where results are kept."""

    slug: str
    data: Path
    mirror: Path
    scratch: Path


def replay(arguments: Sequence[str]) -> int:
    """Print the table, or what differs in two outs; exit code 2 where a folder is not named."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench ase")
    parser.add_argument("--data", type=Path, help="the benchmark: a checkout or its git folder")
    parser.add_argument("--mirrors", type=Path, help="a folder OWNER+NAME for each repository")
    parser.add_argument("--list", type=Path, help="a file that names a repository a line")
    parser.add_argument("--out", type=Path, help="where to write a line of JSON a merge")
    parser.add_argument("--jobs", type=int, default=1, choices=(1, 2), help="processes at work")
    parser.add_argument("--scratch", type=Path, default=Path(tempfile.gettempdir()) / "prun-bench-ase")
    parser.add_argument("--compare", type=Path, nargs=2, metavar="OUT", help="only show what differs in two outs")
    parser.add_argument(
        "repos", nargs="*", metavar="REPO", help="as the benchmark names them, such as apache/commons-io"
    )
    given = parser.parse_args(arguments)
    if given.compare:
        print("\n".join(compare(*map(read_out, given.compare))))
        return 0
    if given.data is None or given.mirrors is None:
        parser.error("--data and --mirrors are needed")
    listed = given.list.read_text().splitlines() if given.list else []
    slugs = [*given.repos, *(line.split()[0] for line in listed if line.strip())]
    found = {slug: find_mirror(given.mirrors, slug) for slug in slugs}
    for slug in (slug for slug in slugs if found[slug] is None):
        print(f"{slug}: not in {given.mirrors}", file=sys.stderr)
    given.scratch.mkdir(parents=True, exist_ok=True)
    tasks = [
        Replay(slug=slug, data=given.data, mirror=mirror, scratch=given.scratch)
        for slug, mirror in found.items()
        if mirror
    ]
    merges: list[ReplayedMerge] = []
    left_out = Counter[str]()
    out = open(given.out, "w") if given.out else None  # noqa: SIM115 (written as results come)
    with ProcessPoolExecutor(given.jobs, get_context("spawn"), _calm, (given.scratch,)) as pool:
        for task, (rows, without) in zip(tasks, pool.map(replay_repository, tasks), strict=True):
            print(f"{task.slug}: {dict(Counter(row.outcome for row in rows))}", file=sys.stderr)
            merges += rows
            left_out += without
            if out:
                out.writelines(json.dumps(asdict(row)) + "\n" for row in rows)
                out.flush()
    print("\n".join(tabulate(merges, left_out)))
    return 0


def find_mirror(mirrors: Path, slug: str) -> Path | None:
    """Find the git folder of a repository, whatever its letters' case there."""
    names = {path.name.lower(): path for path in mirrors.iterdir()}
    for name in (slug, MOVED.get(slug, slug)):
        top = names.get(name.lower().replace("/", "+"), mirrors / "none")
        for place in (top / "repo", top / "repo" / ".git", top, top / ".git"):
            if (place / "objects").is_dir() and (place / "HEAD").is_file():
                return place.resolve()
    return None


def read_rows(data: Path, slug: str) -> list[dict[str, str]]:
    """Read what the benchmark says of a repository's merges, of each pair of sides once."""
    name = f"{TESTED}/{slug}.csv"
    checkout = next((top / name for top in (data, data.parent) if (top / name).is_file()), None)
    if checkout is not None:
        text = checkout.read_text()
    else:
        argv = ["git", "-C", str(data), "show", f"HEAD:{name}"]
        text = subprocess.run(argv, capture_output=True, text=True, check=True).stdout
    rows = {(row["left"], row["right"]): row for row in reversed([*csv.DictReader(text.splitlines())])}
    return [*reversed(rows.values())]


@dataclass(frozen=True, slots=True)
class Scratch:
    """A bare repository that reads the mirror's objects and keeps its own, and what is known of it."""

    repo: pygit2.Repository
    memory: Memory
    prints: Fingerprints

    @property
    def place(self) -> Path:
        """Return its folder."""
        return Path(self.repo.path)

    def fingerprint(self, commit: str) -> str:
        """Return the fingerprint of a commit's tree; empty where an object is missing."""
        return self.prints.of(str(self.repo[commit].peel(pygit2.Tree).id)) if commit in self.repo else ""


def open_scratch(task: Replay) -> Scratch:
    """Open the scratch repository of a task, made when it is not there yet."""
    place = task.scratch / f"{task.slug.replace('/', '+')}.git"
    if not place.is_dir():
        subprocess.run(["git", "init", "-q", "--bare", "-b", "main", str(place)], check=True)
    (place / "objects/info/alternates").write_text(f"{task.mirror / 'objects'}\n")
    memory = Memory(place / "memory.sqlite")
    return Scratch(pygit2.Repository(str(place)), memory, Fingerprints(place, memory))


def replay_repository(task: Replay) -> tuple[list[ReplayedMerge], Counter[str]]:
    """Replay the merges of one repository; returns them, and why how many others were left out."""
    scratch = open_scratch(task)
    merges, left_out = [], Counter[str]()
    for row in read_rows(task.data, task.slug):
        tools = {name.removesuffix(SUFFIX): name for name in row if name.endswith(SUFFIX)}
        if not row.get("gitmerge_ort") or any(row[tool] in USELESS for tool in tools):
            left_out["not tested with every tool"] += 1
        elif any(row[side] not in scratch.repo for side in ("left", "right")):
            left_out["not in the mirror"] += 1
        elif scratch.fingerprint(row["left"]) != row["left_tree_fingerprint"]:
            left_out["checked out in another way"] += 1
        else:
            known: dict[str, str] = {}
            for tool, name in tools.items():
                if row[tool] in (PASSED, FAILED):
                    known.setdefault(row[name], row[tool])
            merges.append(_by_prun(scratch, known, _prepare(task.slug, scratch, row)))
    scratch.memory.save()
    return merges, left_out


def _prepare(slug: str, scratch: Scratch, row: Mapping[str, str]) -> ReplayedMerge:
    """Name the sides ``main`` and ``unit``, and return what git and others make of them."""
    left, right = row["left"], row["right"]
    for name, side in (("main", left), ("unit", right)):
        scratch.repo.references.create(f"refs/heads/{name}", pygit2.Oid(hex=side), force=True)
    tree, state, taken = scratch.memory.ask(f"ort {left} {right}", lambda: _by_git(scratch.place, left, right)).split()
    clean = state == "clean"
    return ReplayedMerge(
        repo=slug,
        left=left,
        right=right,
        merge=row["merge"],
        outcome="failed",
        tools={name: row[tool] for name, tool in OTHERS.items()},
        git_tree=tree if clean else "",
        git_seconds=float(taken),
        git_same=scratch.prints.of(tree) == row[f"gitmerge_ort{SUFFIX}"] if clean else None,
    )


def _by_prun(scratch: Scratch, known: Mapping[str, str], merge: ReplayedMerge) -> ReplayedMerge:
    """Return the merge with what a landing makes of it; ``known`` has the verdicts of fingerprints."""
    began = _used()
    try:
        candidate = Candidate(branch="unit", tip=Oid(merge.right))
        made = combine_alone(find_repository(scratch.place), candidate, OPTIONS)
    # Whatever it is: it is counted and read, and the other merges go on.
    except Exception as problem:
        return replace(merge, reason=repr(problem))
    seconds = round(_used() - began, 3)
    item = made.item if isinstance(made, Combined) else made
    tree = str(made.tree) if isinstance(made, Combined) else ""
    fingerprint = scratch.prints.of(tree) if tree else ""
    verdict = {PASSED: "right", FAILED: "wrong"}.get(known.get(fingerprint, ""), "")
    outcome = verdict or "unknown"
    if not tree or item.suspects:
        outcome = "held"
    elif not verdict and scratch.fingerprint(merge.merge) == fingerprint:
        outcome = "people's"
    return replace(
        merge,
        outcome=outcome,
        verdict=verdict,
        state="suspect" if item.suspects else item.state,
        reason=item.reason,
        suspects=tuple(map(str, item.suspects)),
        resolved=tuple(f"{one.path}: {one.resolver}" for one in item.resolved),
        conflicts=tuple(f"{one.path}: {one.resolver or one.reason}" for one in item.conflicts),
        tree=tree,
        fingerprint=fingerprint,
        seconds=seconds,
    )


def _by_git(place: Path, left: str, right: str) -> str:
    """Merge with git; returns the tree, whether it is clean, and the seconds."""
    began = _used()
    argv = ["git", f"--git-dir={place}", "merge-tree", "--write-tree", "--no-messages", left, right]
    done = subprocess.run(argv, cwd=place, capture_output=True, text=True, check=False)
    if done.returncode not in (0, 1):
        return f"none failed {_used() - began:.3f}"
    return f"{done.stdout.split()[0]} {'conflict' if done.returncode else 'clean'} {_used() - began:.3f}"


def _used() -> float:
    """Return the processor time of this process and of all that it has waited for."""
    return sum(os.times()[:4])


def _calm(scratch: Path) -> None:
    neutral = environment(scratch)
    os.environ.clear()
    os.environ.update(neutral)
