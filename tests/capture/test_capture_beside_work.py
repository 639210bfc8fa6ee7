"""What lies in a workspace and is not its worker's work: agents' private files, what the setup commands made."""

from __future__ import annotations

import tempfile
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gitprun.capture.capture import Capture
from gitprun.capture.preview import noting_setup
from tests.support.repos import Repo, make_repo
from tests.support.workshop import Workshop, open_workshop

WHY = "one person's own: an agent's tool wrote it"


def left_out(found: Capture) -> dict[str, str]:
    return {row.path: row.reason for row in found.left_out}


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    return make_repo(
        tmp_path / "repo", app_dot_py="x=1\n", CLAUDE_dot_md="rules\n", _dot_aider_dot_conf_dot_yml="a: 1\n"
    )


def test_private_files_are_left_out_and_go_with_the_workspace(repo: Repo, tmp_path: Path) -> None:
    shop = open_workshop(repo, tmp_path / "w")
    shop.work.write("app.py", "x=2\n")
    shop.work.write(".aider.conf.yml", "a: 2\n")
    shop.work.write(".claude/settings.local.json", "{}\n")
    shop.work.write("mine.local.md", "be brief\n")
    shop.work.write(".codex/sessions/1.jsonl", "{}\n")
    found = shop.finish()
    assert shop.repo.files(f"refs/prun/r1/{shop.unit}") == {
        "app.py": "x=2", "CLAUDE.md": "rules", ".aider.conf.yml": "a: 2"
    }  # fmt: skip
    assert left_out(found) == dict.fromkeys((".claude/settings.local.json", "mine.local.md", ".codex/sessions/"), WHY)
    kept = shop.remove().kept_files
    assert kept == (".claude/settings.local.json", ".codex/sessions/1.jsonl", "mine.local.md")


def test_private_files_a_unit_is_about_are_its_work(repo: Repo, tmp_path: Path) -> None:
    shop = open_workshop(repo, tmp_path / "w")
    shop = replace(shop, site=replace(shop.site, fence=("app.py", ".claude/settings.local.json")))
    shop.work.write(".claude/settings.local.json", "{}\n")
    shop.work.write("CLAUDE.local.md", "be brief\n")
    found = shop.capture()
    assert (found.changed, left_out(found)) == ((".claude/settings.local.json",), {"CLAUDE.local.md": WHY})


def test_private_files_somebody_asks_for_are_taken_in(repo: Repo, tmp_path: Path) -> None:
    shop = open_workshop(repo, tmp_path / "w")
    shop = replace(shop, site=replace(shop.site, include=("CLAUDE.local.md",)))
    shop.work.write("CLAUDE.local.md", "be brief\n")
    found = shop.capture()
    assert (found.changed, left_out(found)) == (("CLAUDE.local.md",), {})


def prepare(shop: Workshop, **files: str) -> None:
    """Make files as the setup commands do, before the worker starts."""
    with noting_setup(shop.site, fresh=True):
        for name, text in files.items():
            shop.work.write(name.replace("_dot_", "."), text)


def test_what_setup_made_is_no_work(repo: Repo, tmp_path: Path) -> None:
    shop = open_workshop(repo, tmp_path / "w")
    prepare(shop, gen_dot_txt="1\n", app_dot_py="generated\n", _dot_env="TOKEN=1\n", more_dot_txt="2\n")
    found = shop.capture()
    assert (found.changed, left_out(found), found.notes) == (
        (), {}, ("as the setup commands left it, so no work of this unit: app.py and 2 more",)
    )  # fmt: skip
    # Captured a second time, it is none either, and nothing keeps the workspace.
    assert shop.finish().changed == ()
    assert shop.remove().saved is None


