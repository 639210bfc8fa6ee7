"""How languages word what binds a name: imports and declarations, told by their words and without a grammar.

It is read in core-only installations too, and of every file that is looked at, so each pattern is bounded in what it
runs over. What is taken for bound too much asks less, and never more.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain
from typing import Final

Names = frozenset[bytes]
# The parts of what is imported, the outermost first.
ImportPath = tuple[bytes, ...]

# Blocks of HCL that stand many times in spite of their label: each provider of one name has an alias of its own, and
# the others are made, or run, one after another.
REPEATED_BLOCKS: Final = ("provider", "provisioner", "dynamic", "connection", "post-processor")

_WORD: Final = re.compile(rb"[\w$]+")
# Words of an import that bind nothing.
_IMPORTING: Final = frozenset((b"import", b"as", b"type", b"typeof", b"default", b"from", b"of", b"in", b"self"))
_COMMENT: Final = re.compile(rb"#[^\n]*|//[^\n]*")
_LISTED: Final = re.compile(rb"[,{}()\n]")
_STEP: Final = re.compile(rb"::|[./\\]+")


@dataclass(frozen=True, slots=True)
class Wording:
    """How one language words what binds a name.

    ``silent`` finds what is no code (comments and texts); ``imports`` whole import statements, with what they bind in
    groups; ``paths`` what is imported, in one group; ``declares`` declared names, in groups. ``wild`` finds imports
    that may bind any name, or any of a package that it has in a group; ``given`` are names that nobody has to import.
    With ``colon`` an imported ``a: b`` binds b. In a language that is ``typed`` nothing but a declaration binds a name
    with a capital; in one that is ``closed`` a name of another file is nobody's without an import, and indentation
    tells where one is bound.
    """

    endings: tuple[str, ...]
    silent: re.Pattern[bytes]
    paths: re.Pattern[bytes]
    declares: re.Pattern[bytes]
    imports: re.Pattern[bytes] | None = None
    wild: re.Pattern[bytes] | None = None
    given: Names = frozenset()
    colon: bool = False
    typed: bool = False
    closed: bool = False

    def imported(self, text: bytes) -> Names:
        """Return the names that a text's imports bind."""
        if self.imports is None:
            return frozenset()
        rows = _groups(self.imports, text)
        return frozenset(name for row in rows for name in self._bound(_COMMENT.sub(b"", row))) - _IMPORTING

    def _bound(self, row: bytes) -> Iterator[bytes]:
        for part in _LISTED.split(row):
            words = _WORD.findall(part)
            if not words:
                continue
            renamed = b"as" in words or (self.colon and b":" in part)
            # "import a.b" binds a, "a as b" and "{ a: b }" bind b, and "{ type A }" binds A.
            yield words[0] if b"." in part and not renamed else words[-1]

    def declared(self, text: bytes) -> Names:
        """Return the names that a text declares, as far as a word says that it does."""
        return frozenset(name for row in _groups(self.declares, text) for name in _WORD.findall(row))

    def paths_of(self, text: bytes) -> Counter[ImportPath]:
        """Count what a text imports, by its parts."""
        return Counter(self.split(row) for row in self.paths.findall(text))

    def split(self, row: bytes) -> ImportPath:
        """Return the parts of what is imported; of a path that leads on from here the dots are the first."""
        lead = row[: len(row) - len(row.lstrip(b"./"))]
        parts = [part for part in _STEP.split(row[len(lead) :]) if part]
        return (lead, *parts) if lead else tuple(parts)

    def may_bind(self, text: bytes, packages: Collection[ImportPath]) -> bool:
        """Check whether an import of everything may bind a name that was imported from one of the packages."""
        if self.wild is None:
            return False
        if not self.wild.groups:
            return self.wild.search(text) is not None
        open_ones = {self.split(row) for row in _groups(self.wild, text)}
        return not packages or not open_ones.isdisjoint(packages)

    def rebinds(self, code: bytes, name: bytes) -> bool:
        """Check whether code may bind a name without a word for it."""
        return not (self.typed and name[:1].isupper()) and binding_of(name).search(code) is not None

    def code(self, text: bytes) -> bytes:
        """Return a text without its comments and texts, line by line as it was."""
        return self.silent.sub(lambda found: b"\n" * found[0].count(b"\n") or b" ", text)


def _groups(pattern: re.Pattern[bytes], text: bytes) -> set[bytes]:
    """Return what the groups of a pattern find in a text, each once; of two groups or more one is found at a place."""
    found = pattern.findall(text)
    return {*found} if pattern.groups == 1 else {*chain.from_iterable(found)} - {b""}


@lru_cache(maxsize=256)
def binding_of(name: bytes) -> re.Pattern[bytes]:
    """Return what finds a place in code that may bind a name without a word for it, in any of the languages."""
    word = rb"(?<![\w$])" + re.escape(name) + rb"(?![\w$])"
    return re.compile(b"|".join(each.replace(b"NAME", word) for each in _BINDINGS))


