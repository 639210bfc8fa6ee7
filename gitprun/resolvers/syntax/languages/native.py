"""C, C++, Go and Rust."""

from __future__ import annotations

from dataclasses import replace

from gitprun.resolvers.syntax.rows import Grammar, Group, Named, Scope, Unique

_C_DEFINED = (
    "function_definition",
    "struct_specifier",
    "enum_specifier",
    "union_specifier",
    "class_specifier",
    "type_definition",
    "template_declaration",
    "declaration",
    "namespace_definition",
    "alias_declaration",
)
_C_TOP = (Group(("preproc_include",), head=True), Group(("using_declaration",)), Group(_C_DEFINED))

C = Grammar(
    name="c",
    files=("*.c",),
    wheel="tree_sitter_c",
    scopes=(
        # The include guard is a scope: in a header everything stands in it.
        Scope(("translation_unit", "declaration_list", "preproc_ifdef", "preproc_if"), _C_TOP),
        Scope(
            ("field_declaration_list",),
            (Group(("field_declaration", "function_definition", "declaration", "template_declaration",
                    "friend_declaration", "alias_declaration")),),
        ),
        Scope(("enumerator_list",), (Group(("enumerator",), counted=True),), b","),
        # Order counts only without designators, and what has none is in no group.
        Scope(("initializer_list",), (Group(("initializer_pair",)),), b","),
        # Behind a case that falls through a new one would be run with it.
        Scope(("compound_statement",), (Group(("case_statement",), only="leaves", guarded=True),)),
    ),
    names=(
        Named(("preproc_include",), ("path",)),
        Named(("preproc_def", "preproc_function_def"), ("name",), "macro"),
        Named(("struct_specifier", "enum_specifier", "union_specifier", "class_specifier"), ("name",), "tag"),
        Named(("type_definition",), ("declarator",), "typedef"),
        Named(("function_definition",), ("declarator+", "!parameters"), "function"),
        Named(("declaration",), ("declarator+", "!parameters"), "declared"),
        Named(("field_declaration",), ("declarator+", "!parameters"), "field"),
        Named(("template_declaration",), ("*/declarator+|*/name", "parameters"), "template"),
        Named(("enumerator",), ("name",)),
        Named(("initializer_pair",), ("designator",)),
        Named(("case_statement",), ("value",), "case"),
        # A namespace may be opened many times.
        Named(("namespace_definition",), ("name",), "namespace", twice=True),
    ),
    unique=(
        Unique(("translation_unit",), ("#function_definition",), "the function"),
        Unique(("field_declaration_list",), ("#field_declaration", "#function_definition"), "the member",
               ("declarator+", "!parameters")),
        Unique(("enumerator_list",), ("#enumerator",), "the enum member"),
        # Two names for one value are legal, and hardly what the two sides meant; only literals are compared.
        Unique(("enumerator_list",), ("#enumerator/value",), "the enum value", (".",), only="literal"),
        Unique(("initializer_list",), ("#initializer_pair",), "the initializer"),
        Unique(("compound_statement",), ("#case_statement/value",), "the case", (".",), only="literal"),
    ),
    # What C++ has on top of C: headers are read as C++, and one row serves both.
    absent=frozenset({"alias_declaration", "class_specifier", "friend_declaration", "namespace_definition",
                      "template_declaration", "using_declaration"}),
)  # fmt: skip

CPP = replace(
    C,
    absent=frozenset(),
    name="c++",
    files=("*.cc", "*.cpp", "*.cxx", "*.c++", "*.h", "*.hh", "*.hpp", "*.hxx", "*.cu", "*.cuh"),
    wheel="tree_sitter_cpp",
)

# Go initializes what a package declares by what depends on what, not by where it stands.
_GO_DECLARED = (
    "function_declaration",
    "method_declaration",
    "type_declaration",
    "const_declaration",
    "var_declaration",
)

GO = Grammar(
    name="go",
    files=("*.go",),
    wheel="tree_sitter_go",
    scopes=(
        Scope(("source_file",), (Group(("import_declaration",), head=True), Group(_GO_DECLARED))),
        Scope(("import_spec_list",), (Group(("import_spec",), tidy=True),)),
        Scope(("field_declaration_list",), (Group(("field_declaration",)),)),
        Scope(("interface_type",), (Group(("method_elem", "type_elem")),)),
        Scope(("const_declaration",), (Group(("const_spec",), counted=True),)),
        Scope(("var_declaration", "var_spec_list"), (Group(("var_spec",)),)),
        Scope(("type_declaration",), (Group(("type_spec",)),)),
        Scope(("literal_value",), (Group(("keyed_element",)),), b","),
        # No case of Go falls through into the next one by itself.
        Scope(("expression_switch_statement", "type_switch_statement"), (Group(("expression_case", "type_case")),)),
        # A body of statements is free only when all of it registers, such as a function that sets routes up.
        Scope(("statement_list",), (Group(("expression_statement",), only="registration", alike=True),),
            only="registering"),
    ),
    names=(
        Named(("import_declaration",), ("#import_spec/path|#import_spec_list/#(",), twice=True),
        Named(("import_spec",), ("path", "name"), "import"),
        Named(("function_declaration",), ("name",), "declared"),
        Named(("method_declaration",), ("name", "receiver/*/type"), "method"),
        Named(("type_declaration",), ("#type_spec/name",), "declared"),
        Named(("type_spec",), ("name",), "declared in a group"),
        Named(("const_declaration",), ("#const_spec/name",), "declared"),
        Named(("var_declaration",), ("#var_spec/name|#var_spec_list/#var_spec/name",), "declared"),
        Named(("const_spec", "var_spec"), ("name",), "declared in a group"),
        # An embedded field has no name, and is known by its type.
        Named(("field_declaration",), ("name|type",), "field"),
        Named(("method_elem",), ("name",)),
        Named(("keyed_element",), ("key",)),
        Named(("expression_case",), ("value",), "case"),
        Named(("type_case",), ("type",), "case"),
        Named(("expression_statement",), ("!call",), "call"),
    ),
    unique=(
        Unique(("import_spec_list",), ("#import_spec",), "the import", ("!bound",)),
        Unique(("source_file",), ("#method_declaration",), "the method"),
        Unique(("source_file",), ("#function_declaration/name", "#type_declaration/#type_spec/name",
                                  "#const_declaration/#const_spec/name", "#var_declaration/#var_spec/name"),
               "the definition of", (".",), only="not-init"),
        Unique(("field_declaration_list",), ("#field_declaration/name",), "the field", (".",)),
        Unique(("interface_type",), ("#method_elem",), "the method"),
        Unique(("literal_value",), ("#keyed_element",), "the key"),
        Unique(("expression_switch_statement",), ("#expression_case",), "the case"),
    ),
    joins=frozenset({"import_declaration", "import_spec_list"}),
)  # fmt: skip

