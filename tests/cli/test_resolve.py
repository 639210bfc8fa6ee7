"""``git prun resolve``: a conflict is opened in a workspace, taken back under proof, recorded and landed."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from gitprun.judging.recorded_resolutions import find_resolution
from tests.support.cli import Said
from tests.support.inside import inside, timeless
from tests.support.landing import land_branches, states
from tests.support.repos import Repo, make_repo
from tests.support.rows import payload_of

BASE = "def f(u):\n    return u\n\n\ndef g():\n    return 0\n"
MAIN = "def f(u):\n    return trace(u)\n\n\ndef g():\n    return 0\n"
UNIT = "def f(u):\n    return check(u)\n\n\ndef g():\n    return 7\n"
BOTH = "def f(u):\n    return check(trace(u))\n\n\ndef g():\n    return 7\n"
MARKED = """def f(u):
<<<<<<< main side (main)
    return trace(u)
||||||| base
    return u
=======
    return check(u)
>>>>>>> unit side (topic)


def g():
    return 7
"""

Prun = Callable[..., Said]


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    made = make_repo(tmp_path / "r", app_dot_py=BASE, other_dot_txt="1\n")
    made.switch("topic", new=True)
    made.commit("check it", app_dot_py=UNIT, new_dot_txt="new\n")
    made.switch("main")
    made.commit("log it", app_dot_py=MAIN)
    return made


@pytest.fixture
def prun(repo: Repo, capsys: pytest.CaptureFixture[str]) -> Prun:
    return lambda *words: inside(capsys, repo.path, *words)


def workspace(repo: Repo, name: str = "topic") -> Repo:
    """Name the workspace of a resolution."""
    return Repo(repo.path.parent / "r.prun" / "resolve" / name)


def trace(repo: Repo) -> tuple[object, ...]:
    """Read everything opening or aborting must leave alone."""
    refs = [row for row in repo.git("for-each-ref").splitlines() if "refs/prun/" not in row]
    return refs, repo.head, repo.status(), repo.git("worktree", "list"), (repo.path / ".git" / "config").read_bytes()


def events(repo: Repo) -> list[str]:
    """List what the ledger says, in short."""
    rows = ((event.kind, event.payload.as_json()) for event in repo.ledger.read().events)
    return [" ".join([kind, *(str(row[key]) for key in ("branch", "outcome") if key in row)]) for kind, row in rows]


def test_opened_resolved_and_landed(repo: Repo, prun: Prun) -> None:
    before = trace(repo)
    said = prun("resolve", "topic")
    work = workspace(repo)
    assert (said.code, said.out.splitlines(), said.err) == (
        0,
        [
            f"topic: 1 file in conflict, in {work.path}",
            "  app.py: contents",
            f"brief: {repo.path}/.git/prun/resolve/topic/CONFLICT.md",
        ],
        "hint: edit the files there, then: git prun resolve topic --continue\n",
    )
    assert trace(repo) == before
    assert work.read("app.py") == MARKED
    assert (work.status(), work.git("diff", "--name-only", "--diff-filter=U")) == (
        ["UU app.py", "A  new.txt"],
        "app.py",
    )
    assert work.git("show", ":1:app.py") + "\n" == BASE
    assert work.git("rev-parse", "MERGE_HEAD") == repo.oid("topic")
    work.write("app.py", BOTH)
    done = prun("resolve", "--continue", "--no-verify")
    assert (done.code, timeless(done.out).splitlines()) == (
        0,
        [
            "branch  state   commit      note",
            "topic   landed  COMMIT",
            "topic: app.py united (recorded)",
        ],
    )
    assert (repo.read("app.py"), repo.read("new.txt"), repo.status()) == (BOTH, "new\n", [])
    parents = repo.git("log", "-1", "--format=%P").split()
    assert parents == [before[1], repo.oid("topic")]
    assert repo.git("log", "-1", "--format=%B") == "merge: ship topic\n\nResolved:\n- app.py: by hand"
    assert (work.path.exists(), (repo.path / ".git" / "prun" / "resolve" / "topic").exists()) == (False, False)
    assert repo.git("for-each-ref", "refs/prun/resolve") == ""
    assert [row for row in events(repo) if row.startswith("resolve.")] == [
        "resolve.started topic",
        "resolve.recorded topic",
        "resolve.finished topic landed",
    ]


def test_the_same_conflict_is_settled_by_what_was_recorded(repo: Repo, prun: Prun) -> None:
    prun("resolve", "topic")
    workspace(repo).write("app.py", BOTH)
    assert prun("resolve", "topic", "--continue", "--no-verify").code == 0
    blobs = [repo.git("rev-parse", f"{commit}:app.py") for commit in ("main~2", "main^1", "topic")]
    assert find_resolution(repo.repository.state, *blobs) == BOTH.encode()
    repo.git("reset", "-q", "--hard", "main^1")
    report = land_branches(repo, "topic")
    assert states(report) == {"topic": "landed"}
    assert repo.read("app.py") == BOTH


def test_the_report(repo: Repo, prun: Prun) -> None:
    said = prun("resolve", "topic", "--json")
    brief = said.json
    [path] = brief.pop("paths")
    work = workspace(repo).path
    assert brief == {
        "schema": "gitprun.resolution/1",
        "branch": "topic",
        "label": "topic",
        "target": "main",
        "workspace": str(work),
        "name": "topic",
        "why": "conflict",
        "reason": "",
        "command": "",
        "output": "",
        "intents": [],
        "settled": [],
        "verify": [],
        "continue": "git prun resolve topic --continue",
    }
    refused = path.pop("refused")
    main, unit = repo.head[:10], repo.oid("topic")[:10]
    assert path == {
        "path": "app.py",
        "kind": "contents",
        "detail": "CONFLICT (content): Merge conflict in app.py",
        "textual": True,
        "sides": [
            {"side": side, "mode": "100644", "oid": repo.git("rev-parse", f"{at}:app.py"), "size": len(text)}
            for side, at, text in (("base", "main~1", BASE), ("main", "main", MAIN), ("unit", "topic", UNIT))
        ],
        "places": [
            {
                "hunk": {
                    "base": {"line": 2, "count": 1, "text": ["    return u"]},
                    "main": {"line": 2, "count": 1, "text": ["    return trace(u)"]},
                    "unit": {"line": 2, "count": 1, "text": ["    return check(u)"]},
                    "before": ["def f(u):"],
                    "after": ["", "", "def g():", "    return 0"],
                },
                "main_commits": [f"{main} log it"],
                "unit_commits": [f"{unit} check it"],
            }
        ],
        "more": 0,
        "changes": [],
        "lines": [],
        "policy": "",
        "main_commits": [],
        "unit_commits": [],
    }
    shown = prun("resolve", "topic", "--markdown").out
    assert shown == (repo.path / ".git" / "prun" / "resolve" / "topic" / "CONFLICT.md").read_text()
    assert (
        shown
        == f"""# Merge topic into main: 1 file to resolve

