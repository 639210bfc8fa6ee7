"""Nothing a worker planted is run, nothing of the user's is written, and the work is captured all the same."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from gitprun.model.units import WorkspaceKind
from tests.support.repos import Repo, make_repo
from tests.support.workshop import Workshop, fingerprint, open_workshop

pytestmark = pytest.mark.slow

PROGRAM = '#!/bin/sh\n: >"{canaries}/$(basename "$0")-$$"\ncase "$1" in cat) exec cat;; esac\nexit 0\n'
OURS = (".git/objects", ".git/prun", ".git/refs/prun", ".git/refs/heads/prun", ".git/logs/refs/heads/prun",
        ".git/worktrees")  # fmt: skip


@dataclass(frozen=True, slots=True)
class Scene:
    """A workspace with work in it, a program that leaves a canary, a repository nobody may read, the user's files."""

    shop: Workshop
    program: str
    private: Repo
    home: Path

    @property
    def git_dir(self) -> Path:
        return self.shop.path / ".git"

    def config(self, *rows: str, place: Path | None = None) -> None:
        for row in rows:
            key, _, value = row.partition("=")
            self.shop.work.git("config", "-f", str(place or self.git_dir / "config"), key, value)


@pytest.fixture
def scenes(tmp_path: Path) -> Iterator[Callable[[WorkspaceKind], Scene]]:
    canaries = tmp_path / "canaries"
    canaries.mkdir()
    program = tmp_path / "evil"
    program.write_text(PROGRAM.format(canaries=canaries))
    program.chmod(0o755)
    home = tmp_path / "user"
    home.mkdir()
    (home / "bashrc").write_text("precious\n")
    private = make_repo(tmp_path / "private", secret_dot_txt="private\n")
    repo = make_repo(tmp_path / "repo", a_dot_txt="1\n", b_dot_bin="1\n", d__c_dot_txt="c\n")
    repo.git("config", "extensions.worktreeConfig", "true")

    def scene(kind: WorkspaceKind) -> Scene:
        return Scene(open_workshop(repo, tmp_path / "w", kind), str(program), private, home)

    yield scene
    assert [path.name for path in canaries.iterdir()] == []


def fsmonitor(scene: Scene) -> None:
    scene.config(f"core.fsmonitor={scene.program}")


def hooks_path(scene: Scene) -> None:
    hooks(scene, scene.shop.path / "hk")
    scene.config("core.hooksPath=hk")


def hooks(scene: Scene, folder: Path | None = None) -> None:
    folder = folder or scene.git_dir / "hooks"
    folder.mkdir(exist_ok=True)
    for name in ("post-index-change", "reference-transaction", "pre-commit", "post-commit", "post-checkout"):
        (folder / name).symlink_to(scene.program)


def diff_external(scene: Scene) -> None:
    scene.config(f"diff.external={scene.program}", f"diff.x.command={scene.program}")
    scene.shop.work.write(".gitattributes", "* diff=x\n")


def textconv(scene: Scene) -> None:
    scene.config(f"diff.x.textconv={scene.program} cat")
    scene.shop.work.write(".git/info/attributes", "* diff=x\n")


def filter_by_info(scene: Scene) -> None:
    filters(scene)
    scene.shop.work.write(".git/info/attributes", "* filter=x\n")


def filters(scene: Scene, place: Path | None = None) -> None:
    for way in ("clean", "smudge", "process"):
        scene.config(f"filter.x.{way}={scene.program} cat", place=place)
    scene.config("filter.x.required=true", place=place)


def filter_by_tree(scene: Scene) -> None:
    filters(scene)
    scene.shop.work.write(".gitattributes", "* filter=x\n")


def signing(scene: Scene) -> None:
    scene.config(f"gpg.program={scene.program}", "commit.gpgSign=true", "log.showSignature=true")


def evil_git_dir(scene: Scene) -> Path:
    evil = scene.home.parent / "evil-git"
    make_repo(evil.with_name("evil-repo"), x_dot_txt="x\n")
    shutil.copytree(evil.with_name("evil-repo") / ".git", evil)
    scene.config(f"core.fsmonitor={scene.program}", f"core.hooksPath={scene.home}", place=evil / "config")
    filters(scene, evil / "config")
    return evil


