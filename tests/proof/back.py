"""Branches that take work of others back, or bring half of what was taken out; and honest ones that look alike."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from tests.proof.rows import Row, Size
from tests.support.forker import Forker
from tests.support.repos import Repo, make_repo

_LINES = "".join(f"{number}\n" for number in range(12))
Way = Callable[[Repo, Callable[..., int]], None]


def _begin(repo: Repo) -> None:
    """Give topic a commit, and main one that came after topic began."""
    repo.switch("topic", new=True)
    repo.commit("mine", mine="2\n")
    repo.switch("main")
    repo.commit("theirs", other="o\n", s="s2\n", t="t2\n")


def _on_main(repo: Repo, *words: str) -> None:
    repo.switch("topic")
    for word in words:
        repo.git(*word.split(" "))
    repo.switch("main")


def old_tree(repo: Repo, _: Callable[..., int]) -> None:
    """Commit its own tree on the main of now."""
    _begin(repo)
    _on_main(repo, "reset -q --soft main", "commit -q -m mine")


def old_tree_without_reflog(repo: Repo, _: Callable[..., int]) -> None:
    """Do the same where nobody knows where it began."""
    old_tree(repo, _)
    (repo.path / ".git/logs/refs/heads/topic").unlink()


def stale_file(repo: Repo, _: Callable[..., int]) -> None:
    """Write a file as it was before, after main was fetched into the branch."""
    _begin(repo)
    _on_main(repo, "merge -q --no-edit main")
    repo.switch("topic")
    repo.commit("more", s="s1\n", mine="3\n")
    repo.switch("main")


def deleted_additions(repo: Repo, _: Callable[..., int]) -> None:
    """Delete what main added, after a rebase onto it."""
    _begin(repo)
    _on_main(repo, "rebase -q main", "rm -q other", "commit -q -m tidy")


def one_side_of_all(repo: Repo, _: Callable[..., int]) -> None:
    """Merge main, and keep nothing of it."""
    _begin(repo)
    _on_main(repo, "merge -q --no-edit -s ours main")


def _landed(repo: Repo, prun: Callable[..., int]) -> None:
    repo.switch("topic", new=True)
    repo.commit("first half", one="1\n")
    repo.switch("main")
    assert prun("merge", "--no-verify", "topic") == 0


def _second_half(repo: Repo) -> None:
    repo.switch("topic")
    repo.commit("second half", two="2\n")
    repo.switch("main")


def undone(repo: Repo, prun: Callable[..., int]) -> None:
    """Go on with a branch whose landing was undone."""
    _landed(repo, prun)
    repo.commit("since", since="1\n")
    assert prun("undo") == 0
    _second_half(repo)


def reverted_by_hand(repo: Repo, prun: Callable[..., int]) -> None:
    """Go on with a branch that git revert took out."""
    _landed(repo, prun)
    repo.git("revert", "--no-edit", "-m", "1", "HEAD")
    _second_half(repo)


def taken_out_in_other_words(repo: Repo, prun: Callable[..., int]) -> None:
    """Go on with a branch that a commit took out without saying so."""
    _landed(repo, prun)
    (repo.path / "one").unlink()
    repo.commit("tidy up")
    _second_half(repo)


def stacked(repo: Repo, prun: Callable[..., int]) -> None:
    """Build another branch on one that was taken out."""
    reverted_by_hand(repo, prun)
    repo.git("branch", "-m", "topic", "first")
    repo.git("branch", "topic", "first")


def rebased(repo: Repo, _: Callable[..., int]) -> None:
    """Follow main by a rebase."""
    _begin(repo)
    _on_main(repo, "rebase -q main")


def followed(repo: Repo, _: Callable[..., int]) -> None:
    """Follow main by a merge."""
    _begin(repo)
    _on_main(repo, "merge -q --no-edit main")


def said_so(repo: Repo, _: Callable[..., int]) -> None:
    """Take it back, and say so."""
    _begin(repo)
    theirs = repo.head
    _on_main(repo, "rebase -q main", f"revert --no-edit {theirs}")


def one_older_version(repo: Repo, _: Callable[..., int]) -> None:
    """Give one file of several its older text, where nobody knows where the branch began."""
    _begin(repo)
    _on_main(repo, "rebase -q main")
    repo.switch("topic")
    repo.commit("s is better as it was", s="s1\n")
    repo.switch("main")
    (repo.path / ".git/logs/refs/heads/topic").unlink()


def brought_back(repo: Repo, prun: Callable[..., int]) -> None:
    """Go on after the revert was reverted."""
    _landed(repo, prun)
    repo.git("revert", "--no-edit", "-m", "1", "HEAD")
    repo.git("revert", "--no-edit", "HEAD")
    _second_half(repo)


def settled_a_conflict(repo: Repo, _: Callable[..., int]) -> None:
    """Merge main, and take one's own side where both had changed one line."""
    repo.switch("topic", new=True)
    repo.commit("mine", s="mine\n")
    repo.switch("main")
    repo.commit("theirs", s="theirs\n", long=_LINES + "end\n")
    repo.switch("topic")
    repo.git("merge", "-q", "--no-edit", "main", ok=(1,))
    repo.commit("merge main", s="mine\n")
    repo.switch("main")


BACK = (old_tree, old_tree_without_reflog, stale_file, deleted_additions, one_side_of_all)
OUT = (undone, reverted_by_hand, taken_out_in_other_words, stacked)
HONEST = (rebased, followed, said_so, one_older_version, brought_back, settled_a_conflict)


def back(folder: Path, size: Size) -> Row:
    """Land each of them; those that take back stay out with a reason, the honest ones are in."""
    faults: list[str] = []
    ways = (*BACK, *OUT, *HONEST)[:: 5 if size == "quick" else 1]
    with Forker() as forker:
        for way in ways:
            faults += [f"{way.__name__}: {fault}" for fault in _try(folder / way.__name__, way, forker)]
    return Row(
        trial=f"{len(ways)} branches: {len(BACK)} take back, {len(OUT)} were taken out, {len(HONEST)} are honest",
        must="nothing of main is gone, no half lands, the honest land; forecast and dry run say the same",
        found=f"{len(faults)} faults",
        faults=tuple(faults),
    )


def _try(folder: Path, way: Way, forker: Forker) -> list[str]:
    repo = make_repo(folder, mine="1\n", s="s1\n", t="t1\n", long=_LINES)
    way(repo, lambda *words: forker.run(repo.path, *words).code)
    before, faults = repo.head, []
    honest = way in HONEST
    ahead = forker.run(repo.path, "forecast", "topic")
    dry = forker.run(repo.path, "merge", "--no-verify", "--dry-run", "topic")
    if repo.head != before:
        faults.append("looking moved main")
    done = forker.run(repo.path, "merge", "--no-verify", "topic")
    codes = ahead.code, dry.code, done.code
    if codes != ((0, 0, 0) if honest else (1, 1, 1)):
        faults.append(f"exit codes of forecast, dry run and landing: {codes}: {(done.out + done.err)[-300:]}")
    if (repo.head == before) is honest:
        faults.append("it did not land" if honest else "it landed")
    said = done.out + done.err
    if not honest and not any(word in said for word in ("takes back", "took", "taken", "threw", "revert")):
        faults.append(f"no reason: {said[-300:]}")
    return faults
