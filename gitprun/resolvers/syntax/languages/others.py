"""Languages whose grammar is taken where it happens to be installed."""

from __future__ import annotations

from gitprun.resolvers.syntax.rows import Grammar, Group, Named, Scope, Unique

HASKELL = Grammar(
    name="haskell",
    files=("*.hs",),
    wheel="tree_sitter_haskell",
    scopes=(
        Scope(("imports",), (Group(("import",), head=True, tidy=True),)),
        Scope(("import_list", "exports"), (Group(("import_name", "export", "name:import_name"), tidy=True),), b","),
        Scope(("record",), (Group(("field_update",)),), b","),
        Scope(("fields",), (Group(("field",)),), b","),
    ),
    names=(
        # One module may be imported many times: qualified, under another name, in part.
        Named(("import",), ("module", "#qualified", "alias"), twice=True),
        Named(("field_update",), ("field",)),
        Named(("field",), ("name",)),
    ),
    unique=(
        Unique(("record",), ("#field_update",), "the field"),
        Unique(("imports",), ("#import",), "the import", (".",)),
    ),
    joins=frozenset({"imports"}),
)

HCL = Grammar(
    name="hcl",
    files=("*.hcl", "*.tf", "*.tfvars"),
    wheel="tree_sitter_hcl",
    scopes=(
        # Blocks without a label (ingress, say) stand many times, and nothing but their order tells them apart.
        Scope(("body",), (Group(("attribute",)), Group(("block",), only="labelled"))),
        Scope(("object",), (Group(("object_elem",)),)),
    ),
    names=(
        Named(("attribute",), ("#identifier",)),
        Named(("block",), ("#identifier", "#string_lit")),
        Named(("object_elem",), ("key",)),
    ),
)

NIX = Grammar(
    name="nix",
    files=("*.nix",),
    wheel="tree_sitter_nix",
    scopes=(
        Scope(("formals",), (Group(("formal",)),), b","),
        Scope(("binding_set",), (Group(("binding", "inherit", "inherit_from")),)),
    ),
    names=(Named(("formal",), ("name",)), Named(("binding",), ("attrpath",))),
    joins=frozenset({"binding_set"}),
)

MAKE = Grammar(
    name="make",
    files=("Makefile", "makefile", "GNUmakefile", "*.mk", "*.mak"),
    wheel="tree_sitter_make",
    scopes=(Scope(("makefile",), (Group(("rule",)),)),),
    # A target may have many rules, of which one has a recipe.
    names=(Named(("rule",), ("#targets",), twice=True), Named(("variable_assignment",), ("name",))),
)

FORTRAN = Grammar(
    name="fortran",
    files=("*.f90", "*.F90", "*.f95", "*.F95", "*.f03", "*.f08"),
    wheel="tree_sitter_fortran",
    scopes=(
        # The language wants uses before anything else.
        Scope(("program", "module", "subroutine", "function", "submodule"), (Group(("use_statement",), head=True),)),
        Scope(("internal_procedures",), (Group(("subroutine", "function")),)),
    ),
    names=(
        Named(("use_statement",), ("#module_name",)),
        Named(("subroutine",), ("#subroutine_statement/name",), "procedure"),
        Named(("function",), ("#function_statement/name",), "procedure"),
    ),
    unique=(Unique(("internal_procedures",), ("#subroutine", "#function"), "the procedure"),),
)

_SOLIDITY_MEMBERS = ("state_variable_declaration", "function_definition", "event_definition", "error_declaration",
                     "modifier_definition", "struct_declaration", "enum_declaration", "using_directive")  # fmt: skip

