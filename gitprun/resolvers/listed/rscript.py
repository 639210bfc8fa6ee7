"""Scripts of R, as far as no grammar is needed: the packages that they attach, when nothing else differs."""

from __future__ import annotations

import re
from collections.abc import Sequence

from gitprun.resolvers.listed.frame import ListedKind
from gitprun.resolvers.listed.rules import LineRules
from gitprun.resolvers.listed.tree import Body, LineNode, UnreadLines, blank, note

# At the start of a line only: a call within a function attaches when that runs, and code may compute the name.
_ATTACH = re.compile(rb"""(library|require)\((['"]?)([A-Za-z][A-Za-z0-9.]*)\2\)\s*(?:#.*)?$""", re.DOTALL)


def read_script(lines: Sequence[bytes]) -> Body | UnreadLines:
    """Read the calls of ``library`` and ``require`` at the start of a line; all else is only to be kept."""
    nodes: list[LineNode] = []
    for line in lines:
        found = _ATTACH.match(line)
        if found:
            nodes.append(LineNode("entry", found[3], (line,)))
        else:
            nodes.append(note(line) if line.strip() else blank(line))
    return tuple(nodes)


def never(a: LineNode, b: LineNode) -> bool:
    """Check whether packages may change places: never, for of one name the function attached last hides the others."""
    return False


def doubt_code(base: Body, main: Body, unit: Body, merged: Body) -> str | None:
    """Doubt a merge of anything else than calls: that takes a grammar."""
    code = [[node.key for node in body if node.sort == "note"] for body in (base, main, unit)]
    return None if code[0] == code[1] == code[2] else "the sides changed more than the packages that are attached"


KINDS = (ListedKind("R packages", ("*.R", "*.r"), read_script, LineRules(fixed=True, together=never), doubt_code).kind,)
