"""The report shows the places in conflict, who wrote them, and is never long."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gitprun.landing.conflict_report import MOST_TEXT
from gitprun.landing.hunks import CONTEXT, MOST_LINES, Hunk, Span, find_hunks
from gitprun.resolvers.base import FileConflict
from tests.support.cli import Said
from tests.support.inside import inside
from tests.support.repos import Repo, make_repo
from tests.support.rows import payload_of

Prun = Callable[..., Said]


@pytest.fixture
def prun(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Prun:
    return lambda *words: inside(capsys, tmp_path / "r", *words)


def numbered(count: int, **lines: str) -> bytes:
    return "".join(f"{lines.get(f'l{number}', f'line {number}')}\n" for number in range(1, count + 1)).encode()


def test_only_what_both_changed_with_lines_around() -> None:
    base = numbered(40)
    main = b"new\n" + numbered(40, l20="main")
    unit = numbered(40, l20="unit", l35="unit too")
    assert find_hunks(FileConflict("f", base, main, unit)) == (
        Hunk(
            base=Span(line=20, count=1, text=("line 20",)),
            main=Span(line=21, count=1, text=("main",)),
            unit=Span(line=20, count=1, text=("unit",)),
            before=tuple(f"line {number}" for number in range(15, 20)),
            after=tuple(f"line {number}" for number in range(21, 26)),
        ),
    )


def test_what_cannot_be_shown_says_why() -> None:
    assert find_hunks(FileConflict("f", b"a\0", b"b\0", b"c\0")) == "the file is binary (it holds NUL bytes)"
    assert find_hunks(FileConflict("f", b"", b"x" * (2 << 20), b"")) == "it is too large to be shown"


def test_long_places_are_cut() -> None:
    [hunk] = find_hunks(FileConflict("f", None, numbered(200), b"y" * 1000 + b"\n"))
    assert isinstance(hunk, Hunk)
    assert (hunk.main.count, len(hunk.main.text), hunk.main.text[-1]) == (200, MOST_LINES + 1, "... and 170 lines more")
    assert hunk.unit.text == ("y" * 160 + "...",)


TEXTS = st.lists(st.sampled_from([b"a", b"b", b"c", b"d"]), max_size=8).map(
    lambda rows: b"".join(r + b"\n" for r in rows)
)


@given(TEXTS, TEXTS, TEXTS)
def test_places_are_where_they_say(base: bytes, main: bytes, unit: bytes) -> None:
    hunks = find_hunks(FileConflict("f", base, main, unit))
    assert not isinstance(hunks, str)
    for hunk in hunks:
        assert hunk.main.text != hunk.unit.text
        for span, text in ((hunk.base, base), (hunk.main, main), (hunk.unit, unit)):
            lines = [line.decode() for line in text.splitlines()]
            assert lines[span.line - 1 : span.line - 1 + span.count] == [*span.text]
        assert max(len(hunk.before), len(hunk.after)) <= CONTEXT


def test_who_wrote_the_lines_and_no_other_unit(tmp_path: Path, prun: Prun) -> None:
    repo = make_repo(tmp_path / "r", f=numbered(40), elsewhere="e\n")
    base = repo.head
    repo.switch("topic", new=True)
    repo.commit("unit: top", f=numbered(40, l2="unit top"))
    repo.commit("unit: twenty", f=numbered(40, l2="unit top", l20="unit"))
    repo.switch("main")
    repo.ledger.append(payload_of("run.started", {"base": base}), run="r1")
    for unit, files in (
        ("near", {"f": numbered(40, l20="main")}),
        ("far", {"f": numbered(40, l20="main", l38="main far")}),
        ("stranger", {"elsewhere": "x\n"}),
    ):
        commit = repo.commit(f"main: {unit}", **files)
        facts = {"commit": commit, "verdict": {"state": "pass"}}
        repo.ledger.append(payload_of("unit.captured", facts), run="r1", unit=unit)
        repo.ledger.append(payload_of("unit.finished", state="ready"), run="r1", unit=unit)
        repo.ledger.append(payload_of("landing.landed", {"commit": commit, "branch": unit}), run="r1", unit=unit)
        repo.write(f".git/prun/runs/r1/{unit}/task.md", f"Do {unit}.\n")
    brief = prun("resolve", "topic", "--json").json
    [path] = brief["paths"]
    [place] = path["places"]
    assert (place["main_commits"], place["unit_commits"]) == (
        [f"{repo.git('rev-parse', 'main~2')[:10]} main: near (r1/near)"],
        [f"{repo.oid('topic')[:10]} unit: twenty"],
    )
    # Both units changed that very file; the one that did not is not named.
    assert [one["unit"] for one in brief["intents"]] == ["r1/near", "r1/far"]
    shown = prun("resolve", "topic", "--markdown").out
    assert "stranger" not in shown
    assert "line 14\n" not in shown
    assert "line 15\n" in shown


def test_a_hotspot_that_would_settle_it(tmp_path: Path, prun: Prun) -> None:
    repo = make_repo(tmp_path / "r", names_dot_txt="a\nb\n")
    repo.switch("topic", new=True)
    repo.commit("unit", names_dot_txt="a\nb\nunit\n")
    repo.switch("main")
    repo.commit("main", names_dot_txt="a\nb\nmain\n")
    shown = prun("resolve", "topic", "--markdown").out
    assert (
        'In `prun.toml` this would settle it from now on: `[[hotspot]]` with `path = "names.txt"`'
        ' and `policy = "union"`.\n'
    ) in shown
    assert prun("resolve", "topic", "--abort").code == 0
    repo.write("prun.toml", '[[hotspot]]\npath = "names.txt"\npolicy = "union"\n')
    assert prun("merge", "topic", "--no-verify").code == 0


def test_deleted_here_and_changed_there(tmp_path: Path, prun: Prun) -> None:
    repo = make_repo(tmp_path / "r", f=numbered(30))
    repo.switch("topic", new=True)
    repo.git("rm", "-q", "f")
    repo.commit("unit: drop it")
    repo.switch("main")
    repo.commit("main: change it", f=numbered(30, l15="main"))
    shown = prun("resolve", "topic", "--markdown").out
    assert (
        "What the main side changed:\n\n```\n@@ -12,7 +12,7 @@ line 11\n line 12\n line 13\n line 14\n"
        "-line 15\n+main\n line 16\n line 17\n line 18\n```\n"
    ) in shown
    assert f"Commits of the unit side:\n\n- {repo.oid('topic')[:10]} unit: drop it\n" in shown
    assert "line 20" not in shown


@pytest.mark.parametrize(("files", "places"), [(1, 400), (120, 3)])
def test_it_is_never_long(tmp_path: Path, prun: Prun, files: int, places: int) -> None:
    def text(word: str) -> bytes:
        return b"".join(b"%s %d %s\n" % (word.encode(), at, b"x" * 90) + b"same\n" * 12 for at in range(places))

    names = [f"f{number}" for number in range(files)]
    repo = make_repo(tmp_path / "r", **dict.fromkeys(names, text("base")))
    repo.switch("topic", new=True)
    repo.commit("unit", **dict.fromkeys(names, text("unit")))
    repo.switch("main")
    repo.commit("main", **dict.fromkeys(names, text("main")))
    said = prun("resolve", "topic", "--markdown")
    assert (said.code, len(said.out) < 2 * MOST_TEXT) == (0, True)
    brief = json.loads(Path(repo.path, ".git/prun/resolve/topic/brief.json").read_text())
    first = brief["paths"][0]
    assert (len(brief["paths"]), first["more"] + len(first["places"])) == (files, places)
    if files > 1:
        assert "## Not shown here (`git status` in the workspace lists all)\n" in said.out
    else:
        assert f"{first['more']} places more in this file.\n" in said.out


def test_the_workspace_holds_all_of_it(tmp_path: Path, prun: Prun) -> None:
    repo = make_repo(tmp_path / "r", f=numbered(40))
    repo.switch("topic", new=True)
    repo.commit("unit", f=numbered(40, l20="unit"))
    repo.switch("main")
    repo.commit("main", f=numbered(40, l20="main"))
    prun("resolve", "topic")
    assert Repo(tmp_path / "r.prun" / "resolve" / "topic").read("f").count("\n") == 46
