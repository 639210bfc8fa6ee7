"""Which changes of refs a worker in a linked worktree must not make."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gitprun.guards.gitwords import COMMITS, REFS
from gitprun.guards.refs import NOT_ITS_OWN, Update, parse_updates, refuse_update
from gitprun.model.names import ZERO

BASE, OTHER, NEW = "a" * 40, "b" * 40, "c" * 40
OWN = "refs/heads/prun/r1/u"
CURRENT = {"HEAD": BASE, OWN: BASE, "refs/heads/main": OTHER, "refs/tags/v1": OTHER}


def refuse(*rows: str, own: bool = True) -> tuple[str, str] | None:
    return refuse_update(
        parse_updates("\n".join(rows)),
        own=own,
        current=lambda ref: CURRENT.get(ref, ZERO),
        is_new=lambda commit: commit == NEW,
    )


@pytest.mark.parametrize(
    ("what", "rows", "refused"),
    [
        ("git commit", (f"{BASE} {NEW} HEAD", f"{BASE} {NEW} {OWN}"), ("HEAD", COMMITS)),
        ("git commit, detached", (f"{BASE} {NEW} HEAD",), ("HEAD", COMMITS)),
        ("git commit, told by the branch alone", (f"{BASE} {NEW} {OWN}",), (OWN, COMMITS)),
        ("git reset --hard main", (f"{BASE} {OTHER} HEAD", f"{BASE} {OTHER} {OWN}"), (OWN, REFS)),
        ("git branch x", (f"{ZERO} {BASE} refs/heads/x",), ("refs/heads/x", REFS)),
        ("git branch -f main HEAD", (f"{OTHER} {BASE} refs/heads/main",), ("refs/heads/main", REFS)),
        ("git branch -D main", (f"{OTHER} {ZERO} refs/heads/main",), ("refs/heads/main", REFS)),
        ("git branch -D of a packed ref", (f"{ZERO} {ZERO} refs/heads/main",), ("refs/heads/main", REFS)),
        ("git tag v2", (f"{ZERO} {BASE} refs/tags/v2",), ("refs/tags/v2", REFS)),
        ("git stash", (f"{ZERO} {NEW} refs/stash",), ("refs/stash", REFS)),
        ("git fetch", (f"{ZERO} {NEW} refs/remotes/o/x",), ("refs/remotes/o/x", REFS)),
        ("a symbolic ref", (f"{ZERO} ref:refs/heads/x refs/heads/y",), ("refs/heads/y", REFS)),
        ("another worktree's HEAD", (f"{ZERO} {BASE} worktrees/x/HEAD",), ("worktrees/x/HEAD", REFS)),
        ("prun's own pins", (f"{ZERO} {NEW} refs/prun/r1/u",), ("refs/prun/r1/u", REFS)),
    ],
)
def test_refused(what: str, rows: tuple[str, ...], refused: tuple[str, str]) -> None:
    assert refuse(*rows) == refused, what


@pytest.mark.parametrize(
    ("what", "rows"),
    [
        ("nothing", ()),
        ("git reset", (f"{BASE} {BASE} ORIG_HEAD", f"{BASE} {BASE} HEAD", f"{BASE} {BASE} {OWN}")),
        ("git checkout --detach", (f"{ZERO} {BASE} HEAD",)),
        ("git checkout main~0", (f"{ZERO} {OTHER} HEAD",)),
        ("git switch main, told by newer git", (f"{ZERO} ref:refs/heads/main HEAD",)),
        ("git pack-refs", (f"{ZERO} {OTHER} refs/heads/main", f"{ZERO} {OTHER} refs/tags/v1")),
        ("git bisect start", (f"{ZERO} {ZERO} BISECT_HEAD", f"{ZERO} {BASE} refs/bisect/bad")),
        ("deleting what is not there", (f"{ZERO} {ZERO} refs/heads/x",)),
        ("lines git does not write", ("", "x", f"{ZERO} {NEW}")),
    ],
)
def test_allowed(what: str, rows: tuple[str, ...]) -> None:
    assert refuse(*rows) is None, what


def test_outside_its_own_worktree_nothing_may_move() -> None:
    assert refuse(f"{OTHER} {OTHER} ORIG_HEAD", f"{BASE} {NEW} HEAD", own=False) == ("HEAD", NOT_ITS_OWN)
    assert refuse(f"{ZERO} {OTHER} ORIG_HEAD", own=False) == ("ORIG_HEAD", NOT_ITS_OWN)
    assert refuse(f"{OTHER} {NEW} refs/heads/main", own=False) == ("refs/heads/main", REFS)
    assert refuse(f"{OTHER} {OTHER} refs/heads/main", own=False) is None


OIDS = st.sampled_from([ZERO, BASE, OTHER, NEW])
ROWS = st.builds(
    Update, OIDS, OIDS, st.sampled_from([*CURRENT, "ORIG_HEAD", "refs/stash", "refs/heads/x", "refs/bisect/a"])
)


@given(st.lists(ROWS))
def test_a_shared_ref_never_gets_another_value(updates: list[Update]) -> None:
    refused = refuse_update(
        updates, own=True, current=lambda ref: CURRENT.get(ref, ZERO), is_new=lambda commit: commit == NEW
    )
    shared = [u for u in updates if u.ref.startswith("refs/") and not u.ref.startswith("refs/bisect/")]
    if refused is None:
        assert all(u.new == CURRENT.get(u.ref, ZERO) or u.old == u.new for u in shared)
        assert NEW not in {u.new for u in updates if u.ref == "HEAD" and u.old != NEW}


@given(st.text())
def test_any_input_is_read(text: str) -> None:
    parse_updates(text)
