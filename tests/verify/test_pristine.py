"""A verdict is about one tree: what a check is run in holds nothing else, and each command starts from it."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gitprun.landing.plan import checking_options
from gitprun.landing.prove import landing_checks
from gitprun.model.plan import Settings
from gitprun.model.units import Verdict
from gitprun.supervisor.process import Stop
from gitprun.verify.pristine import (
    Changes,
    CheckContext,
    CheckPlan,
    PristinePlace,
    check_commit,
    pristine_place,
)
from gitprun.verify.surroundings import ConfinementRequest
from tests.support.repos import Repo, make_repo

WISH = ConfinementRequest(confined=False, why="a test")
IGNORED = "*.log\ncache/\n"


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    made = make_repo(tmp_path / "repo", a="1\n", d__b="2\n", d__e__c="3\n", _dot_gitignore=IGNORED)
    made.write("run.sh", "exit 0\n", executable=True)
    (made.path / "link").symlink_to("d/b")
    made.commit("more")
    return made


def plan(*commands: str, **rest: object) -> CheckPlan:
    return CheckPlan(wish=WISH, branch="main", commands=commands, **rest)  # type: ignore[arg-type]


@contextmanager
def place_of(repo: Repo, asked: CheckPlan | None = None, notes: list[str] | None = None) -> Iterator[PristinePlace]:
    said = [] if notes is None else notes
    top = repo.path.parent
    context = CheckContext(repository=repo.repository, top=top, logs=top, note=said.append)
    with pristine_place(context, repo.head, asked or plan()) as place:
        yield place


def check(repo: Repo, asked: CheckPlan, *, stop: Stop | None = None) -> tuple[Verdict, list[str]]:
    notes: list[str] = []
    top = repo.path.parent
    context = CheckContext(repository=repo.repository, top=top, logs=top / "logs", stop=stop, note=notes.append)
    verdict = check_commit(context, repo.head, asked)
    assert not (top / "checks").exists(), "a place was left behind"
    return verdict, notes


def listing(path: Path) -> dict[str, tuple[int, bytes]]:
    """Take down all of a place but its .git: kinds, modes and contents."""
    found = {}
    for above, folders, files in os.walk(path):
        folders[:] = [name for name in folders if os.path.join(above, name) != str(path / ".git")]
        for name in (*folders, *files):
            one = Path(above, name)
            mode = one.lstat().st_mode
            text = os.fsencode(os.readlink(one)) if one.is_symlink() else one.read_bytes() if one.is_file() else b""
            found[str(one.relative_to(path))] = (mode, text)
    return found


def run(script: str, path: Path) -> None:
    subprocess.run(["sh", "-euc", script], cwd=path, check=True, capture_output=True)


@pytest.mark.parametrize(
    ("script", "expected"),
    [
        ("true", Changes()),
        ("echo 2 >a", Changes(tracked=("a",))),
        ("rm a", Changes(tracked=("a",))),
        ("chmod -x run.sh", Changes(tracked=("run.sh",))),
        # Neither size nor time of change tell of this one.
        ("touch -r a stamp; echo 9 >a; touch -r stamp a; rm stamp", Changes(tracked=("a",))),
        ("rm -r d; echo x >d", Changes(tracked=("d/b", "d/e/c"), new=("d",))),
        ("rm a; mkdir a; echo x >a/x", Changes(tracked=("a",), new=("a/x",))),
        ("rm -r d; ln -s / d", Changes(tracked=("d/b", "d/e/c"), new=("d",))),
        ("rm link; ln -s a link", Changes(tracked=("link",))),
        ("rm link; echo x >link", Changes(tracked=("link",))),
        ("mkdir -p n/m; echo x >n/m/o; echo y >new", Changes(new=("n/m/o", "new"))),
        ("ln -s /etc/passwd pass", Changes(new=("pass",))),
        ("echo '*' >.gitignore; echo x >hid", Changes(tracked=(".gitignore",), new=("hid",))),
        ("git init -q own; echo x >own/f", Changes(new=("own/",))),
        ("echo x >b.log; mkdir cache; echo x >cache/y", Changes()),
        (
            "git checkout -q -b other; git rm -q a; git -c user.name=a -c user.email=b commit -qm x",
            Changes(tracked=("a",)),
        ),
        ("echo x >n; git add n", Changes(new=("n",))),
        ("git -c user.name=a -c user.email=b commit -q --allow-empty -m x", Changes()),
        ("git config core.fileMode false; chmod -x run.sh", Changes(tracked=("run.sh",))),
        ("rm .git/index; rm .git/HEAD", Changes()),
        ("git update-index --skip-worktree a; echo 2 >a", Changes(tracked=("a",))),
        ("printf '/a\\n/new\\n' >>.git/info/exclude; echo x >new", Changes(new=("new",))),
    ],
)
def test_what_a_command_did_is_put_back(repo: Repo, script: str, expected: Changes) -> None:
    with place_of(repo) as place:
        before = listing(place.path)
        run(script, place.path)
        assert place.put_back() == expected
        ignored = {"b.log", "cache", "cache/y"}
        assert {name: one for name, one in listing(place.path).items() if name not in ignored} == before
        inside = Repo(place.path)
        assert (inside.head, inside.git("branch", "--show-current"), inside.status()) == (repo.head, "main", [])
        assert place.put_back() == Changes()


ACTS: tuple[Callable[[str, str], str], ...] = (
    lambda one, two: f"echo x >>{one}",
    lambda one, two: f"rm -rf {one}",
    lambda one, two: f"mkdir -p {one}/{two}",
    lambda one, two: f"mv {one} {two}",
    lambda one, two: f"rm -rf {one}; ln -s {two} {one}",
    lambda one, two: f"chmod +x {one}",
    lambda one, two: f"rm -rf {one}; cp -a {two} {one}",
    lambda one, two: f"echo {two} >>.gitignore",
)
NAMES = st.sampled_from(("a", "d", "d/b", "d/e", "d/e/c", "link", "run.sh", "x", "x/y", "d/new", ".gitignore"))


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.tuples(st.sampled_from(ACTS), NAMES, NAMES), min_size=1, max_size=6))
def test_whatever_a_command_did_is_put_back(repo: Repo, acts: list[tuple[Callable[[str, str], str], str, str]]) -> None:
    with place_of(repo) as place:
        before = listing(place.path)
        script = "\n".join(f"{{ {act(one, two)}; }} 2>/dev/null || true" for act, one, two in acts)
        run(script, place.path)
        place.put_back()
        tracked = repo.git("ls-files").split("\n")
        after = listing(place.path)
        assert {name: after.get(name) for name in tracked} == {name: before[name] for name in tracked}
        assert Repo(place.path).status() == []


def test_nothing_is_concluded_from_a_place_that_cannot_be_put_back(repo: Repo) -> None:
    verdict, _ = check(repo, plan("rm -rf .git; ln -s / .git", "touch ../second"))
    assert [(one.state, one.reason) for one in verdict.checks] == [
        ("could-not-run", "what it changed stays changed: its .git is not the one it was made with")
    ]
    assert verdict.state == "could-not-run"


def test_each_command_starts_from_the_tree(repo: Repo) -> None:
    verdict, notes = check(
        repo, plan("echo 2 >a; echo x >made; false", "grep -q 1 a && test ! -e made", confirm_red=False)
    )
    assert [one.state for one in verdict.checks] == ["fail", "pass"]
    assert notes == [
        "echo 2 >a; echo x >made; false made made, which git does not ignore; removed",
        "echo 2 >a; echo x >made; false changed a; put back",
    ]


def test_a_check_that_mends_is_no_pass(repo: Repo) -> None:
    verdict, notes = check(repo, plan("echo 2 >a; rm d/b", "true"))
    assert [(one.state, one.reason, one.changed) for one in verdict.checks] == [
        ("fail", "changed-files: it changes a and 1 more itself, so it proves nothing of the tree", ("a", "d/b")),
        ("pass", "", ()),
    ]
    assert (verdict.state, notes) == ("fail", [])


def test_what_a_check_may_change_is_named_and_put_back(repo: Repo) -> None:
    repo.commit("lock", uv_dot_lock="1\n", web__package_lock_dot_json="1\n".replace("_", "-"))
    verdict, notes = check(
        repo, plan("echo 2 >uv.lock; echo 9 >d/b", "grep -q 1 uv.lock", may_change=("*.lock", "d/*"))
    )
    assert (verdict.state, notes) == ("pass", ["echo 2 >uv.lock; echo 9 >d/b changed d/b and 1 more; put back"])
    assert check(repo, plan("echo 2 >uv.lock"))[0].state == "pass"
    assert check(repo, plan("echo 2 >uv.lock", may_change=()))[0].state == "fail"


def test_a_new_file_never_holds(repo: Repo) -> None:
    verdict, notes = check(repo, plan("echo x >coverage.xml"))
    assert (verdict.state, notes) == (
        "pass",
        ["echo x >coverage.xml made coverage.xml, which git does not ignore; removed"],
    )


def counting(tmp_path: Path, passes: int) -> str:
    """Make a check that fails until it was called so many times; it counts outside of the place."""
    return f"echo x >>{tmp_path}/calls; test $(wc -l <{tmp_path}/calls) -ge {passes}"


def test_what_is_red_once_and_green_then_is_flaky(repo: Repo, tmp_path: Path) -> None:
    command = counting(tmp_path, 2)
    verdict, notes = check(repo, plan(command, "true"))
    assert [(one.command, one.state, one.flaky) for one in verdict.checks] == [
        (command, "pass", True),
        ("true", "pass", False),
    ]
    assert (verdict.state, notes) == (
        "pass",
        [f"flaky: {command} failed once (exit 1) and passed on the same tree when it ran again"],
    )


def test_only_what_failed_runs_again_and_once(repo: Repo, tmp_path: Path) -> None:
    other = f"echo y >>{tmp_path}/others"
    verdict, notes = check(repo, plan(counting(tmp_path, 9), other))
    assert [one.state for one in verdict.checks] == ["fail", "pass"]
    assert (verdict.state, notes) == ("fail", [])
    assert ((tmp_path / "calls").read_text(), (tmp_path / "others").read_text()) == ("x\nx\n", "y\n")


def test_it_is_confirmed_in_another_place(repo: Repo) -> None:
    """What the first try left, though git ignores it, must not make the second one green."""
    verdict, notes = check(repo, plan("test -e cache/x || { mkdir cache; echo x >cache/x; exit 1; }"))
    assert (verdict.state, notes) == ("fail", [])


def test_nobody_asks_again_where_that_is_not_wanted(repo: Repo, tmp_path: Path) -> None:
    assert check(repo, plan(counting(tmp_path, 2), confirm_red=False))[0].state == "fail"
    stop = Stop()
    stop.set()
    assert check(repo, plan("false"), stop=stop)[0].reason == "false: stopped before it began"


def test_setup_is_part_of_the_place_but_for_tracked_files(repo: Repo) -> None:
    asked = plan(
        "test -e made && test -e cache/x && grep -q 1 a",
        setup=("echo x >made; mkdir cache; echo x >cache/x; echo 2 >a",),
    )
    verdict, notes = check(repo, asked)
    assert (verdict.state, notes) == ("pass", ["the setup commands changed a; put back before the checks"])
    verdict, _ = check(repo, plan("true", setup=("exit 3",)))
    assert verdict.reason == "setup: the setup command 'exit 3' failed: exit code 3"


def test_nothing_of_the_checkout_is_there_but_what_is_asked_for(repo: Repo) -> None:
    for name in ("b.log", "cache/y", "untracked"):
        repo.write(name, "x\n")
    repo.write("a", "edited\n")
    asked = plan("test ! -e untracked && test ! -e b.log && grep -q 1 a && test -e cache/y", link=("cache",))
    assert check(repo, asked)[0].state == "pass"
    assert (repo.read("cache/y"), repo.read("a")) == ("x\n", "edited\n")


def test_a_linked_folder_that_git_does_not_ignore_stays(repo: Repo) -> None:
    """A rule that ends with a slash names no link."""
    repo.write("cache/y", "x\n")
    verdict, notes = check(repo, plan("test -e cache/y", "test -e cache/y", link=("cache",)))
    assert (verdict.state, notes) == ("pass", [])


def test_the_folders_of_workers_show_nothing(repo: Repo, tmp_path: Path) -> None:
    """A link that leads into the folder of its worker lands as a link to nowhere as soon as that is cleaned away."""
    worker = tmp_path / "r1" / "a" / "made"
    worker.parent.mkdir(parents=True)
    worker.write_text("x\n")
    (repo.path / "made").symlink_to(worker)
    repo.commit("leads to its worker")
    verdict, _ = check(repo, plan("cat made"))
    assert verdict.state == "fail"
    assert check(repo, plan("cat made", view="none"))[0].state == "pass"
    assert worker.read_text() == "x\n"


LEAVE = """
import sys, os
from pathlib import Path
from tests.verify.test_pristine import place_of
from tests.support.repos import Repo
with place_of(Repo(Path(sys.argv[1]))):
    print("there", flush=True)
    sys.stdin.read()
    os._exit(9)
