"""The store of small contents: each kept once, a torn end of a crash forgotten."""

from __future__ import annotations

from pathlib import Path

import pytest

from gitprun.system.content_store import ContentStore


def test_contents_come_back_and_are_kept_once(tmp_path: Path) -> None:
    store = ContentStore(tmp_path / "keep" / "contents")
    digests = [store.add(content) for content in (b"", b"one\n", b"\0\n \xff", b"one\n")]
    store.flush()
    size = store.path.stat().st_size
    again = ContentStore(store.path)
    assert [again.content(digest) for digest in digests] == [b"", b"one\n", b"\0\n \xff", b"one\n"]
    assert again.add(b"one\n") == digests[1]
    again.flush()
    assert store.path.stat().st_size == size
    assert again.content("0" * 64) is None


@pytest.mark.parametrize("cut", range(1, 74))
def test_a_torn_end_is_written_over(tmp_path: Path, cut: int) -> None:
    store = ContentStore(tmp_path / "contents")
    first, second = store.add(b"first"), store.add(b"second")
    store.flush()
    whole = store.path.read_bytes()
    store.path.write_bytes(whole[:-cut])
    torn = ContentStore(store.path)
    third = torn.add(b"third")
    torn.flush()
    again = ContentStore(store.path)
    assert (again.content(first), again.content(third)) == (b"first", b"third")
    assert again.content(second) is None


def test_a_content_that_was_altered_is_not_given_out(tmp_path: Path) -> None:
    store = ContentStore(tmp_path / "contents")
    digest = store.add(b"content")
    store.flush()
    store.path.write_bytes(store.path.read_bytes().replace(b"content", b"evil!!!"))
    assert ContentStore(store.path).content(digest) is None
