"""Merges inside a branch: what they lost that was in no conflict is suspect; whole files left out are told."""

from __future__ import annotations

from pathlib import Path

from gitprun.landing.plan import LandingReport
from gitprun.model.findings import Suspect
from gitprun.model.names import Oid
from tests.support.landing import candidate, land_branches, states
from tests.support.repos import make_repo

LINES = [f"{number}\n" for number in range(12)]


def text(**changed: str) -> str:
    """Write the lines, some of them otherwise (``l3="three"``)."""
    return "".join(f"{changed[f'l{n}']}\n" if f"l{n}" in changed else line for n, line in enumerate(LINES))


class Scene:
    """A branch ``topic`` and main that both went on from one file."""

    def __init__(self, path: Path, topic: str, main: str, **more: str) -> None:
        self.repo = repo = make_repo(path, f=text(), **more)
        repo.switch("topic", new=True)
        repo.commit("topic", f=topic, mine="m\n")
        repo.switch("main")
        self.main = repo.commit("main", f=main)
        repo.switch("topic")

    def merge(self, result: str, **files: str) -> Oid:
        """Commit a merge of main into the branch, with this result."""
        self.repo.git("merge", "-q", "--no-commit", "--no-ff", "main", ok=(0, 1))
        return self.repo.commit("Merge main", f=result, **files)

    def land(self) -> LandingReport:
        self.repo.switch("main")
        return land_branches(self.repo, candidate(self.repo, "topic"))

    def threw_away(self, merge: Oid, path: str = "f") -> tuple[Suspect, ...]:
        reason = f"the merge {merge[:10]} in the branch threw away what {self.main[:10]} had changed here"
        return (Suspect(path=path, reason=reason),)


def test_a_conflict_settled_by_taking_one_side(tmp_path: Path) -> None:
    scene = Scene(tmp_path / "repo", text(l3="ours"), text(l3="theirs"))
    scene.merge(text(l3="ours"))
    report = scene.land()
    assert (states(report), report.notes) == ({"topic": "landed"}, ())


def test_a_change_beside_the_conflict_that_went_with_it(tmp_path: Path) -> None:
    scene = Scene(tmp_path / "repo", text(l3="ours"), text(l3="theirs", l9="fix"))
    merge = scene.merge(text(l3="ours"))
    assert scene.land().items[0].suspects == scene.threw_away(merge)


def test_a_conflict_settled_by_hand_that_lost_a_change_beside_it(tmp_path: Path) -> None:
    scene = Scene(tmp_path / "repo", text(l3="ours"), text(l3="theirs", l9="fix"))
    merge = scene.merge(text(l3="both of us"))
    assert scene.land().items[0].suspects == scene.threw_away(merge)


def test_later_work_in_the_file_hides_nothing(tmp_path: Path) -> None:
    scene = Scene(tmp_path / "repo", text(l3="ours"), text(l9="fix"))
    merge = scene.merge(text(l3="ours"))
    scene.repo.commit("more", f=text(l3="ours", l0="more"))
    assert scene.land().items[0].suspects == scene.threw_away(merge)


def test_what_the_branch_has_again_is_not_lost(tmp_path: Path) -> None:
    scene = Scene(tmp_path / "repo", text(l3="ours"), text(l9="fix"))
    scene.merge(text(l3="ours"))
    scene.repo.commit("and the fix", f=text(l3="ours", l9="fix"))
    report = scene.land()
    assert (states(report), report.notes) == ({"topic": "landed"}, ())


def test_a_merge_that_went_on_from_what_both_have(tmp_path: Path) -> None:
    scene = Scene(tmp_path / "repo", text(l3="ours"), text(l9="fix"))
    scene.merge(text(l3="ours", l9="fix, better", l6="needed by both"))
    assert states(scene.land()) == {"topic": "landed"}


def test_a_file_that_only_moved_in_the_merge(tmp_path: Path) -> None:
    scene = Scene(tmp_path / "repo", text(), text(l9="fix"))
    scene.repo.git("merge", "-q", "--no-commit", "--no-ff", "main")
    scene.repo.git("mv", "mine", "mine-2")
    scene.repo.git("commit", "-q", "-m", "Merge main")
    report = scene.land()
    assert (states(report), report.notes) == ({"topic": "landed"}, ())


def test_whole_files_are_told(tmp_path: Path) -> None:
    scene = Scene(tmp_path / "repo", text(), text(l9="fix"), old="o\n")
    repo = scene.repo
    repo.switch("main")
    repo.git("rm", "-q", "old")
    main = repo.commit("without old, with new", new="n\n", new2="n2\n")
    repo.switch("topic")
    repo.git("merge", "-q", "--no-commit", "--no-ff", "main")
    repo.git("rm", "-q", "-f", "new")
    merge = repo.commit("Merge main", old="o\n")
    report = scene.land()
    said = f"the merge {merge[:10]} in the branch"
    # That the deleted file is there again takes back all of a commit of main, too.
    taken = f"the branch takes back what {main[:10]} did here, and no commit of it says so"
    assert report.items[0].suspects == (Suspect(path="new", reason=taken), Suspect(path="old", reason=taken))
    assert report.notes == (
        f"topic: new: {said} left out what {main[:10]} had added",
        f"topic: old: {said} kept what {main[:10]} had deleted",
    )


def test_files_that_are_no_text_and_modes(tmp_path: Path) -> None:
    scene = Scene(tmp_path / "repo", text(), text(), script="s\n", picture="\0" + "1")
    repo = scene.repo
    repo.switch("main")
    (repo.path / "script").chmod(0o755)
    repo.commit("main again", picture="\0" + "2", beside="b\n")
    scene.main = repo.head
    repo.switch("topic")
    repo.git("merge", "-q", "-s", "ours", "-m", "Merge main", "main")
    merge = repo.head
    repo.commit("with the file", beside="b\n")
    found = {one.path: one.reason for one in scene.land().items[0].suspects}
    reason = scene.threw_away(merge)[0].reason
    assert found == {"picture": reason, "script": reason}


def test_a_merge_of_branches_that_had_crossed(tmp_path: Path) -> None:
    repo = make_repo(tmp_path / "repo", f=text())
    repo.switch("topic", new=True)
    repo.commit("topic", f=text(l0="t"))
    repo.switch("side", new=True, start="main")
    repo.commit("side", f=text(l11="s"))
    one, two = repo.oid("topic"), repo.oid("side")
    repo.git("merge", "-q", "--no-edit", one)
    repo.commit("side goes on", f=text(l0="t", l11="s", l6="fix"))
    repo.switch("topic")
    repo.git("merge", "-q", "--no-edit", two)
    repo.git("merge", "-q", "-s", "ours", "-m", "crossed", "side")
    merge = repo.head
    repo.switch("main")
    [item] = land_branches(repo, "topic").items
    reason = f"the merge {merge[:10]} in the branch threw away what {repo.oid('side')[:10]} had changed here"
    assert item.suspects == (Suspect(path="f", reason=reason),)
