"""Objects no git would write: each is rejected for a reason that says it, or taken whole, and never hangs anything."""

from __future__ import annotations

import re
import zlib
from collections.abc import Callable
from pathlib import Path

import pytest

from gitprun.capture.import_objects import ImportLimits
from gitprun.capture.quarantine import list_quarantine
from gitprun.model.names import Oid
from tests.support.workshop import fingerprint
from tests.support.yard import FILE, FOLDER, LINK, SUBMODULE, Yard, make_yard

EMPTY_TREE = Oid("4b825dc642cb6eb9a060e54bf8d69288fbee4904")


@pytest.fixture
def yard(tmp_path: Path) -> Yard:
    """Make a repository of two files, and an empty folder for a worker's objects."""
    return make_yard(tmp_path)


def _nested(yard: Yard, name: bytes, blob: Oid, depth: int) -> Oid:
    tree = yard.store.tree((FILE, b"f", blob))
    for _ in range(depth):
        tree = yard.store.tree((FOLDER, name, tree))
    return tree


def _bomb(yard: Yard) -> Oid:
    tree = yard.store.tree(*((FILE, b"f%d" % n, yard.store.blob()) for n in range(10)))
    for _ in range(9):
        tree = yard.store.tree(*((FOLDER, b"d%d" % n, tree) for n in range(10)))
    return yard.store.commit(tree, yard.base)


def _corrupted(yard: Yard) -> Oid:
    blob, tip = yard.store.blob(b"good\n"), yard.file(b"new", b"good\n")
    yard.store.put_file(blob, zlib.compress(b"blob 5\0good\n")[:-6] + b"broken")
    return tip


def _corrupted_tip(yard: Yard) -> Oid:
    tip = yard.file(b"new")
    yard.store.put_file(tip, b"broken")
    return tip


def _mismatch(yard: Yard) -> Oid:
    blob = yard.store.put("blob", b"bad!\n", name="1234567890" * 4)
    return yard.with_entry((FILE, b"new", blob))


def _evil_modules(yard: Yard, text: bytes) -> Oid:
    blob = yard.store.blob(text)
    return yard.with_entry((FILE, b".gitmodules", blob), (SUBMODULE, b"sub", yard.base))


def _looped_tree(yard: Yard) -> Oid:
    tree = yard.store.put("tree", b"40000 d\0" + bytes.fromhex(LOOP), name=LOOP)
    return yard.with_entry((FOLDER, b"new", tree))


LOOP = "ab" * 20
LOOPED = f"tree {EMPTY_TREE}\nparent {LOOP}\nauthor E <e@x> 1 +0000\ncommitter E <e@x> 1 +0000\n\nm\n".encode()
ABSENT = Oid("feed" * 10)
_MODULE = b'[submodule "s"]\n\tpath = sub\n\turl = '

FSCK, PACK = "git index-pack failed: error: object OID: ", "git pack-objects failed: "
LONG_N, LONG_D = f"{'n' * 60}...{'n' * 60}", f"{'d' * 60}...{'d' * 58}"
DEEP = f"{'d/' * 30}...{'/d' * 29}/f"

