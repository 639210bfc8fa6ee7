"""Reading lines that workers print: anything may stand there, so nothing here raises."""

from __future__ import annotations

import json
import unicodedata
from pathlib import PurePosixPath

from gitprun.model.escapes import without_sequences

# One line of progress; two of a terminal.
MAX_TEXT = 200
# Counts of tokens; what is larger would be no exact number for other readers of our JSON.
MAX_NUMBER = 10**15

# Enough to fill one shown line whatever is stripped, so that a line of a megabyte costs nothing.
_WINDOW = 4096


def one_line(text: str) -> str:
    """Make any text one line of at most 200 characters, without controls, escapes, bidi marks, surrogates."""
    line = visible(text[:_WINDOW])
    return line if len(line) <= MAX_TEXT else line[: MAX_TEXT - 3].rstrip() + "..."


def visible(text: str) -> str:
    """Make any text one line of any length, with nothing in it that cannot be seen."""
    # Nearly every line: the way below costs ten times as much.
    if text.isprintable():
        return " ".join(text.split())
    plain = without_sequences(text)
    seen = (" " if char.isspace() else char for char in plain if char.isspace() or not _is_hidden(char))
    return " ".join("".join(seen).split())


def _is_hidden(char: str) -> bool:
    return unicodedata.category(char) in {"Cc", "Cf", "Cs"}


def whole_text(text: str) -> str:
    """Keep a text as it is but for lone surrogates, which no file can hold."""
    return text.encode("utf-8", "replace").decode("utf-8")


def shown_path(path: str) -> str:
    """Cut an absolute path to its folder and name: workspaces lie deep, a line is short."""
    return "/".join(PurePosixPath(path).parts[-2:])


def plain_text(line: bytes) -> str:
    """Decode a line that is not an event."""
    return line.decode("utf-8", "replace")


def split_lines(output: bytes) -> list[bytes]:
    """Cut output at newlines only: JSON strings may hold U+2028, at which ``splitlines`` would cut too."""
    return output.split(b"\n")


def parse_object(line: bytes) -> dict[str, object] | None:
    """Read one line as a JSON object; None for everything else, whatever the bytes are."""
    try:
        # strict=False: some programs write control characters into their strings.
        value: object = json.loads(line.decode("utf-8-sig", "replace"), strict=False)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def text_at(event: dict[str, object], key: str) -> str:
    """Read a text field, empty where it is missing or no text."""
    value = event.get(key)
    return value if isinstance(value, str) else ""


def object_at(event: dict[str, object], key: str) -> dict[str, object]:
    """Read an object field, empty where it is missing or no object."""
    value = event.get(key)
    return value if isinstance(value, dict) else {}


def objects_at(event: dict[str, object], key: str) -> list[dict[str, object]]:
    """Read a field that lists objects, leaving out whatever is none."""
    value = event.get(key)
    return [entry for entry in value if isinstance(entry, dict)] if isinstance(value, list) else []


def number_at(event: dict[str, object], key: str) -> int | None:
    """Read a whole number from zero to ``MAX_NUMBER``, None for anything else."""
    value = event.get(key)
    return value if type(value) is int and 0 <= value <= MAX_NUMBER else None


def sum_at(event: dict[str, object], keys: tuple[str, ...]) -> int | None:
    """Add the whole numbers found under some keys, None where there is none."""
    found = [number for key in keys if (number := number_at(event, key)) is not None]
    return sum(found) if found else None
