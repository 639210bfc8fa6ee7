"""TypeScript and JavaScript."""

from __future__ import annotations

from dataclasses import replace

from gitprun.resolvers.syntax.rows import Grammar, Group, Named, Scope, Unique

_DECLARED = (
    "function_declaration",
    "generator_function_declaration",
    "class_declaration",
    "abstract_class_declaration",
    "interface_declaration",
    "type_alias_declaration",
    "enum_declaration",
)
_IMPORTS = Group(("import_statement",), head=True, tidy=True)
_BARREL = Group(("export_statement",), tidy=True)
_CALLS = Group(("expression_statement",), only="registration", alike=True)

_SCOPES = (
    Scope(("program",), (_IMPORTS, _BARREL, Group((*_DECLARED, "lexical_declaration")), _CALLS)),
    Scope(("statement_block",), (_CALLS,), only="registering"),
    Scope(("internal_module", "module"), (Group(_DECLARED),)),
    Scope(
        ("class_body",),
        (Group(("method_definition", "public_field_definition", "field_definition", "abstract_method_signature",
                "method_signature", "index_signature", "property_signature")),),
    ),
    Scope(
        # Their members may end with a semicolon, a comma or nothing; this is for where no version shows which.
        ("interface_body", "object_type"),
        (Group(("property_signature", "method_signature", "index_signature", "call_signature")),),
        separator=b";",
    ),
    Scope(("enum_body",), (Group(("property_identifier", "enum_assignment", "string"), counted=True),), separator=b","),
    Scope(
        ("object",),
        (Group(("pair", "shorthand_property_identifier", "method_definition")),),
        separator=b",",
    ),
    Scope(
        ("object_pattern",),
        (Group(("shorthand_property_identifier_pattern", "pair_pattern", "object_assignment_pattern")),),
        separator=b",",
    ),
    Scope(("named_imports",), (Group(("import_specifier",), tidy=True),), separator=b","),
    Scope(("export_clause",), (Group(("export_specifier",), tidy=True),), separator=b","),
    Scope(("jsx_opening_element", "jsx_self_closing_element"), (Group(("jsx_attribute",)),)),
    Scope(("union_type", "intersection_type"), (Group(
        ("literal_type", "predefined_type", "type_identifier", "generic_type", "array_type", "object_type",
         "nested_type_identifier", "template_literal_type", "parenthesized_type", "undefined", "null")),),
         separator=b"|"),
    # Behind a case that falls through a new one would be run with it.
    Scope(("switch_body",), (Group(("switch_case",), only="leaves", guarded=True),)),
)  # fmt: skip

_NAMES = (
    Named(("import_statement",), ("source", "#type"), twice=True),
    Named(("import_specifier", "export_specifier"), ("alias|name",)),
    Named(("export_statement",), ("source", "#type", "#*|#namespace_export", "#default")),
    Named(("function_declaration", "generator_function_declaration", "class_declaration",
           "abstract_class_declaration", "enum_declaration"), ("name",), "value"),
    Named(("lexical_declaration", "variable_declaration"), ("#variable_declarator/name",), "value"),
    # A type and a value may have one name.
    Named(("interface_declaration", "type_alias_declaration"), ("name",), "type"),
    Named(("method_definition", "public_field_definition", "field_definition", "abstract_method_signature"),
          # A getter, a setter and a static member may share a name.
          ("name|property", "#static", "#get", "#set"), "member"),
    Named(("method_signature", "property_signature"), ("name", "parameters"), "signature"),
    Named(("pair",), ("key",), "property"),
    Named(("shorthand_property_identifier",), (".",), "property"),
    Named(("shorthand_property_identifier_pattern",), (".",), "bound"),
    Named(("pair_pattern",), ("value",), "bound"),
    Named(("object_assignment_pattern",), ("left",), "bound"),
    Named(("enum_assignment",), ("name",), "enum"),
    Named(("property_identifier",), (".",), "enum"),
    Named(("jsx_attribute",), ("*",), "attribute"),
    Named(("expression_statement",), ("!call",), "call"),
    Named(("switch_case",), ("value",), "case"),
)  # fmt: skip