# What a worker wrote, and what is said about it; OID stands for any object id.
REJECTED: dict[str, tuple[Callable[[Yard], Oid], str]] = {
    "dotgit": (lambda y: y.file(b".git"), FSCK + "hasDotgit: contains '.git'"),
    "dotgit folder": (
        lambda y: y.with_entry((FOLDER, b".git", y.store.tree((FILE, b"config", y.store.blob())))),
        FSCK + "hasDotgit: contains '.git'",
    ),
    "dotGIT": (lambda y: y.file(b".GIT"), FSCK + "hasDotgit: contains '.git'"),
    "git~1": (lambda y: y.file(b"git~1"), FSCK + "hasDotgit: contains '.git'"),
    "git~12": (lambda y: y.file(b"git~12"), "git~12: git would take it for .git on some file system"),
    "ignorable letter": (lambda y: y.file(".g\u200cit".encode()), FSCK + "hasDotgit: contains '.git'"),
    "dotgit blank": (lambda y: y.file(b".git ."), FSCK + "hasDotgit: contains '.git'"),
    "dotgit stream": (lambda y: y.file(b".git::$INDEX_ALLOCATION"), FSCK + "hasDotgit: contains '.git'"),
    "backslash dotgit": (lambda y: y.file(b"x\\.git\\config"), FSCK + "hasDotgit: contains '.git'"),
    "dotdot": (
        lambda y: y.with_entry((FOLDER, b"..", y.store.tree((FILE, b"f", y.store.blob())))),
        FSCK + "hasDotdot: contains '..'",
    ),
    "dot": (lambda y: y.file(b"."), FSCK + "hasDot: contains '.'"),
    "slash in a name": (lambda y: y.file(b"a/b"), FSCK + "fullPathname: contains full pathnames"),
    "empty name": (lambda y: y.file(b""), PACK + "fatal: empty filename in tree entry"),
    "duplicate": (
        lambda y: y.with_entry(*((FILE, b"zz", y.store.blob(b"%d" % n)) for n in (1, 2)), sort=False),
        FSCK + "duplicateEntries: contains duplicate file entries",
    ),
    "file and folder": (
        lambda y: y.with_entry(
            (FILE, b"z", y.store.blob()), (FOLDER, b"z", y.store.tree((FILE, b"f", y.store.blob())))
        ),
        FSCK + "duplicateEntries: contains duplicate file entries",
    ),
    "unsorted": (
        lambda y: y.with_entry((FILE, b"A", y.store.blob()), sort=False),
        FSCK + "treeNotSorted: not properly sorted",
    ),
    "huge name": (lambda y: y.file(b"n" * 3000), f"{LONG_N}: a name of 3000 bytes, more than 255"),
    "long path": (
        lambda y: y.with_entry((FOLDER, b"d" * 200, _nested(y, b"d" * 200, y.store.blob(), 22))),
        f"{LONG_D}/f: a path of 4624 bytes, more than 4096",
    ),
    "600 deep": (
        lambda y: y.with_entry((FOLDER, b"d", _nested(y, b"d", y.store.blob(), 600))),
        f"{DEEP}: lies 602 folders deep, more than 512",
    ),
    "5,000 deep": (
        lambda y: y.with_entry((FOLDER, b"d", _nested(y, b"d", y.store.blob(), 5000))),
        f"{DEEP}: lies 5002 folders deep, more than 512",
    ),
    "bomb": (_bomb, "git diff-tree would need more than 256 MiB of memory"),
    "unknown mode": (lambda y: y.file(b"new", mode=0o100600), FSCK + "badFilemode: contains bad file modes"),
    "device mode": (lambda y: y.file(b"new", mode=0o20644), FSCK + "badFilemode: contains bad file modes"),
    "zero padded mode": (
        lambda y: y.file(b"new", mode=b"0100644"),
        FSCK + "zeroPaddedFilemode: contains zero-padded file modes",
    ),
    "no mode": (lambda y: y.file(b"new", mode=b"x"), PACK + "fatal: malformed mode in tree entry"),
    "null object": (lambda y: y.with_entry((FILE, b"new", Oid("0" * 40))), PACK + "fatal: unable to read OID"),
    "missing blob": (lambda y: y.with_entry((FILE, b"new", ABSENT)), PACK + "fatal: unable to read OID"),
    "missing folder": (lambda y: y.with_entry((FOLDER, b"new", ABSENT)), PACK + "fatal: bad tree object OID"),
    "missing tree": (lambda y: y.store.commit(ABSENT, y.base), PACK + "fatal: bad tree object OID"),
    "missing parent": (lambda y: y.store.commit(EMPTY_TREE, ABSENT), PACK + "error: Could not read OID"),
    "folder is a blob": (
        lambda y: y.with_entry((FOLDER, b"new", y.store.blob())),
        PACK + "error: Object OID not a tree",
    ),
    "file is a tree": (
        lambda y: y.with_entry((FILE, b"new", y.store.tree((FILE, b"f", y.store.blob())))),
        "git index-pack failed: error: object OID is a blob, not a tree",
    ),
    "tree is a blob": (lambda y: y.store.commit(y.store.blob(), y.base), PACK + "error: Object OID not a tree"),
    "parent is a tree": (
        lambda y: y.store.commit(EMPTY_TREE, y.store.tree((FILE, b"f", y.store.blob()))),
        PACK + "error: Object OID not a commit",
    ),
    "bad author": (
        lambda y: y.store.commit(EMPTY_TREE, y.base, author=b"Eve <eve 12 +0000"),
        FSCK + "badEmail: invalid author/committer line - bad email",
    ),
    "no date": (
        lambda y: y.store.commit(EMPTY_TREE, y.base, author=b"Eve <e@x> soon"),
        FSCK + "badDate: invalid author/committer line - bad date",
    ),
    "NUL in the author": (
        lambda y: y.store.commit(EMPTY_TREE, y.base, author=b"E\0ve <e@x> 12 +0000"),
        FSCK + "nulInHeader: unterminated header: NUL at offset 102",
    ),
    "no author": (
        lambda y: y.store.put("commit", b"tree %s\nparent %s\n\nm\n" % (EMPTY_TREE.encode(), y.base.encode())),
        FSCK + "missingAuthor: invalid format - expected 'author' line",
    ),
    "hash mismatch": (_mismatch, "git index-pack failed: fatal: did not receive expected object OID"),
    "folder in itself": (
        lambda y: _looped_tree(y),
        "git index-pack failed: fatal: did not receive expected object OID",
    ),
    "commit on itself": (
        lambda y: y.store.put("commit", LOOPED, name=LOOP),
        "it is a broken object and no commit",
    ),
    "tip corrupted": (_corrupted_tip, "it is a broken object and no commit"),
    "corrupted": (_corrupted, PACK + "error: corrupt loose object 'OID'"),
    "tip is a blob": (lambda y: y.store.blob(b"tip"), "it is a blob and no commit"),
    "tip is a tree": (lambda y: y.store.tree((FILE, b"f", y.store.blob())), "it is a tree and no commit"),
    "unknown type": (
        lambda y: y.with_entry((FILE, b"new", y.store.put("blub", b"x"))),
        PACK + "fatal: invalid object type",
    ),
    "modules: option": (
        lambda y: _evil_modules(y, _MODULE + b"--upload-pack=evil\n"),
        FSCK + "gitmodulesUrl: disallowed submodule url: --upload-pack=evil",
    ),
    "modules: command": (
        lambda y: _evil_modules(y, _MODULE + b"https://x/y\n\tupdate = !evil\n"),
        FSCK + "gitmodulesUpdate: disallowed submodule update setting: !evil",
    ),
    "modules: CR in the path": (
        lambda y: _evil_modules(y, b'[submodule "s"]\n\tpath = "sub\r"\n\turl = https://x/y\n'),
        ".gitmodules OID: submodule.s.path",
    ),
    "modules: program": (
        lambda y: _evil_modules(y, _MODULE + b"ext::sh -c evil\n"),
        ".gitmodules OID: submodule.s.url",
    ),
    "modules: name": (
        lambda y: _evil_modules(y, b'[submodule "../../x"]\n\tpath = sub\n\turl = https://x/y\n'),
        FSCK + "gitmodulesName: disallowed submodule name: ../../x",
    ),
    "modules: unreadable": (lambda y: _evil_modules(y, b"[submodule\n"), ".gitmodules OID: no settings git can read"),
    "modules: link": (
        lambda y: y.file(b".gitmodules", b"x", LINK),
        FSCK + "gitmodulesSymlink: .gitmodules is a symbolic link",
    ),
    "modules: folder": (
        lambda y: y.with_entry((FOLDER, b".gitmodules", y.store.tree((FILE, b"f", y.store.blob())))),
        FSCK + "gitmodulesBlob: non-blob found at .gitmodules",
    ),
    "modules: short name": (
        lambda y: y.file(b"GITMOD~1", _MODULE + b"ext::sh -c evil\n"),
        ".gitmodules OID: submodule.s.url",
    ),
    "attributes: link": (
        lambda y: y.file(b".gitattributes", b"/etc/passwd", LINK),
        ".gitattributes: .gitattributes is no plain file",
    ),
    "ignore: link": (lambda y: y.file(b".gitignore", b"/etc/passwd", LINK), ".gitignore: .gitignore is no plain file"),
    "link too long": (lambda y: y.file(b"new", b"x" * 5000, LINK), "the link OID is no text of at most 4096 bytes"),
}

