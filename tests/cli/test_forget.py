"""``git prun resolve --forget``, and ``git prun undo``: a wrong resolution does not come back."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.cli import Said
from tests.support.inside import inside
from tests.support.landing import land_branches, states
from tests.support.repos import Repo, make_repo

Prun = Callable[..., Said]


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    made = make_repo(tmp_path / "r", d__a_dot_txt="1\n", b_dot_txt="2\n", gone_dot_txt="1\n2\n3\n")
    made.switch("topic", new=True)
    made.git("rm", "-q", "gone.txt")
    made.commit("topic", d__a_dot_txt="topic\n", b_dot_txt="topic 2\n")
    made.switch("main")
    made.commit("main", d__a_dot_txt="main\n", b_dot_txt="main 2\n", gone_dot_txt="1\n2\n3\n4\n")
    return made


@pytest.fixture
def prun(repo: Repo, capsys: pytest.CaptureFixture[str]) -> Prun:
    return lambda *words: inside(capsys, repo.path, *words)


def resolve(repo: Repo, prun: Prun) -> None:
    """Resolve all three conflicts, and land."""
    prun("resolve", "topic")
    work = Repo(repo.path.parent / "r.prun" / "resolve" / "topic")
    work.write("d/a.txt", "WRONG\n")
    work.write("b.txt", "both\n")
    said = prun("resolve", "topic", "--continue", "--no-verify", "--take", "gone.txt=delete")
    assert said.code == 0, said.err


def conflicts(repo: Repo) -> list[str]:
    """Ask what a merge of the branch would leave."""
    [item] = land_branches(repo, "topic", dry_run=True).items
    return [one.path for one in item.conflicts if not one.would_settle] or [item.state]


def back(repo: Repo) -> None:
    """Take the merge out of the branch by git alone, so that what was recorded is all there is."""
    repo.git("reset", "-q", "--hard", "HEAD^1")


def forgotten(repo: Repo) -> list[tuple[str, list[str]]]:
    """List what the ledger says was forgotten, and by what word."""
    events = [event for event in repo.ledger.read().events if event.kind == "resolve.forgotten"]
    return [
        (event.payload.as_json()["by"], sorted(path for path, _ in event.payload.as_json()["rows"])) for event in events
    ]


@pytest.mark.parametrize(
    ("word", "paths"),
    [
        ("d/a.txt", ["d/a.txt"]),
        ("d", ["d/a.txt"]),
        ("d/", ["d/a.txt"]),
        ("gone.txt", ["gone.txt"]),
        ("topic", ["b.txt", "d/a.txt", "gone.txt"]),
    ],
)
def test_what_is_forgotten_is_asked_anew(repo: Repo, prun: Prun, word: str, paths: list[str]) -> None:
    resolve(repo, prun)
    back(repo)
    assert conflicts(repo) == ["would-land"]
    said = prun("resolve", "--forget", word)
    folder = repo.path / ".git" / "prun" / "resolutions"
    assert (said.code, said.out, said.err) == (
        0,
        "".join(f"{path}: forgotten; the next merge asks anew\n" for path in paths),
        f"hint: the texts are kept in {folder / 'forgotten'}\n",
    )
    assert (conflicts(repo), forgotten(repo)) == (paths, [(word, paths)])
    assert len(list((folder / "forgotten").iterdir())) == len(paths)
    said = prun("resolve", "--forget", word)
    assert (said.code, said.err) == (
        1,
        f"error: nothing is recorded for {word}\nhint: name a path that was in conflict, a branch or a unit\n",
    )


def test_a_branch_is_forgotten_while_it_has_landed(repo: Repo, prun: Prun) -> None:
    resolve(repo, prun)
    assert prun("resolve", "--forget", "topic").code == 0
    back(repo)
    assert conflicts(repo) == ["b.txt", "d/a.txt", "gone.txt"]


def test_what_no_row_names_is_known_by_the_versions(repo: Repo, prun: Prun) -> None:
    resolve(repo, prun)
    back(repo)
    # As version 0.1.0 left it, which wrote no row.
    ledger = repo.repository.state / "ledger.jsonl"
    ledger.write_bytes(b"".join(line for line in ledger.read_bytes().splitlines(True) if b"resolve." not in line))
    assert prun("resolve", "--forget", "topic").code == 0
    assert conflicts(repo) == ["b.txt", "d/a.txt", "gone.txt"]


def test_undo_forgets_what_the_landing_used(repo: Repo, prun: Prun) -> None:
    resolve(repo, prun)
    said = prun("undo")
    assert (said.code, said.err.splitlines()[0], said.err.splitlines()[-1]) == (
        0,
        "the resolution of b.txt, d/a.txt, gone.txt is forgotten: the next merge asks anew",
        "hint: git prun resolve topic opens the conflict again",
    )
    assert forgotten(repo) == [("undo", ["b.txt", "d/a.txt", "gone.txt"])]
    assert states(land_branches(repo, "topic")) == {"topic": "conflict"}
    assert prun("resolve", "topic").code == 0
    assert (repo.path.parent / "r.prun/resolve/topic/d/a.txt").read_text().startswith("<<<<<<< main side (main)\n")


def test_a_dry_run_forgets_nothing(repo: Repo, prun: Prun) -> None:
    resolve(repo, prun)
    said = prun("undo", "--dry-run")
    assert said.err.splitlines()[0] == (
        "the resolution of b.txt, d/a.txt, gone.txt would be forgotten: the next merge asks anew"
    )
    assert prun("undo", "--dry-run", "--json").json["forgotten"] == ["b.txt", "d/a.txt", "gone.txt"]
    assert forgotten(repo) == []
    back(repo)
    assert conflicts(repo) == ["would-land"]


def test_redo_brings_back_what_was_reverted(repo: Repo, prun: Prun) -> None:
    resolve(repo, prun)
    repo.commit("later", later="l\n")
    assert prun("undo", "topic").code == 0
    assert (repo.read("d/a.txt"), forgotten(repo)[0][0]) == ("main\n", "undo")
    assert prun("undo", "--redo", "topic", "--no-verify").code == 0
    assert (repo.read("d/a.txt"), repo.read("b.txt"), (repo.path / "gone.txt").exists()) == ("WRONG\n", "both\n", False)


def test_what_others_resolved_stays(repo: Repo, prun: Prun) -> None:
    repo.git("branch", "other", "topic")
    resolve(repo, prun)
    repo.git("branch", "late", "main~1")
    repo.switch("late")
    repo.commit("late", late="l\n")
    repo.switch("main")
    assert prun("merge", "late", "--no-verify").code == 0
    # A landing that used no recorded resolution takes none with it.
    assert prun("undo", "late").code == 0
    assert forgotten(repo) == []


def test_forget_goes_with_nothing_else(repo: Repo, prun: Prun) -> None:
    assert prun("resolve", "--forget", "x", "--abort").err.startswith(
        "error: --continue, --abort and --forget exclude each other\n"
    )
