"""The view of checks: the path of the user's checkout shows the place that is checked; nothing of it is written."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from gitprun.model.plan import Settings
from gitprun.supervisor import sandbox
from gitprun.supervisor.sandbox import Viewer, find_sandbox, find_view
from gitprun.verify import surroundings
from gitprun.verify import view as module
from gitprun.verify.back_references import describe_obstacle, find_back_references
from gitprun.verify.installations import installations, why_covered_never
from gitprun.verify.view import CheckoutView
from tests.supervisor.test_sandbox import bundled, walls_of
from tests.support.cases import crossed
from tests.support.landing import candidate, land_branches, states
from tests.support.repos import make_repo
from tests.support.runs import run_units, sh, unit_of, workspace
from tests.support.views import ANSWERS, KINDS, Trial, snapshot, trial, write

needs_view = pytest.mark.skipif(find_view().reason != "", reason=f"no view: {find_view().reason}")
ROOT = Path(__file__).resolve().parents[2]
NOBODY = "65534"


def plain_python(folder: Path) -> list[str]:
    """Give the words that start a Python with all that prun needs as a plain user; skip where there is none."""
    setpriv = shutil.which("setpriv")
    if os.geteuid() != 0 or setpriv is None:
        pytest.skip("only root can become somebody else, with setpriv")
    become = [setpriv, "--reuid", NOBODY, "--regid", NOBODY, "--clear-groups"]
    paths = os.pathsep.join([str(ROOT), *(path for path in sys.path if path.endswith("site-packages"))])
    env = ["env", f"HOME={folder}", "PATH=/usr/bin:/bin", f"PYTHONPATH={paths}", "PYTHONDONTWRITEBYTECODE=1"]
    for python in (sys.executable, "/usr/bin/python3"):
        words = [*become, *env, python]
        probe = [*words, "-c", "import sys, filelock; sys.exit(sys.version_info < (3, 11))"]
        if subprocess.run(probe, capture_output=True, cwd="/", check=False).returncode == 0:
            return words
    pytest.skip("no Python that a plain user may start")


@needs_view
@pytest.mark.parametrize(("kind", "confined"), crossed(KINDS, (True, False)))
def test_a_check_sees_the_place_at_the_path_of_the_checkout(tmp_path: Path, kind: str, confined: bool) -> None:
    if confined and find_sandbox().kind is None:
        pytest.skip(find_sandbox().reason)
    assert trial(tmp_path, kind, confined=confined) == ANSWERS


@needs_view
@pytest.mark.parametrize(
    ("kind", "confined"),
    [("clone", False), *(pytest.param(kind, True, marks=pytest.mark.slow) for kind in ("worktree", "inside"))],
)
def test_and_so_it_does_for_a_plain_user(kind: str, confined: bool) -> None:
    # Not below a folder that only root may enter.
    folder = Path("/var/tmp", f"prun-test-{os.getpid()}-{kind}")
    folder.mkdir()
    try:
        os.chown(folder, int(NOBODY), int(NOBODY))
        words = [*plain_python(folder), "-m", "tests.support.views", str(folder), kind, str(confined)]
        done = subprocess.run(words, capture_output=True, text=True, cwd=folder, timeout=60, check=False)
        assert (done.returncode, done.stderr) == (0, "")
        assert json.loads(done.stdout) == ANSWERS
    finally:
        shutil.rmtree(folder)


@needs_view
def test_a_hostile_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    one = Trial(tmp_path, "clone").make()
    write(one.folder, {"secret/f": "mine\n"})
    for name in ("new\nline", "-rf", " ", "b\udcff"):
        (one.place / os.fsencode(name).decode("utf-8", "surrogateescape")).write_text("x")
    (one.place / "out").symlink_to(one.folder / "secret")
    (one.place / "loop").symlink_to(one.checkout / "loop")
    # Below it something is kept, and it leads out of the place.
    shutil.rmtree(one.place / "app")
    (one.place / "app").symlink_to(one.folder / "secret")
    write(one.checkout, {"app/env/pyvenv.cfg": "x\n"})
    monkeypatch.setenv("PATH", f"{one.checkout}/app/env/bin:{os.environ['PATH']}")
    (one.place / "planted").mkdir()
    before = snapshot(one)
    with one.around(confined=True) as around:
        said = one.say(
            around, 'export LC_ALL=C; cd $R; ls -A -b | tr "\\n" " "; test -d .git/objects && ls app; cat loop'
        )
        assert said.startswith("1: \\  -rf .env .git .gitignore .venv a.sh app b\\377 data.txt loop new\\nline ")
        assert "cat: loop: Too many levels of symbolic links" in said
        # What is made where the place has a link goes nowhere, and not through it.
        assert (
            one.say(around, "echo bad >$R/app/f; echo bad >$R/app/deeper; rm $R/out; mkdir $R/out; echo b >$R/out/f")
            == ""
        )
        assert (
            one.say(around, "rm -rf $R/planted; echo bad >$R/planted; rm $R/src; echo ok; cat $R/out/f") == "ok\nmine"
        )
        assert one.say(around, "ls -d $R/src src; cat $R/planted 2>&1 || true").startswith("DIR/repo/src\nsrc\ncat: ")
    assert snapshot(one) == before
    assert [path.name for path in (one.folder / "secret").iterdir()] == ["f"]
    assert (one.folder / "secret/f").read_text() == "mine\n"
    assert [path.name for path in one.place.parent.iterdir()] == ["u"]


@needs_view
@pytest.mark.slow
def test_thousands_of_entries(tmp_path: Path) -> None:
    one = Trial(tmp_path, "clone").make()
    for number in range(5000):
        (one.place / f"{number}").touch()
    with one.around(confined=False) as around:
        assert one.say(around, "ls $R | wc -l; : >$R/4999; : >$R/5000; rm $R/1; ls | wc -l") == "5006\n5006"
        assert one.say(around, "ls $R | wc -l; ls | wc -l") == "5007\n5007"


@needs_view
def test_nothing_is_written_where_the_worker_could_not(tmp_path: Path) -> None:
    if find_sandbox().kind is None:
        pytest.skip(find_sandbox().reason)
    one = Trial(tmp_path, "worktree").make()
    with one.around(confined=True, own_files=False) as around:
        asked = "for f in $R/new $R/data.txt new $R/.git/index; do echo bad >$f || echo no; done 2>&-; cat data.txt"
        assert one.say(around, asked) == "no\nno\nno\nno\nunit"


@needs_view
def test_an_environment_on_path_is_kept_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    one = Trial(tmp_path, "clone", Settings()).make()
    write(one.checkout, {"deep/env/pyvenv.cfg": "x\n", "deep/env/lib/m": "m\n", "bin/tool": "main\n", "tmp/f": "t\n"})
    write(one.place, {"bin/tool": "unit\n"})
    monkeypatch.setenv("PATH", f"{one.checkout}/deep/env/bin:{one.checkout}/bin:{os.environ['PATH']}")
    monkeypatch.setenv("GOPATH", f"{one.checkout}/dist")
    monkeypatch.setenv("TMPDIR", f"{one.checkout}/tmp")
    with one.around(confined=False) as around:
        asked = "cat $R/deep/env/lib/m $R/bin/tool $R/dist/bundle.txt; mktemp >/dev/null && ls $R/tmp | wc -l"
        assert one.say(around, asked) == "m\nunit\nbuilt of main\n2"
        assert one.say(around, "test -e $R/.venv || ls $R/deep").splitlines() == ["env"]


@needs_view
def test_a_name_the_place_has_of_its_own_is_not_kept(tmp_path: Path) -> None:
    one = Trial(tmp_path, "clone", Settings(link=("packages", "node_modules"))).make_tracked()
    with one.around(confined=False) as around:
        assert one.say(around, "cat $R/packages/lib/index.txt") == "unit"


def test_nothing_is_shown_where_nobody_wants_it(tmp_path: Path) -> None:
    one = Trial(tmp_path, "clone").make()
    one.settings = replace(one.settings, verify_view="none")
    with one.around(confined=False) as around:
        assert (around.shown, around.obstacle, around.sandbox.confine) == (None, "", None)
        assert one.say(around, "cat $R/data.txt") == "main"


MARKED = {"/r/.venv", "/r/a/env", "/r/a/env/inner"}


@pytest.mark.parametrize(
    ("env", "commands", "found"),
    [
        ({}, (), ()),
        ({"PATH": "/usr/bin:/r/.venv/bin:/r/bin:/r:/r2/.venv/bin"}, (), ("/r/.venv",)),
        ({"PATH": "/r/a/env/inner/bin"}, (), ("/r/a/env",)),
        ({"PATH": "/r/web/node_modules/.bin:/r/x/../.venv/bin"}, (), ("/r/web/node_modules",)),
        ({"VIRTUAL_ENV": "/r/own", "PYTHONPATH": "/r/src"}, (), ("/r/own",)),
        ({"VIRTUAL_ENV": "/r", "GOPATH": "/elsewhere"}, (), ()),
        ({}, ("/r/.venv/bin/pytest -q '", "sh -c '/r/a/env/bin/x' /r/a/env/bin/y"), ("/r/.venv", "/r/a/env")),
    ],
)
def test_what_is_kept(env: dict[str, str], commands: tuple[str, ...], found: tuple[str, ...]) -> None:
    assert installations("/r", env, commands, MARKED.__contains__) == found


@pytest.mark.parametrize(
    ("checkout", "home", "why"),
    [
        ("/home/me/code", "/home/me", ""),
        ("/home/me", "/home/me", "the checkout holds /home/me"),
        ("/home", "/home/me", "the checkout holds /home/me"),
        ("/", "/root", "the checkout holds /root"),
        ("/etc", "/root", "the checkout holds /etc"),
        ("/var/www", "", ""),
    ],
)
def test_what_is_never_covered(checkout: str, home: str, why: str) -> None:
    assert why_covered_never(checkout, home) == why


@pytest.mark.parametrize(
    ("things", "leads"),
    [
        ({".env": "A=1\nDATA='{R}/src/data'\n"}, [(".env", "src/data")]),
        ({".env": "HOME_OF={R}2/src {R}-old x{R}\n"}, [(".env", "")]),
        ({".venv/pyvenv.cfg": "command = {R}/.venv\n", ".venv/bin/activate": "{R}/src"}, []),
        (
            {".venv/lib/site-packages/__editable__.app.pth": "{R}/src\n"},
            [(".venv/lib/site-packages/__editable__.app.pth", "src")],
        ),
        (
            {".venv/lib/site-packages/__editable___app_finder.py": "M = {{'a': '{R}/src/a'}}"},
            [(".venv/lib/site-packages/__editable___app_finder.py", "src/a")],
        ),
        ({".venv/lib/site-packages/x/conf.yml": "{R}/src"}, []),
        ({"cfg/a/b.toml": 'root = "{R}/lib"\n', "cfg/b.bin": "{R}/lib"}, [("cfg/a/b.toml", "lib")]),
        ({".env": "X=" + "y" * (70 << 10) + " {R}/src"}, []),
    ],
)
def test_what_leads_back_is_found(tmp_path: Path, things: dict[str, str], leads: list[tuple[str, str]]) -> None:
    write(tmp_path, {name: text.format(R=tmp_path) for name, text in things.items()})
    tops = tuple(dict.fromkeys(name.split("/")[0] for name in things))
    found = find_back_references(CheckoutView(checkout=tmp_path, common=tmp_path / ".git", link=tops), {})
    assert [(lead.what, lead.target) for lead in found] == leads


def test_links_that_lead_back_are_found(tmp_path: Path) -> None:
    write(tmp_path, {"node_modules/real/index.js": "x", "packages/lib/a": "x", ".pnpm/x": "x"})
    (tmp_path / "node_modules/@w").mkdir()
    (tmp_path / "node_modules/@w/lib").symlink_to("../../packages/lib")
    (tmp_path / "node_modules/in").symlink_to("real")
    (tmp_path / "node_modules/out").symlink_to("/usr")
    view = CheckoutView(checkout=tmp_path, common=tmp_path / ".git", link=("node_modules",))
    assert [(lead.what, lead.target) for lead in find_back_references(view, {})] == [
        ("node_modules/@w/lib", "packages/lib")
    ]
    said = "node_modules/@w/lib leads to your checkout, and the path cannot show what is checked: why"
    for changed, answer in ((None, said), (("packages/lib/b/c",), said), (("packages/lib2", "src"), ""), ((), "")):
        asked = replace(view, changed=None if changed is None else lambda changed=changed: changed)  # type: ignore[misc]
        assert describe_obstacle(asked, {}, "why") == answer


@pytest.fixture
def blind(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have no view."""
    monkeypatch.setattr(module, "find_view", lambda: Viewer(reason="mount namespaces cannot be had here"))


