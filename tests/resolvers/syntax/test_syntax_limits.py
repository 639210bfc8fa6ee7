"""Odd bytes, great depth, great length, and time."""

from __future__ import annotations

import time

import pytest

from gitprun.resolvers.base import FileConflict, Refused, Resolved
from gitprun.resolvers.cascade import run_cascade
from gitprun.resolvers.kinds import find_faults, kinds_for
from gitprun.resolvers.syntax.grammars import load_language, parse
from gitprun.resolvers.syntax.languages import GRAMMARS
from gitprun.system.limit import TimeLimit, limited

BASE = b"import { a } from 'a';\n\nf();\n"
MAIN = b"import { a, b } from 'a';\n\nf();\n"
UNIT = b"import { a, c } from 'a';\n\nf();\n"
BOTH = b"import { a, b, c } from 'a';\n\nf();\n"


def resolve(path: str, base: bytes | None, main: bytes, unit: bytes) -> Resolved | Refused:
    (kind,) = kinds_for(path)
    return kind.resolvers[0](FileConflict(path, base, main, unit))


@pytest.mark.parametrize(
    ("change", "back"),
    [
        (lambda text: text.replace(b"\n", b"\r\n"), lambda text: text.replace(b"\n", b"\r\n")),
        (lambda text: b"\xef\xbb\xbf" + text, lambda text: b"\xef\xbb\xbf" + text),
        (lambda text: text[:-1], lambda text: text[:-1]),
        (lambda text: text + b"// \xff\xfe\n", lambda text: text + b"// \xff\xfe\n"),
        (lambda text: b"\n\n" + text + b"\n\n", lambda text: b"\n\n" + text + b"\n\n"),
    ],
    ids=["CRLF", "byte order mark", "no final newline", "not UTF-8", "blank lines around"],
)
def test_keeps_odd_bytes(change, back) -> None:  # type: ignore[no-untyped-def]
    answer = resolve("a.ts", change(BASE), change(MAIN), change(UNIT))
    assert isinstance(answer, Resolved)
    assert answer.text == back(BOTH)
    assert answer.added == (b"import { a, b, c } from 'a';",)


def test_an_empty_side_or_one_that_changed_nothing() -> None:
    assert resolve("a.ts", BASE, b"", UNIT) == Refused(
        "one side removed what the other changed: \"import { a } from 'a';\""
    )
    assert resolve("a.ts", BASE, BASE, UNIT) == Resolved(UNIT, "syntax", (b"import { a, c } from 'a';",))
    assert resolve("a.ts", b"a;\nb;\n", b"", b"a;\nb;\n") == Resolved(b"", "syntax")
    assert resolve("a.ts", None, MAIN, MAIN) == Resolved(MAIN, "syntax")


def test_refuses_bytes_that_are_no_text() -> None:
    assert resolve("a.ts", BASE, MAIN + b"\0", UNIT) == Refused("the file is binary (it holds NUL bytes)")
    assert find_faults("a.ts", b"a\0(") == ()


@pytest.mark.parametrize("depth", [100, 5_000])
def test_refuses_great_depth(depth: int) -> None:
    texts = [b"x = " + b"[" * depth + word + b"]" * depth + b"\n" for word in (b"a, b", b"c, b", b"a, d")]
    answer = resolve("a.py", texts[0], texts[1], texts[2])
    assert isinstance(answer, Refused)
    assert answer.reason in ("the file is nested too deeply", "a version does not parse")


def test_refuses_great_length() -> None:
    text = b"x = 1\n" * 20_000
    assert resolve("a.py", text, b"a = 1\n" + text, text + b"b = 1\n") == Refused(
        "the file is too long to be merged by lines (20001 lines, limit 20000)"
    )


def test_a_long_chain_of_operators_is_no_recursion() -> None:
    chain = b" + ".join(b"a%d" % i for i in range(3_000))
    answer = resolve("a.py", b"x = " + chain + b"\n", b"x = b + " + chain + b"\n", b"x = " + chain + b" + c\n")
    assert isinstance(answer, Resolved | Refused)


def test_a_registry_of_2000_lines_is_quick() -> None:
    entries = [b"  k%d: {\n    a: ['x', %d],\n    b: (id: string) => ['y', id],\n  }," % (i, i) for i in range(500)]
    base, main, unit, both = (
        b"\n".join([b"export const keys = {", *entries, *more, b"};", b""])
        for more in ((), (b"  main: 1,",), (b"  unit: 2,",), (b"  main: 1,", b"  unit: 2,"))
    )
    began = time.process_time()
    answer = run_cascade(FileConflict("keys.ts", base, main, unit))
    took = time.process_time() - began
    assert [text.text for text in answer.texts] == [both]
    assert took < 1.0


def test_a_parser_that_does_not_come_back_hears_the_limit() -> None:
    kotlin = next(row for row in GRAMMARS if row.name == "kotlin")
    language = load_language(kotlin)
    assert language is not None
    # Comments that open and never close: most of a minute for this grammar.
    with pytest.raises(TimeLimit), limited(0.2):
        parse(language, b"a" + b"/*" * 30_000 + b"b\n")


def test_a_limit_at_any_moment_leaves_no_wrong_tree() -> None:
    """Raised while the parser called back it was lost now and then, and the half that had been read was the file."""
    row = next(row for row in GRAMMARS if row.name == "python")
    language = load_language(row)
    assert language is not None
    ended = 0
    for number in range(20):
        text = b"def f%d(a):\n    return a\n\n\n" % number * (1_000 + number)
        try:
            with limited(0.001 * (1 + number)):
                parse(language, text)
        except TimeLimit:
            ended += 1
        root = parse(language, text).root_node
        assert (root.end_byte, root.has_error, root.child_count) == (len(text), False, 1_000 + number)
    assert ended > 0
