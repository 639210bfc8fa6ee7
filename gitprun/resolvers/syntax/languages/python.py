"""Python and Starlark, which reads as Python."""

from __future__ import annotations

from dataclasses import replace

from gitprun.resolvers.syntax.rows import Grammar, Group, Named, Scope, Unique

_IMPORTS = Group(("import_statement", "import_from_statement", "future_import_statement"), head=True, tidy=True)
_DEFINED = ("function_definition", "class_definition", "decorated_definition")

_SCOPES = (
    Scope(
        ("module",),
        (
            _IMPORTS,
            Group(_DEFINED),
            # Literals cannot depend on one another; any other value may use a name from above.
            Group(("expression_statement",), only="literal-value"),
            Group(("expression_statement",), only="registration", alike=True),
        ),
    ),
    Scope(("block",), (Group((*_DEFINED, "expression_statement")),), only="class-body"),
    Scope(("block",), (Group(("expression_statement",), only="registration", alike=True),), only="registering"),
    # What stands in a function is a list of statements; only imports are free there.
    Scope(("block",), (_IMPORTS,)),
    Scope(("import_from_statement",), (Group(("name:dotted_name", "name:aliased_import"), tidy=True),), b","),
    Scope(("import_statement",), (Group(("name:dotted_name", "name:aliased_import"), tidy=True),), b","),
    # Positional arguments are in no group, so they keep their places.
    Scope(("argument_list",), (Group(("keyword_argument",)),), b","),
    Scope(("dictionary",), (Group(("pair",)),), b","),
    Scope(("set",), (Group(("string", "integer", "identifier", "attribute", "float", "call", "tuple")),), b","),
    # Any other list or tuple is in an order that may count.
    Scope(("list", "tuple"), (Group(("string",), tidy=True),), b",", only="export-list"),
)

_NAMES = (
    # Names of one module may be imported by several statements.
    Named(("import_from_statement", "future_import_statement"), ("module_name",), twice=True),
    Named(("import_statement",), (".",), "import", twice=True),
    Named(("function_definition", "class_definition"), ("name",), "definition"),
    # Getter and setter have one name, and are told apart by their decorators.
    Named(("decorated_definition",), ("definition/name", "#decorator"), "decorated"),
    Named(("expression_statement",), ("#assignment/left", "!call"), "statement"),
    Named(("keyword_argument",), ("name",)),
    Named(("pair",), ("key",)),
    Named(("dotted_name",), (".",), "name"),
    Named(("aliased_import",), ("alias",), "name"),
)

PYTHON = Grammar(
    name="python",
    files=("*.py", "*.pyi", "SConstruct", "wscript"),
    wheel="tree_sitter_python",
    scopes=_SCOPES,
    names=_NAMES,
    unique=(
        # Decorated ones may stand twice for a reason: setters, overloads.
        Unique(("module", "block"), ("#function_definition", "#class_definition"), "the definition of"),
        Unique(("module",), ("#expression_statement/#assignment/left",), "the name", (".",), only="constant"),
        Unique(("dictionary",), ("#pair/key",), "the key", (".",), only="literal"),
        Unique(("argument_list",), ("#keyword_argument",), "the argument"),
        Unique(("import_from_statement",), ("name",), "the import", ("alias|.",)),
        # What another module calls by the same name is another thing.
        Unique(("module",), ("#import_from_statement/name", "#import_statement/name"), "the import", ("alias|.",)),
        Unique(("module",), ("#import_from_statement",), "the import", (".",), only="all"),
        Unique(("module",), ("#expression_statement/#assignment/right/#string",
                             "#expression_statement/#augmented_assignment/right/#string"),
               "the export", ("#string_content",), only="exported"),
    ),
    joins=frozenset({"import_from_statement"}),
)  # fmt: skip

STARLARK = replace(
    PYTHON,
    name="starlark",
    scopes=(
        Scope(
            ("module",),
            (
                Group(("expression_statement",), only="load", head=True, tidy=True),
                Group(("function_definition",)),
                Group(("expression_statement",), only="named-call"),
                Group(("expression_statement",), only="literal-value"),
            ),
        ),
        *_SCOPES[1:],
    ),
    names=(
        # A target of a build file is known by the name it is given, the first of its arguments.
        Named(("expression_statement",), ("#assignment/left", "#call/function", "#call/arguments/^"), "statement"),
        *(named for named in _NAMES if "expression_statement" not in named.kinds),
    ),
    files=("*.bzl", "BUILD", "BUILD.bazel", "WORKSPACE", "WORKSPACE.bazel", "MODULE.bazel", "*.star"),
)
