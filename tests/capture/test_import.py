"""Commits of a worker's own on their way into the user's repository: what is taken, and what becomes of the rest."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import pytest

from gitprun.capture import import_objects as module
from gitprun.capture import quarantine
from gitprun.capture.import_objects import Imported, ImportRequest, import_objects
from gitprun.capture.import_problem import ImportProblem
from gitprun.capture.quarantine import list_quarantine, open_room, sweep_quarantine
from gitprun.model.names import Oid
from gitprun.workspaces.clone import make_clone, read_source
from tests.support.repos import Repo, make_repo
from tests.support.workshop import fingerprint
from tests.support.yard import FILE, SUBMODULE, Yard, make_yard


@pytest.fixture
def yard(tmp_path: Path) -> Yard:
    """Make a repository and an empty folder of objects."""
    return make_yard(tmp_path)


def make_work(repo: Repo, root: Path) -> tuple[Repo, bytes]:
    """Make a clone to work in."""
    source = read_source(repo.repository)
    return Repo(make_clone(source, root / "r1" / "u", repo.head, "prun/r1/u").path), source.alternates


def bring(repo: Repo, work: Repo, alternates: bytes, base: str = "main", **tips: Oid) -> Imported:
    return import_objects(
        repo.repository,
        ImportRequest(
            run="r1",
            unit="u",
            objects=work.path / ".git" / "objects",
            tips=tips,
            base=repo.oid(base),
            alternates=alternates,
        ),
    )


def packs(repo: Repo) -> list[str]:
    return sorted(path.suffix for path in (repo.path / ".git" / "objects" / "pack").iterdir())


def test_a_history_crosses_as_one_pack(tmp_path: Path) -> None:
    repo = make_repo(tmp_path / "repo", a_dot_txt="1\n" * 1000)
    repo.git("gc", "-q")
    work, alternates = make_work(repo, tmp_path / "w")
    before = packs(repo)
    for n in range(3):
        work.commit(f"c{n}", a_dot_txt="1\n" * 1000 + f"{n}\n")
    assert bring(repo, work, alternates, head=work.head) == Imported({"head": work.head})
    assert repo.raw(work.head) == work.raw()
    # Only what is new came, the large file as what changed in it.
    new = [path for path in (repo.path / ".git" / "objects" / "pack").glob("*.pack") if path.stat().st_nlink == 1]
    assert (packs(repo)[: len(before)] != [], len(new)) == (True, len(before) // 2 + 1 if ".rev" not in before else 2)
    assert repo.git("fsck", "--strict", "--no-dangling") == ""
    assert bring(repo, work, alternates, head=work.head) == Imported({"head": work.head})


def test_nothing_new_is_taken_without_a_pack(tmp_path: Path) -> None:
    repo = make_repo(tmp_path / "repo")
    repo.commit("second")
    work, alternates = make_work(repo, tmp_path / "w")
    found = bring(repo, work, alternates, head=repo.head, old=repo.oid("main~1"))
    assert (found, packs(repo)) == (Imported({"head": repo.head, "old": repo.oid("main~1")}), [])
    assert bring(repo, work, alternates) == Imported({})


def test_a_bad_branch_does_not_spoil_the_others(yard: Yard) -> None:
    good, better, bad = yard.file(b"good"), yard.file(b"better"), yard.file(b".git")
    tips = {"good": good, "bad": bad, "gone": Oid("feed" * 10), "better": better}
    found = yard.cross(tips)
    assert found.taken == {"good": good, "better": better}
    assert [(row.name, row.reason.rpartition(": ")[2]) for row in found.rejected] == [
        ("gone", "it is not there"),
        ("bad", "contains '.git'"),
    ]
    (kept,) = list_quarantine(yard.repo.repository)
    assert (kept.run, kept.unit, kept.tips) == ("r1", "u", {"bad": bad})


def test_the_same_rejection_is_kept_once(yard: Yard) -> None:
    bad = yard.file(b".git")
    places = {yard.cross(bad).rejected[0].place for _ in range(3)}
    assert len(places) == 1
    (kept,) = list_quarantine(yard.repo.repository)
    assert (str(kept.place), sorted(path.name for path in kept.place.parent.iterdir())) == (
        places.pop(),
        [kept.place.name],
    )


def test_what_was_rejected_can_be_looked_at(yard: Yard) -> None:
    bad = yard.file(b".git", b"evil\n")
    (rejected,) = yard.cross(bad).rejected
    (kept,) = list_quarantine(yard.repo.repository)
    said = json.loads((Path(rejected.place) / "reason.json").read_text())
    assert {key: said[key] for key in ("run", "unit", "tips", "reason", "pack", "objects")} == {
        "run": "r1",
        "unit": "u",
        "tips": {"head": bad},
        "reason": rejected.reason,
        "pack": "received.pack",
        "objects": str(yard.store.path),
    }
    assert kept.size > 100
    look = Repo(yard.repo.path.parent / "look")
    shutil.copytree(yard.repo.path, look.path)
    assert kept.pack is not None
    look.git("unpack-objects", "-q", stdin=kept.pack.read_bytes())
    assert look.git("cat-file", "blob", f"{bad}:.git") == "evil"


def test_a_branch_of_the_users_with_old_sins_can_be_merged(yard: Yard) -> None:
    """What the user has is not judged again, be it as it may."""
    old = yard.repo.git(
        "hash-object", "-t", "tree", "-w", "--literally", "--stdin", stdin=b"0100644 x\0" + bytes.fromhex(BLOB)
    )
    yard.repo.git("hash-object", "-w", "--stdin", stdin=b"")
    sinful = yard.repo.git("commit-tree", old, "-p", yard.base, "-m", "old")
    yard.repo.branch("sinful", sinful)
    tree = yard.repo.git("rev-parse", f"{yard.base}^{{tree}}")
    tip = yard.store.commit(tree, yard.base, sinful)
    assert yard.cross(tip) == Imported({"head": tip})


BLOB = "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391"


def test_submodules_that_move_are_told(yard: Yard) -> None:
    def modules(url: str, path: str = "sub") -> tuple[int, bytes, Oid]:
        text = f'[submodule "s"]\n\tpath = {path}\n\turl = {url}\n'
        return (FILE, b".gitmodules", yard.store.blob(text.encode()))

    first = yard.with_entry(modules("https://one.test/x"), (SUBMODULE, b"sub", yard.base))
    yard.cross(first)
    yard.repo.git("update-ref", "refs/heads/main", first)
    bump = yard.with_entry(modules("https://one.test/x"), (SUBMODULE, b"sub", Oid("12" * 20)))
    moved = yard.with_entry(modules("https://evil.test/x", "other"), (SUBMODULE, b"other", yard.base))
    found = [yard.cross(yard.store.commit(_tree(yard, tip), first), base=first).notes for tip in (bump, moved)]
    assert found == [
        (),
        (
            "submodule s: path was sub, is other",
            "submodule s: url was https://one.test/x, is https://evil.test/x",
        ),
    ]


def _tree(yard: Yard, commit: Oid) -> Oid:
    env = {"GIT_ALTERNATE_OBJECT_DIRECTORIES": str(yard.store.path)}
    return Oid(yard.repo.git("rev-parse", f"{commit}^{{tree}}", env=env))


def test_a_dangling_folder_of_the_users_is_no_proof(yard: Yard) -> None:
    """A tree that lies about in the user's repository without its files makes nothing whole."""
    tree = yard.store.tree((FILE, b"f", Oid("feed" * 10)))
    raw = b"100644 f\0" + bytes.fromhex("feed" * 10)
    assert yard.repo.git("hash-object", "-t", "tree", "-w", "--literally", "--stdin", stdin=raw) == tree
    tip = yard.store.commit(tree, yard.base)
    assert [row.name for row in yard.cross(tip).rejected] == ["head"]


