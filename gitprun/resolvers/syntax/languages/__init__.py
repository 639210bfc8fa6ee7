"""Every language, one row each, the most specific first."""

from __future__ import annotations

from gitprun.resolvers.syntax.languages import others, web
from gitprun.resolvers.syntax.languages.java import JAVA
from gitprun.resolvers.syntax.languages.jvm import CSHARP, KOTLIN, SCALA
from gitprun.resolvers.syntax.languages.native import CPP, GO, RUST, C
from gitprun.resolvers.syntax.languages.python import PYTHON, STARLARK
from gitprun.resolvers.syntax.languages.script import JAVASCRIPT, TSX, TYPESCRIPT
from gitprun.resolvers.syntax.rows import Grammar

GRAMMARS: tuple[Grammar, ...] = (
    TYPESCRIPT,
    TSX,
    JAVASCRIPT,
    STARLARK,
    PYTHON,
    JAVA,
    KOTLIN,
    SCALA,
    CSHARP,
    C,
    CPP,
    GO,
    RUST,
    web.PHP,
    web.RUBY,
    web.LUA,
    web.SHELL,
    web.XML,
    web.HTML,
    web.CSS,
    others.HASKELL,
    others.HCL,
    others.NIX,
    others.MAKE,
    others.FORTRAN,
    others.SOLIDITY,
    others.DART,
    others.DEVICETREE,
    others.SYSTEMVERILOG,
    others.SWIFT,
    others.ELIXIR,
)