CONTROL = "holds control characters"

# What is strange and legal, and what is said about it.
TAKEN: dict[str, tuple[Callable[[Yard], Oid], tuple[str, ...]]] = {
    "plain": (lambda y: y.file(b"new"), ()),
    "program": (lambda y: y.file(b"new", mode=0o100755), ()),
    "nothing left": (lambda y: y.store.commit(EMPTY_TREE, y.base), ()),
    "a history of its own": (lambda y: y.store.commit(y.store.tree((FILE, b"f", y.store.blob()))), ()),
    "a merge": (lambda y: y.store.commit(EMPTY_TREE, y.file(b"one"), y.file(b"two")), ()),
    "terminal orders in the message": (
        lambda y: y.store.commit(EMPTY_TREE, y.base, message=b"\x1b]0;evil\x07\x1b[2J\n"),
        (),
    ),
    "no message": (lambda y: y.store.commit(EMPTY_TREE, y.base, message=b""), ()),
    "emoji": (lambda y: y.file("\U0001f600 é.txt".encode()), ()),
    "255 bytes": (lambda y: y.file(b"n" * 255), ()),
    "500 deep": (lambda y: y.with_entry((FOLDER, b"d", _nested(y, b"d", y.store.blob(), 500))), ()),
    "newline": (lambda y: y.file(b"new\nline"), (f"new\\nline: {CONTROL}",)),
    "tab": (lambda y: y.file(b"t\tab"), (f"t\\tab: {CONTROL}",)),
    "carriage return": (lambda y: y.file(b"c\r"), (f"c\\r: {CONTROL}",)),
    "terminal orders": (lambda y: y.file(b"\x1b[31mred"), (f"\\x1b[31mred: {CONTROL}",)),
    "right to left": (lambda y: y.file("x\u202egpj.exe".encode()), (f"x\\u202egpj.exe: {CONTROL}",)),
    "quote": (lambda y: y.file(b'q"'), ('q": holds a character Windows does not allow',)),
    "backslash": (lambda y: y.file(b"a\\b"), ("a\\b: holds a backslash, which Windows takes for a folder",)),
    "dash": (lambda y: y.file(b"-rf"), ("-rf: begins with a dash, like an option",)),
    "not UTF-8": (lambda y: y.file(b"\xff\xfe"), ("\\xff\\xfe: is not UTF-8",)),
    "device": (lambda y: y.file(b"CON"), ("CON: is the name of a device on Windows",)),
    "device with an ending": (lambda y: y.file(b"aux.c"), ("aux.c: is the name of a device on Windows",)),
    "stream": (lambda y: y.file(b"x:y"), ("x:y: holds a character Windows does not allow",)),
    "last dot": (lambda y: y.file(b"x."), ("x.: ends with a dot or a blank, which Windows drops",)),
    "case": (
        lambda y: y.file(b"README.md"),
        ("Readme.md: the same file as README.md where case does not count",),
    ),
    "case of a folder": (
        lambda y: y.with_entry((FOLDER, b"SRC", y.store.tree((FILE, b"b.txt", y.store.blob())))),
        ("src: the same file as SRC where case does not count",),
    ),
    "form": (
        lambda y: y.with_entry(*((FILE, name.encode(), y.store.blob()) for name in ("\u00e9", "e\u0301"))),
        ("\u00e9: the same file as e\u0301 where Unicode form does not count",),
    ),
    "absolute link": (lambda y: y.file(b"l", b"/etc/passwd", LINK), ("l: a link to an absolute path (/etc/passwd)",)),
    "link outside": (lambda y: y.file(b"l", b"../../x", LINK), ("l: a link that leaves the repository (../../x)",)),
    "link into .git": (
        lambda y: y.file(b"l", b"src/../.git/hooks", LINK),
        ("l: a link into a git folder (src/../.git/hooks)",),
    ),
    "submodule": (
        lambda y: _evil_modules(y, _MODULE + b"https://example.test/y\n"),
        ("submodule s is new (path sub, url https://example.test/y)",),
    ),
    "tag": (lambda y: y.store.tag(y.file(b"new")), ("the tag head was taken as the commit it names",)),
    "tag of a tag": (
        lambda y: y.store.tag(y.store.tag(y.file(b"new")), "tag"),
        ("the tag head was taken as the commit it names",),
    ),
    "many names": (
        lambda y: y.with_entry(*((FILE, b"aux.%02d" % n, y.store.blob()) for n in range(12))),
        (
            *(f"aux.{n:02}: is the name of a device on Windows" for n in range(10)),
            "and 2 more names that trouble other systems",
        ),
    ),
}