SOLIDITY = Grammar(
    name="solidity",
    files=("*.sol",),
    wheel="tree_sitter_solidity",
    scopes=(
        Scope(("source_file",), (Group(("import_directive",), head=True, tidy=True),
                                 Group(("contract_declaration", "interface_declaration", "library_declaration",
                                        "struct_declaration", "enum_declaration", "function_definition",
                                        "error_declaration")))),
        Scope(("contract_body",), (Group(_SOLIDITY_MEMBERS),)),
        Scope(("enum_body",), (Group(("enum_value",)),), b","),
        Scope(("struct_body",), (Group(("struct_member",)),)),
    ),
    names=(
        Named(("import_directive",)),
        Named(("contract_declaration", "interface_declaration", "library_declaration", "struct_declaration",
               "enum_declaration"), ("name",), "type"),
        Named(("function_definition", "event_definition", "error_declaration", "modifier_definition"),
              # Overloads differ in the types of their parameters.
              ("name", "#parameter/type|#event_parameter/type|#error_parameter/type"), "function"),
        Named(("state_variable_declaration",), ("name",), "variable"),
        Named(("struct_member",), ("name",)),
        Named(("enum_value",)),
    ),
    unique=(
        Unique(("source_file",), ("#import_directive",), "the import"),
        Unique(("contract_body",), ("#function_definition",), "the function"),
        Unique(("contract_body",), ("#state_variable_declaration",), "the variable"),
        Unique(("enum_body",), ("#enum_value",), "the enum member"),
        Unique(("struct_body",), ("#struct_member",), "the field"),
    ),
)  # fmt: skip

DART = Grammar(
    name="dart",
    files=("*.dart",),
    wheel="tree_sitter_dart",
    scopes=(
        Scope(("program",), (Group(("import_or_export",), head=True, tidy=True),
                             Group(("class_definition", "enum_declaration", "mixin_declaration",
                                    "extension_declaration")))),
        Scope(("class_body",), (Group(("declaration",)),)),
        Scope(("enum_body",), (Group(("enum_constant",)),), b","),
    ),
    names=(
        Named(("import_or_export",)),
        Named(("class_definition", "enum_declaration", "mixin_declaration"), ("name",), "type"),
        Named(("enum_constant",), ("name",)),
        Named(("declaration",), ("#initialized_identifier_list/#initialized_identifier/#identifier",), "field"),
    ),
    unique=(
        Unique(("program",), ("#import_or_export",), "the import"),
        Unique(("program",), ("#class_definition", "#enum_declaration", "#mixin_declaration"), "the type"),
        Unique(("enum_body",), ("#enum_constant",), "the enum member"),
        Unique(("class_body",), ("#declaration",), "the field"),
    ),
)  # fmt: skip

DEVICETREE = Grammar(
    name="devicetree",
    files=("*.dts", "*.dtsi", "*.dtso", "*.overlay"),
    wheel="tree_sitter_devicetree",
    # Properties before nodes, as the device tree compiler asks for.
    scopes=(Scope(("node",), (Group(("property",), head=True), Group(("node",)))),),
    names=(Named(("property",), ("name",)), Named(("node",), ("name", "address"))),
)

SYSTEMVERILOG = Grammar(name="systemverilog", files=("*.sv", "*.svh", "*.v", "*.vh"), wheel="tree_sitter_systemverilog")

_SWIFT_MEMBERS = ("property_declaration", "function_declaration", "class_declaration", "protocol_declaration",
                  "init_declaration", "typealias_declaration")  # fmt: skip

SWIFT = Grammar(
    name="swift",
    files=("*.swift",),
    wheel="tree_sitter_swift",
    scopes=(
        Scope(("source_file",), (Group(("import_declaration",), head=True, tidy=True),
                                 Group(("class_declaration", "function_declaration", "protocol_declaration")))),
        Scope(("class_body", "protocol_body"), (Group((*_SWIFT_MEMBERS, "protocol_function_declaration")),)),
        Scope(("enum_class_body",), (Group(("enum_entry",)), Group(_SWIFT_MEMBERS))),
    ),
    names=(
        Named(("import_declaration",)),
        # An extension has the kind and the name of what it extends, and there may be many of one type.
        Named(("class_declaration", "protocol_declaration"), ("name", "declaration_kind"), "type", twice=True),
        Named(("function_declaration", "protocol_function_declaration"), ("name", "#parameter"), "function"),
        Named(("property_declaration",), ("name",), "property"),
        Named(("enum_entry",), ("name",)),
    ),
    unique=(
        Unique(("source_file",), ("#import_declaration",), "the import"),
        Unique(("source_file",), ("#class_declaration", "#protocol_declaration"), "the type", ("name",),
               only="defines-type"),
        Unique(("class_body",), ("#property_declaration",), "the property"),
        Unique(("enum_class_body",), ("#enum_entry",), "the case"),
    ),
)  # fmt: skip

# Without scopes: clauses of one function are tried in their order.
ELIXIR = Grammar(name="elixir", files=("*.ex", "*.exs"), wheel="tree_sitter_elixir")