@pytest.mark.usefixtures("blind")
@pytest.mark.parametrize("kind", ["clone", "worktree"])
def test_without_a_view_what_changed_behind_a_lead_proves_nothing(tmp_path: Path, kind: Any) -> None:
    repo = make_repo(tmp_path / "repo")
    repo.commit("code", src__app="main\n", docs="d\n", _dot_gitignore=".venv\n")
    write(repo.path, {".venv/lib/app.pth": f"{repo.path}/src\n"})
    run_units(
        repo,
        sh("in", "echo unit >src/app", workspace=kind),
        sh("beside", "echo unit >docs", workspace=kind),
        verify=("true",),
        link=(".venv",),
    )
    assert {name: unit_of(repo, name).verdict for name in ("in", "beside")} == {
        "in": "could-not-run",
        "beside": "pass",
    }
    why = "mount namespaces cannot be had here"
    assert unit_of(repo, "in").reason == (
        f"true: .venv/lib/app.pth leads to your checkout, and the path cannot show what is checked: {why}"
    )
    told = f".venv/lib/app.pth leads to your checkout (src): checks of changes there cannot run: {why}"
    assert [unit_of(repo, name).as_json()["notes"] for name in ("in", "beside")] == [[told], [told]]
    run_units(repo, sh("more", "echo unit >src/app"), verify=("true",), link=(".venv",), verify_view="none")
    assert unit_of(repo, "more").verdict == "pass"


