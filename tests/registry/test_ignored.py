"""Ignored files are work too: what no tool makes again is kept for a while when its workspace goes."""

from __future__ import annotations

import json
import stat
from pathlib import Path

import pytest

from gitprun.capture.regenerable import is_regenerable
from gitprun.ledger.ledger import Ledger
from gitprun.model.errors import OperationRefused
from gitprun.model.units import WorkspaceKind
from gitprun.recovery.gc import GcReport, collect_garbage
from gitprun.recovery.gc_plan import DAY, GcScope
from gitprun.registry.ignored import list_kept
from tests.support.cli import prun
from tests.support.inside import inside
from tests.support.killed_step import prun_and_die
from tests.support.repos import Repo, make_repo
from tests.support.runs import RESULT, run_units, sh, unit_of, workspace
from tests.support.workshop import open_workshop

IGNORED = ".env*\n*.sqlite\nnode_modules/\n__pycache__/\n*.pyc\nbuild/\ndata/\nlink\nfifo\n.venv/\nmyenv/\nrun\n"


class LaterClock:
    """A clock that is some days ahead."""

    def __init__(self, days: float) -> None:
        self.days = days

    def now(self) -> float:
        """Give seconds since 1970."""
        return 1_900_000_000.0 + self.days * DAY

    def monotonic(self) -> float:
        """Give seconds that never go back."""
        return 0.0


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    return make_repo(tmp_path / "repo", a_dot_txt="1\n", _dot_gitignore=IGNORED)


def kept(repo: Repo) -> dict[str, dict[str, str]]:
    """Read all that is kept: whose it is, and the text of each file."""
    rows = list_kept(repo.repository.state)
    return {row.name: {path: (Path(row.folder) / path).read_text() for path in row.paths} for row in rows}


def trash(repo: Repo) -> Path:
    return repo.repository.state / "trash"


@pytest.mark.parametrize(
    "path",
    [
        *(
            "__pycache__/",
            "web/node_modules/",
            ".venv/",
            "target/",
            ".tox/",
            ".mypy_cache/",
            "dist/",
            "build/",
            ".next/",
        ),
        *("a/b.pyc", "x.o", "lib/y.so.1", ".coverage.host.12", "foo.egg-info/", "a/.DS_Store", ".cargo/registry/x"),
        *("my/models/", "my/models/deep/x.bin"),
    ],
)
def test_what_a_tool_makes_again(path: str) -> None:
    assert is_regenerable(path, ("my/models",))


@pytest.mark.parametrize(
    "path",
    [".env", "db.sqlite", "notes.local.md", "data/", "secrets/key.pem", "out/report.md", "train.log", "targets.md"],
)
def test_what_nobody_makes_again(path: str) -> None:
    assert not is_regenerable(path, ("my/models",))


@pytest.mark.parametrize("kind", ["clone", "worktree"])
def test_it_is_kept_as_plain_files_for_nobody_else(repo: Repo, tmp_path: Path, kind: WorkspaceKind) -> None:
    shop = open_workshop(repo, tmp_path / "w", kind)
    for name in (".env", "data/deep/db", "node_modules/x/index.js", "a/__pycache__/m.pyc", ".prun/picture.png"):
        shop.work.write(name, f"{name}\n")
    (shop.path / ".env").chmod(0o644)
    shop.work.write("z", "z\n")
    shop.finish()
    removal = shop.remove()
    assert removal.kept_files == (".env", ".prun/picture.png", "data/deep/db")
    assert kept(repo) == {
        "r1/u": {".env": ".env\n", ".prun/picture.png": ".prun/picture.png\n", "data/deep/db": "data/deep/db\n"}
    }
    folder = Path(removal.kept)
    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in folder.rglob("*") if path.is_file()}
    assert (modes, stat.S_IMODE(folder.stat().st_mode)) == ({".env": 0o600, "picture.png": 0o600, "db": 0o600}, 0o700)
    assert "data" not in repo.git("log", "--all", "--format=", "--name-only")
    row = next(event for event in repo.ledger.read().events if event.kind == "trash.files")
    assert row.payload.as_json() == {"of": "r1/u", "folder": str(folder), "files": list(removal.kept_files), "size": 36}


def test_what_a_tool_makes_again_goes_without_a_word(repo: Repo, capsys: pytest.CaptureFixture[str]) -> None:
    script = (
        "mkdir -p node_modules/x build myenv; touch node_modules/x/y build/z myenv/pyvenv.cfg myenv/lib; echo 2 >a.txt"
    )
    run_units(repo, sh("one", f"{script}; {RESULT}"), sh("env", f"echo K=1 >.env; {RESULT}"))
    places = [workspace(repo, "r1", name) for name in ("one", "env")]
    said = inside(capsys, repo.path, "clean")
    folder = list_kept(repo.repository.state)[0].folder
    assert (said.code, said.err.splitlines()) == (
        0,
        [
            f"removed {places[0]}",
            f"removed {places[1]}",
            f"  ignored files are kept for 30 days: .env (in {folder})",
            "hint: git prun rescue --ignored r1/env --into FOLDER brings them back",
            "hint: the work stays: git prun rescue r1/one makes a branch of it, git prun rescue --list shows all",
        ],
    )


