"""What was decided once is found again for the same versions, and for no others."""

from __future__ import annotations

from pathlib import Path

from gitprun.judging.recorded_resolutions import (
    find_choice,
    find_resolution,
    keep_choice,
    keep_resolution,
    version_taken,
)

A, B, C = "a" * 40, "b" * 40, "c" * 40
VERSIONS = (f"100644 {A}", None, f"100644 {C}")


def test_texts(tmp_path: Path) -> None:
    assert find_resolution(tmp_path, A, B, C) is None
    place = keep_resolution(tmp_path, A, B, C, b"\0text\r\n")
    keep_resolution(tmp_path, None, B, C, b"added")
    assert place == tmp_path / "resolutions" / f"{A}-{B}-{C}"
    assert [find_resolution(tmp_path, *oids) for oids in ((A, B, C), (None, B, C), (A, C, B), (B, B, C))] == [
        b"\0text\r\n",
        b"added",
        None,
        None,
    ]
    keep_resolution(tmp_path, A, B, C, b"")
    assert find_resolution(tmp_path, A, B, C) == b""


def test_choices(tmp_path: Path) -> None:
    assert find_choice(tmp_path, b"a.txt", VERSIONS) is None
    place = keep_choice(tmp_path, b"\xff.txt", VERSIONS, "delete")
    keep_choice(tmp_path, b"a.txt", VERSIONS, "unit")
    assert find_choice(tmp_path, b"a.txt", VERSIONS) == "unit"
    assert find_choice(tmp_path, b"\xff.txt", VERSIONS) == "delete"
    assert find_choice(tmp_path, b"a.txt", (VERSIONS[0], *reversed(VERSIONS[1:]))) is None
    for torn in (b"", b"[]", b'{"take": "mine"}', b"\xff"):
        place.write_bytes(torn)
        assert find_choice(tmp_path, b"\xff.txt", VERSIONS) is None


def test_a_link_is_no_resolution(tmp_path: Path) -> None:
    place = keep_resolution(tmp_path, A, B, C, b"text")
    place.rename(tmp_path / "elsewhere")
    place.symlink_to(tmp_path / "elsewhere")
    assert find_resolution(tmp_path, A, B, C) is None


def test_versions_that_were_chosen() -> None:
    assert [version_taken(VERSIONS, take) for take in ("main", "unit", "delete")] == [None, f"100644 {C}", None]
