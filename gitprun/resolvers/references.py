"""Which file of the project a piece of text speaks of: import paths, includes, and paths written out; by spelling only.

Asked about files that one side took away, so what is found is compared with a path that was there. What is spelt in
another way is not found, and nothing is said of it.
"""

from __future__ import annotations

import posixpath
import re
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final

Parts = tuple[str, ...]

_SCRIPTS: Final = (
    *("js", "jsx", "ts", "tsx", "mjs", "cjs", "mts", "cts", "vue", "svelte", "astro"),
    *("css", "scss", "sass", "less", "html", "htm"),
)
_DOTTED: Final = ("java", "kt", "kts", "scala", "groovy")
_INCLUDING: Final = ("c", "h", "cc", "cpp", "cxx", "hpp", "hh", "m", "mm")
# Of a folder that is imported these are read.
_INDEX: Final = frozenset(("index", "__init__", "mod"))
_PROSE: Final = frozenset(("md", "markdown", "rst", "adoc", "txt"))

_SCRIPT_PATH: Final = re.compile(r"""['"(]((?:\.{1,2}|[@~]|src)/[\w@./+-]+)['")]""")
_PYTHON_IMPORT: Final = re.compile(r"^\s*(?:from\s+(\.*[\w.]*)\s+import\s+(\(?[\w\s,*]*)|import\s+([\w., ]+))")
_DOTTED_IMPORT: Final = re.compile(r"^\s*import\s+(?:static\s+)?([\w.]+)")
_RUST_MODULE: Final = re.compile(r"^\s*(?:pub(?:\([^)]*\))?\s+)?mod\s+(\w+)\s*;|\bcrate::((?:\w+::)*\w+)")
_GO_IMPORT: Final = re.compile(r'"([\w.-]+(?:/[\w.-]+)+)"')
_INCLUDE: Final = re.compile(r'^\s*#\s*(?:include|import)\s+"([^"]+)"')
_RUBY_REQUIRE: Final = re.compile(r"""^\s*require(_relative)?\s*\(?['"]([\w./-]+)['"]""")
_LINK: Final = re.compile(r"\]\(([\w@./+-]+)")
_PLAIN_PATH: Final = re.compile(r"(?<![\w@./:-])(\.{0,2}/?[\w@+-][\w@.+-]*(?:/[\w@.+-]+)+)(?![\w/])")


@dataclass(frozen=True, slots=True)
class Spelt:
    """One way a line may speak of a file: its parts, from the root or (``loose``) from some folder on.

    With ``bare`` the ending is left out, or a folder stands for the file that is read of it. ``folder`` says that a
    folder is meant, whatever is in it.
    """

    parts: Parts
    loose: bool = False
    bare: bool = False
    folder: bool = False

    @property
    def stem(self) -> str:
        """Return the name by which ``stem_of`` finds what it may speak of."""
        return self.parts[-1].partition(".")[0] if self.parts else ""

    def means(self, path: str) -> bool:
        """Check whether it may speak of a path."""
        whole = _parts(path)
        if self.folder:
            own = whole[:-1]
            return bool(own) and self.parts[-len(own) :] == own
        for parts in (whole, _bare(whole)) if self.bare else (whole,):
            if parts == self.parts or (self.loose and parts[-len(self.parts) :] == self.parts):
                return True
        return False


def stem_of(path: str) -> tuple[str, ...]:
    """Return the names by which a file may be spoken of: its own without the ending, and its folder's."""
    parts = _parts(path)
    return (parts[-1].partition(".")[0], *parts[-2:-1])


def spelt_in(path: str, line: str) -> Iterator[Spelt]:
    """Yield the files that one line of a file may speak of."""
    ending = path.rpartition("/")[2].rpartition(".")[2].lower()
    find = _FINDERS.get(ending)
    if find is not None:
        yield from find(path, line)
    elif ending in _PROSE:
        # Prose tells of what is gone; a link is meant to be followed.
        yield from (_beside(path, found) for found in _LINK.findall(line) if "://" not in found)
    else:
        for found in _PLAIN_PATH.findall(line):
            yield _beside(path, found) if found.startswith(".") else Spelt(_parts(posixpath.normpath(found)))


