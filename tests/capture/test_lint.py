"""Judging paths by their bytes: nothing git would fall for slips through, nothing legal is refused."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gitprun.capture.lint import LintFinding, collisions, is_git, lint_link, lint_path, shown, special_name
from gitprun.capture.rows import ChangedPath, Commit, RowReader

FILE, LINK, SUBMODULE = 0o100644, 0o120000, 0o160000
GIT = "git would take it for .git on some file system"


@pytest.mark.parametrize(
    "name",
    [
        b".git", b".GIT", b".Git", b"git~1", b"GIT~1", b"git~2", b".git.", b".git ", b".git. . ", b".git:x",
        b".git::$INDEX_ALLOCATION", b"git~1 .", b".git\\config", b"x\\.git", b"x\\.GIT \\y", b"\\git~1",
        ".g\u200cit".encode(), ".git\u200d".encode(), "\ufeff.git".encode(), ".\u206agi\u202et".encode(),
    ],
)  # fmt: skip
def test_aliases_of_git(name: bytes) -> None:
    assert is_git(name)
    for path in (name, b"sub/" + name, name + b"/config", b"a/" + name + b"/b"):
        assert lint_path(path, FILE) == LintFinding("refuse", path, GIT)


@pytest.mark.parametrize(
    "name", [b"git", b".gitx", b".github", b".git-blame-ignore-revs", b"x.git", b"git~", b"~git", b".git_", b"..git"]
)
def test_names_that_only_look_like_git(name: bytes) -> None:
    assert lint_path(name, FILE) is None


@pytest.mark.parametrize(
    ("name", "special"),
    [
        (b".gitmodules", ".gitmodules"),
        (b".GitModules", ".gitmodules"),
        (b".gitmodules ..", ".gitmodules"),
        (b".gitmodules:x", ".gitmodules"),
        (b"GITMOD~1", ".gitmodules"),
        (b"gi7eba~9", ".gitmodules"),
        (b"gi7eb~42", ".gitmodules"),
        (".git\u200emodules".encode(), ".gitmodules"),
        (b"gitatt~1", ".gitattributes"),
        (b".gitattributes", ".gitattributes"),
        (b"gitign~4", ".gitignore"),
        (b"gi250a~1", ".gitignore"),
        (b".gitmodulesx", None),
        (b"gitmod~5", None),
        (b"gitmodules", None),
    ],
)
def test_files_of_gits_own_settings(name: bytes, special: str | None) -> None:
    assert special_name(name) == special
    found = [lint_path(path, mode) for path, mode in ((name, LINK), (name, SUBMODULE), (b"a/" + name + b"/b", FILE))]
    refused = [row.what for row in found if row is not None and row.grade == "refuse"]
    assert refused == ([f"{special} is no plain file"] * 3 if special else [])
    assert lint_path(name, FILE) is None or lint_path(name, FILE).grade == "warn"  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("path", "mode", "what"),
    [
        (b"", FILE, "a part of the path is empty, . or .."),
        (b"a//b", FILE, "a part of the path is empty, . or .."),
        (b"a/../b", FILE, "a part of the path is empty, . or .."),
        (b"./a", FILE, "a part of the path is empty, . or .."),
        (b"/etc/passwd", FILE, "a part of the path is empty, . or .."),
        (b"a" * 256, FILE, "a name of 256 bytes, more than 255"),
        (b"/".join([b"a" * 200] * 21), FILE, "a path of 4220 bytes, more than 4096"),
        (b"/".join([b"a"] * 513), FILE, "lies 513 folders deep, more than 512"),
        (b"a", 0o100600, "a mode git does not know (100600)"),
        (b"a", 0, "a mode git does not know (000000)"),
    ],
)
def test_refused(path: bytes, mode: int, what: str) -> None:
    assert lint_path(path, mode) == LintFinding("refuse", path, what)


@pytest.mark.parametrize(
    ("path", "what"),
    [
        (b"a/nul.txt/b", "is the name of a device on Windows"),
        (b"COM7", "is the name of a device on Windows"),
        (b"lpt1 .x", "is the name of a device on Windows"),
        ("com\u00b9".encode(), "is the name of a device on Windows"),
        (b"a\nb\\c.", "holds control characters, holds a backslash, which Windows takes for a folder, "
         "ends with a dot or a blank, which Windows drops"),
        (b"\xc3(", "is not UTF-8"),
        (b"x/-f", "begins with a dash, like an option"),
        (b"..\\x", "holds a backslash, which Windows takes for a folder"),
    ],
)  # fmt: skip
def test_warned(path: bytes, what: str) -> None:
    assert lint_path(path, FILE) == LintFinding("warn", path, what)


@pytest.mark.parametrize("path", [b"console", b"com", b"com10", b"nulls.c", b"a b", b"x-y", "é\U0001f600".encode()])
def test_nothing_to_say(path: bytes) -> None:
    assert lint_path(path, FILE) is None


def test_depth_is_a_parameter() -> None:
    assert lint_path(b"a/b/c", FILE, depth=2) == LintFinding("refuse", b"a/b/c", "lies 3 folders deep, more than 2")


@pytest.mark.parametrize(
    ("target", "what"),
    [
        (b"b", None),
        (b"../c/./d", None),
        (b"../..", "a link that leaves the repository (../..)"),
        (b"x/../../../y", "a link that leaves the repository (x/../../../y)"),
        (b"/", "a link to an absolute path (/)"),
        (b"../.GIT/hooks", "a link into a git folder (../.GIT/hooks)"),
    ],
)
def test_links(target: bytes, what: str | None) -> None:
    assert lint_link(b"d/l", target) == (LintFinding("warn", b"d/l", what) if what else None)


def test_collisions() -> None:
    names = [b"a", b"A", "é".encode(), "e\u0301".encode(), "\u00c9".encode(), "straße".encode(), b"STRASSE", b"b"]
    assert collisions(names) == [
        (b"A", b"a", "case"),
        (b"STRASSE", "straße".encode(), "case"),
        ("e\u0301".encode(), "\u00c9".encode(), "case"),
        ("e\u0301".encode(), "é".encode(), "form"),
    ]


def test_what_is_shown_is_harmless() -> None:
    assert shown(b"\x1b[31m\n\xff\xe2\x80\xae\xc3\xa9") == "\\x1b[31m\\n\\xff\\u202eé"
    assert shown(b"x" * 300) == "x" * 60 + "..." + "x" * 60


@given(st.binary(min_size=1).filter(lambda name: b"\0" not in name), st.sampled_from([FILE, LINK, 0o100755]))
def test_every_path_has_an_answer(path: bytes, mode: int) -> None:
    found = lint_path(path, mode)
    if found is not None:
        assert shown(found.path).isprintable()
        assert str(found).startswith(shown(path))


@given(st.text(st.characters(codec="utf-8", exclude_characters="/\0\\:~.", exclude_categories=("C",)), min_size=1))
def test_no_plain_name_is_refused(name: str) -> None:
    raw = name.encode()[:255]
    found = lint_path(raw, FILE)
    assert found is None or found.grade == "warn"


@given(st.lists(st.sampled_from(["\u200c", "\u200d", "\u202a", "\ufeff", "\u206f"])), st.data())
def test_invisible_letters_anywhere(letters: list[str], data: st.DataObject) -> None:
    name = ".GiT"
    for letter in letters:
        place = data.draw(st.integers(0, len(name)))
        name = name[:place] + letter + name[place:]
    assert is_git(name.encode())


@given(st.lists(st.text(min_size=1, max_size=3).map(lambda text: text.encode("utf-8", "surrogatepass")), unique=True))
def test_collisions_are_those_of_any_two(names: list[bytes]) -> None:
    def key(name: bytes) -> str:
        text = unicodedata.normalize("NFC", name.decode("utf-8", "surrogateescape"))
        return unicodedata.normalize("NFC", text.casefold())

    found = {name for pair in collisions(names) for name in pair[:2]}
    twins = {name for name in names if sum(key(name) == key(other) for other in names) > 1}
    assert found == twins


_OID = st.text("0123456789abcdef", min_size=40, max_size=40)
_MODE = st.sampled_from([0o100644, 0o120000, 0o160000, 0o100755])
_PATH = st.binary(min_size=1, max_size=8).filter(lambda path: b"\0" not in path)


@st.composite
def printed(draw: st.DrawFn) -> tuple[bytes, list[Commit | ChangedPath]]:
    """Write what git prints, and what it means."""
    raw, meant = b"", list[Commit | ChangedPath]()
    for _ in range(draw(st.integers(0, 3))):
        commit = Commit(draw(_OID), tuple(draw(st.lists(_OID, max_size=2))))
        raw += f"{commit.oid} {' '.join(commit.parents)}".encode() + b"\0"
        meant.append(commit)
        count = max(1, len(commit.parents))
        for number in range(draw(st.integers(0, 3))):
            modes = draw(st.lists(st.one_of(st.just(0), _MODE), min_size=count + 1, max_size=count + 1))
            oids = draw(st.lists(_OID, min_size=count + 1, max_size=count + 1))
            path = draw(_PATH)
            about = " ".join([*(f"{mode:06o}" for mode in modes), *oids, "M" * count])
            raw += (b"\n" if number == 0 else b"") + b":" * count + about.encode() + b"\0" + path + b"\0"
            meant.append(ChangedPath(path, modes[-1], oids[-1], not any(modes[:-1])))
    return raw, meant


@given(printed(), st.lists(st.integers(1, 50), min_size=1))
def test_rows_in_any_pieces(told: tuple[bytes, list[Commit | ChangedPath]], sizes: list[int]) -> None:
    raw, meant = told
    reader, found = RowReader(), list[Commit | ChangedPath]()
    turn = 0
    while raw:
        size = sizes[turn % len(sizes)]
        found += reader.feed(raw[:size])
        raw, turn = raw[size:], turn + 1
    assert found == meant
