"""What stands twice between two brackets, whether or not a grammar is installed."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gitprun.judging.text import Merged, merge_text
from gitprun.resolvers.base import Refused
from gitprun.resolvers.blocks.bracketed import ROWS
from gitprun.resolvers.blocks.brackets import find_doubles
from gitprun.resolvers.proof import audit

BY_NAME = {row.name: row for row in ROWS}
FAULTS = (
    ("graphql", "type Tag { id: ID! }\ntype Tag { name: String }\n", ('the type "Tag" is there twice',)),
    ("graphql", "scalar Date\ninput Date { a: Int }\n", ('the type "Date" is there twice',)),
    ("graphql", "directive @a on FIELD\ndirective @a on A\n", ('the definition "directive @a" is there twice',)),
    ("graphql", "type A {\n  id: ID\n  f(id: ID, n: Int = 1): A\n  id: Int\n}\n",
     ('the field "id" of "A" is there twice',)),
    ("graphql", "type A { f(a: Int, a: Int): A }\n", ('the argument "a" of "f" is there twice',)),
    ("graphql", "enum E {\n  ONE @old\n  TWO\n  ONE\n}\n", ('the value "ONE" of "E" is there twice',)),
    ("graphql", "union U = A | B | A\nunion V = A\n", ('the member "U.A" is there twice',)),
    ("graphql", "type A { a: Int }\nextend type A { b: Int }\n", ()),
    ("graphql", "type A { a: Int }\nextend type A { a: Int }\n", ('the field "a" of "A" is there twice',)),
    ("graphql", "directive @a on FIELD\ntype a { b: Int }\n", ()),
    ("graphql", '# type A { b: Int }\n"""type A is here"""\ntype A { b: Int }\n', ()),
    ("graphql", "query A { a { id } b { id } }\n", ()),
    ("graphql", "type A", ()),
    ("hcl", 'resource "a" "b" {\n}\nresource "a" "b" {\n}\n', ('the block "resource "a" "b"" is there twice',)),
    ("hcl", 'variable "a" {}\noutput "a" {}\n', ()),
    ("hcl", 'provider "a" {\n  alias = "x"\n}\nprovider "a" {\n}\n', ()),
    ("hcl", 'r "a" "b" {\n  c = 1\n  d {\n    c = 1\n  }\n  d {\n    c = 2\n  }\n  c = 2\n}\n',
     ('the attribute "c" of "r "a" "b"" is there twice',)),
    ("hcl", 'r "a" "b" {\n  dynamic "x" {\n  }\n  dynamic "x" {\n  }\n  lifecycle {\n  }\n  lifecycle {\n  }\n}\n',
     ('the block "lifecycle" of "r "a" "b"" is there twice',)),
    ("hcl", 'locals {\n  a = { "k" = 1, k = 2 }\n}\n', ('the attribute "k" of "a =" is there twice',)),
    ("hcl", 'locals {\n  a = [for k, v in m : k if v == 1]\n  b = "${f("a")}" == "}" ? 1 : 2\n  # a = 1\n}\n', ()),
    ("hcl", "a = <<-EOT\n  a = 1\n  }\n  EOT\nb = 1\n", ()),
    ("hcl", "a = 1\nb = 2\na = 3\n", ('the attribute "a" is there twice',)),
    ("nix", "{ a, b, a }: { }\n", ('the argument "a" is there twice',)),
    ("nix", "{ a.b = 1; a.c = 2; a.b = 3; }\n", ('the attribute "a.b" is there twice',)),
    ("nix", "let a = 1; inherit (x) b c; c = 2; in a == b\n", ('the attribute "c" is there twice',)),
    ("nix", "{ a = { b = 1; }; c = { b = 1; }; d = ''\n  '''a = 1; ''${ a = 1;\n''; }\n", ()),
    ("css", ".a { color: red; margin: 0; color: blue }\n", ('the property "color" of ".a" is there twice',)),
    ("css", ".a { color: red }\n.a { color: red }\n@media print { .a { color: red } }\n", ()),
    ("css", ".a { background: url(a;b:c); content: '; b: c'; b: url(//x) } /* .a { b: c; */\n", ()),
    ("css", "@keyframes a { to { b: c } }\n@-webkit-keyframes a { to { b: c } }\n", ()),
    ("scss", ".a { // b: c;\n  &:hover { b: c; }\n  b: c;\n  a:hover { b: c; }\n  b: d;\n}\n",
     ('the property "b" of ".a" is there twice',)),
    ("scss", "$a: 1;\n@mixin m($b) { c: d; }\n$a: 2;\n@mixin m($c) { c: d; }\n",
     ('the rule "mixin m" is there twice', 'the variable "$a" is there twice')),
    ("scss", "$m: (a: 1, b: 2, a: 3);\n", ('the key "a" of "$m:" is there twice',)),
    ("devicetree", "/ {\n\ta = <1>;\n\tn@1 {\n\t\ta = <1>;\n\t};\n\ta;\n};\n",
     ('the property "a" of "/" is there twice',)),
    ("devicetree", "/ {\n\tn@1 {\n\t};\n\tx: n@1 {\n\t};\n};\n", ('the node "n@1" of "/" is there twice',)),
    ("devicetree", "/ {\n\tx: n@1 {\n\t};\n\tx: n@2 {\n\t};\n};\n", ('the label "x" is there twice',)),
    ("devicetree", "&a {\n\tb = \"c; d\";\n};\n&a {\n\tb = <1>;\n};\n", ()),
    ("css", ".a { b: c;\n", ("the brackets do not pair up",)),
    ("css", ".a { b: c; ]\n", ("the brackets do not pair up",)),
    ("css", "}\n", ("the brackets do not pair up",)),
)  # fmt: skip


@pytest.mark.parametrize(("name", "text", "faults"), FAULTS)
def test_faults(name: str, text: str, faults: tuple[str, ...]) -> None:
    assert find_doubles(BY_NAME[name], "a", text.encode()) == faults


TWICE = (
    ("s.graphql", "type A {{\n  a: A\n{}  b: A\n  c: A\n{}  d: A\n}}\n", "  x: A\n", "  x: B\n",
     'the field "x" of "A" is there twice'),
    ("m.tf", 'a "b" {{\n  a = 1\n{}  b = 1\n  c = 1\n{}  d = 1\n}}\n', "  x = 1\n", "  x = 2\n",
     'the attribute "x" of "a "b"" is there twice'),
    ("m.nix", "{{\n  a = 1;\n{}  b = 1;\n  c = 1;\n{}  d = 1;\n}}\n", "  x = 1;\n", "  x = 2;\n",
     'the attribute "x" is there twice'),
    ("m.css", ":root {{\n  --a: 1;\n{}  --b: 1;\n  --c: 1;\n{}  --d: 1;\n}}\n", "  --x: 1;\n", "  --x: 2;\n",
     'the property "--x" of ":root" is there twice'),
    ("m.less", ".a {{\n  a: 1;\n{}  b: 1;\n  c: 1;\n{}  d: 1;\n}}\n", "  x: 1;\n", "  x: 2;\n",
     'the property "x" of ".a" is there twice'),
    ("m.dts", "/ {{\n\ta = <1>;\n{}\tb = <1>;\n\tc = <1>;\n{}\td = <1>;\n}};\n", "\tx = <1>;\n", "\tx = <2>;\n",
     'the property "x" of "/" is there twice'),
)  # fmt: skip


@pytest.mark.parametrize(("path", "base", "one", "other", "fault"), TWICE)
def test_what_both_sides_added_at_two_places(path: str, base: str, one: str, other: str, fault: str) -> None:
    old, main, unit, both = (base.format(*added).encode() for added in (("", ""), (one, ""), ("", other), (one, other)))
    assert audit(path, old, main, unit, both)[:1] == (fault,)
    assert isinstance(merge_text(old, main, unit, path), Refused)


def test_a_value_for_those_who_do_not_know_the_other_one() -> None:
    base = b".a {\n  a: 1;\n  b: 1;\n  c: 1;\n  d: 1;\n}\n"
    main = base.replace(b"  b: 1;\n", b"  b: 1;\n  b: var(--b);\n")
    unit = base.replace(b"  d: 1;\n", b"  d: 2;\n")
    merged = main.replace(b"  d: 1;\n", b"  d: 2;\n")
    assert merge_text(base, main, unit, "a.css") == Merged(merged)


def test_blocks_that_may_stand_many_times() -> None:
    base = 'a "b" {{\n  a = 1\n{}  b = 1\n  c = 1\n{}  d = 1\n}}\n'
    for block in ("ingress {{\n    p = {}\n  }}", 'provisioner "x" {{\n    p = {}\n  }}', 'dynamic "{}" {{\n  }}'):
        one, other = (f"  {block.format(each)}\n" for each in (1, 2))
        versions = (base.format(*added).encode() for added in (("", ""), (one, ""), ("", other)))
        assert merge_text(*versions, "m.tf") == Merged(base.format(one, other).encode())


@given(st.sampled_from(ROWS), st.text(alphabet="type enum{}()[]:;=,@#\"'$a \n", max_size=200))
def test_any_text_has_faults_or_none(row: object, text: str) -> None:
    found = find_doubles(row, "a", text.encode())  # type: ignore[arg-type]
    assert all(words.endswith((" is there twice", " do not pair up")) for words in found)


NAMES = st.lists(st.sampled_from("abcdef"), max_size=6)


@given(NAMES, NAMES)
def test_each_double_is_named_at_its_own_level(outer: list[str], inner: list[str]) -> None:
    def set_of(names: list[str]) -> str:
        return "".join(f" {name} = 1;" for name in names)

    text = f"{{{set_of(outer)} z = {{{set_of(inner)} }}; }}\n"
    due = {f'the attribute "{name}" is there twice' for name in outer if outer.count(name) > 1}
    due |= {f'the attribute "{name}" of "z =" is there twice' for name in inner if inner.count(name) > 1}
    assert {*find_doubles(BY_NAME["nix"], "a.nix", text.encode())} == due
