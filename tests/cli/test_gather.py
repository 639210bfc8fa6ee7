"""``git prun gather`` against the literal protocol of the first seed's ``gather``; the rule is in tests/runs."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from gitprun.model.contract import fallback_result
from tests.support.cli import Said, prun

pytestmark = pytest.mark.slow

USAGE = "Usage: git prun gather <result-file> [<result-file> ...]\n"
GOOD = "# u1 result\nConclusion: ok\nFiles: a\nOpen items: none\nVerification: none\n"
FIELDS = {"Conclusion": "ok", "Files": "a", "Open items": "none", "Verification": "none"}


def put(folder: Path, name: str, content: str | bytes) -> Path:
    """Write a file that has been quiet for two hours."""
    path = folder / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    os.utime(path, (path.stat().st_mtime - 7200,) * 2)
    return path


def gather(folder: Path, *words: str, **env: str) -> Said:
    return prun(folder, "gather", *words, env={"TMPDIR": str(folder / "tmp"), **env})


def test_results_that_are_there(tmp_path: Path) -> None:
    put(tmp_path, "a.md", GOOD)
    put(tmp_path, "b.md", GOOD)
    (tmp_path / "link").symlink_to(".")
    said = gather(tmp_path, "a.md", "link/b.md", f"{tmp_path}/a.md")
    assert (said.code, said.out, said.err) == (
        0,
        f"GATHER-START count=3 timeout=3600s\nDONE {tmp_path}/a.md\nDONE {tmp_path}/b.md\nDONE {tmp_path}/a.md\n",
        "",
    )


def test_what_does_not_come_in_time(tmp_path: Path) -> None:
    put(tmp_path, "a.md", GOOD)
    (tmp_path / "new.md").write_text(GOOD)
    put(tmp_path, "empty.md", "")
    said = gather(tmp_path, "new.md", "a.md", "none/c.md", "empty.md", AGENT_CONFIG_GATHER_TIMEOUT="0")
    assert (said.code, said.out) == (2, f"GATHER-START count=4 timeout=0s\nDONE {tmp_path}/a.md\nTIMEOUT remaining=3\n")


def test_the_window_and_the_poll_of_the_environment(tmp_path: Path) -> None:
    (tmp_path / "new.md").write_text(GOOD)
    (tmp_path / "begun.md").write_text("# u1 result\nConclusion: ok\n")
    pace = {"PRUN_GATHER_STABLE_WINDOW": "0", "PRUN_GATHER_POLL": "0.01", "AGENT_CONFIG_GATHER_TIMEOUT": "60.5"}
    said = gather(tmp_path, "new.md", "begun.md", **pace)
    assert (said.code, said.out) == (
        0,
        f"GATHER-START count=2 timeout=60.5s\nDONE {tmp_path}/new.md\nDONE {tmp_path}/begun.md\n",
    )


@pytest.mark.parametrize(
    ("words", "env", "message"),
    [
        ((), {}, "Missing argument 'RESULT-FILE...'"),
        (("--bogus", "a"), {}, "No such option"),
        (("folder",), {}, "{folder}/folder is a folder"),
        (("a", "b", "c", "--unit-id", "1", "--unit-id", "2"), {}, "got 2 --unit-id for 3 files"),
        (("a",), {"PRUN_GATHER_POLL": "soon"}, "PRUN_GATHER_POLL: invalid number of seconds 'soon'"),
        (("a",), {"AGENT_CONFIG_GATHER_TIMEOUT": "-1"}, "AGENT_CONFIG_GATHER_TIMEOUT: invalid number of seconds '-1'"),
        (("a",), {"PRUN_GATHER_STABLE_WINDOW": "nan"}, "PRUN_GATHER_STABLE_WINDOW: invalid number of seconds 'nan'"),
    ],
)
def test_wrong_usage_is_code_2(tmp_path: Path, words: tuple[str, ...], env: dict[str, str], message: str) -> None:
    (tmp_path / "folder").mkdir()
    said = gather(tmp_path, *words, **env)
    assert (said.code, said.out) == (2, "")
    assert said.err.startswith(f"git prun gather: {message}".replace("{folder}", str(tmp_path)))
    assert said.err.endswith(USAGE)


KINDS = {
    "good.md": (GOOD, (True, False, [])),
    "bomcrlf.md": ("\ufeff" + GOOD.replace("\n", "\r\n"), (True, False, [])),
    "big.md": (GOOD + "\n" + "x" * 3_000_000, (True, False, [])),
    "fallback.md": (fallback_result("u1", "it died", "tail\n"), (False, True, [])),
    "space.md": (" \n\n", (False, False, ["the first line is not '# <unit-id> result'"])),
    "nul.md": ("\0\0\0\0", (False, False, ["the first line is not '# <unit-id> result'"])),
    "nohead.md": ("done!\n", (False, False, ["the first line is not '# <unit-id> result'"])),
    "words.md": ("FALLBACK (salvaged from tail)\n\n... last lines\n", (False, True, None)),
    "double.md": (GOOD + "\n" + GOOD, (False, False, ["a second result follows the first"])),
    "latin.md": (GOOD.replace("ok", "é").encode("latin-1"), (True, False, [])),
}


@pytest.mark.parametrize("name", KINDS)
def test_every_kind_of_result_is_classified(tmp_path: Path, name: str) -> None:
    content, (valid, fallback, problems) = KINDS[name]
    put(tmp_path, name, content)
    plain, strict = gather(tmp_path, name), gather(tmp_path, "--strict", "--json", name)
    assert (plain.code, plain.out) == (0, f"GATHER-START count=1 timeout=3600s\nDONE {tmp_path}/{name}\n")
    assert strict.code == (0 if valid else 1)
    row = json.loads(strict.out.splitlines()[1])
    assert (row["valid"], row["fallback"]) == (valid, fallback)
    if problems is not None:
        assert row["problems"][:1] == problems


def test_whose_result_it_must_be_can_be_said(tmp_path: Path) -> None:
    put(tmp_path, "a.md", GOOD)
    put(tmp_path, "b.md", GOOD.replace("u1", "u2"))
    each = gather(tmp_path, "--strict", "--unit-id", "u1", "--unit-id", "u2", "a.md", "b.md")
    one = gather(tmp_path, "--strict", "--unit-id", "u1", "a.md", "b.md")
    assert (each.code, each.err, one.code) == (0, "", 1)
    assert one.err.startswith(f"git prun gather: {tmp_path}/b.md: the heading names 'u2', not 'u1'\n")


def test_one_json_object_for_each_event(tmp_path: Path) -> None:
    path = put(tmp_path, "a.md", GOOD)
    said = gather(tmp_path, "--json", "a.md", "none.md", AGENT_CONFIG_GATHER_TIMEOUT="0")
    assert (said.code, [json.loads(line) for line in said.out.splitlines()]) == (
        2,
        [
            {"schema": "gitprun.gather-start/1", "event": "start", "count": 2, "timeout": 0.0},
            {
                "schema": "gitprun.gather-done/1",
                "event": "done",
                "path": str(path),
                "unit": "u1",
                "fallback": False,
                "valid": True,
                "problems": [],
                "fields": FIELDS,
                "certain": False,
                "state_dir": None,
            },
            {"schema": "gitprun.gather-timeout/1", "event": "timeout", "remaining": 1},
        ],
    )


def test_a_name_that_is_no_utf8_is_printed_as_it_stands(tmp_path: Path) -> None:
    put(tmp_path, os.fsdecode(b"caf\xe9 1.md"), GOOD)
    put(tmp_path, "new\nline.md", GOOD)
    said = gather(tmp_path, os.fsdecode(b"caf\xe9 1.md"), "new\nline.md")
    assert said.out == (
        f"GATHER-START count=2 timeout=3600s\nDONE {tmp_path}/caf\ufffd 1.md\nDONE {tmp_path}/new\nline.md\n"
    )


def test_a_salvaged_result_is_named_on_stderr(tmp_path: Path) -> None:
    put(tmp_path, "a.md", fallback_result("u1", "it died", "tail\n"))
    assert gather(tmp_path, "a.md").err == (
        f"git prun gather: {tmp_path}/a.md is a FALLBACK: review it, or dispatch the unit again\n"
    )