@pytest.mark.parametrize(
    "shape", [pytest.param(shape, marks=pytest.mark.slow) if shape == "5,000 deep" else shape for shape in REJECTED]
)
def test_a_bad_object_is_rejected_and_kept(yard: Yard, shape: str) -> None:
    build, reason = REJECTED[shape]
    tip = build(yard)
    before = fingerprint(yard.repo.path, without=(".git/prun",))
    found = yard.cross(tip)
    (rejected,) = found.rejected
    (kept,) = list_quarantine(yard.repo.repository)
    said = re.sub(r"\b[0-9a-f]{10,40}\b", "OID", rejected.reason)
    assert (found.taken, found.notes, rejected.name, rejected.oid, said) == ({}, (), "head", tip, reason)
    assert (str(kept.place), kept.tips, kept.reason) == (rejected.place, {"head": tip}, rejected.reason)
    # What git cannot pack is kept file by file.
    assert kept.pack is not None or len(list((kept.place / "files").rglob("*"))) > 3
    assert fingerprint(yard.repo.path, without=(".git/prun",)) == before


@pytest.mark.parametrize("shape", TAKEN)
def test_a_strange_object_is_taken_whole(yard: Yard, shape: str) -> None:
    build, notes = TAKEN[shape]
    tip = build(yard)
    found = yard.cross(tip)
    assert (found.rejected, found.notes) == ((), notes)
    taken = found.taken["head"]
    yard.repo.git("update-ref", "refs/prun/test", taken)
    assert yard.repo.git("fsck", "--strict", "--no-dangling") == ""
    assert yard.repo.oid(f"{tip}^{{commit}}" if taken == tip else taken) == taken
    assert not (yard.repo.repository.state / "quarantine").exists()


