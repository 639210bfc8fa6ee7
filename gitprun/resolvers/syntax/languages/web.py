"""PHP, Ruby, Lua, shell, XML, HTML, CSS."""

from __future__ import annotations

from gitprun.resolvers.syntax.rows import Grammar, Group, Named, Scope, Unique

_PHP_TYPES = ("class_declaration", "interface_declaration", "trait_declaration", "enum_declaration")

PHP = Grammar(
    name="php",
    files=("*.php", "*.phtml"),
    wheel="tree_sitter_php",
    maker="language_php",
    scopes=(
        Scope(("program", "compound_statement"), (
            Group(("namespace_use_declaration",), head=True, tidy=True), Group((*_PHP_TYPES, "function_definition")))),
        Scope(("declaration_list", "enum_declaration_list"), (
            Group(("use_declaration", "const_declaration", "property_declaration", "method_declaration",
                "enum_case")),)),
        Scope(("namespace_use_group",), (Group(("namespace_use_clause",), tidy=True),), b","),
        # Only elements with a key: others are numbered by their place.
        Scope(("array_creation_expression",), (Group(("array_element_initializer",), only="paired"),), b","),
        Scope(("class_interface_clause",), (Group(("name", "qualified_name")),), b","),
    ),
    names=(
        Named(("namespace_use_declaration",), (".",), twice=True),
        Named(_PHP_TYPES, ("name",), "type"),
        Named(("function_definition", "method_declaration"), ("name",), "function"),
        Named(("property_declaration",), ("#property_element/name",), "property"),
        Named(("const_declaration",), ("#const_element/^",), "constant"),
        Named(("enum_case",), ("name",)),
        Named(("array_element_initializer",), ("^",)),
        Named(("namespace_use_clause",), (".",), "used"),
    ),
    unique=(
        Unique(("program",), ("#namespace_use_declaration",), "the use", (".",)),
        Unique(("program",), ("#namespace_use_declaration/#namespace_use_clause",), "the use of",
               ("alias|#qualified_name/#name|#name",), only="bound"),
        Unique(("program", "declaration_list"), ("#function_definition", "#method_declaration"), "the function"),
        Unique(("program",), tuple(f"#{kind}" for kind in _PHP_TYPES), "the type"),
        Unique(("declaration_list",), ("#property_declaration",), "the property"),
        Unique(("enum_declaration_list",), ("#enum_case",), "the case"),
        Unique(("array_creation_expression",), ("#array_element_initializer",), "the key", only="paired"),
    ),
)  # fmt: skip

_RUBY_DEFINED = Group(("method", "singleton_method", "class", "module"))
_RUBY_CALLS = Group(("call",), only="registration", alike=True)

RUBY = Grammar(
    name="ruby",
    files=("*.rb", "*.rake", "*.gemspec", "Gemfile", "Rakefile", "Guardfile", "Podfile", "Fastfile"),
    wheel="tree_sitter_ruby",
    scopes=(
        Scope(("program", "body_statement"), (_RUBY_DEFINED, _RUBY_CALLS)),
        Scope(("hash",), (Group(("pair",)),), b","),
    ),
    names=(
        Named(("method",), ("name",), "method"),
        Named(("singleton_method",), ("object", "name"), "method"),
        # A class may be opened many times.
        Named(("class", "module"), ("name",), "type", twice=True),
        Named(("pair",), ("key",)),
        Named(("call",), ("!call",)),
    ),
    unique=(
        Unique(("program", "body_statement"), ("#method", "#singleton_method"), "the method"),
        Unique(("hash",), ("#pair",), "the key"),
    ),
)

LUA = Grammar(
    name="lua",
    files=("*.lua",),
    wheel="tree_sitter_lua",
    scopes=(
        Scope(("chunk",), (Group(("function_declaration",)),)),
        # Fields without a name are numbered by their place.
        Scope(("table_constructor",), (Group(("field",), only="named-field"),), b","),
    ),
    names=(Named(("function_declaration",), ("name",), "function"), Named(("field",), ("name",))),
    unique=(Unique(("chunk",), ("#function_declaration",), "the function"),
            Unique(("table_constructor",), ("#field",), "the key")),
)  # fmt: skip

SHELL = Grammar(
    name="shell",
    files=("*.sh", "*.bash", ".bashrc", ".bash_profile", ".profile"),
    wheel="tree_sitter_bash",
    # Functions only: all other lines of a script are run one after another.
    scopes=(Scope(("program",), (Group(("function_definition",)),)),),
    names=(Named(("function_definition",), ("name",), "function"),),
    unique=(Unique(("program",), ("#function_definition",), "the function"),),
)

XML = Grammar(
    name="xml",
    files=("*.xml", "*.xsd", "*.xsl", "*.xslt", "*.svg", "*.csproj", "*.vbproj", "*.fsproj", "*.props", "*.targets",
           "*.resx", "*.plist", "*.xaml", "*.wsdl", "*.pom"),
    wheel="tree_sitter_xml",
    maker="language_xml",
    # Elements keep their order, for it is what the document says; attributes have none.
    scopes=(Scope(("STag", "EmptyElemTag"), (Group(("Attribute",)),)),),
    names=(Named(("Attribute",), ("#Name",)),),
    atomic=frozenset({"AttValue", "CDSect", "PI", "Comment"}),
    needed=False,
)  # fmt: skip

HTML = Grammar(
    name="html",
    files=("*.html", "*.htm"),
    wheel="tree_sitter_html",
    scopes=(Scope(("start_tag", "self_closing_tag"), (Group(("attribute",)),)),),
    names=(Named(("attribute",), ("#attribute_name",)),),
    unique=(Unique(("start_tag", "self_closing_tag"), ("#attribute",), "the attribute"),),
    atomic=frozenset({"text", "raw_text", "quoted_attribute_value"}),
)

# Without scopes: of two rules, or declarations, that match the later one holds.
CSS = Grammar(name="css", files=("*.css",), wheel="tree_sitter_css")
