"""The benchmark of tested merges: verdicts inherited by fingerprint, on a repository of four merges."""

from __future__ import annotations

import csv
import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, replace
from pathlib import Path

import pytest

from tests.bench.ase import Replay, find_mirror, replay, replay_repository
from tests.bench.replayed_merges import compare, read_out, tabulate
from tests.support.repos import Repo, make_repo

NAMES = ("left", "right", "merge", "left_tree_fingerprint", "gitmerge_ort", "gitmerge_ort_merge_fingerprint")
BASE = "".join(f"{name} = 1\n\n\n" for name in ("one", "two", "three"))
LIST = "import b\nimport d\n\nrun()\n"


def fingerprint(**files: str) -> str:
    rows = [f"{hashlib.sha256(text.encode()).hexdigest()}  ./{name}\n" for name, text in files.items()]
    return hashlib.sha256("".join(sorted(rows)).encode()).hexdigest()


def branch(repo: Repo, name: str, **files: str) -> str:
    repo.switch(name, new=True, start="start")
    return repo.commit(name, **{f"{path}_dot_py": text for path, text in files.items()})


def row(left: str, right: str, at_left: str, ort: tuple[str, str], mergiraf: tuple[str, str]) -> Mapping[str, str]:
    said = dict(zip(NAMES, (left, right, "0" * 40, at_left, *ort), strict=True))
    return {**said, "mergiraf": mergiraf[0], "mergiraf_merge_fingerprint": mergiraf[1]}


@pytest.fixture
def task(tmp_path: Path) -> Replay:
    """Make a mirror, and a benchmark that says how four merges of it came out."""
    repo = make_repo(tmp_path / "mirrors" / "Owner+Name", a_dot_py=BASE, b_dot_py=LIST)
    repo.branch("start")
    first, third = BASE.replace("one = 1", "one = 2"), BASE.replace("three = 1", "three = 3")
    both, bound = first.replace("three = 1", "three = 3"), BASE.replace("one = 1", "one = 4")
    left, far, near = (branch(repo, name, a=text) for name, text in (("l", first), ("f", third), ("n", bound)))
    listed, other = LIST.replace("import d", "import c\nimport d"), LIST.replace("import d", "import b2\nimport d")
    more, most = branch(repo, "m", b=listed), branch(repo, "o", b=other)
    at_left, clean = fingerprint(**{"a.py": first, "b.py": LIST}), fingerprint(**{"a.py": both, "b.py": LIST})
    united = fingerprint(**{"a.py": BASE, "b.py": LIST.replace("import d", "import c\nimport b2\nimport d")})
    rows = [
        row(left, far, at_left, ("Tests_failed", clean), ("Tests_failed", clean)),
        row(left, near, at_left, ("Merge_failed", at_left), ("Merge_failed", at_left)),
        row(more, most, fingerprint(**{"a.py": BASE, "b.py": listed}), ("Merge_failed", "0"), ("Tests_passed", united)),
        row(far, near, "another", ("Merge_failed", "0"), ("Merge_failed", "0")),
        row(far, left, at_left, ("Tests_timedout", "0"), ("Merge_failed", "0")),
        row("1" * 40, left, at_left, ("Merge_failed", "0"), ("Merge_failed", "0")),
    ]
    place = tmp_path / "results/combined/merges_tested/owner/name.csv"
    place.parent.mkdir(parents=True)
    with open(place, "w", newline="") as file:
        table = csv.DictWriter(file, rows[0].keys())
        table.writeheader()
        table.writerows(rows)
    mirror = find_mirror(tmp_path / "mirrors", "owner/name")
    assert mirror == (repo.path / ".git").resolve()
    (tmp_path / "scratch").mkdir()
    return Replay(slug="owner/name", data=tmp_path, mirror=mirror, scratch=tmp_path / "scratch")


def test_a_tree_inherits_the_verdict_of_its_fingerprint(task: Replay, tmp_path: Path) -> None:
    before = sorted(tmp_path.glob("mirrors/**/*"))
    merges, left_out = replay_repository(task)
    shown = [(one.outcome, one.state, one.git_same, one.tools["mergiraf"]) for one in merges]
    assert shown == [
        ("wrong", "would-land", True, "Tests_failed"),
        ("held", "conflict", None, "Merge_failed"),
        ("right", "would-land", None, "Tests_passed"),
    ]
    assert left_out == {
        "checked out in another way": 1,
        "not tested with every tool": 1,
        "not in the mirror": 1,
    }
    assert sorted(tmp_path.glob("mirrors/**/*")) == before
    # What has one answer for ever is not asked again.
    again, _ = replay_repository(task)
    assert [one.git_seconds for one in again] == [one.git_seconds for one in merges]
    timeless = [replace(one, seconds=0.1, git_seconds=0.01) for one in merges]
    assert [*tabulate(timeless, left_out)] == [
        "1 repositories, 3 merges; left out: 1 checked out in another way, 1 not in the mirror,"
        " 1 not tested with every tool",
        "git's own result is the published one in 1 of 1 clean merges",
        "               right     wrong      held   unknown  people's    failed       CPU",
        "git prun           1         1         1         0         0         0   0.100 s",
        "git ort            0         1         2                                 0.010 s",
        "mergiraf           1         1         1",
        "held as suspect: 0 right, 0 wrong, 0 unknown",
    ]


def test_what_came_out_in_another_way_is_shown(
    task: Replay, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    merges, _ = replay_repository(task)
    held = replace(merges[0], outcome="held", suspects=("a.py: main took it away",))
    for name, first in (("before", merges[0]), ("after", held)):
        rows = [json.dumps(asdict(one)) + "\n" for one in (first, *merges[1:])]
        (tmp_path / name).write_text("".join(rows))
    said = f"owner/name {held.left[:10]} {held.right[:10]}: wrong -> held (wrong); a.py: main took it away"
    assert [*compare(read_out(tmp_path / "before"), read_out(tmp_path / "after"))] == [said]
    assert replay(["--compare", str(tmp_path / "before"), str(tmp_path / "after")]) == 0
    assert capsys.readouterr().out == f"{said}\n"
