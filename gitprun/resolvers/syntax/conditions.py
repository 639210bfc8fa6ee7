"""Conditions that rows name: what makes a thing free of order where its kind alone does not tell."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from gitprun.resolvers.naming import REPEATED_BLOCKS

if TYPE_CHECKING:
    import tree_sitter

    Condition = Callable[[tree_sitter.Node], bool]

_STRING = re.compile("string")
_CALL = re.compile("call|invocation")
_LITERAL = re.compile(
    r"^(?:string|string_literal|encapsed_string|number|integer|float|true|false|none|null|nil|boolean|char_literal"
    r"|int_literal|number_literal|decimal_integer_literal|interpreted_string_literal|raw_string_literal|integer_literal"
    r"|float_literal|boolean_literal|null_literal|concatenated_string)$"
)
# Said in any order these say something else; they register nothing.
_SAYING = re.compile(
    r"^(?:print|println|printf|fprintf|log|debug|info|warn|warning|error|trace|fatal|write|writeln|echo|puts|say|emit"
    r"|assert\w*|expect|require|push|pop|append|raise|throw|exit|eval|exec|execute|sleep|send|open|close|next|set|sort)$",
    re.IGNORECASE,
)
# Said of anything, these register it.
_REGISTERING = re.compile(
    r"register\w*|include_router|add_(?:command|handler|resource|router|typer|url_rule|view)|mount", re.IGNORECASE
)
# What is called by its bare name and takes a name to register something under.
_BARE = re.compile(
    "test|it|describe|context|suite|specify|scenario|feature|gem|resources|resource|get|post|put|patch|delete|path|load"
    r"|register\w*|route"
)
# These register the name itself; all others need something to register under it.
_ONE_WORD = frozenset({"gem", "resources", "resource", "load"})
_CONSTANT = re.compile(rb"[A-Z][A-Z0-9_]+")
_EXPORTS = re.compile(rb"(?:module\.)?exports(?:\.\w+)?")
_USES = frozenset({"use_declaration", "namespace_use_declaration"})
_LEAVING = re.compile(r"(?:break|return|throw|continue|raise|goto)")


def _parts(node: tree_sitter.Node) -> list[tree_sitter.Node]:
    return [child for child in node.named_children if "comment" not in child.type]


def find_call(node: tree_sitter.Node) -> tree_sitter.Node | None:
    """Find the call that a statement is; None when it is anything else."""
    if _CALL.search(node.type) and "argument" not in node.type:
        return node
    inner = _parts(node)
    return find_call(inner[0]) if len(inner) == 1 and "statement" in node.type else None


def call_words(call: tree_sitter.Node) -> tuple[str, str] | None:
    """Return the callee and the first argument of a call; None when they are no plain words."""
    arguments = call.child_by_field_name("arguments")
    if arguments is None:
        return None
    given = _parts(arguments)
    first = given[0] if given else None
    # PHP and C# wrap each argument in a node of its own.
    if first is not None and first.type == "argument" and len(_parts(first)) == 1:
        first = _parts(first)[0]
    if first is None:
        return None
    text, start = call.text or b"", call.start_byte
    callee = text[: arguments.start_byte - start].decode("utf-8", "replace")
    # A callee that is computed (a chain of calls, an element of a list) may be another one each time.
    if any(mark in callee for mark in "({["):
        return None
    callee = "".join(callee.split())
    # A variable is no name that could be compared; only words that say so register under one (include_router(api)).
    named = _STRING.search(first.type) is not None or first.type == "simple_symbol"
    if not named and not _REGISTERING.fullmatch(re.split(r"\W+", callee)[-1]):
        return None
    return callee, b" ".join((first.text or b"").split()).decode("utf-8", "replace")


# Names that stand for many: /users/:id, /files/*, /users/{id}, <int:id>, ^/a(b)?$.
_PATTERN = re.compile(r"/:|[*{<(^\[]")


def is_registration(node: tree_sitter.Node) -> bool:
    """Check whether a statement only registers something under a name: ``queue.register("x", ...)``."""
    call = find_call(node)
    words = None if call is None else call_words(call)
    if call is None or words is None:
        return False
    callee = words[0]
    if _PATTERN.search(words[1]):
        # Of two that match the same the first one wins: their order counts.
        return False
    last = re.split(r"\W+", callee)[-1]
    arguments = call.child_by_field_name("arguments")
    if callee != last and _REGISTERING.fullmatch(last):
        return True
    block = call.child_by_field_name("block")
    if _SAYING.match(last) or arguments is None:
        return False
    # With one argument nothing is registered under it: it is said, or run.
    if len(_parts(arguments)) + (block is not None) < 2 and callee not in _ONE_WORD:
        return False
    return callee != last or _BARE.fullmatch(last) is not None


def registered(node: tree_sitter.Node) -> str:
    """Return the callee and the name of a registration as one word; empty for anything else."""
    call = find_call(node)
    words = call_words(call) if call is not None and is_registration(node) else None
    return "" if words is None else " ".join(words)


def is_literal_value(node: tree_sitter.Node) -> bool:
    """Check whether an assignment or a constant gives a literal, which no order can change."""
    value = node
    for name in ("right", "value"):
        found = value.child_by_field_name(name)
        if found is not None:
            value = found
            break
    else:
        # A declaration or a statement may wrap the assignment.
        inner = _parts(node)
        return (
            len(inner) == 1 and inner[0].type != node.type and "assign" in inner[0].type and is_literal_value(inner[0])
        )
    return _LITERAL.match(value.type) is not None


def is_registering(node: tree_sitter.Node) -> bool:
    """Check whether a block consists of registrations only."""
    inner = _parts(node)
    # An empty block shows nothing of what it is for.
    return bool(inner) and all(is_registration(child) for child in inner)


def leaves(node: tree_sitter.Node) -> bool:
    """Check whether a case of a switch never falls into the next one and is no default."""
    inner = _parts(node)
    # A default stays where somebody put it, most often last: new cases belong above it.
    if "default" in node.type or (node.text or b"").startswith(b"default"):
        return False
    # A case may wrap its statements in braces.
    while inner and inner[-1].type in ("block", "statement_block", "compound_statement"):
        inner = _parts(inner[-1])
    return bool(inner) and _LEAVING.match(inner[-1].type) is not None


def is_plain_arm(node: tree_sitter.Node) -> bool:
    """Check whether an arm matches one literal or one path, without a guard."""
    pattern = node.child_by_field_name("pattern")
    inner = _parts(node)
    pattern = pattern or (inner[0] if inner else None)
    if pattern is None or any("guard" in child.type for child in inner):
        return False
    words = (pattern.text or b"").decode("utf-8", "replace")
    # One literal or one path: a bare name or "_" matches everything, and hides each arm below it.
    return re.fullmatch(r"\"[^\"\\]*\"|'[^'\\]*'|-?\d+|[A-Za-z_]\w*(?:(?:::|\.)\w+)+", words) is not None


def is_paired(node: tree_sitter.Node) -> bool:
    """Check whether an element of an array has a key."""
    return any(child.type == "=>" for child in node.children)


def is_named_call(node: tree_sitter.Node) -> bool:
    """Check whether a statement is a call with a ``name`` argument: a target of a build file."""
    call = find_call(node)
    arguments = None if call is None else call.child_by_field_name("arguments")
    if arguments is None:
        return False
    named = [child.child_by_field_name("name") for child in _parts(arguments)]
    return any(name is not None and name.text == b"name" for name in named)


def is_load(node: tree_sitter.Node) -> bool:
    """Check whether a statement loads names from another build file."""
    call = find_call(node)
    return call is not None and (call.text or b"").startswith((b"load(", b"load ("))


def is_no_init(node: tree_sitter.Node) -> bool:
    """Check whether a Go name may be defined only once, as all but ``init`` and ``_``."""
    return node.text not in (b"init", b"_")


def has_no_condition(node: tree_sitter.Node) -> bool:
    """Check whether a Rust item is there under all conditions."""
    above = node.prev_named_sibling
    while above is not None and (above.type == "attribute_item" or "comment" in above.type):
        if b"cfg" in (above.text or b""):
            return False
        above = above.prev_named_sibling
    return True


def is_derive(node: tree_sitter.Node) -> bool:
    """Check whether words in brackets are what a Rust type derives."""
    parent = node.parent
    return parent is not None and parent.type == "attribute" and (parent.text or b"").startswith(b"derive")


def is_labelled(node: tree_sitter.Node) -> bool:
    """Check whether a block has a label of its own, and is known by it."""
    first = node.named_children[0].text or b"" if node.named_children else b""
    return first.decode("utf-8", "replace") not in REPEATED_BLOCKS and any(
        "string" in child.type for child in node.named_children
    )


def has_name(node: tree_sitter.Node) -> bool:
    """Check whether a field has a name."""
    return node.child_by_field_name("name") is not None


def has_no_body(node: tree_sitter.Node) -> bool:
    """Check whether a module is only named, its text being in another file."""
    return node.child_by_field_name("body") is None


def is_export_list(node: tree_sitter.Node) -> bool:
    """Check whether a list is the value of ``__all__``."""
    parent = node.parent
    left = None if parent is None else parent.child_by_field_name("left")
    return left is not None and left.text == b"__all__"


def is_exported(node: tree_sitter.Node) -> bool:
    """Check whether a text is one of ``__all__``."""
    return node.parent is not None and is_export_list(node.parent)


def is_all(node: tree_sitter.Node) -> bool:
    """Check whether an import or an export is of whatever a module has."""
    return any(child.type in ("*", "wildcard_import") for child in node.children)


def is_exports(node: tree_sitter.Node) -> bool:
    """Check whether what is assigned to is what a module of Node gives away."""
    return _EXPORTS.fullmatch(node.text or b"") is not None


def is_bound(node: tree_sitter.Node) -> bool:
    """Check whether what is used is a name, and there under all conditions."""
    text = node.text or b""
    # Nobody can say such a name, or it is that of the module around.
    if text == b"self" or text.endswith((b"as _", b"*", b"}")):
        return False
    while node.parent is not None and node.type not in _USES:
        node = node.parent
    return has_no_condition(node) and not (node.text or b"").startswith((b"use function", b"use const"))


def is_class_body(node: tree_sitter.Node) -> bool:
    """Check whether a block is the body of a class."""
    return node.parent is not None and "class" in node.parent.type


def is_literal(node: tree_sitter.Node) -> bool:
    """Check whether an expression is a literal."""
    return _LITERAL.match(node.type) is not None


def is_constant(node: tree_sitter.Node) -> bool:
    """Check whether a name is written as that of a constant."""
    return _CONSTANT.fullmatch(node.text or b"") is not None


def defines_type(node: tree_sitter.Node) -> bool:
    """Check whether a declaration makes a type, rather than extends one."""
    name = node.child_by_field_name("name")
    return name is not None and name.type == "type_identifier"


CONDITIONS: Mapping[str, Condition] = {
    "defines-type": defines_type,
    "constant": is_constant,
    "registration": is_registration,
    "registering": is_registering,
    "literal-value": is_literal_value,
    "literal": is_literal,
    "class-body": is_class_body,
    "leaves": leaves,
    "paired": is_paired,
    "named-call": is_named_call,
    "load": is_load,
    "no-body": has_no_body,
    "derive": is_derive,
    "labelled": is_labelled,
    "named-field": has_name,
    "no-cfg": has_no_condition,
    "not-init": is_no_init,
    "plain-arm": is_plain_arm,
    "export-list": is_export_list,
    "exported": is_exported,
    "all": is_all,
    "exports": is_exports,
    "bound": is_bound,
}

# What a condition asks a node for, as steps of a path; those not named here go by parts of names and by text.
NEEDS: Mapping[str, tuple[str, ...]] = {
    "defines-type": ("name", "#type_identifier"),
    "registration": ("arguments",),
    "registering": ("arguments",),
    "literal-value": ("right", "value"),
    "leaves": ("#break_statement", "#return_statement"),
    "paired": ("#=>",),
    "named-call": ("arguments", "name"),
    "no-body": ("body",),
    "derive": ("#attribute",),
    "named-field": ("name",),
    "no-cfg": ("#attribute_item",),
    "plain-arm": ("pattern",),
    "export-list": ("left",),
    "exported": ("left",),
}
