"""Kotlin, Scala and C#."""

from __future__ import annotations

from gitprun.resolvers.syntax.rows import Grammar, Group, Named, Scope, Unique

_KOTLIN_MEMBERS = ("property_declaration", "function_declaration", "class_declaration", "object_declaration",
                   "companion_object", "secondary_constructor", "type_alias")  # fmt: skip
_KOTLIN_WORDS = ("annotation", "visibility_modifier", "member_modifier", "inheritance_modifier", "function_modifier",
                 "class_modifier", "property_modifier", "platform_modifier", "parameter_modifier")  # fmt: skip

KOTLIN = Grammar(
    name="kotlin",
    files=("*.kt", "*.kts"),
    wheel="tree_sitter_kotlin",
    scopes=(
        Scope(("source_file",), (Group(("import",), head=True, tidy=True), Group(_KOTLIN_MEMBERS))),
        Scope(("class_body",), (Group(_KOTLIN_MEMBERS),)),
        # Entries end before members start.
        Scope(("enum_class_body",), (Group(("enum_entry",)), Group(_KOTLIN_MEMBERS)), b","),
        Scope(("modifiers",), (Group(_KOTLIN_WORDS),)),
    ),
    names=(
        Named(("import",)),
        Named(("class_declaration", "object_declaration"), ("name",), "type"),
        Named(("property_declaration",), ("#variable_declaration/#identifier",), "property"),
        # Overloads differ in the types of their parameters.
        Named(("function_declaration",), ("name", "#function_value_parameters/#parameter/?#user_type"), "function"),
        Named(("enum_entry",), ("#identifier",)),
        Named(("visibility_modifier",), (), "visibility"),
        Named(("value_argument",), ("#identifier",)),
    ),
    unique=(
        Unique(("source_file",), ("#import",), "the import", ("!bound",)),
        Unique(("class_body",), ("#function_declaration",), "the function",
               ("name", "#user_type", "#function_value_parameters/#parameter/?#user_type")),
        # An extension has the type it extends in front of its name, and is another thing than the member of that name.
        Unique(("class_body",), ("#property_declaration",), "the property", ("#user_type",
            "#variable_declaration/#identifier")),
        Unique(("enum_class_body",), ("#enum_entry",), "the enum member"),
        Unique(("source_file", "class_body"), ("#class_declaration", "#object_declaration"), "the type"),
    ),
    joins=frozenset({"modifiers"}),
)  # fmt: skip

_SCALA_MEMBERS = ("function_definition", "function_declaration", "class_definition", "object_definition",
                  "trait_definition", "enum_definition", "type_definition", "given_definition")  # fmt: skip

SCALA = Grammar(
    name="scala",
    files=("*.scala", "*.sc"),
    wheel="tree_sitter_scala",
    scopes=(
        Scope(("compilation_unit",), (Group(("import_declaration",), head=True, tidy=True), Group(_SCALA_MEMBERS))),
        Scope(("template_body",), (Group(_SCALA_MEMBERS),)),
        Scope(("modifiers",), (Group(("access_modifier", "final", "sealed", "abstract", "implicit", "lazy", "override",
                                      "case")),)),
    ),
    names=(
        Named(("import_declaration",)),
        Named(("function_definition", "function_declaration"), ("name", "parameters"), "function"),
        Named(("class_definition", "trait_definition", "enum_definition", "type_definition"), ("name",), "type"),
        # A companion object may have the name of its class.
        Named(("object_definition",), ("name",), "object"),
        Named(("access_modifier",), (), "visibility"),
    ),
    unique=(
        Unique(("compilation_unit",), ("#import_declaration",), "the import", ("!bound",)),
        Unique(("template_body",), ("#function_definition",), "the function"),
        Unique(("compilation_unit", "template_body"), ("#class_definition", "#trait_definition"), "the type"),
    ),
    joins=frozenset({"modifiers"}),
)  # fmt: skip

_SHARP_TYPES = ("class_declaration", "interface_declaration", "enum_declaration", "struct_declaration",
                "record_declaration", "delegate_declaration")  # fmt: skip
_SHARP_MEMBERS = ("field_declaration", "property_declaration", "method_declaration", "constructor_declaration",
                  "event_field_declaration", "event_declaration", "operator_declaration", "indexer_declaration",
                  *_SHARP_TYPES)  # fmt: skip
_SHARP_DECLARED = (*_SHARP_MEMBERS, "accessor_declaration", "local_function_statement")

CSHARP = Grammar(
    name="c#",
    files=("*.cs",),
    wheel="tree_sitter_c_sharp",
    scopes=(
        Scope(
            ("compilation_unit", "namespace_declaration", "file_scoped_namespace_declaration"),
            (Group(("using_directive",), head=True, tidy=True), Group((*_SHARP_TYPES, "namespace_declaration"))),
        ),
        Scope(("declaration_list",), (Group(("using_directive",), head=True, tidy=True), Group(_SHARP_MEMBERS))),
        Scope(("enum_member_declaration_list",), (Group(("enum_member_declaration",), counted=True),), b","),
        Scope(_SHARP_DECLARED, (Group(("attribute_list",), head=True), Group(("modifier",)))),
        Scope(("initializer_expression",), (Group(("assignment_expression",)),), b","),
    ),
    names=(
        Named(("using_directive",)),
        Named(_SHARP_TYPES, ("name", "#type_parameter_list"), "type"),
        Named(("field_declaration", "event_field_declaration"), ("#variable_declaration/#variable_declarator/name",),
            "field"),
        Named(("property_declaration", "event_declaration"), ("name",), "property"),
        Named(("method_declaration", "constructor_declaration"),
              # The same method, once its own and once for an interface by its full name, is two.
              ("name", "parameters/*/?type", "#type_parameter_list", "#explicit_interface_specifier"), "method"),
        Named(("enum_member_declaration",), ("name",)),
        # All words of visibility are one name: where each side adds another one they must clash.
        Named(("modifier",), ("!modifier",)),
        Named(("assignment_expression",), ("left",)),
    ),
    unique=(
        Unique(("compilation_unit",), ("#using_directive",), "the using"),
        Unique(("compilation_unit",), ("#using_directive/name",), "the using of", (".",)),
        Unique(("declaration_list",), ("#method_declaration", "#constructor_declaration"), "the method"),
        Unique(("declaration_list",), ("#property_declaration",), "the property",
               ("name", "#explicit_interface_specifier")),
        Unique(("declaration_list",), ("#field_declaration",), "the field"),
        Unique(("enum_member_declaration_list",), ("#enum_member_declaration",), "the enum member"),
        # Literals only: what a name stands for is not told here.
        Unique(("enum_member_declaration_list",), ("#enum_member_declaration/value",), "the enum value", (".",),
            "literal"),
        Unique(("switch_body",), ("#switch_section/#constant_pattern",), "the case", (".",)),
    ),
)  # fmt: skip
