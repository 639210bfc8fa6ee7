"""What differs in a workspace: the look that remembers must always say what a fresh look by git says."""

from __future__ import annotations

import os
import random
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from gitprun.observe.snapshot import GONE
from gitprun.observe.touched import FolderWatcher, NoNotices
from gitprun.observe.tree import Ground, Tree, may_convert
from tests.support.repos import Repo, make_repo
from tests.support.workshop import Workshop, fingerprint, open_workshop

pytestmark = pytest.mark.slow


@dataclass(slots=True)
class Eyes:
    """One workspace, watched, and beside it the means for a fresh look."""

    workshop: Workshop
    ground: Ground
    watcher: FolderWatcher
    tree: Tree

    @property
    def path(self) -> Path:
        return self.workshop.path

    def write(self, name: str, content: str = "x\n") -> None:
        self.workshop.work.write(name, content)

    def see(self) -> list[str]:
        """Look, and compare with a fresh look by git alone."""
        self.watcher.pump()
        seen = self.tree.look()
        fresh = Tree(self.ground, NoNotices()).look()
        assert seen == fresh
        assert seen is not None
        return sorted(seen)


@pytest.fixture
def eyes(tmp_path: Path) -> Iterator[Callable[..., Eyes]]:
    made: list[Eyes] = []

    def make(repo: Repo, *, kind: str = "clone", copy: tuple[str, ...] = ()) -> Eyes:
        workshop = open_workshop(repo, tmp_path / "r.prun", kind, copy=copy)  # type: ignore[arg-type]
        workspace = workshop.site.workspace
        assert workspace.index is not None
        ground = Ground(
            path=workspace.path,
            identity=workspace.identity,
            common=repo.repository.common,
            index=workspace.index,
            apart=workspace.provided,
            converts=may_convert(repo.repository),
        )
        watcher = FolderWatcher()
        source = watcher.source(os.fsencode(ground.path), ground.skip)
        made.append(Eyes(workshop, ground, watcher, Tree(ground, source)))
        return made[-1]

    yield make
    for one in made:
        one.tree.close()
        one.watcher.close()


FILES = {"a_dot_txt": "1\n", "src__b_dot_py": "2\n", "src__c_dot_py": "3\n", "_dot_gitignore": "*.log\nbuild/\n"}


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    return make_repo(tmp_path / "r", **FILES)


@pytest.mark.parametrize("kind", ["clone", "worktree"])
def test_everyday_changes(repo: Repo, eyes: Callable[..., Eyes], kind: str) -> None:
    one = eyes(repo, kind=kind)
    assert one.see() == []
    one.write("a.txt", "other\n")
    one.write("new.txt")
    one.write("debug.log")
    one.write("build/out.o")
    assert one.see() == ["a.txt", "new.txt"]
    (one.path / "src" / "b.py").unlink()
    one.write("deep/er/new.txt")
    assert one.see() == ["a.txt", "deep/er/new.txt", "new.txt", "src/b.py"]
    assert (one.tree.look() or {})["src/b.py"] == GONE
    one.write("a.txt", "1\n")
    (one.path / "new.txt").unlink()
    assert one.see() == ["deep/er/new.txt", "src/b.py"]


def test_the_same_content_written_again_is_no_change(repo: Repo, eyes: Callable[..., Eyes]) -> None:
    one = eyes(repo)
    one.see()
    one.write("a.txt", "1\n")
    os.utime(one.path / "src" / "b.py", (1, 1))
    assert one.see() == []


def test_a_changed_file_written_again_has_another_stamp(repo: Repo, eyes: Callable[..., Eyes]) -> None:
    one = eyes(repo)
    one.write("a.txt", "2\n")
    one.see()
    before = one.tree.look()
    one.write("a.txt", "3\n")
    os.utime(one.path / "a.txt", ns=(7, 7))
    one.see()
    assert (before, one.tree.look()) == ({"a.txt": before["a.txt"]}, {"a.txt": (2, 7)}) if before else None


