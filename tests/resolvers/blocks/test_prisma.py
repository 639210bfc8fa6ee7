"""Prisma schemas."""

from __future__ import annotations

from gitprun.resolvers.blocks.prisma import KIND
from tests.resolvers.blocks.sides import faults, merged, refusal

BASE = """\
generator client {
  provider = "prisma-client-js"
}

// ---- people ----

/// Somebody who signs in.
model User {
  id    Int    @id
  email String @unique

  @@index([email])
}

enum Role {
  ADMIN
  USER
}
"""


def test_both_add_a_field_to_one_model_and_a_model_at_the_end() -> None:
    main = BASE.replace("@unique\n", "@unique\n  name  String\n") + "\nmodel Post {\n  id Int @id\n}\n"
    unit = BASE.replace("@unique\n", "@unique\n  age   Int\n") + "\n/// A word.\nmodel Tag {\n  id Int @id\n}\n"
    assert (
        merged(KIND, BASE, main, unit)
        == """\
generator client {
  provider = "prisma-client-js"
}

// ---- people ----

/// Somebody who signs in.
model User {
  id    Int    @id
  email String @unique
  name  String
  age   Int

  @@index([email])
}

enum Role {
  ADMIN
  USER
}

model Post {
  id Int @id
}

/// A word.
model Tag {
  id Int @id
}
"""
    )


def test_columns_that_stood_aligned_on_all_sides_are_aligned_again() -> None:
    base = "model A {\n  id Int @id\n}\n"
    main = "model A {\n  id        Int    @id\n  createdAt String // when\n}\n"
    unit = "model A {\n  id   Int     @id\n  size Decimal @default(0)\n}\n"
    assert merged(KIND, base, main, unit) == (
        "model A {\n  id        Int     @id\n  createdAt String  // when\n  size      Decimal @default(0)\n}\n"
    )


def test_a_side_that_only_aligned_changed_nothing() -> None:
    base = "model A {\n  id Int @id\n  name String\n}\n\nmodel B {\n  id Int @id\n  x String\n}\n"
    main = "model A {\n  id   Int    @id\n  name String\n}\n\nmodel B {\n  id Int    @id\n  x  String\n}\n"
    unit = "model A {\n  id Int @id\n}\n\nmodel B {\n  id Int @id\n  x String?\n}\n"
    assert merged(KIND, base, main, unit) == (
        "model A {\n  id   Int    @id\n}\n\nmodel B {\n  id Int    @id\n  x String?\n}\n"
    )


def test_attributes_are_a_set_and_enum_values_go_by_name() -> None:
    main = BASE.replace("  @@index([email])\n", "  @@index([email])\n  @@index([id])\n").replace(
        "  USER\n", "  USER\n  BOT\n"
    )
    unit = BASE.replace("  @@index([email])\n", '  @@map("users")\n').replace("  ADMIN\n", "")
    assert merged(KIND, BASE, main, unit) == BASE.replace(
        "  @@index([email])\n", '  @@map("users")\n  @@index([id])\n'
    ).replace("  ADMIN\n  USER\n", "  USER\n  BOT\n")


def test_an_attribute_may_go_on_over_lines() -> None:
    base = "model A {\n  x Int @relation(\n    fields: [x],\n    references: [id]\n  )\n}\n"
    main = base.replace("}\n", "  y Int\n}\n")
    unit = base.replace("model A {\n", "model A {\n  z Int\n")
    assert merged(KIND, base, main, unit) == (
        "model A {\n  z Int\n  x Int @relation(\n    fields: [x],\n    references: [id]\n  )\n  y Int\n}\n"
    )


def test_both_add_the_same_model() -> None:
    new = "\nmodel Tag {\n  id Int @id\n}\n"
    assert merged(KIND, BASE, BASE.replace("ADMIN", "ROOT") + new, BASE + new) == BASE.replace("ADMIN", "ROOT") + new


def test_a_field_that_both_changed_is_refused() -> None:
    main, unit = BASE.replace("String @unique", "String?"), BASE.replace("String @unique", "Email")
    assert refusal(KIND, BASE, main, unit) == '"field email" is changed on both sides, differently'


def test_a_model_removed_here_and_changed_there_is_refused() -> None:
    main = BASE.replace("enum Role {\n  ADMIN\n  USER\n}\n", "")
    unit = BASE.replace("  USER\n", "  USER\n  BOT\n")
    assert refusal(KIND, BASE, main, unit) == '"enum Role" is removed on main and changed by the unit'
    assert refusal(KIND, BASE, unit, main) == '"enum Role" is removed by the unit and changed on main'


def test_a_field_renamed_in_two_ways_is_refused() -> None:
    main, unit = BASE.replace("email ", "mail  "), BASE.replace("email ", "login ")
    assert refusal(KIND, BASE, main, unit) == '"field email" is replaced on both sides, differently'


def test_one_model_added_twice_is_refused() -> None:
    main, unit = BASE + "\nmodel T {\n  id Int @id\n}\n", BASE + "\nmodel T {\n  id String @id\n}\n"
    assert refusal(KIND, BASE, main, unit) == '"model T" is added on both sides, differently'


def test_line_ends_and_a_missing_last_newline_stay() -> None:
    base = "model A {\r\n  id Int @id\r\n}"
    main, unit = base.replace("@id\r\n", "@id\r\n  a Int\r\n"), base.replace("@id\r\n", "@id\r\n  b Int\r\n")
    assert merged(KIND, base, main, unit) == "model A {\r\n  id Int @id\r\n  a Int\r\n  b Int\r\n}"


def test_both_made_the_schema() -> None:
    main, unit = "model A {\n  id Int @id\n}\n", "model B {\n  id Int @id\n}\n"
    assert merged(KIND, None, main, unit) == "model A {\n  id Int @id\n}\nmodel B {\n  id Int @id\n}\n"


def test_what_is_wrong_with_a_schema() -> None:
    assert faults(KIND, BASE) == ()
    assert faults(KIND, BASE + BASE) == (
        "generator client is defined twice",
        "User is defined twice",
        "Role is defined twice",
    )
    assert faults(KIND, "model A {\n  x Int\n  x Int\n}\nenum B {\n  C\n  C\n}\n") == (
        "model A has field x twice",
        "enum B has value C twice",
    )
    assert faults(KIND, "model A {\n  x Int\nmodel B {\n  y Int\n}\n") == (
        "model A is not closed or holds a line that is no part of it",
    )
    assert faults(KIND, "model A {\n  x Int\n}\n}\n") == ("there is a line outside of every block",)
    assert faults(KIND, "model A {\n  x Int\n\n  @@index([x, y(sort: Desc)])\n}\n") == (
        "model A lists y, which is no field of it",
    )


def test_what_is_added_above_a_field_that_the_other_side_renames_stays_above() -> None:
    base = "model A {\n  a Int\n  b Int\n}\n"
    main, unit = base.replace("b Int", "c Int"), base.replace("  b Int", "  n Int\n  b Int")
    assert merged(KIND, base, main, unit) == "model A {\n  a Int\n  n Int\n  c Int\n}\n"
    assert merged(KIND, base, unit, main) == "model A {\n  a Int\n  n Int\n  c Int\n}\n"


def test_a_comment_over_lines_travels_with_its_model() -> None:
    base = "model A {\n  a Int\n}\n"
    main = base + "\n/**\n * B, {\n\n * or so\n */\nmodel B {\n  /* no */\n  b Int\n}\n"
    unit = base + "\nmodel C {\n  c Int\n}\n"
    assert merged(KIND, base, main, unit) == main + "\nmodel C {\n  c Int\n}\n"