def test_much_of_it_is_asked_for(repo: Repo, tmp_path: Path) -> None:
    shop = open_workshop(repo, tmp_path / "w")
    shop.work.write("db.sqlite", b"x" * 1_200_000)
    shop.work.write("z", "z\n")
    shop.finish()
    with pytest.raises(OperationRefused) as refused:
        shop.remove()
    assert (refused.value.message, refused.value.hint) == (
        f"{shop.path} holds more than 1200 kB of ignored files that no tool makes again: db.sqlite",
        "take what you need, or name them in [workspace] regenerable; then: git prun remove --discard-left-out r1/u",
    )
    assert (shop.path / "db.sqlite").stat().st_size == 1_200_000
    repo.write("prun.toml", '[workspace]\nregenerable = ["*.sqlite"]\n')
    assert (shop.remove().removed, kept(repo)) == (True, {})


def test_what_is_discarded_goes(repo: Repo, tmp_path: Path) -> None:
    shop = open_workshop(repo, tmp_path / "w")
    for number in range(1_001):
        shop.work.write(f"data/{number}", "x")
    shop.finish("empty")
    with pytest.raises(OperationRefused, match=r"holds more than 1 kB of ignored files .*: data/0, data/1, "):
        shop.remove()
    removal = shop.remove(discard=True)
    assert (removal.ignored, len(removal.discarded), kept(repo)) == (("data/",), 1_001, {})


def test_what_was_copied_and_is_as_it_was_needs_nothing(repo: Repo, tmp_path: Path) -> None:
    repo.write(".env", "K=1\n")
    repo.write("data/big", b"x" * 1_200_000)
    repo.write("data/small", "mine\n")
    shop = open_workshop(repo, tmp_path / "w", copy=(".env", "data"))
    shop.finish("empty")
    assert (shop.remove().kept_files, kept(repo)) == ((), {})
    shop = open_workshop(repo, tmp_path / "w", unit="v", copy=(".env", "data"))
    shop.work.write(".env", "K=2\n")
    shop.work.write("data/small", "its\n")
    shop.work.write("data/new", "new\n")
    shop.finish("empty")
    shop.remove()
    assert kept(repo) == {"r1/v": {".env": "K=2\n", "data/new": "new\n", "data/small": "its\n"}}


def test_links_and_devices_hold_nothing(repo: Repo, tmp_path: Path) -> None:
    (tmp_path / "private").write_text("private\n")
    shop = open_workshop(repo, tmp_path / "w")
    (shop.path / "link").symlink_to(tmp_path / "private")
    (shop.path / "data").mkdir()
    (shop.path / "data" / "inner").symlink_to(tmp_path, target_is_directory=True)
    shop.work.write("run", b"\x7fELF" + b"\0" * 2_000_000, executable=True)
    shop.work.write("data/name\n with \x1b", "x\n")
    shop.finish("empty")
    shop.remove()
    assert kept(repo) == {"r1/u": {"data/name\n with \x1b": "x\n"}}
    assert (tmp_path / "private").read_text() == "private\n"


def test_nothing_goes_where_it_cannot_be_kept(repo: Repo, tmp_path: Path) -> None:
    shop = open_workshop(repo, tmp_path / "w")
    shop.work.write(".env", "K=1\n")
    shop.finish("empty")
    trash(repo).write_text("no folder\n")
    with pytest.raises((OperationRefused, OSError)):
        shop.remove()
    assert shop.work.read(".env") == "K=1\n"


