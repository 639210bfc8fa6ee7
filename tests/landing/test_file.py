"""One file from three: git's merge wherever it is clean and sound, and never less than git's conflict."""

from __future__ import annotations

import subprocess
import tempfile
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from gitprun.landing.file import FileMerge, merge_file
from gitprun.resolvers.proof import audit

LINES = st.lists(
    st.sampled_from([b"a\n", b"b\n", b"c\n", b"{\n", b"}\n", b'"k": 1,\n', b"x = 1\r\n", b"\xff\n"]), max_size=8
)
TEXTS = st.builds(lambda lines, end: b"".join(lines) + end, LINES, st.sampled_from([b"", b"end", b"\n"]))
NAMES = st.sampled_from(["a.txt", "a.json", "a.py", "todo.md", "a.toml", ".gitignore", "a.none"])


@given(TEXTS, TEXTS, TEXTS, NAMES)
def test_it_is_gits_merge_or_a_proved_one(base: bytes, main: bytes, unit: bytes, path: str) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for file, content in (("ours", main), ("base", base), ("theirs", unit)):
            (folder / file).write_bytes(content)
        done = subprocess.run(
            ["git", "merge-file", "-p", "ours", "base", "theirs"], cwd=folder, capture_output=True, check=False
        )
        found = merge_file(FileMerge(main="ours", base="base", unit="theirs", path=path), folder)
    if done.returncode == 0 and not audit(path, base or None, main, unit, done.stdout):
        assert (found.code, found.text, found.said) == (0, done.stdout, ())
    elif found.code:
        assert (found.code, found.text) == (done.returncode or 1, done.stdout)
        assert len(found.said) == 1
    else:
        assert audit(path, base or None, main, unit, found.text) == ()
        assert "settled (" in found.said[0]