"""


def test_what_a_killed_process_left_is_removed_and_nothing_that_is_in_use(repo: Repo, tmp_path: Path) -> None:
    top = Path(__file__).parents[2]
    argv = [sys.executable, "-c", LEAVE, str(repo.path)]
    env = {**os.environ, "PYTHONPATH": str(top)}
    with subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=env) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == b"there\n"
        [theirs] = (tmp_path / "checks").iterdir()
        with place_of(repo) as place:
            assert sorted((tmp_path / "checks").iterdir()) == sorted([theirs, place.path.parent])
        other.kill()
    assert theirs.is_dir()
    check(repo, plan("true"))


def test_the_settings_that_decide_what_a_verdict_means_are_in_its_way() -> None:
    true = Settings(verify=("true",))

    def planned(settings: Settings, branch: str, wish: ConfinementRequest = WISH) -> CheckPlan:
        return landing_checks(checking_options(settings), wish, branch)

    way = planned(Settings(verify=("true",)), "main").way
    others = [
        planned(Settings(verify=("true",)), "other"),
        planned(Settings(verify=("true", "x")), "main"),
        planned(Settings(verify=("true",), setup=("setup",)), "main"),
        planned(Settings(copy=(".env",), verify=("true",)), "main"),
        planned(Settings(link=("node_modules",), verify=("true",)), "main"),
        planned(Settings(verify_may_change=(), verify=("true",)), "main"),
        planned(Settings(verify_view="none", verify=("true",)), "main"),
        planned(Settings(verify_timeout=5.0, verify=("true",)), "main"),
        planned(true, "main", ConfinementRequest(confined=True)),
        planned(true, "main", ConfinementRequest(confined=True, required=True)),
    ]
    assert len({way, *(one.way for one in others)}) == len(others) + 1
    assert planned(true, "main", ConfinementRequest(confined=False, why="another")).way == way
