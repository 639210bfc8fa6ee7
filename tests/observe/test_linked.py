"""What workers write through links into the checkout is told with the unit, and holds nothing."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from gitprun.landing.choose import choose
from gitprun.ledger.unit_events import UnitWatched
from gitprun.observe import linked
from gitprun.observe.linked import begin_look, compare, end_look, linked_places, look
from tests.support.cli import prun
from tests.support.repos import make_repo
from tests.support.runs import events_of, run_units, sh, unit_of


def tree(top: Path, **files: str) -> Path:
    """Write files (``__`` stands for ``/``) below a folder."""
    for name, text in files.items():
        (top / name.replace("__", "/")).parent.mkdir(parents=True, exist_ok=True)
        (top / name.replace("__", "/")).write_text(text)
    return top


def test_files_are_stamped_and_caches_are_not(tmp_path: Path) -> None:
    top = tree(tmp_path / "deps", a__b="1", d="3")
    tree(top / "a/__pycache__", c="2")
    (top / "link").symlink_to("/usr")
    (top / "gone").symlink_to("nowhere")
    os.mkfifo(top / "fifo")
    stamps, whole = look({"deps": str(top), "one": str(top / "d"), "none": str(top / "none")})
    assert (sorted(stamps), whole) == (["deps/a/b", "deps/d", "deps/fifo", "deps/gone", "deps/link", "one"], True)


@pytest.mark.parametrize(("whole", "changed"), [(True, ["added", "altered", "removed"]), (False, ["altered"])])
def test_what_differs(whole: bool, changed: list[str]) -> None:
    before, after = {"removed": (1, 1, 1), "altered": (1, 1, 1), "same": (1, 1, 1)}, {"altered": (1, 1, 2)}
    assert compare(before, {**after, "same": (1, 1, 1), "added": (0, 0, 0)}, whole=whole) == changed


def test_a_look_has_an_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    top = tree(tmp_path, **{f"f{number}": "" for number in range(9)}, deep__f="")
    monkeypatch.setattr(linked, "MOST_ENTRIES", 5)
    stamps, whole = look({"t": str(top)})
    assert (sorted(stamps), whole) == ([f"t/f{number}" for number in range(9)], False)


def test_a_change_that_puts_the_time_back_is_seen(tmp_path: Path) -> None:
    deps, place, file = tree(tmp_path / "deps", a="1", b="1"), tmp_path / "place", tmp_path / "linked.json"
    place.mkdir()
    (place / "deps").symlink_to(deps)
    begin_look(file, place, ("deps", "copied"))
    about = (deps / "a").stat()
    (deps / "a").write_text("2")
    os.utime(deps / "a", ns=(about.st_atime_ns, about.st_mtime_ns))
    # The worker may put something else there: what was linked is what is looked at.
    (place / "deps").unlink()
    assert (end_look(file), file.exists()) == (UnitWatched(linked=("deps/a",), linked_more=0), False)
    assert end_look(file) is None


@pytest.mark.parametrize("record", ["", "[]", "{}", '{"stamps": [], "places": {}}', "\0"])
def test_a_record_that_is_lost_is_said(tmp_path: Path, record: str) -> None:
    (tmp_path / "linked.json").write_text(record)
    said = "what changed behind its links cannot be told: the look before it is lost"
    assert end_look(tmp_path / "linked.json") == UnitWatched(linked_note=said)


def test_only_links_are_looked_through(tmp_path: Path) -> None:
    tree(tmp_path, copied="x")
    (tmp_path / "out").symlink_to("/usr")
    assert linked_places(tmp_path, ("copied", "out", "gone")) == {"out": "/usr"}
    begin_look(tmp_path / "linked.json", tmp_path, ("copied",))
    assert not (tmp_path / "linked.json").exists()


@pytest.mark.parametrize("kind", ["clone", "worktree"])
def test_it_is_told_with_the_unit_and_where_it_lands(tmp_path: Path, kind: Any) -> None:
    repo = make_repo(tmp_path / "repo")
    repo.commit("ignore", _dot_gitignore="node_modules\n")
    tree(repo.path, node_modules__pkg__a="1", node_modules__pkg__b="1")
    script = "echo 2 >node_modules/pkg/a; rm node_modules/pkg/b; echo w >w"
    run_units(repo, sh("bad", script, workspace=kind), sh("good", "echo g >g"), jobs=1, link=("node_modules",))
    facts = unit_of(repo, "bad").as_json()
    assert (facts["linked"], facts["linked_more"]) == (["node_modules/pkg/a", "node_modules/pkg/b"], 0)
    assert unit_of(repo, "bad").state == "ready"
    assert "linked" not in unit_of(repo, "good").as_json()
    assert [event.payload.as_json() for event in events_of(repo, "bad") if event.kind == "unit.watched"] == [
        {"linked": ["node_modules/pkg/a", "node_modules/pkg/b"], "linked_more": 0}
    ]
    title = "changed in your checkout while it ran, through what is linked:"
    assert f"{title}\n  node_modules/pkg/a\n  node_modules/pkg/b\n" in prun(repo.path, "show", "bad").out
    told = "r1/bad: node_modules/pkg/a and 1 more changed in your checkout while it ran, through what is linked"
    chosen = choose(repo.repository, repo.ledger.read().history, ("bad",), allow_unverified=False)
    assert (chosen.ahead, [one.notes for one in chosen.candidates]) == ((told,), [()])