def test_what_the_worker_changed_of_it_is_work(repo: Repo, tmp_path: Path) -> None:
    shop = open_workshop(repo, tmp_path / "w")
    prepare(shop, gen_dot_txt="1\n", app_dot_py="generated\n", gone_dot_txt="1\n", _dot_env="TOKEN=1\n", kept="k\n")
    shop.work.write("gen.txt", "1\nand mine\n")
    (shop.path / "gone.txt").unlink()
    (shop.path / "app.py").unlink()
    shop.work.write(".env", "TOKEN=22\n")
    shop.work.write("kept", "k\n")
    (shop.path / "kept").chmod(0o755)
    found = shop.capture()
    assert shop.files(found) == {"app.py": "-", "gen.txt": "100644 1\nand mine", "kept": "100755 k"}
    assert left_out(found) == {".env": "looks like a secret by its name"}


def test_what_setup_removed_is_no_work(repo: Repo, tmp_path: Path) -> None:
    shop = open_workshop(repo, tmp_path / "w", "worktree")
    with noting_setup(shop.site, fresh=True) as made:
        (shop.path / "app.py").unlink()
    shop.work.write("CLAUDE.md", "more rules\n")
    assert (made, shop.capture().changed) == (["app.py"], ("CLAUDE.md",))


def test_somebody_can_ask_for_what_setup_made(repo: Repo, tmp_path: Path) -> None:
    shop = open_workshop(repo, tmp_path / "w")
    prepare(shop, gen_dot_txt="1\n", other_dot_txt="1\n")
    assert shop.capture().changed == ()
    asking = replace(shop, site=replace(shop.site, include=("gen.txt",)))
    assert asking.capture().changed == ("gen.txt",)


def test_setup_that_puts_a_folder_where_a_file_was_and_a_file_where_a_folder_was(repo: Repo, tmp_path: Path) -> None:
    repo.commit("both", file="f\n", folder__x="x\n")
    shop = open_workshop(repo, tmp_path / "w")
    with noting_setup(shop.site, fresh=True) as made:
        (shop.path / "file").unlink()
        shop.work.write("file/inside", "i\n")
        (shop.path / "folder" / "x").unlink()
        (shop.path / "folder").rmdir()
        shop.work.write("folder", "now a file\n")
    assert (made, shop.capture().changed) == (["file", "file/inside", "folder", "folder/x"], ())
    # A worker's own file in there stays, whatever is in its way.
    shop.work.write("file/mine", "m\n")
    assert shop.files(shop.capture()) == {"file": "-", "file/mine": "100644 m"}


@settings(max_examples=8)
@given(data=st.data())
def test_only_what_setup_left_is_given_back(data: st.DataObject) -> None:
    names = ("CLAUDE.md", "app.py", "d/new.txt", "gen.txt")
    texts = st.fixed_dictionaries(dict.fromkeys(names, st.sampled_from(["rules\n", "one\n", "two\n", None])))
    by_setup, by_worker = data.draw(texts), data.draw(texts)
    with tempfile.TemporaryDirectory() as folder:
        repo = make_repo(Path(folder) / "repo", app_dot_py="one\n", CLAUDE_dot_md="rules\n")
        base = {"app.py": "one\n", "CLAUDE.md": "rules\n"}
        shop = open_workshop(repo, Path(folder) / "w")
        with noting_setup(shop.site, fresh=True):
            lay(shop, by_setup)
        lay(shop, by_worker)
        expected = base.copy()
        for name in names:
            if by_worker[name] != by_setup[name]:
                expected.pop(name, None)
                expected |= {name: by_worker[name]} if by_worker[name] is not None else {}
        tree = shop.capture().tree
        env = {"GIT_DIR": str(shop.site.own)}
        rows = repo.git("ls-tree", "-r", "-z", "--name-only", tree, env=env).split("\0")[:-1]
        assert {name: repo.git("cat-file", "blob", f"{tree}:{name}", env=env) + "\n" for name in rows} == expected


def lay(shop: Workshop, texts: dict[str, str | None]) -> None:
    for name, text in texts.items():
        if text is None:
            (shop.path / name).unlink(missing_ok=True)
        else:
            shop.work.write(name, text)
