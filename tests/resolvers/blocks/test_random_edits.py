"""Random edits on both sides of every kind of block file: nothing lost, nothing back, the same either way round."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gitprun.resolvers.base import FileConflict, Kind, Resolved
from gitprun.resolvers.blocks import dockerfile, makefile, prisma, proto, rails, sql
from tests.resolvers.blocks.sides import Model, check_merge, sides

NAMES = ["id", "name", "age", "mail", "city", "zip", "note"]


PIECES = [
    *(
        "{",
        "}\n",
        "(",
        ")",
        ";",
        "'",
        '"',
        "\\\n",
        "\\",
        "\n",
        "\r\n",
        "\t",
        ":",
        "=",
        ",",
        "\0",
        "é",
        "$$",
        " a",
        "b = 1",
    ),
    *("# c\n", "// d\n", "/* ", "*/", "model A {\n", "message M {\n", "FROM x\n", "RUN a \\\n", "CMD z\n", "<<E\n"),
    *("CREATE TABLE t (", "INSERT INTO t VALUES (1)", "t.string", "ActiveRecord::Schema.define(version: 1) do\n"),
    *(
        'create_table "a" do |t|\n',
        "end\n",
        "ifdef A\n",
        "endif\n",
        "a: b\n",
        "\tcc\n",
        ".PHONY: a b\n",
        "reserved 1, 2;",
    ),
]


def write_prisma(model: Model) -> str:
    blocks = [
        f"model {block} {{\n" + "".join(f"  {value.format(name=name)}\n" for name, value in entries.items()) + "}\n"
        for block, entries in model.items()
    ]
    return "\n".join(blocks)


def read_prisma(text: str) -> Model:
    model: Model = {}
    for block, body in re.findall(r"^model (\w+) \{\n(.*?)^\}\n", text, re.DOTALL | re.MULTILINE):
        assert block not in model
        model[block] = {}
        for entry, name in re.findall(r"((?:^  ///.*\n)?^  (\w+) .*\n)", body, re.MULTILINE):
            assert name not in model[block]
            model[block][name] = entry[2:-1].replace(f"{name} ", "{name} ", 1)
    return model


@given(sides(["User", "Post", "Tag", "Org"], NAMES, ["{name} Int", "{name} String?", "/// why\n  {name} Int"]))
def test_prisma(versions: tuple[Model, Model, Model]) -> None:
    check_merge(prisma.KIND, versions, write_prisma, read_prisma)


def write_proto(model: Model) -> str:
    numbers = {name: at + 1 for at, name in enumerate(NAMES)}
    blocks = [
        f"message {block} {{\n"
        + "".join(f"  {value.format(name=name, number=numbers[name])}\n" for name, value in entries.items())
        + "}\n"
        for block, entries in model.items()
    ]
    return 'syntax = "proto3";\n\n' + "\n".join(blocks)


def read_proto(text: str) -> Model:
    model: Model = {}
    for block, body in re.findall(r"^message (\w+) \{\n(.*?)^\}\n", text, re.DOTALL | re.MULTILINE):
        assert block not in model
        model[block] = {}
        for entry, name, number in re.findall(r"((?:^  //.*\n)?^  .*?(\w+) = (\d);.*\n)", body, re.MULTILINE):
            assert name not in model[block]
            found = entry[2:-1].replace(f" {name} = {number}", " {name} = {number}", 1)
            model[block][name] = found
    return model


@given(
    sides(
        ["User", "Post", "Tag", "Org"],
        NAMES,
        ["int32 {name} = {number};", "repeated string {name} = {number}; // many", "// why\n  bool {name} = {number};"],
    )
)
def test_proto(versions: tuple[Model, Model, Model]) -> None:
    check_merge(proto.KIND, versions, write_proto, read_proto)


def write_dockerfile(model: Model) -> str:
    runs = [
        f"RUN {block} install -y \\\n"
        + " \\\n".join(f"    {name}{value}" for name, value in entries.items())
        + ("" if block == "pip" else " \\\n    && true")
        + "\n"
        for block, entries in model.items()
    ]
    return "FROM debian\n" + "WORKDIR /x\n".join(runs) + "CMD serve\n"


def read_dockerfile(text: str) -> Model:
    model: Model = {}
    assert text.startswith("FROM debian\n")
    assert text.endswith("\nCMD serve\n")
    for block, body in re.findall(r"^RUN (\w+) install -y \\\n((?:    .*\n)+)", text, re.MULTILINE):
        assert block not in model
        lines = body.split("\n")[:-1]
        assert [line.endswith(" \\") for line in lines] == [True] * (len(lines) - 1) + [False]
        words = [line.removesuffix(" \\").strip() for line in lines if "&&" not in line]
        pairs = [re.fullmatch(r"(\w+)(.*)", word).groups() for word in words]  # type: ignore[union-attr]
        assert len(dict(pairs)) == len(pairs)
        model[block] = dict(pairs)
    return model


@given(sides(["apt", "pip", "apk"], NAMES, ["", "=1.0", "=2.0"], fixed=True))
def test_dockerfile_lists(versions: tuple[Model, Model, Model]) -> None:
    check_merge(dockerfile.KIND, versions, write_dockerfile, read_dockerfile)


def write_makefile(model: Model) -> str:
    return "".join(
        f"{block} = \\\n" + " \\\n".join(f"  {name}{value}" for name, value in entries.items()) + "\n\n"
        for block, entries in model.items()
    )


def read_makefile(text: str) -> Model:
    model: Model = {}
    for block, body in re.findall(r"^(\w+) = \\\n((?:  .*\n)+)", text, re.MULTILINE):
        assert block not in model
        lines = body.split("\n")[:-1]
        assert [line.endswith(" \\") for line in lines] == [True] * (len(lines) - 1) + [False]
        words = [line.removesuffix(" \\").strip() for line in lines]
        assert len(set(words)) == len(words)
        model[block] = dict.fromkeys(words, "")
    return model


@given(sides(["SRC", "OBJ", "LIB"], NAMES, [""]))
def test_makefile_lists(versions: tuple[Model, Model, Model]) -> None:
    check_merge(makefile.KIND, versions, write_makefile, read_makefile)


def write_sql(model: Model) -> str:
    return "\n".join(
        f"CREATE TABLE {block} (\n" + ",\n".join(f"  {name} {value}" for name, value in entries.items()) + "\n);\n"
        for block, entries in model.items()
    )


def read_sql(text: str) -> Model:
    model: Model = {}
    for block, body in re.findall(r"^CREATE TABLE (\w+) \(\n(.*?)^\);\n", text, re.DOTALL | re.MULTILINE):
        assert block not in model
        lines = body.split("\n")[:-1]
        assert [line.endswith(",") for line in lines] == [True] * (len(lines) - 1) + [False]
        pairs = [line.removesuffix(",").strip().split(" ", 1) for line in lines]
        assert len({name for name, _ in pairs}) == len(pairs)
        model[block] = dict(pairs)  # type: ignore[arg-type]
    return model


@given(sides(["users", "posts", "tags", "orgs"], NAMES, ["int", "varchar(10) NOT NULL", "numeric(4, 2) DEFAULT 1"]))
def test_sql_columns(versions: tuple[Model, Model, Model]) -> None:
    check_merge(sql.KIND, versions, write_sql, read_sql)


def write_rails(model: Model) -> str:
    tables = [
        f'  create_table "{block}", force: :cascade do |t|\n'
        + "".join(f"    t.{value.format(name=name)}\n" for name, value in entries.items())
        + "  end\n"
        for block, entries in model.items()
    ]
    version = 1 + sum(len(f"{block}{entries}") for block, entries in model.items())
    return f"ActiveRecord::Schema[7.1].define(version: {version}) do\n" + "\n".join(tables) + "end\n"


def read_rails(text: str) -> Model:
    model: Model = {}
    table = r'^  create_table "(\w+)", force: :cascade do \|t\|\n(.*?)^  end\n'
    for block, body in re.findall(table, text, re.DOTALL | re.MULTILINE):
        assert block not in model
        model[block] = {}
        for entry, name in re.findall(r'^    t\.(\w+ "(\w+)".*)\n', body, re.MULTILINE):
            assert name not in model[block]
            model[block][name] = entry.replace(f'"{name}"', '"{name}"', 1)
    return model


@given(
    sides(["users", "posts", "tags", "orgs"], NAMES, ['string "{name}"', 'integer "{name}", default: 0, null: false'])
)
def test_rails_schema(versions: tuple[Model, Model, Model]) -> None:
    check_merge(rails.KIND, versions, write_rails, read_rails)


INSTRUCTIONS = ["RUN one", "RUN two a", "RUN three a", "COPY a b", "COPY c d", "ENV E=1", "WORKDIR /w", "USER u"]
STATEMENTS = [f"CREATE TABLE {name} (id int);" for name in "abc"] + ["CREATE INDEX i ON z (a);", "DELETE FROM q;"]


@pytest.mark.parametrize(
    ("kind", "pool", "head", "last"),
    [(dockerfile.KIND, INSTRUCTIONS, "FROM x\n", "CMD z\n"), (sql.KIND, STATEMENTS, "SELECT 0;\n", "SELECT 1;\n")],
    ids=["dockerfile", "sql"],
)
@given(st.data())
def test_order_holds_where_it_counts(kind: Kind, pool: list[str], head: str, last: str, data: st.DataObject) -> None:
    base = data.draw(st.lists(st.sampled_from(pool), max_size=4, unique=True))
    sides = []
    for _ in range(2):
        side = [line for line in base if data.draw(st.integers(0, 4))]
        for new in data.draw(st.lists(st.sampled_from(pool), max_size=2, unique=True)):
            if new not in side:
                side.insert(data.draw(st.integers(0, len(side))), new)
        sides.append(side)
    texts = [(head + "".join(f"{line}\n" for line in lines) + last).encode() for lines in (base, *sides)]
    answer = kind.resolvers[0](FileConflict("x", *texts))
    swapped = kind.resolvers[0](FileConflict("x", texts[0], texts[2], texts[1]))
    assert isinstance(answer, Resolved) == isinstance(swapped, Resolved)
    if isinstance(answer, Resolved):
        found = answer.text.decode().removeprefix(head).removesuffix(last).splitlines()
        added = (set(sides[0]) | set(sides[1])) - set(base)
        assert sorted(found) == sorted(added | set(sides[0]) & set(sides[1]))
        if any([line for line in side if line in base] != [line for line in base if line in side] for side in sides):
            return  # one side moved something, so the other's order does not hold
        for side in sides:
            assert [line for line in found if line in side] == [line for line in side if line in found]


@pytest.mark.parametrize(
    "kind", [prisma.KIND, proto.KIND, dockerfile.KIND, makefile.KIND, sql.KIND, rails.KIND], ids=lambda kind: kind.name
)
@given(st.data())
def test_no_text_raises(kind: Kind, data: st.DataObject) -> None:
    pieces = st.sampled_from(PIECES)
    texts = st.lists(pieces, max_size=12).map("".join).map(str.encode) | st.binary(max_size=30)
    base, main, unit = data.draw(st.none() | texts), data.draw(texts), data.draw(texts)
    kind.resolvers[0](FileConflict("x", base, main, unit))
    kind.faults("x", main)
