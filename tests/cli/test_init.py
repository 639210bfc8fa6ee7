"""``git prun init``: what it finds, what it writes, and that it writes nothing twice."""

from __future__ import annotations

import os
import shutil
import sys
import tomllib
import types
from collections.abc import Callable
from pathlib import Path

import pytest

from gitprun.api.starter import render
from gitprun.model.plan import parse_settings
from gitprun.system.config import read_settings
from tests.support.cli import Said, prun
from tests.support.inside import inside, timeless
from tests.support.repos import Repo, make_bare, make_repo

Init = Callable[..., Said]
NEXT = """next:
  git prun new NAME BRANCH                 # a workspace of your own
  git prun exec NAME SLUG "PROMPT"         # a worker in it; its work is committed and verified
  git prun run plan.toml                   # many units at once
  git prun monitor                         # what they do, a line a minute
"""


@pytest.fixture(autouse=True)
def programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Put a codex of known version on PATH, and nothing else that could be a worker."""
    folder = tmp_path / "bin"
    folder.mkdir()
    (folder / "codex").write_text("#!/bin/sh\necho codex-cli 0.171.0\n")
    (folder / "codex").chmod(0o755)
    others = [p for p in os.environ["PATH"].split(os.pathsep) if not (Path(p) / "claude").exists()]
    monkeypatch.setenv("PATH", os.pathsep.join([str(folder), *others]))
    return folder


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    return make_repo(tmp_path / "repo")


@pytest.fixture
def init(repo: Repo, capsys: pytest.CaptureFixture[str]) -> Init:
    return lambda *words: inside(capsys, repo.path, "init", *words)


def facts(said: Said) -> dict[str, str]:
    return dict(line.split(maxsplit=1) for line in said.out.splitlines())


def test_a_bare_start(repo: Repo, init: Init) -> None:
    said = init()
    rows = facts(said)
    assert rows.pop("git").startswith("2.")
    assert (said.code, {key: timeless(value) for key, value in rows.items()}) == (
        0,
        {
            "repository": f"{repo.path} at COMMIT",
            "codex": "codex-cli 0.171.0",
            "claude": "not found",
            "workspaces": f"{repo.path}.prun",
            "baseline": "COMMIT pinned",
            "prun.toml": "written, all of it comments",
        },
    )
    commit = "  git add prun.toml && git commit -m 'prun: add settings'\n"
    assert said.err == NEXT.replace("next:\n", f"next:\n{commit}")
    assert repo.oid("refs/prun/baseline") == repo.head
    state = repo.path / ".git" / "prun"
    assert ((state / "baseline.sha").read_text(), (state / "logs").is_dir()) == (f"{repo.head}\n", True)
    assert tomllib.loads(repo.read("prun.toml")) == {"run": {}, "workspace": {}}
    assert repo.status() == ["?? prun.toml"]


def test_the_second_time_changes_nothing(repo: Repo, init: Init) -> None:
    init()
    before = {str(path): path.stat().st_mtime_ns for path in repo.path.rglob("*") if path.is_file()}
    repo_head = repo.head
    said = init()
    assert (said.code, said.err) == (0, f"nothing was changed\n{NEXT}")
    assert facts(said)["baseline"] == f"{repo_head[:10]} is pinned already (--baseline HEAD pins it anew)"
    assert facts(said)["prun.toml"] == "is there already, and left as it is"
    assert {str(path): path.stat().st_mtime_ns for path in repo.path.rglob("*") if path.is_file()} == before


def test_the_baseline_stays_until_it_is_set(repo: Repo, init: Init) -> None:
    first = repo.head
    init()
    second = repo.commit("on", b_dot_txt="2\n")
    init()
    assert repo.oid("refs/prun/baseline") == first
    assert timeless(facts(init("--baseline", "HEAD"))["baseline"]) == "COMMIT pinned"
    assert repo.oid("refs/prun/baseline") == second
    assert (repo.path / ".git" / "prun" / "baseline.sha").read_text() == f"{second}\n"
    assert init("--baseline", "nowhere").code == 128


def test_what_it_finds(repo: Repo, init: Init) -> None:
    repo.commit(
        "a project",
        _dot_gitignore="node_modules/\n.env*\n!.env.example\n",
        tsconfig_dot_json="{}",
        vitest_dot_config_dot_ts="",
        prisma__schema_dot_prisma="",
        pyproject_dot_toml="[tool.pytest.ini_options]\n",
    )
    repo.write("node_modules/x.js", "")
    repo.write(".env", "")
    repo.write(".env.local", "")
    assert facts(init())["prun.toml"] == "written: verify, copy, link, setup found"
    settings = read_settings(repo.path)
    assert (settings.verify, settings.copy, settings.link, settings.setup) == (
        ("npx --no-install tsc --noEmit", "npx --no-install vitest run", "python3 -m pytest -q"),
        (".env", ".env.local"),
        ("node_modules",),
        ("npx prisma generate",),
    )
    assert '# [[hotspot]]\n# path = "prisma/schema.prisma"\n# policy = "union"\n' in repo.read("prun.toml")
    assert repo.status() == ["?? prun.toml"]


def test_what_is_tracked_is_not_copied(repo: Repo, init: Init) -> None:
    repo.commit("env", _dot_env="KEY=1\n")
    repo.write(".env.local", "not ignored\n")
    init()
    assert read_settings(repo.path).copy is None


def test_files_that_many_commits_touch_are_hotspots(repo: Repo, init: Init) -> None:
    for number in range(10):
        repo.commit(
            f"{number}", src__routes_dot_txt=f"{number}\n", TODO_dot_md=f"{number}\n", yarn_dot_lock=f"{number}"
        )
        repo.commit(f"more {number}", package_dot_json=f"[{number}]\n", app__pyproject_dot_toml=f"a = {number}\n")
    init()
    text = repo.read("prun.toml")
    assert [row for row in text.splitlines() if row.startswith("# path")] == ['# path = "src/routes.txt"']


def test_a_prun_toml_that_is_there_is_never_touched(repo: Repo, init: Init, tmp_path: Path) -> None:
    repo.write("prun.toml", '[workspace]\nroot = "../mine"\n')
    said = init()
    assert (said.code, facts(said)["workspaces"]) == (0, str(tmp_path / "mine"))
    said = init("../other")
    assert (said.code, said.err) == (
        1,
        f"error: prun.toml is there already, and its workspaces go to {tmp_path}/mine\n"
        "hint: let its [workspace] say: root = '../other'\n",
    )
    assert init("../mine").code == 0
    assert repo.read("prun.toml") == '[workspace]\nroot = "../mine"\n'


def test_a_root_outside(repo: Repo, init: Init, tmp_path: Path) -> None:
    assert init("../w").err.count("warning") == 0
    assert read_settings(repo.path).root == "../w"
    assert facts(init("../w"))["workspaces"] == str(tmp_path / "w")


def test_a_root_in_the_checkout(repo: Repo, init: Init) -> None:
    repo.commit(
        "configs",
        tsconfig_dot_json="{}",
        vitest_dot_config_dot_mts="",
        eslint_dot_config_dot_mjs='globalIgnores([".worktrees/**"])',
    )
    said = init(".worktrees")
    assert said.err.splitlines()[:4] == [
        f"warning: git does not ignore {repo.path}/.worktrees, which lies in your checkout: runs refuse to use it",
        "hint: echo '/.worktrees/' >>.gitignore, and commit that",
        'warning: tsconfig.json: add ".worktrees/**" to "exclude" (or it will take in what lies in the workspaces)',
        'warning: vitest.config.mts: add "**/.worktrees/**" to test.exclude (or it will take in what lies in the '
        "workspaces)",
    ]
    assert (said.code, read_settings(repo.path).root) == (0, ".worktrees")
    repo.commit("ignore", _dot_gitignore="/.worktrees/\n", tsconfig_dot_json='{"exclude": [".worktrees/**"]}')
    assert [line[:27] for line in init().err.splitlines() if line.startswith("warning")] == [
        "warning: vitest.config.mts:"
    ]


def test_no_codex(init: Init, programs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (programs / "codex").unlink()
    monkeypatch.setattr("gitprun.supervisor.programs.EXTRA", "no_such_module")
    said = init()
    assert (said.code, facts(said)["codex"], said.err.splitlines()[:2]) == (
        0,
        "not found",
        [
            "warning: codex is not on PATH, so no unit can be given to it",
            "hint: pip install 'gitprun[codex]', or set [executor.codex] program in prun.toml",
        ],
    )


def test_the_codex_of_the_extra(init: Init, programs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (programs / "codex").rename(programs / "bundled")
    extra = types.ModuleType("fake_codex_cli_bin")
    extra.bundled_codex_path = lambda: programs / "bundled"  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "fake_codex_cli_bin", extra)
    monkeypatch.setattr("gitprun.supervisor.programs.EXTRA", "fake_codex_cli_bin")
    said = init()
    assert (said.code, facts(said)["codex"]) == (0, "codex-cli 0.171.0 from the codex extra")
    assert "codex" not in said.err


def test_a_configured_codex_that_is_not_there(repo: Repo, init: Init) -> None:
    repo.write("prun.toml", '[executor.codex]\nprogram = "/no/such/codex"\n')
    repo.approve()
    said = init()
    assert (said.code, facts(said)["codex"]) == (0, "not found")
    assert said.err.splitlines()[0] == "warning: /no/such/codex, the program of [executor.codex], is not there"


def test_the_program_of_a_check_that_is_not_there(
    repo: Repo, init: Init, programs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (programs / "python3").write_text('#!/bin/sh\n[ "$3" = pytest ] && exit 3; exit 0\n')
    (programs / "python3").chmod(0o755)
    (programs / "git").symlink_to(str(shutil.which("git")))
    monkeypatch.setenv("PATH", str(programs))
    repo.commit("found", go_dot_mod="module x\n", pytest_dot_ini="", mypy_dot_ini="")
    said = init()
    assert [line for line in said.err.splitlines() if line.startswith(("warning", "hint"))] == [
        "warning: python3 has no module pytest, the program of the check 'python3 -m pytest -q'",
        "warning: go, the program of the check 'go vet ./...', is not on PATH",
        "hint: until it is there the work of units is unverified; install it, or name other checks in [run] verify",
    ]


def test_a_codex_that_does_not_work(init: Init, programs: Path) -> None:
    (programs / "codex").write_text("#!/bin/sh\nexit 3\n")
    said = init()
    assert (said.code, facts(said)["codex"]) == (0, "does not work")
    assert said.err.splitlines()[0] == f"warning: {programs}/codex --version: exit code 3"


def test_a_codex_named_in_the_settings(repo: Repo, init: Init, tmp_path: Path) -> None:
    (tmp_path / "mine").write_text('#!/bin/sh\necho "codex-cli $VERSION"\n')
    (tmp_path / "mine").chmod(0o755)
    table = f'[executor.codex]\nprogram = "{tmp_path}/mine"\nenv = {{ VERSION = "9" }}\n'
    repo.write("prun.toml", table)
    assert facts(init())["codex"].startswith("not asked for its version")
    repo.approve()
    assert facts(init())["codex"] == "codex-cli 9"


def test_where_there_is_nothing_to_prepare(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "none").mkdir()
    said = inside(capsys, tmp_path / "none", "init")
    assert (said.code, said.err.splitlines()[0]) == (128, f"error: {tmp_path}/none is not in a git repository")
    Repo(tmp_path / "none").git("init", "-q")
    said = inside(capsys, tmp_path / "none", "init")
    assert (said.code, said.err.splitlines()[0]) == (128, "error: this repository has no commits yet")
    assert os.listdir(tmp_path / "none") == [".git"]


def test_a_bare_repository(repo: Repo, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    hub = make_bare(tmp_path / "hub.git", repo)
    said = inside(capsys, hub.path, "init")
    assert (said.code, facts(said)["prun.toml"]) == (0, "none: this repository has no checkout")


def test_the_seeds_variables(repo: Repo, tmp_path: Path) -> None:
    env = {"PROJECT_DIR": str(repo.path), "MONITOR_ROOT": str(tmp_path / "monitor"), "WT_DIR_NAME": ".worktrees"}
    said = prun(tmp_path, "init", env=env)
    assert (said.code, facts(said)["workspaces"]) == (0, f"{repo.path}/.worktrees")
    assert (tmp_path / "monitor" / "baseline.sha").read_text() == f"{repo.head}\n"
    assert (tmp_path / "monitor" / "logs").is_dir()
    assert read_settings(repo.path).root == ".worktrees"
    assert "nothing was changed" in prun(tmp_path, "init", env=env).err


def test_what_is_written_can_be_read() -> None:
    strange = ['a "quoted" \\ path', "tab\there", "smile \U0001f600", "del\x7f", "fürst"]
    text = render(
        verify=strange,
        root=strange[0],
        default="d",
        copy=strange[1:],
        link=strange[:1],
        setup=strange,
        hotspots=strange,
    )
    settings = parse_settings(tomllib.loads(text), "prun.toml")
    assert (settings.verify, settings.root, settings.link) == (tuple(strange), strange[0], (strange[0],))
    assert (settings.copy, settings.setup) == (tuple(strange[1:]), tuple(strange))


def test_every_example_in_it_can_be_used() -> None:
    text = render(verify=(), root=None, default="../repo.prun", copy=(), link=(), setup=(), hotspots=())
    rows = [
        row.removeprefix("# ") if row.startswith(("# ", "#[")) and _is_code(row) else row for row in text.splitlines()
    ]
    settings = parse_settings(tomllib.loads("\n".join(rows)), "prun.toml")
    assert (settings.verify, settings.jobs, settings.root) == (("pytest -q",), 4, "../somewhere")
    assert (settings.copy, settings.link, settings.setup) == ((".env",), ("node_modules",), ("npx prisma generate",))
    assert settings.executors["codex"].program == "codex"
    assert settings.hotspots == ({"path": "src/routes.ts", "policy": "union"},)


def _is_code(row: str) -> bool:
    return " = " in row or row.startswith("# [")
