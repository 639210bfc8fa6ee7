"""Languages in which names that stand twice are found by brackets: what each says of its comments, texts and names."""

from __future__ import annotations

import re
from functools import partial
from typing import Final

from gitprun.resolvers.base import Kind
from gitprun.resolvers.blocks.brackets import (
    BRACES,
    FILE,
    PARENTHESES,
    WHOLE_FILE,
    Bracketed,
    Once,
    find_doubles,
)
from gitprun.resolvers.naming import REPEATED_BLOCKS

_C_COMMENTS = r"//[^\n]*|/\*.*?\*/"
_TEXT = r'"(?:\\.|[^"\\\n])*"'
# A text may hold code that holds texts.
_FILLED = r'"(?:\\.|\$\{(?:[^{}"]|"[^"\n]*")*+\}|[^"\\])*+"'

HCL: Final = Bracketed(
    "hcl",
    ("*.hcl", "*.tf", "*.tfvars"),
    rf"#[^\n]*|{_C_COMMENTS}",
    rf"{_FILLED}|<<[-~]?(?P<mark_of_text>\w+)\n.*?^[ \t]*(?P=mark_of_text)\b",
    (
        Once("the attribute", re.compile(r'(?:\A|[\n,])[ \t]*(?P<name>"[^"\n]*"|[\w.-]+)\s*[=:](?![=>])'), BRACES),
        Once("the attribute", re.compile(r"^(?P<name>[\w-]+)\s*=(?![=>])", re.MULTILINE), FILE),
        Once(
            "the block",
            re.compile(
                rf"^[ \t]*(?P<name>(?!(?:{'|'.join(REPEATED_BLOCKS)})\b)"
                r'[\w-]+(?:[ \t]+"[^"\n]*")+)[ \t]*\{',
                re.MULTILINE,
            ),
            re.compile(r"\A\Z|\{\Z"),
        ),
        # Other blocks without a label (ingress, say) are a list.
        Once("the block", re.compile(r"^[ \t]*(?P<name>lifecycle|required_providers)[ \t]*\{", re.MULTILINE), BRACES),
    ),
)

_NIX_NAME = r'(?:[\w\'-]+|"[^"\n]*")(?:\.(?:[\w\'-]+|"[^"\n]*"))*'
NIX: Final = Bracketed(
    "nix",
    ("*.nix",),
    r"#[^\n]*|/\*.*?\*/",
    rf"{_FILLED}|''(?:'''|''\$|''\\|[^']|'(?!'))*''",
    (
        Once("the attribute", re.compile(rf"(?:\A|;|\blet\b)\s*(?P<name>{_NIX_NAME})\s*=(?!=)")),
        Once("the attribute", re.compile(r"(?:\A|;|\blet\b)\s*inherit\b\s*(?:\(\))?\s*(?P<names>[\w'\s-]*[\w'-])\s*;")),
        Once("the argument", re.compile(r"(?:\A|,)\s*(?P<name>[\w'-]+)\s*(?=,|\?|\Z)"), BRACES),
    ),
)

_GRAPHQL_TYPE = r"(?<!extend )\b(?:type|interface|input|enum|union|scalar)\s+"
_OF = r"\s+(?P<of>\w+)[^{}]*\{\Z"
GRAPHQL: Final = Bracketed(
    "graphql",
    ("*.graphql", "*.graphqls", "*.gql"),
    r"#[^\n]*",
    rf'"""(?:[^"]|"(?!""))*"""|{_TEXT}',
    (
        # All of these are types, and share their names; each of the others has names of its own.
        Once("the type", re.compile(rf"{_GRAPHQL_TYPE}(?P<name>\w+)"), FILE),
        Once("the definition", re.compile(
            r"(?<![@:])\b(?P<name>(?:query|mutation|subscription|fragment|directive)\s+@?\w+)"), FILE),
        Once("the member", re.compile(r"\bunion\s+(?P<of>\w+)[^=|{}]*=[\s|]*(?P<names>\w+(?:\s*\|\s*\w+)*)"), FILE),
        # What extends a type adds to the one there is.
        Once("the field", re.compile(r"(?<!@)\b(?P<name>\w+)\s*(?:\(\))?\s*:"),
             re.compile(rf"\b(?:type|interface|input|schema){_OF}"), shared=True),
        Once("the value", re.compile(r"(?<![@\w])(?P<name>\w+)"), re.compile(rf"\benum{_OF}"), shared=True),
        Once("the argument", re.compile(r"(?P<name>\$?\w+)\s*:"), PARENTHESES),
    ),
)  # fmt: skip

_PROPERTY = re.compile(r"(?:\A|[;}])\s*(?P<name>[\w*$@-]+)\s*:(?!:)[^;{}]*(?=;|\Z)")
_CSS_NAMED = re.compile(r"@(?P<name>(?:[\w-]*keyframes|mixin|function|counter-style)\s+[\w-]+)\s*(?:\(\))?\s*\{")
CSS: Final = Bracketed(
    "css",
    ("*.css",),
    r"/\*.*?\*/",
    rf"{_TEXT}|'(?:\\.|[^'\\\n])*'|(?<=url)\([^()'\"]*\)",
    # Which rule holds is a matter of their order: a selector may stand as often as it likes.
    (Once("the property", _PROPERTY, BRACES), Once("the rule", _CSS_NAMED, FILE)),
)
SCSS: Final = Bracketed(
    "scss",
    ("*.scss", "*.less"),
    rf"(?<!:){_C_COMMENTS}",
    CSS.texts,
    (
        *CSS.once,
        Once("the variable", _PROPERTY, FILE),
        Once("the key", re.compile(r"(?:\A|,)\s*(?P<name>[\w\"-]+)\s*:"), re.compile(r"\$[\w-]+\s*:\s*\(\Z")),
    ),
)

DEVICETREE: Final = Bracketed(
    "devicetree",
    ("*.dts", "*.dtsi", "*.dtso", "*.overlay"),
    _C_COMMENTS,
    _TEXT,
    (
        Once("the property", re.compile(r"(?:\A|[;}])\s*(?:\w+:\s*)*(?P<name>[\w,.#?+-]+)\s*(?=[;=])"), BRACES),
        Once("the node", re.compile(r"(?:\A|;)\s*(?:\w+:\s*)*(?P<name>[\w,.+-]+(?:@[\w,.]+)?)\s*\{"), BRACES),
        Once("the label", re.compile(r"(?:\A|[;{}])\s*(?P<name>\w+):\s*[\w,.+@&/-]+\s*\{"), WHOLE_FILE, shared=True),
    ),
)

ROWS: Final = (HCL, NIX, GRAPHQL, CSS, SCSS, DEVICETREE)
KINDS: Final = tuple(Kind(row.name, row.files, (), partial(find_doubles, row)) for row in ROWS)