def _scripts(path: str, line: str) -> Iterator[Spelt]:
    for found in _SCRIPT_PATH.findall(line):
        if found.startswith("."):
            yield _beside(path, found, bare=True)
        else:
            parts = _parts(found.removeprefix("@/").removeprefix("~/"))
            if len(parts) > 1:
                yield Spelt(parts, loose=True, bare=True)


def _python(path: str, line: str) -> Iterator[Spelt]:
    found = _PYTHON_IMPORT.match(line)
    if found is None:
        return
    if found[3]:
        for each in found[3].split(","):
            yield from _python_module(path, tuple(each.split()[0].split(".")) if each.split() else ())
        return
    name = found[1].lstrip(".")
    dots, parts = len(found[1]) - len(name), tuple(filter(None, name.split(".")))
    if dots:
        above = _parts(path)[:-dots]
        parts = (*above, *parts)
    taken = [word.split()[0] for word in found[2].strip(" (").split(",") if word.split()]
    for whole in (parts, *((*parts, name) for name in taken)):
        if dots:
            yield Spelt(whole, bare=True)
        else:
            yield from _python_module(path, whole)


def _python_module(path: str, parts: Parts) -> Iterator[Spelt]:
    """Yield the files that a module of these parts may be, one that is named without dots before it."""
    if len(parts) > 1:
        yield Spelt(parts, loose=True, bare=True)
    elif parts and parts[0] not in sys.stdlib_module_names:
        # One part alone may be a package's; of the project it stands at the top, or beside who asks for it.
        yield from (Spelt((*above, *parts), bare=True) for above in ((), ("src",), _parts(path)[:-1]))


def _dotted(_path: str, line: str) -> Iterator[Spelt]:
    found = _DOTTED_IMPORT.match(line)
    parts = tuple(found[1].split(".")) if found else ()
    # Shorter ones may be a library's.
    if len(parts) > 2:
        yield Spelt(parts, loose=True, bare=True)


def _rust(path: str, line: str) -> Iterator[Spelt]:
    for module, used in _RUST_MODULE.findall(line):
        if module:
            own = _parts(path)
            above = own[:-1] if own[-1] in ("mod.rs", "lib.rs", "main.rs") else _bare(own)
            yield Spelt((*above, module), bare=True)
        else:
            parts = tuple(used.split("::"))
            # Of what is used the last part may be in the file, and the file then is what stands before it.
            for end in {len(parts), len(parts) - 1} - {0}:
                yield Spelt(("src", *parts[:end]), loose=True, bare=True)


def _go(_path: str, line: str) -> Iterator[Spelt]:
    # The first part names who has it: without a dot it is the standard library.
    yield from (
        Spelt(_parts(found), folder=True) for found in _GO_IMPORT.findall(line) if "." in found.partition("/")[0]
    )


def _including(path: str, line: str) -> Iterator[Spelt]:
    found = _INCLUDE.match(line)
    if found is not None:
        yield _beside(path, found[1])
        yield Spelt(_parts(posixpath.normpath(found[1])), loose=True)


def _ruby(path: str, line: str) -> Iterator[Spelt]:
    found = _RUBY_REQUIRE.match(line)
    if found is None:
        return
    if found[1]:
        yield _beside(path, found[2], bare=True)
    else:
        yield Spelt(("lib", *_parts(found[2].removesuffix(".rb"))), loose=True, bare=True)


_FINDERS: Final[dict[str, Callable[[str, str], Iterator[Spelt]]]] = {
    **dict.fromkeys(_SCRIPTS, _scripts),
    **dict.fromkeys(_DOTTED, _dotted),
    **dict.fromkeys(_INCLUDING, _including),
    "py": _python,
    "pyi": _python,
    "rs": _rust,
    "go": _go,
    "rb": _ruby,
}


def _beside(path: str, found: str, *, bare: bool = False) -> Spelt:
    return Spelt(_parts(posixpath.normpath(posixpath.join(posixpath.dirname(path), found))), bare=bare)


def _parts(path: str) -> Parts:
    return tuple(part for part in path.split("/") if part not in ("", "."))


def _bare(parts: Parts) -> Parts:
    """Return a path without its ending; of a file that stands for its folder, the folder."""
    name = parts[-1].partition(".")[0] if parts else ""
    return parts[:-1] if name in _INDEX else (*parts[:-1], name)
