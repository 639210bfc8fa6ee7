"""What a compiler says of a merge and of neither parent holds it, and is let pass by name; no answer is told."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

import pytest

from gitprun.model.findings import Suspect
from gitprun.supervisor.sandbox import find_sandbox
from tests.support.landing import GREEN, land_branches, states
from tests.support.repos import Repo, make_repo

pytestmark = pytest.mark.slow

# Names are defined and used in comments, in whatever file: what a compiler sees and a linter does not.
COMPILER = f"""#!{sys.executable}
import re, sys
open({{trace!r}}, "a").write("asked\\n")
files = [word for word in sys.argv if word.endswith(".py")]
texts = {{path: open(path).read() for path in files}}
known = {{name for text in texts.values() for name in re.findall(r"# def (\\w+)", text)}}
found = [
    f"{{path}}:{{number}}:1: F821 Undefined name `{{name[1]}}`"
    for path, text in texts.items()
    for number, line in enumerate(text.splitlines(), 1)
    if (name := re.match(r"# use (\\w+)", line)) and name[1] not in known
]
print("\\n".join(found))
sys.exit({{code}} or bool(found))
"""


@pytest.fixture
def tool(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Put a compiler of our own in the place of ruff; gives the file that tells how often it was asked."""
    make_tool(tmp_path, 0)
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:{os.environ['PATH']}")
    return tmp_path / "trace"


def make_tool(path: Path, code: int) -> None:
    (path / "bin").mkdir(exist_ok=True)
    text = COMPILER.replace("{trace!r}", repr(str(path / "trace"))).replace("{code}", str(code))
    (path / "bin" / "ruff").write_text(text.replace("{{", "{").replace("}}", "}"))
    (path / "bin" / "ruff").chmod(0o755)


def asked(trace: Path) -> int:
    return len(trace.read_text().splitlines()) if trace.exists() else 0


def make_branch(repo: Repo, name: str, files: dict[str, str]) -> None:
    """Make a branch of main that changes files."""
    repo.switch(name, new=True)
    repo.commit(name, **files)
    repo.switch("main")


def two_files(path: Path) -> Repo:
    """One side takes a name away, the other one uses it in another file."""
    repo = make_repo(path / "repo", **{"a.py": "# def old\nx = 1\n", "b.py": "# use other\ny = 2\n"})
    make_branch(repo, "topic", {"b.py": "# use other\ny = 2\n# use old\n"})
    repo.write("a.py", "# def new\nx = 1\n")
    repo.commit("rename")
    return repo


def test_a_new_message_holds_and_is_let_pass_by_name(tmp_path: Path, tool: Path) -> None:
    repo = two_files(tmp_path)
    report = land_branches(repo, "topic", verify=GREEN, verify_difference=True)
    [item] = report.items
    said = "ruff says what it says of neither side: F821 Undefined name `old`"
    assert (item.state, item.suspects) == ("suspect", (Suspect(path="b.py", reason=said),))
    assert (item.reason, report.new, report.notes) == (f"b.py: {said}", report.old, ())
    # The merge and both parents; what all of them say needs no look at the base.
    assert asked(tool) == 3
    report = land_branches(repo, "topic", verify=GREEN, verify_difference=True, allow_suspect=("b.py",))
    assert (states(report), report.notes) == (
        {"topic": "landed"},
        (f"topic: landed although it is suspect: b.py: {said}",),
    )
    [landed] = [event.payload.as_json() for event in repo.ledger.read().events if event.kind == "landing.landed"]
    assert landed["suspects"] == [{"path": "b.py", "reason": said}]


def test_nothing_is_asked_unless_it_is_wanted_or_where_one_side_changed_nothing_of_the_language(
    tmp_path: Path, tool: Path
) -> None:
    repo = two_files(tmp_path)
    make_branch(repo, "apart", {"c.txt": "c\n"})
    assert states(land_branches(repo, "topic", verify=GREEN)) == {"topic": "landed"}
    assert states(land_branches(repo, "apart", verify=GREEN, verify_difference=True)) == {"apart": "landed"}
    assert asked(tool) == 0


def test_of_a_train_the_one_is_held_that_does_not_fit_what_lands_before_it(tmp_path: Path, tool: Path) -> None:
    repo = make_repo(tmp_path / "repo", **{"a.py": "# def old\n", "b.py": "y = 2\n", "c.py": "z = 3\n"})
    make_branch(repo, "rename", {"a.py": "# def new\n"})
    make_branch(repo, "uses", {"b.py": "y = 2\n# use old\n"})
    make_branch(repo, "other", {"c.py": "z = 4\n"})
    report = land_branches(repo, "rename", "uses", "other", verify=GREEN, verify_difference=True)
    assert states(report) == {"rename": "landed", "uses": "suspect", "other": "landed"}
    assert repo.read("c.py") == "z = 4\n"


def test_a_tool_that_gives_no_answer_is_told_and_holds_nothing(tmp_path: Path, tool: Path) -> None:
    make_tool(tmp_path, 2)
    report = land_branches(two_files(tmp_path), "topic", verify=GREEN, verify_difference=True)
    assert states(report) == {"topic": "landed"}
    [note] = report.notes
    assert note.startswith("topic: not checked for new messages: ruff: ")


@pytest.mark.skipif(find_sandbox().kind is None, reason="nothing confines here")
def test_it_runs_within_the_walls_of_the_checks(tmp_path: Path, tool: Path) -> None:
    repo = two_files(tmp_path)
    options = {"verify": GREEN, "verify_difference": True, "verify_sandbox": "workspace-write"}
    report = land_branches(repo, "topic", **options)
    # It writes beside the repository, which no check may.
    assert (states(report), asked(tool)) == ({"topic": "landed"}, 0)
    [note] = report.notes
    assert note.startswith("topic: not checked for new messages: ruff: ")
    assert "Error: [Errno " in note


def test_a_missing_tool_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    repo = two_files(tmp_path)
    (tmp_path / "bin").mkdir()
    for name in ("git", "sh", "bash", "true", "env"):
        (tmp_path / "bin" / name).symlink_to(shutil.which(name) or "")
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    report = land_branches(repo, "topic", verify=GREEN, verify_difference=True)
    assert (states(report), report.notes) == (
        {"topic": "landed"},
        ("topic: not checked for new messages: no ruff or pyflakes on PATH for Python",),
    )


@pytest.mark.skipif(shutil.which("javac") is None, reason="no javac on PATH")
def test_a_method_that_is_gone_and_used_in_another_file(tmp_path: Path) -> None:
    part = "package p;\n\npublic class Part {\n    public int size() {\n        return 1;\n    }\n}\n"
    # It speaks of a package that is not there: on all sides alike, so that is no message of the merge.
    user = "package p;\n\nimport gone.Thing;\n\nclass User {\n    Thing thing;\n}\n"
    repo = make_repo(tmp_path / "repo", **{"src/p/Part.java": part, "src/p/User.java": user})
    uses = user.replace("thing;\n}", "thing;\n\n    int all(Part part) {\n        return part.size();\n    }\n}")
    make_branch(repo, "topic", {"src/p/User.java": uses})
    repo.write("src/p/Part.java", part.replace("size", "length"))
    repo.commit("rename")
    report = land_branches(repo, "topic", verify=GREEN, verify_difference=True)
    [item] = report.items
    assert item.suspects == (
        Suspect(
            path="src/p/User.java",
            reason="javac says what it says of neither side: cannot find symbol: method size()",
        ),
    )
    assert not list(repo.path.rglob("*.class"))