The merged files lie in `{work}`. Edit the files listed below so that what both sides wanted
is in them, and no conflict marker is left. Change no other file, and commit nothing: the files are
collected.

## `app.py`

CONFLICT (content): Merge conflict in app.py.
Not settled: {refused}.

- main side: {main} log it
- unit side: {unit} check it

```
def f(u):
<<<<<<< main side (main), line 2
    return trace(u)
||||||| base
    return u
=======
    return check(u)
>>>>>>> unit side (topic), line 2


def g():
    return 0
```

## When it is done

`git prun resolve topic --continue` checks it and lands it; `--abort` throws it away.
"""
    )


def test_the_brief_says_what_units_were_asked_for(repo: Repo, prun: Prun) -> None:
    ledger, state = repo.ledger, repo.path / ".git" / "prun"
    ledger.append(payload_of("run.started", {"base": repo.oid("main~1"), "verify": ["make check"]}), run="r1")
    for unit, commit in (("logs", repo.head), ("checks", repo.oid("topic"))):
        facts = {"commit": commit, "verdict": {"state": "pass"}}
        ledger.append(payload_of("unit.captured", facts), run="r1", unit=unit)
        ledger.append(payload_of("unit.finished", state="ready"), run="r1", unit=unit)
        repo.write(f".git/prun/runs/r1/{unit}/task.md", f"Add {unit}.\n")
        repo.write(f".git/prun/runs/r1/{unit}/result.md", f"# {unit} result\nConclusion: added\n")
    ledger.append(payload_of("landing.landed", {"commit": repo.head, "branch": "prun/r1/logs"}), run="r1", unit="logs")
    shown = prun("resolve", "checks", "--json").json
    assert shown["branch"] == "prun/r1/checks"
    assert shown["intents"] == [
        {
            "side": side,
            "unit": f"r1/{unit}",
            "prompt": f"Add {unit}.\n",
            "result": f"# {unit} result\nConclusion: added\n",
        }
        for side, unit in (("unit", "checks"), ("main", "logs"))
    ]
    assert shown["verify"] == ["make check"]
    markdown = prun("resolve", "r1/checks", "--markdown").out
    assert "## What r1/checks (the unit side) was asked\n\n```\nAdd checks.\n```\n" in markdown
    assert "## The merged tree has to pass\n\n- `make check`\n" in markdown
    assert (state / "resolve" / "prun+r1+checks" / "CONFLICT.md").read_text() == markdown
    [folder] = (repo.path.parent / "r.prun" / "resolve").iterdir()
    Repo(folder).write("app.py", BOTH)
    assert prun("resolve", "checks", "--continue", "--verify", "true").code == 0
    unit = repo.ledger.read().history.runs["r1"].units["checks"]
    assert (unit.state, repo.read("app.py")) == ("landed", BOTH)
    assert "workspace" not in unit.as_json()
    told = [event for event in repo.ledger.read().events if event.kind.startswith("resolve.")]
    assert [(event.kind, event.run, event.payload.as_json()["of"]) for event in told] == [
        ("resolve.started", "", "r1/checks"),
        ("resolve.recorded", "", "r1/checks"),
        ("resolve.finished", "", "r1/checks"),
    ]


def test_what_is_not_finished_is_not_taken(repo: Repo, prun: Prun) -> None:
    before = trace(repo)
    prun("resolve", "topic")
    work = workspace(repo)
    for prepare, reason in (
        (lambda: None, "app.py: it is as it was when it was opened"),
        (
            lambda: work.write("app.py", MARKED.replace("    return trace(u)\n", "")),
            'app.py: a conflict marker is left: "<<<<<<< main side (main)"',
        ),
        (lambda: (work.path / "app.py").unlink(), "app.py: it is gone; --take PATH=delete says so"),
        (lambda: (work.path / "app.py").symlink_to("new.txt"), "app.py: it is no plain file any more"),
    ):
        prepare()
        said = prun("resolve", "--continue")
        assert (said.code, said.out) == (1, "")
        assert said.err.startswith(f"error: the resolution is not finished: {reason}")
    (work.path / "app.py").unlink()
    work.write("app.py", BOTH)
    work.write("other.txt", "2\n")
    work.write("more.txt", "more\n")
    said = prun("resolve", "--continue")
    assert said.err == (
        "error: the resolution is not finished: more.txt, other.txt: changed, but not in conflict"
        " (--allow-other-paths takes it along)\n"
    )
    assert trace(repo) == before
    assert not (repo.path / ".git" / "prun" / "resolutions").exists()


def test_other_paths_are_taken_along_when_that_is_said(repo: Repo, prun: Prun) -> None:
    before, unit = repo.head, repo.oid("topic")
    prun("resolve", "topic")
    work = workspace(repo)
    work.write("app.py", BOTH)
    work.write("other.txt", "2\n")
    assert prun("resolve", "--continue", "--allow-other-paths", "--no-verify").code == 0
    assert (repo.read("app.py"), repo.read("other.txt"), repo.status()) == (BOTH, "2\n", [])
    assert repo.git("merge-base", "--is-ancestor", unit, "main") == ""
    assert repo.git("rev-parse", "main^1") == before
    assert repo.git("log", "-1", "--format=%B").splitlines()[2:] == [
        "Resolved:",
        "- app.py: by hand",
        "- other.txt: changed beside the conflict",
    ]


def test_files_that_are_alike_may_be_resolved_in_different_ways(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    repo = make_repo(tmp_path / "s", one="1\n", two="1\n")
    repo.switch("topic", new=True)
    repo.commit("topic", one="topic\n", two="topic\n")
    repo.switch("main")
    repo.commit("main", one="main\n", two="main\n")
    inside(capsys, repo.path, "resolve", "topic")
    work = Repo(tmp_path / "s.prun" / "resolve" / "topic")
    work.write("one", "first\n")
    work.write("two", "second\n")
    assert inside(capsys, repo.path, "resolve", "--continue", "--no-verify").code == 0
    assert (repo.read("one"), repo.read("two"), repo.status()) == ("first\n", "second\n", [])
    # Neither is an answer for the other, so nothing is recorded.
    assert not (repo.path / ".git" / "prun" / "resolutions").exists()


def test_the_workers_git_is_never_used(repo: Repo, prun: Prun) -> None:
    prun("resolve", "topic")
    work = workspace(repo)
    said = repo.path.parent / "said"
    work.write(
        ".git/config",
        f'[core]\n\tfsmonitor = "touch {said}"\n\thooksPath = hooks\n[filter "x"]\n\tclean = touch {said}\n',
    )
    work.write(".git/info/attributes", "* filter=x\n")
    work.write("app.py", BOTH)
    assert prun("resolve", "--continue", "--no-verify").code == 0
    assert (repo.read("app.py"), said.exists()) == (BOTH, False)


def test_it_has_to_be_green(repo: Repo, prun: Prun) -> None:
    before = repo.head
    prun("resolve", "topic")
    work = workspace(repo)
    work.write("app.py", BOTH)
    said = prun("resolve", "--continue", "--verify", "! grep -q check app.py")
    assert (said.code, repo.head) == (1, before)
    assert "red" in said.out
    assert said.err.endswith(f"hint: the workspace is kept: {work.path}\n")
    work.write("app.py", MAIN)
    assert prun("resolve", "--continue", "--verify", "! grep -q check app.py").code == 0
    assert repo.read("app.py") == MAIN


def test_aborted(repo: Repo, prun: Prun) -> None:
    before = trace(repo)
    prun("resolve", "topic")
    work = workspace(repo)
    work.write("app.py", BOTH)
    assert prun("resolve", "--continue", "--verify", "false").code == 1
    recorded = repo.path / ".git" / "prun" / "resolutions"
    [name] = (path.name for path in recorded.iterdir())
    said = prun("resolve", "topic", "--abort")
    [kept] = repo.git("for-each-ref", "--format=%(refname)", "refs/prun/trash").splitlines()
    assert (said.code, said.out, said.err) == (
        0,
        "topic: aborted, its workspace is removed\n",
        f"warning: what was written there is kept for 30 days: git show {kept}\n",
    )
    assert repo.git("show", f"{kept}:app.py") + "\n" == BOTH
    assert (trace(repo), work.path.exists()) == (before, False)
    assert [path.name for path in recorded.iterdir()] == ["forgotten"]
    assert (recorded / "forgotten" / name).read_text() == BOTH
    assert repo.git("for-each-ref", "refs/prun/resolve") == ""
    assert prun("resolve", "topic", "--abort").err == (
        "error: no conflict of topic is open here\nhint: git prun resolve topic opens one\n"
    )


def test_what_is_open_is_listed(repo: Repo, prun: Prun) -> None:
    assert prun("resolve").err == "no resolution is open here\n"
    prun("resolve", "topic")
    path = workspace(repo).path
    assert prun("resolve").out.splitlines() == [
        "branch  into  state     files  workspace",
        f"topic   main  conflict  1      {path}",
    ]
    [row] = prun("resolve", "--json").json["resolutions"]
    assert row == {
        "branch": "topic",
        "target": "refs/heads/main",
        "main": repo.head,
        "tip": repo.oid("topic"),
        "why": "conflict",
        "workspace": str(path),
        "paths": ["app.py"],
    }
    again = prun("resolve", "topic")
    assert (again.code, again.out.splitlines()[0]) == (0, f"topic: 1 file in conflict, in {path}")


def test_nothing_to_resolve(repo: Repo, prun: Prun) -> None:
    repo.branch("calm", "topic")
    repo.git("reset", "-q", "--hard", "main~1")
    assert prun("resolve", "calm").err == (
        "error: nothing of calm is left in conflict with main\n"
        "hint: git prun merge calm lands it, or says what else keeps it from landing\n"
    )


def test_main_may_move_meanwhile(repo: Repo, prun: Prun) -> None:
    prun("resolve", "topic")
    workspace(repo).write("app.py", BOTH)
    repo.commit("elsewhere", other_dot_txt="2\n")
    assert prun("resolve", "--continue", "--no-verify").code == 0
    assert (repo.read("app.py"), repo.read("other.txt")) == (BOTH, "2\n")


def test_but_not_what_is_in_conflict(repo: Repo, prun: Prun) -> None:
    prun("resolve", "topic")
    workspace(repo).write("app.py", BOTH)
    repo.commit("again", app_dot_py=MAIN.replace("trace", "trace_twice"))
    before = repo.head
    said = prun("resolve", "--continue", "--no-verify")
    assert said.err == (
        "error: main has moved, and now other versions are in conflict: app.py\n"
        "hint: git prun resolve --abort, then open it again\n"
    )
    assert repo.head == before
    repo.switch("topic")
    repo.commit("more", other_dot_txt="3\n")
    repo.switch("main")
    assert prun("resolve", "--continue").err == (
        "error: topic has moved since this was opened\nhint: --abort, then open it again\n"
    )


class TestChoices:
    """Conflicts that no text settles."""

    @pytest.fixture
    def repo(self, tmp_path: Path) -> Repo:
        made = make_repo(tmp_path / "r", a_dot_txt="1\n2\n3\n", b_dot_txt="1\n2\n3\n", c_dot_bin=b"\0\1")
        made.switch("topic", new=True)
        made.git("rm", "-q", "a.txt")
        made.commit("unit side", b_dot_txt="1\n2u\n3\n", c_dot_bin=b"\0\2")
        made.switch("main")
        made.git("rm", "-q", "b.txt")
        made.commit("main side", a_dot_txt="1\n2m\n3\n", c_dot_bin=b"\0\3")
        return made

    def test_each_needs_a_word(self, repo: Repo, prun: Prun) -> None:
        said = prun("resolve", "topic")
        assert said.out.splitlines()[1:4] == [
            "  a.txt: modify/delete (needs --take)",
            "  b.txt: modify/delete (needs --take)",
            "  c.bin: binary, contents (needs --take)",
        ]
        sides = "nothing was decided (--take PATH=main, unit or delete says so)"
        assert prun("resolve", "--continue").err == (
            f"error: the resolution is not finished: a.txt: {sides}; b.txt: {sides}; c.bin: {sides}\n"
        )
        assert prun("resolve", "--continue", "--take", "a.txt=mine").err == (
            "error: --take 'a.txt=mine' names no side\nhint: write PATH=main, PATH=unit or PATH=delete\n"
        )
        assert "x.txt is not in conflict" in prun("resolve", "--continue", "--take", "x.txt=main").err

    def test_they_are_taken_and_named(self, repo: Repo, prun: Prun) -> None:
        prun("resolve", "topic")
        takes = ("--take", "a.txt=unit", "--take", "b.txt=unit", "--take", "c.bin=main")
        assert prun("resolve", "--continue", "--no-verify", *takes).code == 0
        assert sorted(repo.files()) == ["b.txt", "c.bin"]
        assert (repo.read("b.txt"), (repo.path / "c.bin").read_bytes(), repo.status()) == ("1\n2u\n3\n", b"\0\3", [])
        assert repo.git("log", "-1", "--format=%B") == (
            "merge: ship topic\n\nResolved:\n"
            "- a.txt: the unit side's\n- b.txt: the unit side's\n- c.bin: the main side's"
        )

    def test_what_was_done_in_the_workspace_is_an_answer_too(self, repo: Repo, prun: Prun) -> None:
        prun("resolve", "topic")
        work = workspace(repo)
        (work.path / "a.txt").unlink()
        (work.path / "b.txt").unlink()
        assert prun("resolve", "--continue", "--no-verify", "--take", "c.bin=delete").code == 0
        assert sorted(repo.files()) == []

    def test_both_sides_renamed(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        repo = make_repo(tmp_path / "s", x_dot_py="1\n2\n3\n4\n5\n6\n")
        repo.switch("topic", new=True)
        repo.git("mv", "x.py", "unit.py")
        repo.commit("unit side")
        repo.switch("main")
        repo.git("mv", "x.py", "main.py")
        repo.commit("main side")
        said = inside(capsys, repo.path, "resolve", "topic")
        assert said.out.splitlines()[1:4] == [
            f"  {name}: rename/rename (needs --take)" for name in ("main.py", "unit.py", "x.py")
        ]
        takes = [word for row in ("main.py=main", "unit.py=main", "x.py=delete") for word in ("--take", row)]
        done = inside(capsys, repo.path, "resolve", "--continue", "--no-verify", *takes)
        assert (done.code, done.err.splitlines()[-1]) == (0, "nothing of topic had to be brought in")
        assert sorted(repo.files()) == ["main.py"]
        assert inside(capsys, repo.path, "resolve").err == "no resolution is open here\n"


class TestWorkers:
    def test_a_command_goes_through_the_same_gate(self, repo: Repo, prun: Prun) -> None:
        script = (
            r"""cat >.prun/prompt; printf '# resolve result\nConclusion: done\nFiles: app.py\nOpen items: none\n'"""
        )
        script += r"""'Verification: none\n' >"$PRUN_RESULT"; printf 'BOTH' >app.py""".replace(
            "BOTH", BOTH.replace("\n", "\\n")
        )
        said = prun("resolve", "topic", "--no-verify", "--with", script)
        assert (said.code, repo.read("app.py"), repo.status()) == (0, BOTH, [])

    def test_one_that_fails_leaves_it_open(self, repo: Repo, prun: Prun) -> None:
        before = trace(repo)
        said = prun("resolve", "topic", "--with", "grep -q 'Merge topic into main' && exit 3")
        assert (said.code, trace(repo)) == (1, before)
        assert "ended with exit code 3" in said.err
        assert said.err.endswith(f"hint: go on yourself in {workspace(repo).path}, or git prun resolve topic --abort\n")

    def test_one_that_does_nothing_is_refused_as_people_are(self, repo: Repo, prun: Prun) -> None:
        said = prun("resolve", "topic", "--with", "true")
        assert said.code == 1
        assert said.err.endswith("error: the resolution is not finished: app.py: it is as it was when it was opened\n")


def test_branches_with_odd_names_and_files_settled_already(repo: Repo, prun: Prun) -> None:
    repo.branch("feature/a b".replace(" ", "+"), "topic")
    repo.switch("feature/a+b")
    repo.commit("near", notes_dot_txt="1\n2\n3\n")
    repo.switch("main")
    said = prun("resolve", "feature/a+b")
    [folder] = (repo.path.parent / "r.prun" / "resolve").iterdir()
    assert folder.name.startswith("feature-a-b-")
    assert said.out.splitlines()[0] == f"feature/a+b: 1 file in conflict, in {folder}"
    Repo(folder).write("app.py", BOTH)
    assert prun("resolve", "feature/a+b", "--continue", "--no-verify").code == 0
    assert repo.read("notes.txt") == "1\n2\n3\n"