def test_it_comes_back(repo: Repo, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for unit in ("u", "v"):
        shop = open_workshop(repo, tmp_path / "w", unit=unit)
        shop.work.write("data/.env", f"{unit}\n")
        shop.finish("empty")
        shop.remove()
    listed = inside(capsys, repo.path, "rescue", "--ignored", "u")
    (first, second) = list_kept(repo.repository.state)
    assert listed.out.splitlines() == [f"r1/u  {first.day}  2 B  {first.folder}", "  data/.env"]
    assert listed.err == "hint: git prun rescue --ignored r1/u --into FOLDER copies them into a new folder\n"
    back = inside(capsys, repo.path, "rescue", "--ignored", "r1/u", "--into", "../back")
    assert (back.code, back.out) == (0, f"{tmp_path}/back\n")
    assert (tmp_path / "back" / "data" / ".env").read_text() == "u\n"
    again = inside(capsys, repo.path, "rescue", "--ignored", "u", "--into", "../back")
    assert (again.code, again.err.splitlines()[0]) == (1, f"error: {tmp_path}/back is already there")
    every = inside(capsys, repo.path, "rescue", "--ignored", "all", "--into", "../every", "--json")
    assert json.loads(every.out) == {
        "schema": "gitprun.restored-files/1",
        "restored": [f"{tmp_path}/every/{row.day}+r1+{row.name[-1]}" for row in (first, second)],
    }
    whole = inside(capsys, repo.path, "rescue", "--list")
    assert [row.split() for row in whole.out.splitlines() if row.startswith("ignored")] == [
        ["ignored", f"r1/{unit}", first.day, "2", "B", row.folder] for unit, row in (("u", first), ("v", second))
    ]
    wrong = inside(capsys, repo.path, "rescue", "--ignored", "w", "--into", "../w")
    assert (wrong.code, wrong.err.splitlines()[0]) == (1, "error: no ignored files are kept of 'w'")


def go(repo: Repo, days: float = 0.0) -> GcReport:
    ledger = Ledger(repo.repository.state, LaterClock(days))
    return collect_garbage(repo.repository, ledger, (repo.path.parent / "repo.prun",), GcScope(workspaces=True))


def test_gc_keeps_them_too_and_lets_them_go_after_their_time(repo: Repo) -> None:
    run_units(
        repo,
        sh("one", f"echo K=1 >.env; echo 2 >a.txt; {RESULT}"),
        sh("big", f"echo 3 >b.txt; head -c 1200000 /dev/zero >db.sqlite; {RESULT}"),
    )
    big = workspace(repo, "r1", "big")
    report = go(repo)
    assert {step.of: step.why for step in report.plan.steps if step.kind == "workspace"} == {
        "r1/one": "r1/one is ready, and every file and commit of it is pinned; ignored files are kept for 30 days: .env"
    }
    stays = [(stay.what, stay.why, stay.hint) for stay in report.plan.stays]
    why = "it holds much that is ignored and that no tool makes again: db.sqlite"
    assert stays == [(str(big), why, "git prun remove r1/big")]
    assert kept(repo) == {"r1/one": {".env": "K=1\n"}}
    assert [one.kept for one in report.done if one.kept] == [list_kept(repo.repository.state)[0].folder]
    half = trash(repo) / list_kept(repo.repository.state)[0].day / ".r1+x.part-1"
    half.mkdir()
    assert [step.kind for step in go(repo, 30.0).plan.steps if step.kind == "kept-files"] == ["kept-files"]
    assert (half.exists(), kept(repo)) == (False, {"r1/one": {".env": "K=1\n"}})
    steps = [(step.of, step.why) for step in go(repo, 31.0).plan.steps if step.kind == "kept-files"]
    assert steps == [("r1/one", "ignored files of a workspace that was removed 31 days ago")]
    assert (list(trash(repo).iterdir()), kept(repo)) == ([], {})


def test_named_workspaces_keep_them_too(repo: Repo, capsys: pytest.CaptureFixture[str]) -> None:
    inside(capsys, repo.path, "new", "x", "topic")
    place = repo.path.parent / "repo.prun" / "named" / "x"
    (place / ".env").write_text("1\n")
    said = inside(capsys, repo.path, "workspace", "reset", "x")
    assert (said.code, "ignored files are kept for 30 days: .env" in said.err) == (0, True), said.err
    (place / ".env").write_text("2\n")
    said = inside(capsys, repo.path, "remove", "x")
    assert (said.code, "ignored files are kept for 30 days: .env" in said.err) == (0, True), said.err
    rows = list_kept(repo.repository.state)
    assert [(row.name, (Path(row.folder) / ".env").read_text()) for row in rows] == [("x", "1\n"), ("x", "2\n")]


def test_an_attempt_that_is_put_away_loses_nothing(repo: Repo) -> None:
    script = f"if [ -e {repo.path}/../second ]; then echo 2 >a.txt; {RESULT}\nexit 0; fi; touch {repo.path}/../second;"
    run_units(repo, sh("one", f"{script} head -c 1200000 /dev/zero >db.sqlite; echo K=1 >.env; exit 1"))
    said = prun(repo.path, "run", "--resume", "r1")
    assert (said.code, unit_of(repo, "one").state) == (0, "ready"), said.err
    assert [(row.name, row.paths) for row in list_kept(repo.repository.state)] == [("r1/one", (".env", "db.sqlite"))]


@pytest.mark.kill
def test_killed_at_any_step(tmp_path: Path) -> None:
    for number in range(1, 300, 11):
        repo = make_repo(tmp_path / str(number) / "repo", a_dot_txt="1\n", _dot_gitignore=IGNORED)
        shop = open_workshop(repo, tmp_path / str(number) / "w")
        shop.work.write(".env", "K=1\n")
        shop.work.write("data/x", "x\n")
        shop.finish("empty")
        code = prun_and_die(repo.path, number, "remove", "r1/u")
        assert code in (0, -9)
        if not shop.state()[1].as_json().get("removed"):
            shop.remove()
        assert not shop.path.exists()
        assert kept(repo)["r1/u"] == {".env": "K=1\n", "data/x": "x\n"}
        if code == 0:
            assert number > 20
            return
    raise AssertionError