_UNIQUE = (
    Unique(("program",), ("#import_statement/#import_clause/#named_imports/#import_specifier",
                          "#import_statement/#import_clause/#identifier"), "the import", ("alias|name|.",)),
    # Each name is passed on once, whatever it is called where it comes from; "default" is one of them.
    Unique(("program",), ("#export_statement/#export_clause/#export_specifier",
                          "#export_statement/#namespace_export/#identifier",
                          "#export_statement/#lexical_declaration/#variable_declarator",
                          "#export_statement/#function_declaration", "#export_statement/#class_declaration",
                          "#export_statement/#default"), "the export", ("alias|name|.",)),
    Unique(("program",), ("#export_statement",), "the export of all of", ("source",), only="all"),
    Unique(("program",), ("#expression_statement/#assignment_expression/left",), "the export", (".",), only="exports"),
    # A name may be exported where it is declared, or not: it is one name in either case.
    Unique(("program", "statement_block"), tuple(
        f"{way}{kind}" for kind in ("function_declaration", "class_declaration", "enum_declaration",
                                    "lexical_declaration", "generator_function_declaration")
        for way in ("#", "#export_statement/#")), "the definition of"),
    Unique(("program", "statement_block"), ("#type_alias_declaration", "#export_statement/#type_alias_declaration"),
           "the type"),
    Unique(("object",), ("#pair", "#shorthand_property_identifier"), "the key", ("key|.",)),
    # Signatures without a body are nodes of another kind, so overloads are no fault.
    Unique(("class_body",), ("#method_definition", "#public_field_definition", "#field_definition"), "the member"),
    Unique(("enum_body",), ("#property_identifier", "#enum_assignment"), "the enum member", ("name|.",)),
    # Literals only: what an expression comes out as is not told here.
    Unique(("enum_body",), ("#enum_assignment/value",), "the enum value", (".",), only="literal"),
    Unique(("switch_body",), ("#switch_case/value",), "the case", (".",), only="literal"),
    Unique(("named_imports",), ("#import_specifier",), "the import"),
)  # fmt: skip

TYPESCRIPT = Grammar(
    name="typescript",
    files=("*.ts", "*.mts", "*.cts"),
    wheel="tree_sitter_typescript",
    maker="language_typescript",
    scopes=_SCOPES,
    names=_NAMES,
    unique=_UNIQUE,
    via={"export_statement": "declaration", "ambient_declaration": "*"},
    flat=frozenset({"union_type", "intersection_type"}),
    leads=frozenset({"decorator"}),
    joins=frozenset({"export_statement", "export_clause", "import_statement", "import_clause", "named_imports"}),
    separators={"union_type": b"|", "intersection_type": b"&"},
    absent=frozenset({"field_definition", "jsx_attribute", "jsx_opening_element", "jsx_self_closing_element"}),
)

TSX = replace(TYPESCRIPT, name="tsx", files=("*.tsx",), maker="language_tsx", absent=frozenset({"field_definition"}))

JAVASCRIPT = replace(
    TYPESCRIPT,
    name="javascript",
    files=("*.js", "*.jsx", "*.mjs", "*.cjs"),
    wheel="tree_sitter_javascript",
    maker="language",
    # All that has to do with types.
    absent=frozenset({
        "abstract_class_declaration", "abstract_method_signature", "ambient_declaration", "array_type",
        "call_signature", "enum_assignment", "enum_body", "enum_declaration", "generic_type", "index_signature",
        "interface_body", "interface_declaration", "internal_module", "intersection_type", "literal_type",
        "method_signature", "module", "nested_type_identifier", "object_type", "parenthesized_type",
        "predefined_type", "property_signature", "public_field_definition", "template_literal_type", "type",
        "type_alias_declaration", "type_identifier", "union_type",
    }),
)  # fmt: skip
