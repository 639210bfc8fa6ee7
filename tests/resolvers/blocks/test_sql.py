"""SQL scripts."""

from __future__ import annotations

import pytest

from gitprun.resolvers.blocks.sql import KIND
from tests.resolvers.blocks.sides import faults, merged, refusal

BASE = """\
-- People; who they are
CREATE TABLE users (
  id serial PRIMARY KEY, -- the key; not more
  name varchar(10) DEFAULT ';),' NOT NULL,
  CONSTRAINT users_name UNIQUE (name)
);

INSERT INTO colors (id, name) VALUES
  (1, 'red'),
  (2, 'blue');

CREATE FUNCTION f() RETURNS int AS $$
  SELECT 1; SELECT 2;
$$ LANGUAGE sql;
"""


def test_columns_go_by_name_and_commas_are_repaired() -> None:
    main = BASE.replace("UNIQUE (name)\n", "UNIQUE (name),\n  age int\n").replace("'blue')", "'blue'),\n  (3, 'green')")
    unit = BASE.replace("UNIQUE (name)\n", "UNIQUE (name),\n  mail text -- where\n").replace(
        "(2, 'blue')", "(2, 'navy')"
    )
    assert merged(KIND, BASE, main, unit) == BASE.replace(
        "UNIQUE (name)\n", "UNIQUE (name),\n  age int,\n  mail text -- where\n"
    ).replace("(2, 'blue')", "(2, 'navy'),\n  (3, 'green')")


def test_both_add_rows_of_their_own() -> None:
    main, unit = (BASE.replace("'blue')", f"'blue'),\n  ({new})") for new in ("3, 'green'", "4, 'pink'"))
    assert merged(KIND, BASE, main, unit) == BASE.replace("'blue')", "'blue'),\n  (3, 'green'),\n  (4, 'pink')")
    unit = BASE.replace("'blue')", "'blue'),\n  (3, 'pink')")
    assert refusal(KIND, BASE, main, unit) == '"row 3" is added on both sides, differently'


def test_independent_statements_at_the_end_are_united() -> None:
    main = BASE + "\nCREATE TABLE posts (\n  id int\n);\nCREATE INDEX posts_id ON posts (id);\n"
    unit = BASE + "\nCREATE VIEW names AS SELECT name FROM users;\n"
    assert merged(KIND, BASE, main, unit) == main + "\nCREATE VIEW names AS SELECT name FROM users;\n"


@pytest.mark.parametrize(
    ("main", "unit", "reason"),
    [
        (
            "CREATE TABLE posts (id int);\n",
            "CREATE VIEW v AS SELECT * FROM posts;\n",
            "one side names posts, which the other changes at the same place",
        ),
        (
            "CREATE TABLE posts (id int);\n",
            "ALTER TABLE users ADD x int;\n",
            "both sides change something at one place and the order of statement counts",
        ),
        ("CREATE TABLE t (id int);\n", "CREATE TABLE T (id text);\n", '"table t" is added on both sides, differently'),
    ],
)
def test_statements_that_depend_on_each_other_are_refused(main: str, unit: str, reason: str) -> None:
    assert refusal(KIND, BASE, BASE + main, BASE + unit) == reason


def test_single_rows_go_by_id() -> None:
    base = "INSERT INTO t VALUES (1, 'a');\n"
    main, unit = base + "INSERT INTO t VALUES (2, 'b');\n", base + "INSERT INTO t VALUES (3, 'c');\n"
    assert merged(KIND, base, main, unit) == main + "INSERT INTO t VALUES (3, 'c');\n"


def test_a_table_on_one_line() -> None:
    base = "CREATE TABLE t (a int, b int);\n"
    main, unit = "CREATE TABLE t (a int, b int, c int);\n", "CREATE TABLE t (a text, b int, d int);\n"
    assert merged(KIND, base, main, unit) == "CREATE TABLE t (a text, b int, c int, d int);\n"


def test_commas_that_lead_are_not_touched() -> None:
    base = "CREATE TABLE t (\n  a int\n, b int\n);\n"
    main, unit = base.replace("b int\n", "b int\n, c int\n"), base.replace("b int\n", "b int\n, d int\n")
    assert refusal(KIND, base, main, unit) == '"table t" is changed on both sides, differently'


def test_procedures_and_client_programs_are_refused() -> None:
    for more in (
        "CREATE TRIGGER x AFTER INSERT ON t BEGIN\n  DELETE FROM t;\nEND;\n",
        "DELIMITER //\n",
        "COPY t FROM stdin;\n1\n\\.\n",
    ):
        assert refusal(KIND, more, more + "SELECT 1;\n", more + "SELECT 2;\n").startswith(
            "the base's version cannot be read: it holds"
        )
        assert faults(KIND, more) == ()


def test_commands_of_psql_stand_by_themselves() -> None:
    base = "\\echo it's on \\quit\nCREATE TABLE t (\n  a int\n);\n"
    main, unit = base.replace("a int", "a int,\n  b int"), base.replace("a int", "a int,\n  c int")
    assert merged(KIND, base, main, unit) == base.replace("a int", "a int,\n  b int,\n  c int")


def test_what_is_wrong_with_a_script() -> None:
    assert faults(KIND, BASE) == ()
    assert faults(KIND, BASE + BASE) == ("table users is made twice",)
    assert faults(KIND, BASE + "DROP TABLE users;\n" + BASE) == ()
    assert faults(KIND, "CREATE TABLE t (\n  a int,\n  A text\n);\n") == ("table t has column a twice",)
    assert faults(KIND, "CREATE TABLE t (\n  a int\n;\n") == ("brackets do not pair up",)
    assert faults(KIND, "SELECT 'a;\n") == ("a quote is not closed",)