def test_a_shallow_repository(tmp_path: Path) -> None:
    up = make_repo(tmp_path / "up")
    up.commit("second")
    up.git("clone", "-q", "--depth=1", f"file://{up.path}", str(tmp_path / "repo"))
    repo = Repo(tmp_path / "repo")
    work, alternates = make_work(repo, tmp_path / "w")
    work.commit("own", b_dot_txt="b\n")
    assert bring(repo, work, alternates, head=work.head) == Imported({"head": work.head})


def test_a_partial_clone(tmp_path: Path) -> None:
    up = make_repo(tmp_path / "up", keep_dot_txt="k\n", other__big_dot_txt="b\n")
    up.git("config", "uploadpack.allowFilter", "true")
    up.git("clone", "-q", "--filter=blob:none", "--sparse", f"file://{up.path}", str(tmp_path / "repo"))
    repo = Repo(tmp_path / "repo")
    base = repo.head
    repo.commit("own", keep_dot_txt="changed\n")
    tip = repo.head
    repo.git("update-ref", "refs/heads/main", base)
    found = import_objects(
        repo.repository,
        ImportRequest(run="r1", unit="u", objects=repo.path / ".git" / "objects", tips={"head": tip}, base=base),
    )
    assert found == Imported({"head": tip})


@pytest.mark.parametrize("name", ["with space", "co:lon", 'quo"te', "new\nline", "back\\slash", "grün"])
def test_every_kind_of_path(tmp_path: Path, name: str) -> None:
    repo = make_repo(tmp_path / name / "repo")
    work, alternates = make_work(repo, tmp_path / name / "w")
    work.commit("own", b_dot_txt="b\n")
    assert bring(repo, work, alternates, head=work.head) == Imported({"head": work.head})
    bad = work.commit("bad", aux_dot_c="b\n")
    assert bring(repo, work, alternates, head=bad).notes == ("aux.c: is the name of a device on Windows",)


