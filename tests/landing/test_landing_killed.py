"""A landing killed at any step is brought to its end by the next one, and never at the cost of the user's work."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from gitprun.landing.landed import recover_landing
from gitprun.landing.move import CheckoutStuck
from gitprun.model.errors import OperationRefused, PrunError
from tests.support.landing import land_branches, landing_events, states
from tests.support.repos import Repo, make_repo

ROOT = Path(__file__).parents[2]
pytestmark = [pytest.mark.kill, pytest.mark.slow]


def ready(path: Path) -> Repo:
    repo = make_repo(path, a="1\n", b="1\n", c="1\n", gone="x\n", mine="1\n", swap="file\n")
    repo.switch("topic", new=True)
    repo.git("rm", "-q", "gone", "swap")
    repo.commit("topic", a="2\n", b="2\n", c="2\n", new__file="n\n", swap__inner="i\n")
    repo.switch("other", new=True, start="main")
    repo.commit("other", o="o\n")
    repo.switch("main")
    repo.write("mine", "human\n")
    repo.write("notes", "human\n")
    return repo


def kill_at(repo: Repo, moment: str, branches: str = "topic") -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tests.support.killed_landing", str(repo.path), branches, moment],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        check=False,
    )
    assert done.returncode == -signal.SIGKILL, done.stderr.decode()


def landed_whole(repo: Repo) -> None:
    assert repo.files()["a"] == "2"
    assert repo.status() == [" M mine", "?? notes"]
    assert {name: repo.read(name) for name in ("a", "b", "c", "mine", "new/file", "swap/inner")} == {
        "a": "2\n",
        "b": "2\n",
        "c": "2\n",
        "mine": "human\n",
        "new/file": "n\n",
        "swap/inner": "i\n",
    }
    assert not (repo.path / "gone").exists()
    repo.git("fsck", "--strict")


def test_killed_before_anything_moved(tmp_path: Path) -> None:
    repo = ready(tmp_path / "repo")
    old = repo.head
    kill_at(repo, "started")
    assert repo.head == old
    report = land_branches(repo, "topic")
    assert states(report) == {"topic": "landed"}
    assert report.notes[0] == "a landing on main was cut off before anything moved"
    landed_whole(repo)
    assert landing_events(repo) == [
        "landing.started",
        "landing.finished not-moved",
        "landing.started",
        "landing.landed topic",
        "landing.finished landed",
    ]


@pytest.mark.parametrize("moment", ["moved", "half", "torn", "followed", "recorded"])
def test_killed_after_the_branch_moved(tmp_path: Path, moment: str) -> None:
    repo = ready(tmp_path / "repo")
    kill_at(repo, moment)
    new = repo.head
    report = land_branches(repo, "other", "topic")
    assert states(report) == {"topic": "already-contained", "other": "landed"}
    assert report.old == new
    assert report.notes[0] == f"a landing on main that was cut off is complete now, at {new[:10]}"
    landed_whole(repo)
    assert landing_events(repo) == [
        "landing.started",
        "landing.landed topic",
        "landing.finished landed",
        "landing.started",
        "landing.landed other",
        "landing.finished landed",
    ]
    assert recover_landing(repo.repository, repo.ledger) == ()


def test_a_second_branch_is_recorded_too(tmp_path: Path) -> None:
    repo = ready(tmp_path / "repo")
    kill_at(repo, "recorded", "topic,other")
    assert landing_events(repo) == ["landing.started", "landing.landed topic"]
    recover_landing(repo.repository, repo.ledger)
    assert landing_events(repo)[2:] == ["landing.landed other", "landing.finished landed"]
    landed_whole(repo)


@pytest.mark.parametrize("moment", ["moved", "half"])
def test_an_edit_made_since_is_not_overwritten(tmp_path: Path, moment: str) -> None:
    repo = ready(tmp_path / "repo")
    kill_at(repo, moment)
    repo.write("c", "human\n")
    before = repo.git("ls-files", "-s"), repo.status()
    for _ in range(2):
        with pytest.raises(CheckoutStuck, match=r"stands half way between \w+ and \w+, and was edited: c"):
            land_branches(repo, "other")
    assert (repo.git("ls-files", "-s"), repo.status()) == before
    assert repo.read("c") == "human\n"
    # The hint: put it elsewhere, remove it there, go on.
    (repo.path / "c").unlink()
    assert states(land_branches(repo, "other")) == {"other": "landed"}
    landed_whole(repo)


def test_an_untracked_file_made_since_is_not_overwritten(tmp_path: Path) -> None:
    repo = ready(tmp_path / "repo")
    kill_at(repo, "moved")
    repo.write("new/file", "human\n")
    with pytest.raises(CheckoutStuck, match="edited: new/file"):
        land_branches(repo, "other")
    assert repo.read("new/file") == "human\n"


def test_the_user_went_on_by_himself(tmp_path: Path) -> None:
    repo = ready(tmp_path / "repo")
    kill_at(repo, "moved")
    repo.git("reset", "-q", "--keep", "HEAD~1", ok=(0, 128))
    repo.git("stash", "-q")
    repo.git("reset", "-q", "--hard", "HEAD")
    repo.commit("went on", later="l\n")
    report = land_branches(repo, "other")
    assert states(report) == {"other": "landed"}
    assert landing_events(repo)[1] in ("landing.landed topic", "landing.finished not-moved")


def test_edits_made_after_the_checkout_followed_stay(tmp_path: Path) -> None:
    repo = ready(tmp_path / "repo")
    kill_at(repo, "followed")
    repo.write("a", "human\n")
    repo.write("b", "1\n")
    recover_landing(repo.repository, repo.ledger)
    assert (repo.read("a"), repo.read("b")) == ("human\n", "1\n")


def test_git_itself_is_killed_while_it_writes(tmp_path: Path) -> None:
    repo = ready(tmp_path / "repo")
    repo.write(".git/info/attributes", "b filter=deadly\n")
    # Rehearsals have an index of their own; the real checkout does not.
    repo.git("config", "filter.deadly.clean", "cat")
    repo.git("config", "filter.deadly.smudge", 'test -n "$GIT_INDEX_FILE" || kill -9 $PPID; cat')
    old = repo.head
    with pytest.raises(CheckoutStuck, match=r"main moved to \w+, but .* could not follow: .*; nor could it go back"):
        land_branches(repo, "topic")
    assert repo.head != old
    lock = repo.path / ".git/index.lock"
    assert lock.exists()
    with pytest.raises(PrunError, match=r"stands half way between .*index\.lock"):
        land_branches(repo, "other")
    lock.unlink()
    repo.git("config", "filter.deadly.smudge", "cat")
    assert states(land_branches(repo, "other")) == {"other": "landed"}
    landed_whole(repo)


def test_a_checkout_that_cannot_follow_goes_back(tmp_path: Path) -> None:
    repo = ready(tmp_path / "repo")
    repo.write(".git/info/attributes", "b filter=broken\n")
    repo.git("config", "filter.broken.clean", "cat")
    # Works in the rehearsal and fails in earnest, once: going back needs it as well.
    script = f'test -n "$GIT_INDEX_FILE" || test -e {tmp_path}/once || {{ touch {tmp_path}/once; exit 1; }}; cat'
    repo.git("config", "filter.broken.smudge", script)
    repo.git("config", "filter.broken.required", "true")
    old = repo.head
    with pytest.raises(PrunError, match=r"could not follow: .*; main is back where it was"):
        land_branches(repo, "topic")
    assert repo.head == old
    assert repo.status() == [" M mine", "?? notes"]
    assert {name: repo.read(name) for name in ("a", "b", "c", "mine", "gone")} == {
        "a": "1\n",
        "b": "1\n",
        "c": "1\n",
        "mine": "human\n",
        "gone": "x\n",
    }
    assert landing_events(repo) == ["landing.started", "landing.finished taken-back"]
    assert states(land_branches(repo, "topic")) == {"topic": "landed"}
    landed_whole(repo)


def test_rooms_of_a_killed_landing_are_swept(tmp_path: Path) -> None:
    repo = ready(tmp_path / "repo")
    repo.hook("commit-msg", f"kill -9 $(cat {tmp_path}/pid)")
    script = (
        "import os, sys; open(sys.argv[1], 'w').write(str(os.getpid()));"
        "from pathlib import Path;"
        "from tests.support.landing import land_branches; from tests.support.repos import Repo;"
        "land_branches(Repo(Path(sys.argv[2])), 'topic')"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, str(tmp_path / "pid"), str(repo.path)],
        cwd=ROOT,
        capture_output=True,
        check=False,
    )
    assert done.returncode == -signal.SIGKILL, done.stderr.decode()
    rooms = tmp_path / "repo.prun" / "landing"
    assert len([*rooms.glob("*/hooks-*")]) == 1
    # As an older version left one.
    (mark,) = rooms.iterdir()
    repo.git("worktree", "add", "-q", "--detach", str(mark / "hooks-old"))
    foreign = tmp_path / "repo.prun" / "landing" / "0123456789" / "hooks-x"
    foreign.mkdir(parents=True)
    (repo.path / ".git/hooks/commit-msg").unlink()
    assert states(land_branches(repo, "topic")) == {"topic": "landed"}
    assert len(repo.git("worktree", "list").splitlines()) == 1
    assert sorted(path.name for path in (tmp_path / "repo.prun" / "landing").iterdir()) == ["0123456789"]


def test_a_dry_run_does_not_repair(tmp_path: Path) -> None:
    repo = ready(tmp_path / "repo")
    kill_at(repo, "moved")
    before = repo.status()
    with pytest.raises(OperationRefused, match="has staged changes"):
        land_branches(repo, "other", dry_run=True)
    assert repo.status() == before
