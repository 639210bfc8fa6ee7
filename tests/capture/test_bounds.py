"""What is new beyond the bounds stays out, named with number and size; everything else is captured."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gitprun.capture.bounds import leave_out_crowds, leave_out_large
from gitprun.capture.capture import Capture, capture
from gitprun.capture.tree_scan import TreeScan
from tests.support.repos import make_repo
from tests.support.workshop import RUN, Workshop, open_workshop


def bounded(shop: Workshop, **bounds: int) -> Capture:
    return capture(replace(shop.site, **bounds), RUN, shop.unit)  # type: ignore[arg-type]


def left_out(found: Capture) -> list[tuple[str, str, int]]:
    return [(row.path, row.reason, row.size) for row in found.left_out]


@pytest.mark.parametrize(
    ("paths", "most", "gone"),
    [
        (["a/1", "a/2", "b/1"], 3, []),
        (["a/1", "a/2", "b/1"], 2, ["a/"]),
        (["out/cache/1", "out/cache/2", "out/cache/3", "b"], 2, ["out/cache/"]),
        (["out/cache/1", "out/cache/2", "out/report/1", "b"], 2, ["out/"]),
        (["src/1", "src/2", "src/new/1", "x"], 2, ["src/*"]),
        (["src/1", "src/new/1", "src/new/2", "x"], 2, ["src/new/"]),
        (["1", "2", "3", "d/1"], 1, ["*"]),
        (["a/1", "a/2", "b/1", "b/2", "c"], 0, ["a/", "b/", "*"]),
    ],
)
def test_the_fullest_place_goes_first(paths: list[str], most: int, gone: list[str]) -> None:
    found = leave_out_crowds(dict.fromkeys(paths, 1), most, lambda folder: folder == "src")
    assert list(found) == gone


PATHS = st.lists(st.lists(st.sampled_from("abc"), min_size=1, max_size=4).map("/".join), unique=True, max_size=30)


@given(PATHS, st.integers(0, 30), st.sets(st.sampled_from(["a", "b", "a/b", "a/b/c"])))
def test_exactly_what_has_to_go_goes_once(paths: list[str], most: int, tracked: set[str]) -> None:
    gone = leave_out_crowds(dict.fromkeys(paths, 1), most, tracked.__contains__)
    dropped = [path for some in gone.values() for path in some]
    assert len(dropped) == len(set(dropped))
    assert set(dropped) <= set(paths)
    assert len(paths) - len(dropped) <= most or not paths
    if len(paths) <= most:
        assert not gone


@given(st.dictionaries(st.text("abc", min_size=1, max_size=3), st.integers(0, 100)), st.integers(0, 500))
def test_the_largest_go_first_and_no_more_than_must(sizes: dict[str, int], most: int) -> None:
    gone = leave_out_large(sizes, most)
    rest = sum(size for path, size in sizes.items() if path not in gone)
    assert rest <= most
    if gone:
        assert rest + sizes[gone[-1]] > most
        assert min(sizes[path] for path in gone) >= max(
            (size for path, size in sizes.items() if path not in gone), default=0
        )


def test_too_many_files(tmp_path: Path) -> None:
    repo = make_repo(tmp_path / "repo", a_dot_txt="1\n", src__x_dot_py="1\n", _dot_gitignore="ignored/\n")
    shop = open_workshop(repo, tmp_path / "w")
    for number in range(30):
        shop.work.write(f"out/cache/{number}.bin", "xy")
        shop.work.write(f"ignored/{number}.bin", "xy")
        if number < 12:
            shop.work.write(f"src/gen{number}.py", "xyz")
    shop.work.write("out/report.txt", "r\n")
    shop.work.write("a.txt", "2\n")
    found = bounded(shop, max_files=13)
    assert left_out(found) == [
        ("out/cache/", "30 new files, with which more than 13 would be new ([collect] max_files)", 60)
    ]
    assert len(found.changed) == 14
    found = bounded(open_workshop(repo, tmp_path / "w", unit="v"), max_files=0)
    assert left_out(found) == []
    assert bounded(shop, max_files=0).changed == tuple(sorted({*found.changed, "a.txt", "out/report.txt"} | {
        f"src/gen{number}.py" for number in range(12)
    }))  # fmt: skip


def test_new_files_of_a_folder_of_the_base(tmp_path: Path) -> None:
    repo = make_repo(tmp_path / "repo", src__x_dot_py="1\n")
    shop = open_workshop(repo, tmp_path / "w")
    for number in range(5):
        shop.work.write(f"src/gen{number}.py", "xyz")
    shop.work.write("src/x.py", "2\n")
    found = bounded(shop, max_files=4)
    assert found.changed == ("src/x.py",)
    assert left_out(found) == [("src/*", "5 new files, with which more than 4 would be new ([collect] max_files)", 15)]


def test_too_large_together(tmp_path: Path) -> None:
    shop = open_workshop(make_repo(tmp_path / "repo"), tmp_path / "w")
    for name, size in {"a": 400, "b": 300, "c": 300, "d": 10}.items():
        shop.work.write(name, name * size)
    shop.work.write("a.txt", "2" * 5000)
    found = bounded(shop, max_total=350)
    assert found.changed == ("a.txt", "c", "d")
    reason = "with it the new files would be larger than 350 bytes together ([collect] max_total)"
    assert left_out(found) == [("a", reason, 400), ("b", reason, 300)]


def test_a_crowd_is_not_even_listed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gitprun.capture.tree_scan.CROWDED", 20)
    repo = make_repo(tmp_path / "repo", a_dot_txt="1\n", old__a_dot_txt="1\n", _dot_gitignore="ignored/\n")
    shop = open_workshop(repo, tmp_path / "w")
    for number in range(30):
        for folder in ("out/cache", "ignored", "old"):
            shop.work.write(f"{folder}/{number}", "x")
    shop.work.write("out/report.txt", "r\n")
    found = shop.capture()
    assert left_out(found) == [("out/cache/", "30 entries: too many to be listed", 0)]
    assert "out/report.txt" in found.changed
    assert "old/7" in found.changed
    assert len(found.changed) == 31


def test_an_empty_scan_says_nothing() -> None:
    assert TreeScan() == TreeScan((), (), (), (), (), (), (), 0)