def test_another_file_of_the_same_size_and_age_in_its_place(repo: Repo, eyes: Callable[..., Eyes]) -> None:
    one = eyes(repo)
    one.see()
    age = os.stat(one.path / "src" / "b.py").st_mtime_ns
    os.utime(one.path / "a.txt", ns=(age, age))
    (one.path / "a.txt").rename(one.path / "src" / "b.py")
    assert one.see() == ["a.txt", "src/b.py"]


def test_what_is_no_work_does_not_count(repo: Repo, eyes: Callable[..., Eyes]) -> None:
    repo.write(".env.local", "SECRET=1\n")
    one = eyes(repo, copy=(".env.local",))
    one.see()
    one.write(".prun/result.md")
    one.write(".env.local", "SECRET=2\n")
    one.write("node_modules/left-pad/index.js")
    one.write("src/__pycache__/b.pyc")
    assert one.see() == []


def test_moves_of_folders(repo: Repo, eyes: Callable[..., Eyes]) -> None:
    one = eyes(repo)
    one.see()
    (one.path / "src").rename(one.path / "lib")
    assert one.see() == ["lib/b.py", "lib/c.py", "src/b.py", "src/c.py"]
    one.write("lib/d.py")
    assert one.see() == ["lib/b.py", "lib/c.py", "lib/d.py", "src/b.py", "src/c.py"]
    (one.path / "lib" / "d.py").unlink()
    (one.path / "lib").rename(one.path / "src")
    assert one.see() == []


def test_modes_and_links(repo: Repo, eyes: Callable[..., Eyes]) -> None:
    one = eyes(repo)
    one.see()
    (one.path / "a.txt").chmod(0o755)
    (one.path / "src" / "b.py").unlink()
    os.symlink("c.py", one.path / "src" / "b.py")
    (one.path / "src" / "c.py").unlink()
    (one.path / "src" / "c.py").mkdir()
    one.write("src/c.py/inner")
    os.symlink("nowhere", one.path / "dangling")
    assert one.see() == ["a.txt", "dangling", "src/b.py", "src/c.py", "src/c.py/inner"]


def test_ignore_rules_of_the_worker(repo: Repo, eyes: Callable[..., Eyes]) -> None:
    one = eyes(repo)
    one.write("note.tmp")
    assert one.see() == ["note.tmp"]
    one.write(".gitignore", "*.tmp\n")
    assert one.see() == [".gitignore"]


def test_a_repository_inside(repo: Repo, eyes: Callable[..., Eyes]) -> None:
    one = eyes(repo)
    one.see()
    Repo(one.path).git("init", "-q", "vendored")
    one.write("vendored/x")
    assert one.see() == ["vendored/"]
    one.write("vendored/y")
    one.write("z")
    assert one.see() == ["vendored/", "z"]


def test_after_the_capture_the_commit_is_what_counts(repo: Repo, eyes: Callable[..., Eyes]) -> None:
    one = eyes(repo)
    one.write("a.txt", "work\n")
    one.write("new.txt")
    assert one.see() == ["a.txt", "new.txt"]
    one.workshop.capture()
    assert one.see() == []
    one.write("new.txt", "left behind\n")
    assert one.see() == ["new.txt"]


def test_line_ends_that_git_alone_calls_changed(tmp_path: Path, eyes: Callable[..., Eyes]) -> None:
    repo = make_repo(tmp_path / "r", w_dot_txt="one\r\ntwo\r\n")
    repo.commit("rules", _dot_gitattributes="*.txt text=auto eol=lf\n".replace("text=auto", "text"))
    one = eyes(repo)
    os.utime(one.path / "w.txt", (time.time(), time.time()))
    assert one.see() == []


def test_files_that_git_stores_in_another_form(tmp_path: Path, eyes: Callable[..., Eyes]) -> None:
    repo = make_repo(tmp_path / "r", w_dot_txt="one\n", _dot_gitattributes="*.txt filter=rot\n")
    repo.git("config", "filter.rot.clean", "tr a-z n-za-m")
    repo.git("config", "filter.rot.smudge", "tr a-z n-za-m")
    repo.commit("again", w_dot_txt="two\n")
    one = eyes(repo)
    os.utime(one.path / "w.txt", (5, 5))
    assert one.see() == []
    one.write("w.txt", "six\n")
    assert one.see() == ["w.txt"]


