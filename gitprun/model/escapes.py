"""Text of others made fit to be read: what a terminal would obey, or nobody would see, is written out."""

from __future__ import annotations

import re
import shlex

# Controls, and marks that hide text or turn the direction of writing.
_HIDDEN = r"\x00-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff"
_CONTROL = re.compile(f"[{_HIDDEN}]")
_CONTROL_IN_TEXT = re.compile(rf"(?![\t\n])[{_HIDDEN}]")
_SHORT = {"\n": "\\n", "\t": "\\t", "\r": "\\r"}
# Terminal sequences: CSI, OSC (a title or a link) and the short ones.
_SEQUENCE = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[ -/]*[0-Z\\^-~])")
# The colours that click writes: no concealed text, and no black.
_OURS = re.compile(r"(\x1b\[(?:0|1|2|3[1-7]|9[0-7])m)")


def safe(text: str) -> str:
    """Return text of others as one line, without its control characters and with undecodable bytes as escapes."""
    return _CONTROL.sub(_written, _decodable(text))


def safe_text(text: str) -> str:
    """Return text of others with its lines and tabs, everything else as ``safe`` writes it."""
    return _CONTROL_IN_TEXT.sub(_written, _decodable(text).replace("\r\n", "\n"))


def shell_word(text: str) -> str:
    """Return a word as a shell reads it back, whatever bytes are in it: a hint is to be pasted."""
    if text.isprintable():
        return shlex.quote(text)
    raw = text.encode("utf-8", "surrogateescape")
    plain = (chr(byte) if 32 <= byte < 127 and byte not in b"\\'" else f"\\x{byte:02x}" for byte in raw)
    return f"$'{''.join(plain)}'"


def only_colours(text: str) -> str:
    """Return a text of ours in which nothing but colours is left to a terminal, whatever was put into it."""
    if "\x1b" not in text:
        return text if text.isascii() and text.isprintable() else _CONTROL_IN_TEXT.sub(_written, text)
    parts = _OURS.split(text)
    return "".join(part if at % 2 else _CONTROL_IN_TEXT.sub(_written, part) for at, part in enumerate(parts))


def readable(text: str) -> str:
    """Return output as the lines that a person would have read: no terminal sequences, of a redrawn line the last."""
    lines = without_sequences(text).replace("\r\n", "\n").split("\n")
    return safe_text("\n".join(_last_drawn(line) for line in lines))


def without_sequences(text: str) -> str:
    """Return a text without terminal sequences."""
    return _SEQUENCE.sub("", text)


def _last_drawn(line: str) -> str:
    return next((part for part in reversed(line.split("\r")) if part.strip()), "") if "\r" in line else line


def _decodable(text: str) -> str:
    """Write bytes that are no UTF-8 as they are meant to a shell, and other lone surrogates by their number."""
    try:
        return text.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")
    except UnicodeEncodeError:
        return text.encode("utf-8", "backslashreplace").decode("utf-8")


def _written(found: re.Match[str]) -> str:
    number = ord(found[0])
    return _SHORT.get(found[0]) or (f"\\x{number:02x}" if number < 256 else f"\\u{number:04x}")
