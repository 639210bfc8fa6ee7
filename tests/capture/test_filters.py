"""The user's content filters run where he or the base names them; nothing else runs, nothing is stored raw instead."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import pytest

from gitprun.capture.capture import Capture, capture
from gitprun.model.units import WorkspaceKind
from tests.support.repos import Repo, make_repo
from tests.support.workshop import RUN, Workshop, open_workshop


@pytest.fixture
def repo(tmp_path: Path, sealed: Path, monkeypatch: pytest.MonkeyPatch) -> Repo:
    """Make a repository whose base stores ``*.sec`` through ``rot``; the user knows ``up`` and ``lfs`` besides."""
    for name, program in {"rot": "tr a-zA-Z n-za-mN-ZA-M", "up": "tr a-z A-Z"}.items():
        (sealed / name).write_text(f"echo run >>{sealed}/{name}.ran; exec {program}\n")
    (sealed / "gitconfig").write_text(
        "".join(
            f'[filter "{name}"]\n\tclean = sh {sealed}/{name}\n\tsmudge = sh {sealed}/{name}\n'
            for name in ("rot", "up")
        )
    )
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(sealed / "gitconfig"))
    return make_repo(tmp_path / "repo", _dot_gitattributes="*.sec filter=rot\n", a_dot_sec="one\n", b_dot_txt="1\n")


def left_out(found: Capture) -> dict[str, str]:
    return {row.path: row.reason for row in found.left_out}


def again(shop: Workshop, **more: object) -> Capture:
    return capture(replace(shop.site, **more), RUN, shop.unit)  # type: ignore[arg-type]


@pytest.mark.parametrize("kind", ["clone", "worktree"])
def test_what_the_base_names_runs_for_new_places_too(repo: Repo, tmp_path: Path, kind: WorkspaceKind) -> None:
    shop = open_workshop(repo, tmp_path / "w", kind)
    shop.work.write("a.sec", "two\n")
    shop.work.write("new.sec", "three\n")
    shop.work.write(".gitattributes", "*.sec filter=rot\n*.more filter=rot\n")
    shop.work.write("x.more", "four\n")
    found = shop.capture()
    assert found.left_out == ()
    assert shop.files(found) == {
        ".gitattributes": "100644 *.sec filter=rot\n*.more filter=rot",
        "a.sec": "100644 gjb",
        "new.sec": "100644 guerr",
        "x.more": "100644 sbhe",
    }


@pytest.mark.parametrize("place", [".gitattributes", "sub/.gitattributes"])
def test_what_only_the_worker_names_does_not_run(repo: Repo, tmp_path: Path, sealed: Path, place: str) -> None:
    shop = open_workshop(repo, tmp_path / "w")
    folder = os.path.dirname(place)
    name = os.path.join(folder, "b.up")
    shop.work.write(place, "*.sec filter=rot\n*.up filter=up\nb.txt filter=up\n")
    shop.work.write(name, "abc\n")
    shop.work.write("b.txt", "2\n")
    found = shop.capture()
    assert (found.changed, left_out(found)) == (
        ("b.txt", place) if folder else (place,),
        {name: 'a filter the worker asked for (up); [collect] filters = ["up"] lets it run'}
        | ({} if folder else {"b.txt": 'a filter the worker asked for (up); [collect] filters = ["up"] lets it run'}),
    )
    assert not (sealed / "up.ran").exists()
    allowed = again(shop, filters=("up", "rot"))
    assert shop.files(allowed)[name] == "100644 ABC"
    assert (sealed / "up.ran").exists()


def test_what_the_user_does_not_name_does_not_run(repo: Repo, tmp_path: Path, sealed: Path) -> None:
    shop = open_workshop(repo, tmp_path / "w")
    (sealed / "rot.ran").unlink()
    shop.work.write("a.sec", "two\n")
    found = again(shop, filters=())
    assert (found.changed, left_out(found)) == ((), {"a.sec": "its filter rot is not among [collect] filters"})
    assert not (sealed / "rot.ran").exists()


def test_attributes_taken_away_lay_nothing_open(repo: Repo, tmp_path: Path) -> None:
    shop = open_workshop(repo, tmp_path / "w")
    (shop.path / ".gitattributes").unlink()
    shop.work.write("a.sec", "plain secret\n")
    shop.work.write("new.sec", "plain secret\n")
    found = shop.capture()
    reason = "the base stores it through the filter rot, which the worker's attributes take away"
    assert (found.changed, left_out(found)) == ((".gitattributes",), {"a.sec": reason, "new.sec": reason})


@pytest.mark.parametrize(
    ("program", "said"),
    [
        ("exit 3", "its filter rot (sh) failed: external filter 'sh {home}/rot' failed 3"),
        ("exec no-such-program", "its filter rot (sh) failed: {home}/rot: 1: exec: no-such-program: not found"),
    ],
)
def test_one_that_fails_costs_its_files_alone(
    repo: Repo, tmp_path: Path, sealed: Path, program: str, said: str
) -> None:
    shop = open_workshop(repo, tmp_path / "w")
    (sealed / "rot").write_text(f"{program}\n")
    for number in range(40):
        shop.work.write(f"{number}.sec", "plain\n")
    shop.work.write("a.sec", "plain\n")
    shop.work.write("b.txt", "2\n")
    found = shop.capture()
    assert found.changed == ("b.txt",)
    assert len(found.left_out) == 41
    assert {reason.partition("\n")[0] for reason in left_out(found).values()} == {said.format(home=sealed)}


def test_one_that_hangs_is_ended(repo: Repo, tmp_path: Path, sealed: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gitprun.capture.stage_paths.FILTER_TIMEOUT", 0.5)
    shop = open_workshop(repo, tmp_path / "w")
    (sealed / "rot").write_text("exec sleep 600\n")
    shop.work.write("a.sec", "plain\n")
    shop.work.write("b.txt", "2\n")
    found = shop.capture()
    assert (found.changed, left_out(found)) == (("b.txt",), {"a.sec": "its filter rot (sh) did not end within 0.5 s"})
    (sealed / "rot").write_text("exec tr a-zA-Z n-za-mN-ZA-M\n")
    assert shop.files(shop.capture()) == {"a.sec": "100644 cynva", "b.txt": "100644 2"}


def test_large_files_are_not_stored_whole_where_their_filter_is_not_set_up(repo: Repo, tmp_path: Path) -> None:
    pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:1\nsize 1\n"
    repo.commit("lfs", _dot_gitattributes="*.bin filter=lfs\n*.odd filter=other\n", old_dot_bin=pointer)
    shop = open_workshop(repo, tmp_path / "w")
    shop.work.write("old.bin", "the whole content\n")
    shop.work.write("new.bin", "the whole content\n")
    shop.work.write("pointer.bin", pointer)
    shop.work.write("x.odd", "x\n")
    found = shop.capture()
    reason = "its filter lfs (git-lfs) is not set up here, and stored as it is the whole file would be in the history"
    assert (found.changed, left_out(found)) == (("pointer.bin", "x.odd"), {"new.bin": reason, "old.bin": reason})
    assert found.notes == ("the filter other is not set up, so its files were stored as they are",)


def test_what_a_filter_stores_is_not_screened(repo: Repo, tmp_path: Path) -> None:
    shop = open_workshop(repo, tmp_path / "w")
    token = "gh" + "p_" + "aB3dE5fG7hI9jK1lM2nO4pQ6rS8tU0vWxYzA"
    shop.work.write("a.sec", token)
    shop.work.write("b.txt", token)
    found = shop.capture()
    assert (found.changed, left_out(found)) == (("a.sec",), {"b.txt": "line 1 looks like a GitHub token"})


def test_one_that_only_fills_the_checkout_is_no_matter(repo: Repo, tmp_path: Path) -> None:
    repo.git("config", "filter.down.smudge", "cat")
    repo.git("config", "filter.down.required", "false")
    shop = open_workshop(repo, tmp_path / "w")
    shop.work.write(".gitattributes", "*.sec filter=rot\n*.txt filter=down\n")
    shop.work.write("b.txt", "2\n")
    assert shop.files(shop.capture())["b.txt"] == "100644 2"