@pytest.mark.parametrize("name", [".gitignore", "src/.gitattributes"])
def test_nothing_waits_for_a_fifo(repo: Repo, eyes: Callable[..., Eyes], name: str) -> None:
    one = eyes(repo)
    one.see()
    (one.path / name).unlink(missing_ok=True)
    os.mkfifo(one.path / name)
    one.watcher.pump()
    assert one.tree.look() is None
    (one.path / name).unlink()
    assert one.see() == ([".gitignore"] if name == ".gitignore" else [])


def test_another_folder_in_its_place_is_not_looked_at(repo: Repo, eyes: Callable[..., Eyes]) -> None:
    one = eyes(repo)
    one.see()
    one.path.rename(one.path.with_name("away"))
    one.path.mkdir()
    assert one.tree.look(whole=True) is None


def test_a_flood_of_notices_loses_nothing(repo: Repo, eyes: Callable[..., Eyes]) -> None:
    one = eyes(repo)
    one.see()
    with open(one.path / "a.log", "w") as first, open(one.path / "b.log", "w") as second:
        for _ in range(20_000):
            os.write(first.fileno(), b"x")
            os.write(second.fileno(), b"x")
    one.write("a.txt", "after the flood\n")
    assert one.see() == ["a.txt"]


def test_where_no_more_folders_can_be_watched_every_look_is_a_whole_one(
    repo: Repo, eyes: Callable[..., Eyes], monkeypatch: pytest.MonkeyPatch
) -> None:
    one = eyes(repo)

    def refuse(_: bytes) -> int:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(one.watcher._inotify, "watch", refuse)
    assert one.see() == []
    one.write("a.txt", "other\n")
    assert one.see() == ["a.txt"]


def test_looking_writes_nothing_and_heeds_no_lock(repo: Repo, eyes: Callable[..., Eyes]) -> None:
    one = eyes(repo)
    one.write("a.txt", "1\n")
    one.write("src/b.py", "other\n")
    for lock in (one.ground.common / "index.lock", one.ground.index.with_name("index.lock")):
        lock.touch()
    before = fingerprint(repo.path), fingerprint(one.path), os.stat(one.ground.index).st_mtime_ns
    assert one.see() == ["src/b.py"]
    assert (fingerprint(repo.path), fingerprint(one.path), os.stat(one.ground.index).st_mtime_ns) == before


def test_nothing_a_worker_planted_is_executed(repo: Repo, eyes: Callable[..., Eyes], tmp_path: Path) -> None:
    one = eyes(repo)
    trap = f"touch {tmp_path / 'sprung'}; cat"
    for key in ("core.fsmonitor", "filter.trap.clean", "core.hooksPath"):
        one.workshop.work.git("config", key, trap)
    one.write(".gitattributes", "* filter=trap\n")
    one.write("a.txt", "other\n")
    assert one.see() == [".gitattributes", "a.txt"]
    assert not (tmp_path / "sprung").exists()


@pytest.mark.parametrize("seed", range(6))
def test_any_sequence_of_changes(repo: Repo, eyes: Callable[..., Eyes], seed: int) -> None:
    one, chance = eyes(repo), random.Random(seed)
    names = ["a.txt", "src/b.py", "src/c.py", "n1", "n2.log", "d/n3", "d/e/n4", "build/x", "src/n5"]
    for _ in range(25):
        for _ in range(chance.randint(1, 4)):
            _step(one.path, chance, names)
        one.see()


def _step(top: Path, chance: random.Random, names: list[str]) -> None:
    """Change something, as far as it can be changed."""
    first, second = (top / name for name in chance.sample(names, 2))
    try:
        match chance.randint(0, 5):
            case 0 | 1:
                first.parent.mkdir(parents=True, exist_ok=True)
                first.write_text(chance.choice(["1\n", "2\n", "3\n", "longer\n"]))
            case 2:
                first.unlink()
            case 3:
                second.parent.mkdir(parents=True, exist_ok=True)
                first.rename(second)
            case 4:
                first.chmod(chance.choice([0o644, 0o755]))
            case 5:
                folder = chance.choice([top / "src", top / "d", top / "d" / "e"])
                folder.rename(chance.choice([top / "src", top / "d", top / "moved"]))
    except OSError:
        return