@needs_view
@pytest.mark.parametrize("kind", ["clone", "worktree"])
def test_a_run_sees_what_its_unit_broke(tmp_path: Path, kind: Any) -> None:
    repo = make_repo(tmp_path / "repo")
    repo.commit("code", src__app="good\n", _dot_gitignore=".venv\n")
    write(repo.path, {".venv/app.pth": f"{repo.path}/src\n"})
    check = "grep -q good $(cat .venv/app.pth)/app"
    run_units(
        repo,
        sh("bad", "echo broken >src/app", workspace=kind),
        sh("good", "echo very good >src/app", workspace=kind),
        verify=(check,),
        link=(".venv",),
    )
    assert {name: unit_of(repo, name).state for name in ("bad", "good")} == {"bad": "unverified", "good": "ready"}
    assert repo.read("src/app") == "good\n"
    assert sorted(path.name for path in workspace(repo, "r1", "bad").parent.iterdir()) == ["bad", "good"]


@needs_view
def test_so_does_a_landing(tmp_path: Path) -> None:
    repo = make_repo(tmp_path / "repo")
    repo.commit("code", src__app="good\n", _dot_gitignore=".venv\n")
    write(repo.path, {".venv/app.pth": f"{repo.path}/src\n"})
    for name in ("broken", "very good"):
        repo.switch(name.split()[0], new=True, start="main")
        repo.commit(name, src__app=f"{name}\n")
    repo.switch("main")
    check = ("grep -q good $(cat .venv/app.pth)/app",)
    for name, state in (("broken", "red"), ("very", "landed")):
        report = land_branches(repo, candidate(repo, name), verify=check, link=(".venv",))
        assert states(report) == {name: state}
    assert repo.read("src/app") == "very good\n"


def test_the_probe_says_no_where_there_are_no_namespaces(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sandbox, "_views", [])
    monkeypatch.setattr(sys, "platform", "darwin")
    assert find_view() == Viewer(reason="this system has no mount namespaces")


@pytest.mark.parametrize(("kind", "confined"), crossed(KINDS, (True, False)))
def test_bwrap_shows_it_where_only_that_may(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str, confined: bool
) -> None:
    program = shutil.which("bwrap") or bundled("bwrap")
    if program is None or not sandbox._shows(Viewer(program=program)):
        pytest.skip("bwrap is not installed, or does not work here")
    monkeypatch.setattr(sandbox, "_views", [Viewer(program=program)])
    assert trial(tmp_path, kind, confined=confined) == ANSWERS


@needs_view
@pytest.mark.parametrize("wall", ["landlock", "bwrap"])
def test_other_walls_are_built_within_the_view(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, wall: str) -> None:
    monkeypatch.setattr(surroundings, "find_sandbox", lambda: walls_of(wall))
    assert trial(tmp_path, "worktree", confined=True) == ANSWERS
