"""Text of others: nothing of it reaches a terminal as a command, and nothing of it is hidden from a reader."""

from __future__ import annotations

import json
import shlex
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gitprun.executors.compact import readable_output
from gitprun.model.escapes import only_colours, readable, safe, safe_text, shell_word

# Whatever a worker may have printed, among it pieces of terminal sequences.
ANY = st.lists(
    st.one_of(
        st.text(max_size=8),
        st.sampled_from(
            ["\x1b[31m", "\x1b[8m", "\x1b]8;;http://x\x07", "\x1b\\", "\r", "\r\n", "\x9b2J", "\u202e", "\t"]
        ),
    ),
    max_size=8,
).map("".join)


def hidden(text: str) -> set[str]:
    return {char for char in text if unicodedata.category(char) in ("Cc", "Cs") or "\u202a" <= char <= "\u202e"}


@given(ANY)
def test_nothing_is_left_that_a_terminal_obeys(text: str) -> None:
    assert hidden(safe(text)) == set()
    assert hidden(safe_text(text)) <= {"\n", "\t"}
    assert hidden(readable(text)) <= {"\n", "\t"}
    assert hidden(readable_output(text.encode("utf-8", "surrogatepass"))) <= {"\n", "\t"}


@given(ANY)
def test_plain_text_stays_as_it_is(text: str) -> None:
    plain = "".join(char for char in text if char in "\n\t" or (char.isprintable() and not hidden(char)))
    assert safe_text(plain) == readable(plain) == only_colours(plain) == plain


@given(ANY)
def test_our_own_lines_hold_our_colours_and_nothing_else(text: str) -> None:
    said = only_colours(f"\x1b[31mred\x1b[0m {text.encode('utf-8', 'replace').decode()}")
    assert said.startswith("\x1b[31mred\x1b[0m ")
    left = said
    for code in ("0", "1", "2", *(f"3{n}" for n in range(1, 8)), *(f"9{n}" for n in range(8))):
        left = left.replace(f"\x1b[{code}m", "")
    assert hidden(left) <= {"\n", "\t"}


@pytest.mark.parametrize(
    ("output", "shown"),
    [
        (b"\x1b[1;31mred\x1b[0m \x1b]8;;http://x\x07link\x1b]8;;\x07\n", "red link\n"),
        (b"10%\r50%\r100%\r\n  kept\tas it is\n", "100%\n  kept\tas it is\n"),
        (b"a\0\0\0b\x07\x08 caf\xe9\n", "ab\\x07\\x08 caf\ufffd\n"),
        (b'{"a":1}\n{"type":"else"}\n', '{"a":1}\n{"type":"else"}\n'),
        (b"", ""),
    ],
)
def test_output_as_a_person_would_have_read_it(output: bytes, shown: str) -> None:
    assert readable_output(output) == shown


def test_events_are_told_in_short() -> None:
    rows = [
        {"type": "thread.started", "thread_id": "t1"},
        {"type": "item.completed", "item": {"type": "agent_message", "text": "I am \x1b[31mdone\x1b[0m."}},
    ]
    output = "".join(json.dumps(row) + "\n" for row in rows).encode() + b"and a plain line\n"
    assert readable_output(output) == "[START] thread=t1\n[SAID] I am done.\nand a plain line\n"


@given(st.binary(max_size=12).filter(lambda raw: b"\0" not in raw))
def test_a_word_of_a_hint_is_read_back_by_a_shell(raw: bytes) -> None:
    word = shell_word(raw.decode("utf-8", "surrogateescape"))
    assert safe(word) == word
    quoted = word.startswith("$'")
    back = word[2:-1].encode().decode("unicode_escape").encode("latin-1") if quoted else shlex.split(word)[0].encode()
    assert back == raw


def test_words_that_need_nothing_stay_as_they_are() -> None:
    words = ["r1/u", "a b", "caf\udce9", "it's", "x;y"]
    assert [shell_word(word) for word in words] == ["r1/u", "'a b'", "$'caf\\xe9'", "'it'\"'\"'s'", "'x;y'"]