# Assigned, annotated or a key, by itself or as one of several; what a loop, a function or a handler names; a parameter
# of an arrow or a block; the head of a block; a parameter behind its type.
_BINDINGS: Final = (
    rb"NAME\s{0,9}(?::(?!:)|:?=(?![=>~])|=>)",
    rb"NAME[^\n=;(){}]{0,99}\s:?=(?![=>~])",
    rb"\b(?:for|lambda|catch|def|function|fn|func|fun|let|case|match|with|except)\b[^\n]{0,199}?NAME",
    rb"NAME[^\n]{0,199}=>",
    rb"\|[^|\n]{0,99}?NAME",
    rb"NAME\s{0,9}\{",
    rb"[(,]\s{0,9}(?:\w+\s{1,9}){0,2}(?!return|new|await|in|of|not|and|or|is|typeof|yield)"
    rb"[\w.<>\[\]?&*]{1,60}\s{1,9}NAME",
)


def _words(text: str) -> Names:
    return frozenset(text.encode().split())


# A text ends on its line in these.
_TEXTS = rb"\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*'"
_C_SILENT = re.compile(rb"//[^\n]*|/\*.*?\*/|" + _TEXTS, re.DOTALL)
# A template with a place for a value in it holds code.
_SCRIPT_SILENT = re.compile(rb"//[^\n]*|/\*.*?\*/|" + _TEXTS + rb"|`(?:\\.|[^`\\$]|\$(?!\{))*`", re.DOTALL)
_HASH_SILENT = re.compile(rb"#[^\n]*|\"\"\".*?\"\"\"|'''.*?'''|" + _TEXTS, re.DOTALL)
# What stands between the first word of a member and its name: types, for the most part.
_MEMBER = (
    rb"\b(?:public|private|protected|internal|static|final|abstract|readonly|override)\s[\w<>\[\],.? \t]{0,120}?"
    rb"\b(\w+)\s{0,9}[(=;{]"
    # Of an interface, or of a package: a type and a name with parameters, and then a body or nothing.
    rb"|^[ \t]+(?!(?:return|new|throw|else|case|await)\b)\w[\w<>\[\],.? \t]{0,99}?[ \t](\w+)\s{0,9}"
    rb"\([^;{}()=]{0,400}\)\s{0,9}(?:throws\s[\w., \t]{1,200})?[;{]"
    # What makes an object has no type.
    rb"|^[ \t]+([A-Z]\w*)\s{0,9}\([^;{}()=]{0,400}\)\s{0,9}(?:throws\s[\w., \t]{1,200})?\{"
)

