"""What is no work stays in the workspace and is said; the work beside it is captured."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from gitprun.capture.capture import Capture
from tests.support.repos import Repo, make_repo
from tests.support.workshop import open_workshop


def left_out(found: Capture) -> dict[str, str]:
    return {row.path: row.reason for row in found.left_out}


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    return make_repo(tmp_path / "repo", _dot_gitignore="node_modules/\nbuild/\n", app_dot_py="x=1\n")


def test_what_prun_provided_is_never_staged(repo: Repo, tmp_path: Path) -> None:
    repo.write("node_modules/d/i.js", "x\n")
    repo.write(".env", "API_KEY=1\n")
    repo.write("venv dir/[x]/lib.py", "x\n")
    repo.write(".git/info/exclude", ".env\nvenv dir\n")
    shop = open_workshop(repo, tmp_path / "w", copy=(".env", "venv dir"), link=("node_modules",))
    shop.work.write("src.js", "real work\n")
    shop.work.write("venv dir/[x]/more.py", "y\n")
    shop.work.write(".env", "API_KEY=2\n")
    found = shop.capture()
    assert (shop.files(found), left_out(found)) == ({"src.js": "100644 real work"}, {})


def test_a_link_out_of_the_workspace(repo: Repo, tmp_path: Path) -> None:
    shop = open_workshop(repo, tmp_path / "w")
    (shop.path / "node_modules").symlink_to(repo.path / "node_modules")
    (shop.path / "up").symlink_to("../../other")
    (shop.path / "into").symlink_to(".git/config")
    (shop.path / "own").symlink_to(shop.path / "app.py")
    (shop.path / ".gitmodules").symlink_to("app.py")
    (shop.path / "fine").symlink_to("app.py")
    found = shop.capture()
    assert shop.files(found) == {"fine": "120000 app.py"}
    assert left_out(found) == {
        "node_modules": f"a link that leaves the workspace (to {repo.path}/node_modules)",
        "up": "a link that leaves the workspace (to ../../other)",
        "into": "a link into .git",
        "own": f"a link that leaves the workspace (to {shop.path}/app.py)",
        ".gitmodules": "a name that git refuses for a link",
    }


def test_secrets(repo: Repo, tmp_path: Path, sealed: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (sealed / "ignore").write_text(".env\n")
    (sealed / "gitconfig").write_text(f"[core]\n\texcludesFile = {sealed}/ignore\n")
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(sealed / "gitconfig"))
    shop = open_workshop(repo, tmp_path / "w")
    shop.work.write("app.py", "x=2\n")
    shop.work.write(".env", "API_KEY=1\n")
    shop.work.write(".env.local", "API_KEY=1\n")
    shop.work.write(".env.example", "API_KEY=\n")
    shop.work.write("config/credentials.json", "{}\n")
    shop.work.write("deploy", "-----BEGIN OPENSSH PRIVATE KEY-----\nEXAMPLE\n")
    shop.work.write("my_id_rsa", "EXAMPLE\n")
    shop.work.write("keys.py", 'MARK = "-----BEGIN PRIVATE KEY-----"\n')
    found = shop.capture()
    assert found.changed == (".env.example", "app.py", "keys.py")
    assert left_out(found) == {
        ".env.local": "looks like a secret by its name",
        "config/credentials.json": "looks like a secret by its name",
        "deploy": "a private key",
        "my_id_rsa": "looks like a secret by its name",
    }


def test_stores_programs_and_large_files(repo: Repo, tmp_path: Path) -> None:
    shop = open_workshop(repo, tmp_path / "w", max_file=1000)
    for number in range(3):
        shop.work.write(f".local/share/pnpm/store/{number}", "x" * 10)
    shop.work.write("server", b"\x7fELF" + b"\0" * 100, executable=True)
    shop.work.write("big.bin", b"\0" * 1001)
    shop.work.write("fits.bin", b"\0" * 1000)
    shop.work.write("web/.venv/lib/x.py", "x\n")
    found = shop.capture()
    assert found.changed == ("fits.bin",)
    assert {(row.path, row.reason, row.size) for row in found.left_out} == {
        (".local/share/", "build output (share)", 30),
        ("server", "build output (a compiled program)", 104),
        ("big.bin", "larger than 1000 bytes ([collect] max_file)", 1001),
        ("web/.venv/", "build output (.venv)", 2),
    }


def test_a_tracked_file_that_grew_too_large_keeps_its_base(repo: Repo, tmp_path: Path) -> None:
    repo.commit("large", large_dot_bin=b"\0" * 2000)
    shop = open_workshop(repo, tmp_path / "w", max_file=1000)
    shop.work.write("app.py", "y" * 1001)
    shop.work.write("large.bin", b"\1" * 2000)
    found = shop.capture()
    assert found.changed == ("large.bin",)
    assert left_out(found) == {"app.py": "larger than 1000 bytes ([collect] max_file)"}


def test_a_folder_of_the_base_is_no_build_output(tmp_path: Path) -> None:
    repo = make_repo(tmp_path / "repo", vendor__node_modules__lib_dot_js="1\n")
    shop = open_workshop(repo, tmp_path / "w")
    shop.work.write("vendor/node_modules/more.js", "2\n")
    assert shop.capture().changed == ("vendor/node_modules/more.js",)


def test_repositories_inside(repo: Repo, tmp_path: Path) -> None:
    shop = open_workshop(repo, tmp_path / "w")
    make_repo(shop.path / "vendor" / "tool", t_dot_py="tool\n")
    make_repo(shop.path / "vendor" / "tool" / "deeper", t_dot_py="tool\n")
    shop.work.worktree(shop.path / ".worktrees" / "x", "x", new=True)
    shop.work.write("broken/.git", "no pointer\n")
    shop.work.write("broken/inner.py", "x\n")
    shop.work.write("b.txt", "real\n")
    found = shop.capture()
    assert shop.files(found) == {"b.txt": "100644 real"}
    reason = "a repository inside the workspace"
    assert left_out(found) == {"vendor/tool/": reason, ".worktrees/x/": reason, "broken/": reason}


def test_a_folder_of_the_base_that_became_a_repository(tmp_path: Path) -> None:
    repo = make_repo(tmp_path / "repo", src__a_dot_py="1\n")
    shop = open_workshop(repo, tmp_path / "w")
    inner = make_repo(shop.path / "src", a_dot_py="2\n", b_dot_py="new\n")
    inner.write("c.py", "untracked\n")
    found = shop.capture()
    assert shop.files(found) == {
        "src/a.py": "100644 2",
        "src/b.py": "100644 new",
        "src/c.py": "100644 untracked",
    }
    assert left_out(found) == {"src/.git": "a repository inside the workspace"}


def test_names_git_refuses(repo: Repo, tmp_path: Path) -> None:
    shop = open_workshop(repo, tmp_path / "w")
    names = (".GIT/config", "sub/git~1", "sub/.git .", "sub/.Git:x")
    for name in (*names, "fine.txt"):
        shop.work.write(name, "x\n")
    found = shop.capture()
    assert found.changed == ("fine.txt",)
    assert left_out(found) == dict.fromkeys(names, "a name that git refuses")


def test_one_file_git_cannot_stage_does_not_spoil_the_rest(repo: Repo, tmp_path: Path) -> None:
    shop = open_workshop(repo, tmp_path / "w")
    shop.work.write(".gitattributes", "*.utf working-tree-encoding=UTF-16\n")
    shop.work.write("odd.utf", b"\xff\xfe\x00")
    for number in range(9):
        shop.work.write(f"{number}.txt", "x\n")
    found = shop.capture()
    assert found.changed == (".gitattributes", *(f"{number}.txt" for number in range(9)))
    assert list(left_out(found)) == ["odd.utf"]
    assert left_out(found)["odd.utf"].startswith("git could not stage it: failed to encode 'odd.utf'")


@pytest.mark.parametrize("rule", ["*", "/*", "**", "*\n!.gitignore"])
def test_a_rule_that_hides_everything_hides_nothing(repo: Repo, tmp_path: Path, rule: str) -> None:
    shop = open_workshop(repo, tmp_path / "w")
    shop.work.write(".gitignore", f"{rule}\n")
    shop.work.write("new.py", "x\n")
    shop.work.write("pkg/new.py", "x\n")
    shop.work.write("build/out.o", "hidden by the base\n")
    found = shop.capture()
    assert found.changed == (".gitignore", "new.py", "pkg/new.py")
    assert found.left_out == ()


def test_a_new_folder_that_hides_itself_is_build_output(repo: Repo, tmp_path: Path) -> None:
    shop = open_workshop(repo, tmp_path / "w")
    for folder in (".pytest_cache", "my env"):
        shop.work.write(f"{folder}/.gitignore", "# made by a tool\n*\n")
        shop.work.write(f"{folder}/lib/x.py", "x\n")
    shop.work.write("new.py", "x\n")
    found = shop.capture()
    assert found.changed == ("new.py",)
    assert left_out(found) == {"my env/": "build output (the folder hides itself)"}


def test_narrow_rules_of_the_worker_are_said(repo: Repo, tmp_path: Path) -> None:
    shop = open_workshop(repo, tmp_path / "w")
    shop.work.write("web/.gitignore", "dist\nnode_modules\nnotes.md\n")
    for name in ("dist/a.js", "dist/b/c.js", "node_modules/d/i.js", "notes.md", "src/main.js"):
        shop.work.write(f"web/{name}", "x\n")
    found = shop.capture()
    assert found.changed == ("web/.gitignore", "web/src/main.js")
    assert {(row.path, row.reason, row.size) for row in found.left_out} == {
        ("web/dist/", "build output, hidden by a rule of the worker's own (web/.gitignore: dist)", 4),
        ("web/notes.md", "hidden by a rule of the worker's own (web/.gitignore: notes.md)", 2),
    }


def test_what_the_worker_shows_is_work(repo: Repo, tmp_path: Path) -> None:
    shop = open_workshop(repo, tmp_path / "w")
    shop.work.write(".gitignore", "node_modules/\n")
    shop.work.write("build/wanted.txt", "x\n")
    assert shop.capture().changed == (".gitignore", "build/wanted.txt")


def test_info_exclude_of_the_user_holds(repo: Repo, tmp_path: Path) -> None:
    repo.write(".git/info/exclude", "secrets.txt\n*.log\n")
    shop = open_workshop(repo, tmp_path / "w")
    for name in ("secrets.txt", "run.log", "seen.txt"):
        shop.work.write(name, "x\n")
    shop.work.write(".git/info/exclude", "seen.txt\n")
    assert shop.capture().changed == ("seen.txt",)


def test_litter_of_a_sandbox_is_swept(repo: Repo, tmp_path: Path) -> None:
    shop = open_workshop(repo, tmp_path / "w")
    for name in (".codex", ".agents", ".aws"):
        os.mkdir(shop.path / name)
    found = shop.capture()
    assert (found.changed, found.left_out) == ((), ())
    shop.work.write(".codex", "")
    assert (shop.capture().changed, shop.capture().left_out) == ((), ())


def test_the_outbox_is_no_work_whatever_is_in_it(repo: Repo, tmp_path: Path) -> None:
    shop = open_workshop(repo, tmp_path / "w")
    shop.work.write(".prun/result.md", "Conclusion: done\n")
    shop.work.write(".gitignore", "!.prun\n")
    (shop.path / ".prun" / ".gitignore").unlink()
    os.mkfifo(shop.path / ".prun" / ".gitignore")
    assert shop.capture().changed == (".gitignore",)


@pytest.mark.parametrize(
    ("settings", "refused"),
    [
        ("update = !touch canary", "submodule.x.update"),
        ("path = -x", "submodule.x.path"),
        ("url = -u", "submodule.x.url"),
        ('path = "sub\r"', "submodule.x.path"),
        ('url = "a\\nb"', "submodule.x.url"),
        ("broken", None),
        ("= nothing", "no settings git can read"),
        ("path = x\n\turl = ../x", None),
    ],
)
def test_submodule_settings_git_refuses(repo: Repo, tmp_path: Path, settings: str, refused: str | None) -> None:
    shop = open_workshop(repo, tmp_path / "w")
    shop.work.write(".gitmodules", f'[submodule "x"]\n\t{settings}\n'.encode())
    expected = {} if refused is None else {".gitmodules": f"a submodule setting that git refuses: {refused}"}
    assert left_out(shop.capture()) == expected


def test_a_changed_gitmodules_is_looked_at_too(tmp_path: Path) -> None:
    repo = make_repo(tmp_path / "repo", _dot_gitmodules='[submodule "x"]\n\tpath = x\n')
    shop = open_workshop(repo, tmp_path / "w")
    shop.work.write(".gitmodules", '[submodule "../x"]\n\tpath = x\n')
    found = shop.capture()
    assert (found.changed, list(left_out(found))) == ((), [".gitmodules"])
