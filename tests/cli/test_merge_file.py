"""``git prun merge-file`` is ``git merge-file`` with fewer conflicts: same words, same codes, same bytes."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from gitprun.cli.merge_file_args import main, parse_words
from gitprun.judging import doubts, text
from gitprun.landing.file import FileMerge
from gitprun.resolvers import outline
from gitprun.resolvers.base import FileConflict
from gitprun.resolvers.cascade import CascadeResult, StrategyRefusal
from tests.support.cli import Said, program_environment, prun
from tests.support.repos import make_repo

# Files in which git finds nothing, one conflict, two; and one it cannot merge.
BASE, MAIN, UNIT = b"1\n2\n3\n4\n5\n6\n7\n8\n", b"1a\n2\n3\n4\n5\n6\n7\n8\n", b"1\n2\n3\n4\n5\n6\n7\n8b\n"
ONE_A, ONE_B = b"1\n2\n3a\n4\n5\n6\n7\n8\n", b"1\n2\n3b\n4\n5\n6\n7\n8\n"
TWO_A, TWO_B = b"1a\n2\n3\n4\n5\n6\n7\n8a\n", b"1b\n2\n3\n4\n5\n6\n7\n8b\n"
NEAR_A, NEAR_B, NEAR = b"1\n2a\n3\n4\n5\n6\n7\n8\n", b"1\n2\n3b\n4\n5\n6\n7\n8\n", b"1\n2a\n3b\n4\n5\n6\n7\n8\n"


def lay_out(folder: Path, base: bytes, main: bytes, unit: bytes) -> Path:
    """Write the three files as ours, base and theirs."""
    folder.mkdir(exist_ok=True)
    for name, content in (("ours", main), ("base", base), ("theirs", unit)):
        (folder / name).write_bytes(content)
    return folder


def git(folder: Path, *words: str) -> tuple[int, bytes]:
    """Run git itself."""
    done = subprocess.run(["git", *words], cwd=folder, capture_output=True, check=False)
    return done.returncode, done.stdout


def ours(folder: Path, *words: str) -> tuple[int, bytes]:
    """Run ``git prun merge-file``, output as bytes."""
    done = subprocess.run(
        [sys.executable, "-m", "gitprun", "merge-file", *words],
        cwd=folder,
        env=program_environment(),
        capture_output=True,
        check=False,
    )
    return done.returncode, done.stdout


@pytest.mark.parametrize(
    "versions", [(BASE, MAIN, UNIT), (BASE, ONE_A, ONE_B), (BASE, TWO_A, TWO_B), (b"", b"a", b"b")]
)
@pytest.mark.parametrize(
    "options",
    [
        (),
        ("--diff3",),
        ("--zdiff3", "--marker-size", "12"),
        ("-L", "one", "-L", "two", "-L", "three", "--diff3"),
        ("--union",),
        ("--theirs",),
    ],
    ids=" ".join,
)
def test_what_cannot_be_proved_is_as_git_gives_it(
    tmp_path: Path, versions: tuple[bytes, bytes, bytes], options: tuple[str, ...]
) -> None:
    folder = lay_out(tmp_path / "x", *versions)
    assert ours(folder, "-p", *options, "ours", "base", "theirs") == git(
        folder, "merge-file", "-p", *options, "ours", "base", "theirs"
    )


@pytest.mark.parametrize("style", ["merge", "diff3", "zdiff3"])
def test_the_users_conflict_style_holds(tmp_path: Path, style: str) -> None:
    folder = lay_out(make_repo(tmp_path / "r").path, BASE, ONE_A, ONE_B)
    git(folder, "config", "merge.conflictStyle", style)
    answer = ours(folder, "-p", "ours", "base", "theirs")
    assert answer == git(folder, "merge-file", "-p", "ours", "base", "theirs")
    assert (b"|||||||" in answer[1]) == (style != "merge")


def test_in_place_keeps_mode_and_links(tmp_path: Path) -> None:
    folder = lay_out(tmp_path, BASE, TWO_A, TWO_B)
    (folder / "ours").chmod(0o751)
    (folder / "link").symlink_to("ours")
    expected = git(folder, "merge-file", "-p", "link", "base", "theirs")
    assert ours(folder, "link", "base", "theirs") == (2, b"")
    assert expected == (2, (folder / "ours").read_bytes())
    assert (folder / "ours").stat().st_mode & 0o777 == 0o751
    assert (folder / "link").is_symlink()
    assert sorted(os.listdir(folder)) == ["base", "link", "ours", "theirs"]


def test_a_file_that_cannot_be_replaced_stays_as_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = lay_out(tmp_path, BASE, MAIN, UNIT)

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(os, "replace", full)
        assert main(["ours", "base", "theirs"], folder) == 128
    assert capsys.readouterr().err == f"error: {folder}/ours cannot be written: No space left on device\n"
    assert (folder / "ours").read_bytes() == MAIN
    assert sorted(os.listdir(folder)) == ["base", "ours", "theirs"]


def test_lines_side_by_side_are_settled(tmp_path: Path) -> None:
    folder = lay_out(tmp_path, BASE, NEAR_A, NEAR_B)
    assert git(folder, "merge-file", "-p", "ours", "base", "theirs")[0] == 1
    said = prun(folder, "merge-file", "-p", "--path", "src/x.txt", "ours", "base", "theirs")
    assert said == Said(0, NEAR.decode(), 'git prun: "src/x.txt": settled (near)\n')
    assert prun(folder, "merge-file", "-q", "ours", "base", "theirs") == Said(0, "", "")
    assert (folder / "ours").read_bytes() == NEAR


def test_it_says_why_a_conflict_is_left(tmp_path: Path) -> None:
    folder = lay_out(tmp_path, BASE, TWO_A, TWO_B)
    said = prun(folder, "merge-file", "-p", "--path", "x.txt", "ours", "base", "theirs")
    assert said.err.startswith('git prun: "x.txt": 2 conflicts left: near: ')
    assert said.err.count("\n") == 1


@pytest.mark.parametrize(
    ("words", "code", "err"),
    [
        (("ours", "base", "none"), 255, "error: Could not stat none: No such file or directory\n"),
        (("ours", "base", "binary"), 255, "error: Cannot merge binary files: binary\n"),
        (("ours", "base"), 129, "error: merge-file: three files are needed, not 2\n"),
        (("--wrong", "ours", "base", "theirs"), 129, "error: merge-file: option --wrong not recognized\n"),
        (("--marker-size", "x", "a", "b", "c"), 129, "error: merge-file: --marker-size: invalid number 'x'\n"),
    ],
)
def test_errors_have_gits_codes(tmp_path: Path, words: tuple[str, ...], code: int, err: str) -> None:
    folder = lay_out(tmp_path, BASE, ONE_A, ONE_B)
    (folder / "binary").write_bytes(b"\0\1")
    said = prun(folder, "merge-file", *words)
    assert (said.code, said.out) == (code, "")
    hint = "hint: git prun merge-file [-p] --path PATH [--marker-size N] [-L LABEL]... OURS BASE THEIRS\n"
    assert said.err == (err + hint if code == 129 else err)
    assert git(folder, "merge-file", *words)[0] == code
    assert (folder / "ours").read_bytes() == ONE_A


def test_after_other_options_it_is_the_same_command(tmp_path: Path) -> None:
    folder = lay_out(tmp_path / "x", BASE, ONE_A, ONE_B)
    said = prun(tmp_path, "-C", "x", "merge-file", "-p", "--path", "-odd name", "ours", "base", "theirs")
    assert (said.code, said.out.encode()) == git(folder, "merge-file", "-p", "ours", "base", "theirs")
    assert said.err.startswith('git prun: "-odd name": 1 conflict left: ')
    assert prun(tmp_path, "merge-file", "-h").out.startswith("Usage: git prun merge-file [OPTIONS] OURS BASE THEIRS\n")


def test_words_are_read_as_git_reads_them() -> None:
    words = ["a", "-Lx", "--marker-size=9", "b", "--path", "p/q.ts", "-pq", "--theirs", "--", "-c"]
    assert parse_words(words) == (
        FileMerge(
            main="a",
            base="b",
            unit="-c",
            path="p/q.ts",
            options=("-L", "x", "--marker-size=9", "--theirs"),
            favored=True,
        ),
        frozenset({"-p", "-q", "--theirs"}),
    )
    assert parse_words(["dir/a.ts", "b", "c"])[0].path == "dir/a.ts"


class TestResolversThatGoWrong:
    """The conflict stays as git gives it, and one line says why."""

    @pytest.fixture
    def folder(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
        monkeypatch.setenv("TMPDIR", str(tmp_path))
        monkeypatch.setattr("tempfile.tempdir", None)
        lay_out(tmp_path / "x", BASE, ONE_A, ONE_B)
        return tmp_path / "x"

    def test_one_that_raises_is_a_bug_report(
        self, folder: Path, monkeypatch: pytest.MonkeyPatch, capsysbinary: pytest.CaptureFixture[bytes]
    ) -> None:
        def climb(conflict: FileConflict, *, every: bool, keep: bool) -> CascadeResult:
            raise IndexError(conflict.path)

        monkeypatch.setattr(text, "run_cascade", climb)
        expected = git(folder, "merge-file", "-p", "ours", "base", "theirs")
        code = main(["-p", "--path", "x.ts", "ours", "base", "theirs"], folder)
        out, err = capsysbinary.readouterr()
        assert (code, out) == expected
        (report,) = folder.parent.glob("git-prun-bug-*.txt")
        assert err.decode() == (
            f"git prun: \"x.ts\": 1 conflict left: the unknown resolver failed: IndexError('x.ts'); "
            f"this is a bug, please report it: the report is in {report}; nothing was removed\n"
        )
        assert "raise IndexError(conflict.path)" in report.read_text()

    def test_one_that_does_not_end_is_stopped(
        self, folder: Path, monkeypatch: pytest.MonkeyPatch, capsysbinary: pytest.CaptureFixture[bytes]
    ) -> None:
        def climb(conflict: FileConflict, *, every: bool, keep: bool) -> CascadeResult:
            while True:
                try:
                    len(conflict.path)
                except Exception:
                    continue

        monkeypatch.setattr(text, "run_cascade", climb)
        monkeypatch.setattr(doubts, "TIME_LIMIT", 0.05)
        expected = git(folder, "merge-file", "-p", "ours", "base", "theirs")
        code = main(["-p", "ours", "base", "theirs"], folder)
        out, err = capsysbinary.readouterr()
        assert (code, out) == expected
        assert err == b'git prun: "ours": 1 conflict left: no resolver settled it within 2 s of processor time\n'


def suspicious(path: str, base: bytes | None, main: bytes, unit: bytes, merged: bytes) -> tuple[str, ...]:
    """Find a fault in every merge."""
    return ("the key a is there twice",)


def test_a_clean_merge_with_a_fault_does_not_pass(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsysbinary: pytest.CaptureFixture[bytes]
) -> None:
    """Nothing else could be proved: git's text, but not git's exit code."""
    folder = lay_out(tmp_path, BASE, MAIN, UNIT)
    monkeypatch.setattr(outline, "audit", suspicious)
    monkeypatch.setattr(
        text, "run_cascade", lambda conflict, every: CascadeResult((), (StrategyRefusal("json", "no"),))
    )
    clean = git(folder, "merge-file", "-p", "ours", "base", "theirs")
    assert clean[0] == 0
    assert main(["--path", "x.json", "ours", "base", "theirs"], folder) == 1
    assert (folder / "ours").read_bytes() == clean[1]
    assert capsysbinary.readouterr() == (
        b"",
        b'git prun: "x.json": git merged it, but look at it: the key a is there twice\n',
    )


class TestKindsOfFiles:
    """The real resolvers, from the door on."""

    def test_a_registry_both_sides_added_to(self, tmp_path: Path) -> None:
        pytest.importorskip("tree_sitter_typescript")
        base = "export const keys = {\n  users: ['users'] as const,\n} as const;\n"
        main, unit = (
            base.replace("} as", f"  {name}: ['{name}'] as const,\n}} as").encode() for name in ("bills", "calls")
        )
        folder = lay_out(tmp_path, base.encode(), main, unit)
        assert git(folder, "merge-file", "-p", "ours", "base", "theirs")[0] == 1
        said = prun(folder, "merge-file", "-p", "--path", "src/query-keys.ts", "ours", "base", "theirs")
        assert (said.code, said.out) == (
            0,
            "export const keys = {\n  users: ['users'] as const,\n"
            "  bills: ['bills'] as const,\n  calls: ['calls'] as const,\n} as const;\n",
        )
        assert said.err == 'git prun: "src/query-keys.ts": settled (syntax)\n'

    def test_a_key_that_git_leaves_twice(self, tmp_path: Path) -> None:
        rows = [f'  "k{number}": {number},\n' for number in range(9)]
        base, end = "{\n" + "".join(rows), '  "z": 0\n}\n'
        main = base.replace('  "k0"', '  "new": 1,\n  "k0"') + end
        unit = base + '  "new": 2,\n' + end
        folder = lay_out(tmp_path, (base + end).encode(), main.encode(), unit.encode())
        clean = git(folder, "merge-file", "-p", "ours", "base", "theirs")
        assert (clean[0], clean[1].count(b'"new"')) == (0, 2)
        said = prun(folder, "merge-file", "-p", "--path", "a.json", "ours", "base", "theirs")
        assert (said.code, said.out.encode()) == (1, clean[1])
        assert said.err.startswith('git prun: "a.json": git merged it, but look at it: ')

    def test_a_key_that_both_added_alike_is_there_once(self, tmp_path: Path) -> None:
        rows = [f'  "k{number}": {number},\n' for number in range(9)]
        base, end = "{\n" + "".join(rows), '  "z": 0\n}\n'
        main = base.replace('  "k0"', '  "new": 1,\n  "k0"') + end
        unit = base + '  "new": 1,\n' + end
        folder = lay_out(tmp_path, (base + end).encode(), main.encode(), unit.encode())
        said = prun(folder, "merge-file", "-p", "--path", "a.json", "ours", "base", "theirs")
        assert (said.code, said.out, said.err) == (0, main, 'git prun: "a.json": settled (json)\n')