WORDINGS: Final = (
    Wording(
        ("js", "jsx", "ts", "tsx", "mjs", "cjs", "mts", "cts", "vue", "svelte"),
        silent=_SCRIPT_SILENT,
        paths=re.compile(rb"(?:\bfrom|\brequire\(|\bimport\(|^[ \t]*import)\s*['\"]([^'\"\n]+)['\"]", re.MULTILINE),
        imports=re.compile(
            rb"^[ \t]*import\b([^;'\"]{0,9999}?)\bfrom\s*['\"]"
            rb"|^[ \t]*(?:const|let|var)\s+(\{[^{}]*\}|[\w$]+)\s*=\s*(?:await\s+)?(?:require|import)\s*\(",
            re.MULTILINE,
        ),
        declares=re.compile(
            rb"\b(?:function\s*\*?|class|interface|type|enum|namespace|const|let|var)\s+([\w$]+)"
            rb"|\b(?:const|let|var)\s+[\[{]([^=;]{0,999})[\]}]\s*="
        ),
        given=_words(
            "fetch URL URLSearchParams Promise Buffer process console performance crypto React Symbol Map Set Object"
            " describe it test expect vi jest beforeEach afterEach beforeAll afterAll before after assert global"
        ),
        colon=True,
        closed=True,
    ),
    Wording(
        ("py", "pyi"),
        silent=_HASH_SILENT,
        paths=re.compile(rb"^[ \t]*(?:from|import)\s+([\w.]+)", re.MULTILINE),
        imports=re.compile(
            rb"^[ \t]*from\s+[\w.]+\s+import\s*(\([^)]*\)|(?:[^\n\\]|\\\n)*)|^[ \t]*import\s+([^\n]*)", re.MULTILINE
        ),
        declares=re.compile(
            rb"^[ \t]*(?:async\s+)?(?:def|class)\s+(\w+)|^[ \t]*(\w+)[ \t]*(?::[^=\n]*)?=(?!=)", re.MULTILINE
        ),
        wild=re.compile(rb"^[ \t]*from\s+[\w.]+\s+import\s*\(?\s*\*", re.MULTILINE),
        # Many an import of these was for Python 2, and went with it.
        given=_words(
            "range zip map filter open str bytes int input chr print super object type dict list set next round reduce"
            " sorted reversed unicode TimeoutError ConnectionError FileNotFoundError"
        ),
        closed=True,
    ),
    Wording(
        ("java", "kt", "kts", "scala", "groovy"),
        silent=_C_SILENT,
        paths=re.compile(rb"^[ \t]*import\s+(?:static\s+)?([\w.]+\*?)", re.MULTILINE),
        imports=re.compile(rb"^[ \t]*import\s+(?:static\s+)?[\w.]+\.(\w+(?:\s+as\s+\w+)?)", re.MULTILINE),
        declares=re.compile(
            rb"\b(?:class|interface|enum|record|object|trait|fun|def|val|var|typealias|package)\s+([\w.]+)|" + _MEMBER,
            re.MULTILINE,
        ),
        # What is in the file's own package needs no import.
        wild=re.compile(rb"^[ \t]*(?:import\s+(?:static\s+)?([\w.]+)\.(?:\*|_|\{)|package\s+([\w.]+))", re.MULTILINE),
        typed=True,
    ),
    Wording(
        ("cs",),
        silent=_C_SILENT,
        paths=re.compile(rb"^[ \t]*(?:global\s+)?using\s+(?:static\s+)?([\w.]+)\s*;", re.MULTILINE),
        declares=re.compile(rb"\b(?:class|interface|enum|record|struct|delegate|var)\s+(\w+)|" + _MEMBER, re.MULTILINE),
    ),
    Wording(
        ("rs",),
        silent=_C_SILENT,
        paths=re.compile(rb"^[ \t]*(?:pub(?:\([^)]*\))?\s+)?use\s+((?:\w+::)*\w+)", re.MULTILINE),
        imports=re.compile(rb"^[ \t]*(?:pub(?:\([^)]*\))?\s+)?use\s+([^;]{0,9999});", re.MULTILINE),
        declares=re.compile(rb"\b(?:fn|struct|enum|trait|mod|const|static|type|union|macro_rules!)\s+(\w+)"),
        wild=re.compile(rb"::\*|[{,]\s*\*"),
    ),
    Wording(
        ("go",),
        silent=_SCRIPT_SILENT,
        paths=re.compile(rb'^[ \t]*(?:import\s+)?(?:[\w.]+\s+)?"([\w.-]+(?:/[\w./-]+)?)"\s*$', re.MULTILINE),
        declares=re.compile(rb"^func\s+(?:\([^)]*\)\s*)?(\w+)|^\s*(?:type|var|const)\s+(\w+)", re.MULTILINE),
    ),
    Wording(
        ("rb",),
        silent=_HASH_SILENT,
        paths=re.compile(rb"^[ \t]*require(?:_relative)?\s*\(?['\"]([^'\"\n]+)", re.MULTILINE),
        declares=re.compile(
            rb"^[ \t]*(?:def\s+(?:self\.)?(\w+)|(?:class|module)\s+(\w+)|([A-Z]\w*)\s*=)", re.MULTILINE
        ),
    ),
    Wording(
        ("c", "h", "cc", "cpp", "cxx", "hpp", "hh"),
        silent=_C_SILENT,
        paths=re.compile(rb'^[ \t]*#[ \t]*include[ \t]+"([^"\n]+)"', re.MULTILINE),
        # At the margin a type and a name with parameters declare, whether a body follows or not.
        declares=re.compile(
            rb"^[ \t]*#[ \t]*define[ \t]+(\w+)|\b(?:struct|enum|union|class|namespace)[ \t]+(\w+)[ \t\n]*[{:]"
            rb"|^[A-Za-z_][\w \t*&:<>,]{0,199}?\b(\w+)[ \t]*\([^;{}()]{0,400}\)[^;{}()\n]{0,40}(?:[;{]|$)"
            rb"|^\}[ \t]*(\w+)[ \t]*;",
            re.MULTILINE,
        ),
    ),
    Wording(
        ("swift",),
        silent=_C_SILENT,
        paths=re.compile(rb"^[ \t]*import[ \t]+([\w.]+)", re.MULTILINE),
        declares=re.compile(rb"\b(?:func|class|struct|enum|protocol|actor|typealias|var|let|case)[ \t]+(\w+)"),
    ),
    Wording(
        ("sh", "bash"),
        silent=re.compile(rb"(?<![\w$&{])#[^\n]*"),
        paths=re.compile(rb"^[ \t]*(?:source|\.)[ \t]+([^\s;&|]+)", re.MULTILINE),
        declares=re.compile(rb"^[ \t]*(?:function[ \t]+)?([\w-]+)[ \t]*\([ \t]*\)", re.MULTILINE),
    ),
    Wording(
        ("php",),
        silent=_C_SILENT,
        paths=re.compile(rb"^use\s+(?:function\s+|const\s+)?([\w\\]+)", re.MULTILINE),
        imports=re.compile(rb"^use\s+(?:function\s+|const\s+)?[\w\\]*?(\w+(?:\s+as\s+\w+)?)\s*;", re.MULTILINE),
        declares=re.compile(rb"\b(?:function|class|interface|trait|enum|const)\s+&?(\w+)"),
        wild=re.compile(rb"^use\s+[^;]*\{", re.MULTILINE),
    ),
)
_BY_ENDING: Final = {ending: wording for wording in WORDINGS for ending in wording.endings}


def wording_of(path: str) -> Wording | None:
    """Return how the language of a path words names, if it is one of those known here."""
    return _BY_ENDING.get(path.rpartition("/")[2].rpartition(".")[2].lower())
