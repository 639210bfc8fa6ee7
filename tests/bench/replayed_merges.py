"""What came of merges whose results were tested: the table, and what differs between two replays of them."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path

PASSED, FAILED = "Tests_passed", "Tests_failed"
OTHERS = {"git ort": "gitmerge_ort", "mergiraf": "mergiraf"}
OUTCOMES = ("right", "wrong", "held", "unknown", "people's", "failed")


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplayedMerge:
    """What came of one merge.

    ``outcome`` is one of OUTCOMES, ``verdict`` the one its tree inherits, held or not (empty: nobody made that tree).
    ``tools`` are the verdicts of OTHERS. Times are in seconds of processor time.
    """

    repo: str
    left: str
    right: str
    merge: str
    outcome: str
    verdict: str = ""
    state: str = ""
    reason: str = ""
    suspects: tuple[str, ...] = ()
    resolved: tuple[str, ...] = ()
    conflicts: tuple[str, ...] = ()
    tree: str = ""
    fingerprint: str = ""
    tools: Mapping[str, str]
    seconds: float = 0.0
    git_tree: str = ""
    git_seconds: float = 0.0
    git_same: bool | None = None

    @property
    def key(self) -> tuple[str, str, str]:
        """Name the merge."""
        return self.repo, self.left, self.right


def tabulate(merges: Sequence[ReplayedMerge], left_out: Mapping[str, int]) -> Iterator[str]:
    """Write the table."""
    without = ", ".join(f"{many} {why}" for why, many in sorted(left_out.items())) or "none"
    yield f"{len({one.repo for one in merges})} repositories, {len(merges)} merges; left out: {without}"
    same = [one.git_same for one in merges if one.git_same is not None]
    yield f"git's own result is the published one in {sum(same)} of {len(same)} clean merges"
    many = max(1, len(merges))
    yield f"{'':<10}" + "".join(f"{name:>10}" for name in (*OUTCOMES, "CPU"))
    counts = Counter(one.outcome for one in merges)
    seconds = sum(one.seconds for one in merges) / many
    yield f"{'git prun':<10}" + "".join(f"{counts[name]:>10}" for name in OUTCOMES) + f"{seconds:>8.3f} s"
    for tool in OTHERS:
        said = Counter(one.tools[tool] for one in merges)
        right, wrong = said[PASSED], said[FAILED]
        spent = f"{sum(one.git_seconds for one in merges) / many:>38.3f} s" if tool == "git ort" else ""
        yield f"{tool:<10}{right:>10}{wrong:>10}{len(merges) - right - wrong:>10}{spent}"
    doubted = Counter(one.verdict or "unknown" for one in merges if one.suspects)
    yield "held as suspect: " + ", ".join(f"{doubted[name]} {name}" for name in ("right", "wrong", "unknown"))


def read_out(path: Path) -> dict[tuple[str, str, str], ReplayedMerge]:
    """Read what ``--out`` wrote, by merge."""
    names = {each.name for each in fields(ReplayedMerge)}
    rows = (json.loads(line) for line in path.read_text().splitlines())
    merges = (ReplayedMerge(**{name: value for name, value in row.items() if name in names}) for row in rows)
    return {one.key: one for one in merges}


def compare(
    before: Mapping[tuple[str, str, str], ReplayedMerge], after: Mapping[tuple[str, str, str], ReplayedMerge]
) -> Iterable[str]:
    """Tell which merges came out in another way, and why."""
    for key in sorted(before.keys() & after.keys()):
        old, new = before[key], after[key]
        if (old.outcome, old.verdict) != (new.outcome, new.verdict):
            found = [one.suspects or one.conflicts for one in (new, old)]
            why = "; ".join(found[0] or found[1]) or new.reason or old.reason
            yield f"{key[0]} {key[1][:10]} {key[2][:10]}: {_say(old)} -> {_say(new)}; {why}"
    alone = before.keys() ^ after.keys()
    if alone:
        yield f"{len(alone)} merges are in one of the two only"


def _say(one: ReplayedMerge) -> str:
    return f"held ({one.verdict})" if one.outcome == "held" and one.verdict else one.outcome
