"""Three texts judged without a repository: merged where that is proved, refused with the reason where it is not."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gitprun.git.command import Git
from gitprun.judging.text import Merged, merge_text
from gitprun.resolvers.base import FileConflict, Refused
from gitprun.resolvers.proof import audit
from gitprun.resolvers.sides import merge_apart

BASE = b"a\nb\nc\nd\ne\n"


@pytest.mark.parametrize(
    ("path", "base", "ours", "theirs", "due"),
    [
        ("f", BASE, b"A\nb\nc\nd\ne\n", b"a\nb\nc\nd\nE\n", Merged(b"A\nb\nc\nd\nE\n")),
        ("f", BASE, BASE, b"a\n", Merged(b"a\n")),
        ("f", None, b"x\n", b"x\n", Merged(b"x\n")),
        ("f", b"a\nb\n", b"A\nb\n", b"a\nB\n", Merged(b"A\nB\n", "near")),
        ("f.json", b'{"a": 1}\n', b'{"a": 1, "b": 2}\n', b'{"a": 1, "c": 3}\n', "json"),
        ("todo.md", b"- a\n", b"- a\n- b\n", b"- a\n- c\n", "todo list"),
        ("f", b"a\n", b"b\n", b"c\n", Refused('near: both sides changed the same lines, such as "a"')),
        ("f", b"\0", b"\0a", b"\0b", Refused("near: the file is binary (it holds NUL bytes)")),
    ],
)
def test_each_answer(path: str, base: bytes | None, ours: bytes, theirs: bytes, due: Merged | Refused | str) -> None:
    found = merge_text(base, ours, theirs, path)
    assert (found.resolver if isinstance(due, str) and isinstance(found, Merged) else found) == due


def test_what_merges_line_by_line_and_is_faulty_is_refused() -> None:
    lines = [f"def f{n}():\n    return {n}\n\n\n" for n in range(9)]
    new = ["def new():\n    return 0\n\n\n", "def new():\n    return 1\n\n\n"]
    base, ours, theirs = ("".join(each).encode() for each in (lines, [new[0], *lines], [*lines, new[1]]))
    found = merge_text(base, ours, theirs, "f.py")
    assert found == Refused('the definition of "new" is there twice')


def test_no_program_is_started(monkeypatch: pytest.MonkeyPatch) -> None:
    def never(*words: object, **given: object) -> None:
        raise AssertionError(words)

    monkeypatch.setattr(Git, "run", never)
    monkeypatch.setattr(subprocess, "Popen", never)
    assert isinstance(merge_text(b"a\n", b"b\n", b"c\n", "CHANGELOG.md"), Refused)


LINES = st.lists(st.sampled_from([b"a\n", b"b\n", b"c\n", b"d\n", b"x = 1\r\n"]), max_size=8)
TEXTS = st.builds(lambda lines, end: b"".join(lines) + end, LINES, st.sampled_from([b"", b"end"]))


@given(TEXTS, TEXTS, TEXTS, st.sampled_from(["a.txt", "a.py", "todo.md"]))
def test_what_merges_has_no_fault(base: bytes, ours: bytes, theirs: bytes, path: str) -> None:
    found = merge_text(base, ours, theirs, path)
    assert isinstance(found, Refused) or audit(path, base, ours, theirs, found.text) == ()


@given(TEXTS, TEXTS, TEXTS)
def test_lines_apart_are_merged_as_git_merges_them(
    tmp_path_factory: pytest.TempPathFactory, base: bytes, ours: bytes, theirs: bytes
) -> None:
    found = merge_apart(FileConflict("f", base, ours, theirs))
    if isinstance(found, Refused):
        return
    folder = Path(tmp_path_factory.mktemp("merge"))
    for name, text in (("ours", ours), ("base", base), ("theirs", theirs)):
        (folder / name).write_bytes(text)
    by_git = subprocess.run(["git", "merge-file", "-p", "ours", "base", "theirs"], cwd=folder, capture_output=True)
    if by_git.returncode == 0:
        assert found == by_git.stdout