def test_a_tip_that_is_not_there_leaves_nothing(yard: Yard) -> None:
    found = yard.cross(ABSENT)
    assert [(row.reason, row.place) for row in found.rejected] == [("it is not there", "")]
    assert list_quarantine(yard.repo.repository) == ()


def test_case_counts_as_the_users_checkout_says(yard: Yard) -> None:
    yard.repo.git("config", "core.ignoreCase", "true")
    reason = "Readme.md: the same file as README.md where case does not count, as in your checkout (core.ignoreCase)"
    assert [row.reason for row in yard.cross(yard.file(b"README.md")).rejected] == [reason]


@pytest.mark.parametrize(
    ("limits", "theirs", "ours"),
    [
        (
            ImportLimits(max_object=1000),
            "an object of 1500 bytes unpacked, more than the 1000 allowed",
            "object OID: 1500 bytes unpacked, more than the 1000 allowed",
        ),
        (
            ImportLimits(max_object=1000, max_total=1500),
            "an object of 1500 bytes unpacked, more than the 1000 allowed",
            "object OID: 1500 bytes unpacked, more than the 1000 allowed",
        ),
        (ImportLimits(max_objects=2), "3 objects are more than the 2 allowed", "3 objects are more than the 2 allowed"),
        (
            ImportLimits(max_total=1000),
            "all objects together: at least 1707 bytes unpacked, more than the 1000 allowed",
            "all objects together: at least 1707 bytes unpacked, more than the 1000 allowed",
        ),
    ],
)
def test_limits_of_size_and_number(yard: Yard, limits: ImportLimits, theirs: str, ours: str) -> None:
    tip = yard.file(b"new", bytes(1500))
    for alternates, reason in ((yard.alternates, theirs), (None, ours)):
        found = yard.cross(tip, limits=limits, alternates=alternates)
        assert [re.sub(r"\b[0-9a-f]{40}\b", "OID", row.reason) for row in found.rejected] == [reason]


def test_a_capture_has_the_base_as_its_one_parent(yard: Yard) -> None:
    one, two = yard.file(b"one"), yard.file(b"two")
    wrong = [yard.store.commit(EMPTY_TREE, *parents) for parents in ((), (one,), (yard.base, one), (yard.base,) * 2)]
    found = [yard.cross(tip, parent=True, alternates=None) for tip in (one, two, *wrong)]
    assert [list(row.taken) for row in found] == [["head"], ["head"], [], [], [], []]
    assert [re.sub(r"\b[0-9a-f]{10}\b", "OID", row.rejected[0].reason) for row in found[2:]] == [
        "head (OID) has not exactly the base as its parent"
    ] * 4