_RUST_ITEMS = (
    "function_item",
    "struct_item",
    "enum_item",
    "union_item",
    "impl_item",
    "trait_item",
    "const_item",
    "static_item",
    "type_item",
    "mod_item",
    "function_signature_item",
    "associated_type",
    "macro_definition",
)

RUST = Grammar(
    name="rust",
    files=("*.rs",),
    wheel="tree_sitter_rust",
    scopes=(
        Scope(
            ("source_file", "declaration_list"),
            (
                Group(("use_declaration", "extern_crate_declaration"), tidy=True),
                # A module with its body in this file is an item like any other.
                Group(("mod_item",), only="no-body", tidy=True),
                Group(_RUST_ITEMS),
            ),
        ),
        Scope(("use_list",), (Group(("identifier", "self", "scoped_identifier", "use_as_clause", "scoped_use_list",
                                     "use_wildcard"), tidy=True),), b","),
        Scope(("field_declaration_list",), (Group(("field_declaration",)),), b","),
        Scope(("enum_variant_list",), (Group(("enum_variant",)),), b","),
        Scope(("field_initializer_list",), (Group(("field_initializer", "shorthand_field_initializer")),), b","),
        # In the brackets of a derive stands a set; those of other macros may hold anything.
        Scope(("token_tree",), (Group(("identifier",)),), b",", only="derive"),
        # The first arm that matches holds, so only those of plain literals or paths may change places.
        Scope(("match_block",), (Group(("match_arm",), only="plain-arm"),)),
    ),
    names=(
        # Uses of one path may stand twice, each with other names or another visibility.
        Named(("use_declaration",), ("#scoped_use_list/path|argument", "#visibility_modifier"), twice=True),
        Named(("extern_crate_declaration",)),
        Named(("scoped_use_list",), ("path",), "used"),
        Named(("use_as_clause",), (".",), "used"),
        Named(("mod_item",), ("name",), "module"),
        Named(("function_item", "function_signature_item"), ("name",), "function"),
        Named(("struct_item", "enum_item", "union_item", "trait_item", "type_item", "associated_type"), ("name",),
            "type"),
        Named(("const_item", "static_item"), ("name",), "value"),
        Named(("impl_item",), ("trait", "type", "type_parameters"), "impl"),
        Named(("field_declaration",), ("name",), "field"),
        Named(("enum_variant",), ("name",), "variant"),
        Named(("field_initializer",), ("field",), "initializer"),
        Named(("shorthand_field_initializer",), (".",), "initializer"),
        Named(("match_arm",), ("pattern",), "arm"),
    ),
    unique=(
        # What stands under another cfg is another thing, though it has the same name.
        Unique(("source_file", "declaration_list"), ("#function_item",), "the function", only="no-cfg"),
        Unique(("source_file", "declaration_list"), ("#struct_item", "#enum_item", "#trait_item", "#type_item"),
               "the type", only="no-cfg"),
        Unique(("source_file", "declaration_list"), ("#mod_item",), "the module", only="no-cfg"),
        Unique(("source_file", "declaration_list"), tuple(
            f"#use_declaration/{way}" for way in ("argument", "#use_list/*", "#scoped_use_list/list/*",
                                                  "#scoped_use_list/list/#scoped_use_list/list/*")),
               "the use", ("alias|name|.",), only="bound"),
        Unique(("use_list",), ("*",), "the use", ("alias|name|.",), only="bound"),
        Unique(("field_declaration_list",), ("#field_declaration",), "the field", only="no-cfg"),
        Unique(("enum_variant_list",), ("#enum_variant",), "the variant", only="no-cfg"),
        Unique(("enum_variant_list",), ("#enum_variant/value",), "the value", (".",), only="literal"),
        Unique(("field_initializer_list",), ("#field_initializer",), "the field"),
        Unique(("match_block",), ("#match_arm",), "the arm", only="plain-arm"),
    ),
    joins=frozenset({"use_declaration", "scoped_use_list", "use_list"}),
    leads=frozenset({"attribute_item"}),
    tails={"match_arm": ","},
)  # fmt: skip
