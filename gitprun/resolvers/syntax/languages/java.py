"""Java."""

from __future__ import annotations

from gitprun.resolvers.syntax.rows import Grammar, Group, Named, Scope, Unique

_TYPES = ("class_declaration", "interface_declaration", "enum_declaration", "record_declaration",
          "annotation_type_declaration")  # fmt: skip
_WORDS = ("static", "final", "abstract", "default", "native", "transient", "volatile", "synchronized", "strictfp",
          "sealed", "non-sealed", "public", "private", "protected")  # fmt: skip
_MEMBERS = ("field_declaration", "method_declaration", "constructor_declaration", "compact_constructor_declaration",
            "constant_declaration", "annotation_type_element_declaration", *_TYPES)  # fmt: skip

JAVA = Grammar(
    name="java",
    files=("*.java",),
    wheel="tree_sitter_java",
    scopes=(
        Scope(("program",), (Group(("import_declaration",), head=True, tidy=True), Group(_TYPES))),
        Scope(("class_body", "interface_body", "enum_body_declarations", "annotation_type_body"), (Group(_MEMBERS),)),
        Scope(("enum_body",), (Group(("enum_constant",)),), b","),
        # Annotations may stand anywhere among modifiers; by custom they go first.
        Scope(("modifiers",), (Group(("marker_annotation", "annotation"), head=True), Group(_WORDS))),
        Scope(("throws", "type_list"), (Group(("type_identifier", "scoped_type_identifier", "generic_type")),), b","),
        Scope(("annotation_argument_list",), (Group(("element_value_pair",)),), b","),
    ),
    names=(
        Named(("import_declaration",)),
        Named(_TYPES, ("name",), "type"),
        Named(("field_declaration", "constant_declaration"), ("declarator/name",), "field"),
        # Overloads differ in the types of their parameters, not in the names.
        Named(("method_declaration", "constructor_declaration"), ("name", "parameters/*/?type"), "method"),
        Named(("enum_constant",), ("name",)),
        # Of the three a thing has one.
        Named(("public", "private", "protected"), (), "visibility"),
        Named(("marker_annotation", "annotation"), ("name",), "annotation"),
        Named(("element_value_pair",), ("key",)),
    ),
    unique=(
        Unique(("program",), ("#import_declaration",), "the import", ("!bound",)),
        Unique(("program", "class_body", "interface_body"), tuple(f"#{kind}" for kind in _TYPES), "the type"),
        Unique(("class_body", "interface_body", "enum_body_declarations"),
               ("#method_declaration", "#constructor_declaration"), "the method"),
        Unique(("class_body", "interface_body", "enum_body_declarations"),
               ("#field_declaration/declarator", "#constant_declaration/declarator"), "the field", ("name",)),
        Unique(("enum_body",), ("#enum_constant",), "the enum member"),
        # Both forms of a switch: cases with a colon and cases with an arrow.
        Unique(("switch_block",), ("#switch_block_statement_group/#switch_label", "#switch_rule/#switch_label"),
               "the case", (".",)),
    ),
    joins=frozenset({"modifiers", "throws", "super_interfaces", "type_list"}),
)  # fmt: skip