def test_objects_behind_a_link_and_on_another_disk(yard: Yard, monkeypatch: pytest.MonkeyPatch) -> None:
    objects = yard.repo.path / ".git" / "objects"
    shutil.move(objects, yard.repo.path.parent / "bigdisk")
    objects.symlink_to(yard.repo.path.parent / "bigdisk")
    alternates = read_source(yard.repo.repository).alternates
    (yard.store.path / "info" / "alternates").write_bytes(alternates)

    def refuse(*_: object) -> None:
        raise OSError(18, "Invalid cross-device link")

    monkeypatch.setattr(os, "link", refuse)
    tip = yard.file(b"new")
    assert yard.cross(tip, alternates=alternates) == Imported({"head": tip})
    yard.repo.git("update-ref", "refs/heads/main", tip)
    assert yard.repo.git("fsck", "--strict") == ""
    assert [path.name for path in (objects / "pack").iterdir() if not path.name.startswith("pack-")] == []


def test_settings_of_the_user_change_nothing(yard: Yard, monkeypatch: pytest.MonkeyPatch) -> None:
    tip, repository, settings = yard.file(b"new"), yard.repo.repository, yard.repo.path.parent / "gitconfig"
    settings.write_text("[core]\n\tcompression = 17\n[pack]\n\tpackSizeLimit = 1\n")
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(settings))
    for name in ("GIT_DIR", "GIT_OBJECT_DIRECTORY", "GIT_ALTERNATE_OBJECT_DIRECTORIES"):
        monkeypatch.setenv(name, "/nowhere")
    found = import_objects(
        repository,
        ImportRequest(
            run="r1", unit="u", objects=yard.store.path, tips={"head": tip}, base=yard.base, alternates=yard.alternates
        ),
    )
    assert found == Imported({"head": tip})


def other_git(folder: Path, patch: pytest.MonkeyPatch, when: str) -> None:
    """Put a git first on PATH that does something else when it is asked for index-pack."""
    program = folder / "bin" / "git"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\ncase "$*" in *index-pack*) {when};; esac\nexec {shutil.which("git")} "$@"\n')
    program.chmod(0o755)
    patch.setenv("PATH", f"{program.parent}:{os.environ['PATH']}")


