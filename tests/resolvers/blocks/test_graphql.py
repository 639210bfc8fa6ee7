"""What stands twice in a GraphQL schema, whether or not a grammar is installed."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gitprun.judging.text import merge_text
from gitprun.resolvers.base import Refused
from gitprun.resolvers.blocks.graphql import find_faults

FAULTS = (
    ("type Tag { id: ID! }\ntype Tag { name: String }\n", ("the type Tag is there twice",)),
    ("scalar Date\ninput Date { a: Int }\n", ("the type Date is there twice",)),
    ("directive @a on FIELD\ndirective @a on OBJECT\n", ("the directive @a is there twice",)),
    ("type A {\n  id: ID\n  f(id: ID, n: Int = 1): A\n  id: Int\n}\n", ("A.id is there twice",)),
    ("enum E {\n  ONE @old\n  TWO\n  ONE\n}\n", ("E.ONE is there twice",)),
    ("type A { a: Int }\nextend type A { b: Int }\n", ()),
    ("directive @a on FIELD\ntype a { b: Int }\n", ()),
    ('# type A { b: Int }\n"""type A is here"""\ntype A { b: Int }\n', ()),
    ("query A { a { id } b { id } }\n", ()),
    ("type A", ()),
)


@pytest.mark.parametrize(("text", "faults"), FAULTS)
def test_faults(text: str, faults: tuple[str, ...]) -> None:
    assert find_faults("a.graphql", text.encode()) == faults


def test_a_type_that_both_sides_added_at_two_places() -> None:
    base = "type Query {\n  a: A\n}\n\ntype A {\n  id: ID\n}\n"
    main, unit = f"type Tag {{\n  id: ID\n}}\n\n{base}", f"{base}\ntype Tag {{\n  name: String\n}}\n"
    said = merge_text(base.encode(), main.encode(), unit.encode(), "schema.graphql")
    assert said == Refused("the type Tag is there twice")


@given(st.text(alphabet='type enum{}():@#"a \n', max_size=200))
def test_any_text_has_faults_or_none(text: str) -> None:
    found = find_faults("a.graphql", text.encode())
    assert all(words.endswith(" is there twice") for words in found)
