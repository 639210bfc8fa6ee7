"""Reading text with quotes, comments and brackets."""

from __future__ import annotations

import re

_QUOTED_OR_SLASHES = re.compile(r'"(?:\\.|[^"\\\n])*"|//[^\n]*')
_QUOTED = re.compile(r'"(?:\\.|[^"\\\n])*"')


def uncommented(text: str) -> str:
    """Leave out ``//`` comments, up to the end of their lines."""
    return _QUOTED_OR_SLASHES.sub(lambda found: "" if found.group().startswith("//") else found.group(), text)


def unclosed(text: str) -> int:
    """Count the brackets that are open at the end of a text, of all three sorts; negative when one closes too many."""
    depth = 0
    # A bracket within quotes is a letter.
    for mark in re.findall(r"[()\[\]{}]", _QUOTED.sub("", text)):
        depth += 1 if mark in "([{" else -1
        if depth < 0:
            return -1
    return depth
