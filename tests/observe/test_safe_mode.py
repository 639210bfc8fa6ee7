"""A worker in a linked worktree plants a program in the user's settings: nothing prun does starts it."""

from __future__ import annotations

from pathlib import Path

import pytest

from gitprun.git.command import NEUTRAL
from gitprun.model.errors import OperationRefused
from gitprun.observe.safe_mode import SafeMode, fingerprint, require_trusted_config, trust
from tests.support.cli import prun
from tests.support.repos import Repo, make_repo


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    repo = make_repo(tmp_path / "user", a_dot_txt="1\n")
    repo.git("config", "filter.lfs.clean", "cat")
    return repo


def keep(repo: Repo) -> Path:
    folder = repo.repository.state / "runs" / "r1" / "keep"
    trust(repo.repository, folder)
    return folder


def test_what_was_there_before_is_the_users(repo: Repo) -> None:
    keep(repo)
    caution = SafeMode(repo.repository)
    assert (caution(), caution.changed()) == ((), "")


def test_what_people_set_while_they_work_changes_nothing(repo: Repo) -> None:
    keep(repo)
    repo.git("config", "branch.main.remote", "origin")
    repo.git("config", "remote.origin.url", "https://example.test/x")
    repo.git("config", "user.name", "Somebody")
    assert SafeMode(repo.repository)() == ()


def test_a_new_program_takes_all_programs_out_of_play(repo: Repo) -> None:
    keep(repo)
    caution = SafeMode(repo.repository)
    assert caution() == ()
    repo.git("config", "filter.x.process", "/planted")
    expected = (
        *NEUTRAL,
        "filter.lfs.clean=",
        "filter.lfs.smudge=",
        "filter.lfs.process=",
        "filter.lfs.required=false",
        "filter.x.clean=",
        "filter.x.smudge=",
        "filter.x.process=",
        "filter.x.required=false",
    )
    assert caution() == expected
    repo.git("config", "--unset", "filter.x.process")
    assert caution() == ()


@pytest.mark.parametrize("place", ["hooks/post-merge", "info/attributes", "config.worktree"])
def test_files_beside_the_settings_count_too(repo: Repo, place: str) -> None:
    keep(repo)
    repo.write(f".git/{place}", "[core]\n\tfsmonitor = x\n" if place == "config.worktree" else "x\n", executable=True)
    said = "core.fsmonitor" if place == "config.worktree" else place
    assert SafeMode(repo.repository).changed() == said
    with pytest.raises(OperationRefused, match=f"{said} of your repository changed while a worker shared it"):
        require_trusted_config(repo.repository)


def test_settings_git_cannot_read_are_a_change(repo: Repo) -> None:
    keep(repo)
    caution = SafeMode(repo.repository)
    (repo.path / ".git" / "config").write_text("[core\n")
    assert caution.changed() == "config"


def test_where_nothing_is_kept_any_more_nothing_is_compared(repo: Repo) -> None:
    folder = keep(repo)
    repo.git("config", "core.fsmonitor", "/planted")
    (folder / "trusted.json").unlink()
    folder.rmdir()
    assert SafeMode(repo.repository).changed() == ""
    assert list((repo.repository.state / "trusted").iterdir()) == []


def test_what_is_accepted_is_the_users(repo: Repo) -> None:
    folder = keep(repo)
    repo.git("config", "core.fsmonitor", "/planted")
    trust(repo.repository, folder, anew=True)
    assert SafeMode(repo.repository).changed() == ""
    assert "config core.fsmonitor" in fingerprint(repo.repository.common)


def test_nothing_planted_runs_and_nothing_lands_until_it_is_settled(tmp_path: Path) -> None:
    repo = make_repo(tmp_path / "user", a_dot_txt="1\n", b_dot_txt="1\n")
    repo.write("b.txt", "edited by hand\n")
    planted = f'git config --file "$PRUN_REPO/.git/config" filter.x.clean "touch {tmp_path}/fired; cat"'
    attributes = 'echo "* filter=x" >"$PRUN_REPO/.git/info/attributes"'
    script = tmp_path / "worker.sh"
    script.write_text(f"echo 2 >a.txt\n{planted}\n{attributes}\n")
    unit = ("--unit", "id=u", "--unit", "executor=command", "--unit", f"command=sh {script}")
    said = prun(repo.path, "run", *unit, "--unit", "workspace=worktree", "--prompt", "x", "--verify", "true")
    assert said.code == 0, said.err
    landed = prun(repo.path, "merge", "u")
    assert landed.code == 1
    assert landed.err.splitlines()[0].endswith(
        "of your repository changed while a worker shared it, and may name a program of its"
    )
    assert prun(repo.path, "undo", "--drift", "u").code == 0
    assert prun(repo.path, "merge", "u").code == 0
    assert repo.read("a.txt") == "2\n"
    assert not (tmp_path / "fired").exists()