def gitfile(scene: Scene) -> None:
    drop(scene.git_dir)
    scene.git_dir.write_text(f"gitdir: {evil_git_dir(scene)}\n")


def drop(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    elif os.path.lexists(path):
        path.unlink()


def replaced_by_repository(scene: Scene) -> None:
    drop(scene.git_dir)
    shutil.copytree(evil_git_dir(scene), scene.git_dir)


def include(scene: Scene) -> None:
    scene.config(f"core.fsmonitor={scene.program}", place=scene.shop.path / "more")
    scene.config(f"include.path={scene.shop.path}/more")


def config_worktree(scene: Scene) -> None:
    scene.config("extensions.worktreeConfig=true")
    scene.config(f"core.fsmonitor={scene.program}", place=scene.git_dir / "config.worktree")


def nested(scene: Scene) -> None:
    inner = make_repo(scene.shop.path / "n", x_dot_txt="x\n")
    inner.git("config", "core.fsmonitor", scene.program)
    filters(scene, inner.path / ".git" / "config")
    inner.write(".gitattributes", "* filter=x\n")


def nested_in_base_folder(scene: Scene) -> None:
    inner = make_repo(scene.shop.path / "d", c_dot_txt="c\n")
    inner.git("config", "core.fsmonitor", scene.program)
    filters(scene, inner.path / ".git" / "config")


def git_link_to_the_users(scene: Scene) -> None:
    drop(scene.git_dir)
    scene.git_dir.symlink_to(scene.shop.repo.path / ".git")


def gitfile_to_the_users(scene: Scene) -> None:
    drop(scene.git_dir)
    scene.git_dir.write_text(f"gitdir: {scene.shop.repo.path}/.git\n")


def private_alternate(scene: Scene) -> None:
    (scene.git_dir / "objects/info/alternates").write_text(f"{scene.private.path}/.git/objects\n")
    scene.shop.work.write(".git/refs/heads/stolen", f"{scene.private.head}\n")


def private_objects(scene: Scene) -> None:
    oid = scene.private.head
    folder = scene.git_dir / "objects" / oid[:2]
    folder.symlink_to(scene.private.path / ".git/objects" / oid[:2])
    scene.shop.work.write(".git/refs/heads/stolen", f"{oid}\n")


def private_refs(scene: Scene) -> None:
    drop(scene.git_dir / "refs")
    (scene.git_dir / "refs").symlink_to(scene.shop.repo.path / ".git/refs")


def index_link(scene: Scene) -> None:
    drop(scene.git_dir / "index")
    (scene.git_dir / "index").symlink_to(scene.home / "bashrc")


def log_links(scene: Scene) -> None:
    (scene.git_dir / "logs").mkdir(exist_ok=True)
    for name in ("logs/HEAD", "COMMIT_EDITMSG", "FETCH_HEAD", "ORIG_HEAD", "MERGE_MSG", "packed-refs", "shallow"):
        drop(scene.git_dir / name)
        (scene.git_dir / name).symlink_to(scene.home / "bashrc")


def commondir(scene: Scene) -> None:
    (scene.git_dir / "commondir").write_text(f"{scene.shop.repo.path}/.git\n")


def core_worktree(scene: Scene) -> None:
    scene.config(f"core.worktree={scene.home}")


def programs(scene: Scene) -> None:
    keys = ("core.pager", "core.editor", "core.sshCommand", "core.alternateRefsCommand", "core.askPass",
            "credential.helper", "sequence.editor", "uploadpack.packObjectsHook", "merge.x.driver",
            "trailer.x.cmd", "alias.status", "remote.o.uploadpack", "submodule.x.update")  # fmt: skip
    scene.config(*(f"{key}={scene.program}" for key in keys))
    scene.config("remote.o.promisor=true", "extensions.partialClone=o", "remote.o.url=ext::evil", "merge.default=x")
    scene.shop.work.write(".gitmodules", f'[submodule "x"]\n\tpath = x\n\turl = ./x\n\tupdate = !{scene.program}\n')


def outbox_link(scene: Scene) -> None:
    drop(scene.shop.path / ".prun")
    (scene.shop.path / ".prun").symlink_to(scene.home)
    os.mkfifo(scene.shop.path / ".gitattributes")


def replaced_objects(scene: Scene) -> None:
    other = scene.shop.work.git("hash-object", "-w", "--stdin", stdin=b"other\n")
    scene.shop.work.git("replace", "-f", scene.shop.work.oid("HEAD:a.txt"), other)
    scene.shop.work.write(".git/info/grafts", f"{scene.shop.work.head}\n")


CLONE = [
    fsmonitor, hooks_path, hooks, diff_external, textconv, filter_by_info, filter_by_tree, signing, gitfile,
    replaced_by_repository, include, config_worktree, nested, nested_in_base_folder, git_link_to_the_users,
    gitfile_to_the_users, private_alternate, private_objects, private_refs, index_link, log_links, commondir,
    core_worktree, programs, outbox_link, replaced_objects,
]  # fmt: skip
WORKTREE = [
    gitfile, replaced_by_repository, nested, nested_in_base_folder, git_link_to_the_users, gitfile_to_the_users,
    outbox_link,
]  # fmt: skip


def check(scene: Scene, plant: Callable[[Scene], None]) -> None:
    shop, user = scene.shop, scene.shop.repo.path
    before = [fingerprint(user, without=OURS), fingerprint(scene.home), fingerprint(scene.private.path)]
    refs = shop.repo.git("for-each-ref", "refs/heads/main", "refs/tags", "refs/remotes")
    shop.work.commit("own", own_dot_txt="own\n")
    plant(scene)
    for name in ("a.txt", "b.bin", "new.txt", "d/new.txt"):
        shop.work.write(name, "2\n")
    for found in (shop.capture(), shop.finish()):
        work = dict.fromkeys(("a.txt", "b.bin", "new.txt", "d/new.txt"), "100644 2") | {"own.txt": "100644 own"}
        assert shop.files(found).items() >= work.items()
    assert shop.remove(discard=True).removed
    assert not os.path.lexists(shop.path)
    assert [fingerprint(user, without=OURS), fingerprint(scene.home), fingerprint(scene.private.path)] == before
    assert shop.repo.git("for-each-ref", "refs/heads/main", "refs/tags", "refs/remotes") == refs
    assert shop.repo.git("cat-file", "-t", scene.private.head, ok=(0, 128)) == ""
    assert shop.repo.git("worktree", "list").count("\n") == 0
    shop.repo.git("fsck", "--strict")


@pytest.mark.parametrize("plant", CLONE)
def test_clone(scenes: Callable[[WorkspaceKind], Scene], plant: Callable[[Scene], None]) -> None:
    check(scenes("clone"), plant)


@pytest.mark.parametrize("plant", WORKTREE)
def test_worktree(scenes: Callable[[WorkspaceKind], Scene], plant: Callable[[Scene], None]) -> None:
    check(scenes("worktree"), plant)


def test_settings_in_a_worktrees_registration(scenes: Callable[[WorkspaceKind], Scene]) -> None:
    def plant(scene: Scene) -> None:
        admin = Path(scene.shop.work.git("rev-parse", "--absolute-git-dir"))
        scene.config(f"core.fsmonitor={scene.program}", place=admin / "config.worktree")
        filters(scene, admin / "config.worktree")
        scene.shop.work.write(".gitattributes", "* filter=x\n")
        hooks(scene, admin / "hooks")
        (admin / "logs" / "HEAD").unlink()
        (admin / "logs" / "HEAD").symlink_to(scene.home / "bashrc")

    check(scenes("worktree"), plant)


@pytest.mark.parametrize(
    "plant",
    [fsmonitor, hooks_path, hooks, diff_external, filter_by_info, filter_by_tree, gitfile, include, config_worktree,
     replaced_by_repository, nested, textconv],
)  # fmt: skip
def test_the_traps_are_real(
    scenes: Callable[[WorkspaceKind], Scene], tmp_path: Path, plant: Callable[[Scene], None]
) -> None:
    scene = scenes("clone")
    plant(scene)
    scene.shop.work.write("a.txt", "2\n")
    for words in (("diff",), ("add", "-A"), ("add", "-A"), ("status",)):
        scene.shop.work.git(*words, ok=(0, 1, 128))
    sprung = list((tmp_path / "canaries").iterdir())
    assert sprung != []
    for canary in sprung:
        canary.unlink()