def test_time_that_is_up_is_no_lasting_harm(yard: Yard, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tip = yard.file(b"new", os.urandom(3_000_000))
    before = fingerprint(yard.repo.path, without=(".git/prun",))
    with monkeypatch.context() as patch:
        # However fast or busy a machine is: this one does not finish.
        other_git(tmp_path, patch, "exec sleep 1000")
        found = yard.cross(tip, limits=module.ImportLimits(seconds=0.0))
    assert "did not finish within" in found.rejected[0].reason
    assert fingerprint(yard.repo.path, without=(".git/prun",)) == before
    assert yard.cross(tip) == Imported({"head": tip})


def test_a_git_that_was_killed_is_no_rejection(yard: Yard, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tip = yard.file(b"new")
    with monkeypatch.context() as patch:
        other_git(tmp_path, patch, "kill -9 $$")
        with pytest.raises(ImportProblem, match="git index-pack was ended by signal 9"):
            yard.cross(tip)
    assert list_quarantine(yard.repo.repository) == ()
    assert yard.cross(tip) == Imported({"head": tip})


def test_a_full_disk_is_no_rejection(yard: Yard, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tip = yard.file(b"new")
    program = tmp_path / "bin" / "git"
    program.parent.mkdir()
    program.write_text(
        '#!/bin/sh\ncase "$*" in *index-pack*)'
        ' echo "fatal: unable to create thread: write error: No space left on device" >&2; exit 128;; esac\n'
        f'exec {shutil.which("git")} "$@"\n'
    )
    program.chmod(0o755)
    with monkeypatch.context() as patch:
        patch.setenv("PATH", f"{program.parent}:{os.environ['PATH']}")
        with pytest.raises(ImportProblem, match="No space left on device"):
            yard.cross(tip)
    assert list_quarantine(yard.repo.repository) == ()


def test_rooms_of_the_dead_are_swept(yard: Yard, monkeypatch: pytest.MonkeyPatch) -> None:
    repository = yard.repo.repository
    bad = yard.cross(yard.file(b".git")).rejected[0]
    mine = open_room(repository, "r1", "u")
    with monkeypatch.context() as patch:
        patch.setattr(quarantine, "probe_identity", lambda _: quarantine.ProcessIdentity(1, "long ago", "boot"))
        dead = open_room(repository, "r2", "../x")
    (mine.path.parent / "yours").mkdir()
    assert dead.path.parent.relative_to(repository.state) == Path("quarantine/r2/+.+x")
    assert sweep_quarantine(repository) == (dead.path,)
    assert (mine.path.is_dir(), Path(bad.place).is_dir(), dead.path.parent.exists()) == (True, True, False)
    assert (mine.path.parent / "yours").is_dir()


def test_a_pack_brought_over_without_its_index_is_taken_back(yard: Yard, monkeypatch: pytest.MonkeyPatch) -> None:
    def die(*_: object) -> None:
        raise KeyboardInterrupt

    tip, target = yard.file(b"new"), yard.repo.path / ".git" / "objects" / "pack"
    before = fingerprint(yard.repo.path, without=(".git/prun",))
    with monkeypatch.context() as patch:
        patch.setattr(quarantine, "probe_identity", lambda _: quarantine.ProcessIdentity(1, "long ago", "boot"))
        patch.setattr(quarantine, "_SUFFIXES", (".pack",))
        patch.setattr(quarantine, "sync_all", die)
        patch.setattr(quarantine.Room, "close", lambda _: None)
        with pytest.raises(KeyboardInterrupt):
            yard.cross(tip)
    assert [path.suffix for path in target.iterdir()] == [".pack"]
    assert len(sweep_quarantine(yard.repo.repository)) == 1
    assert fingerprint(yard.repo.path) == before
    assert yard.cross(tip) == Imported({"head": tip})
