"""Protocol buffers."""

from __future__ import annotations

from gitprun.resolvers.base import FileConflict, Refused, Resolved
from gitprun.resolvers.blocks.proto import KIND
from gitprun.resolvers.blocks.proto_renumber import renumber_later
from tests.resolvers.blocks.sides import faults, merged, refusal

BASE = """\
syntax = "proto3";

package shop.v1;

import "a.proto";

option go_package = "shop/v1";

// A thing that is sold.
message Item {
  reserved 2, 9 to 11;
  string name = 1;
  map<string, int32> tags = 3 [deprecated = true]; // old
  oneof kind {
    bool big = 4;
  }
  message Part {
    int32 id = 1;
  }
}

enum Color {
  COLOR_UNSPECIFIED = 0;
  RED = 1;
}

service Shop {
  rpc Find(Item) returns (Item);
  rpc Sell(Item) returns (Item) {
    option (x) = { post: "/sell" };
  }
}
"""


def test_members_go_by_name_and_reserved_numbers_are_a_set() -> None:
    main = (
        BASE.replace("2, 9 to 11;", "2, 9 to 11, 15;")
        .replace("// old\n", "// old\n  int64 price = 5;\n")
        .replace("RED = 1;\n", "RED = 1;\n  BLUE = 2;\n")
        .replace('"a.proto";\n', '"a.proto";\nimport "m.proto";\n')
    )
    unit = (
        BASE.replace("2, 9 to 11;", "2, 9 to 11, 16;")
        .replace("bool big = 4;\n", "bool big = 4;\n    bool small = 6;\n")
        .replace("(Item) returns (Item);\n", "(Item) returns (Item);\n  rpc Drop(Item) returns (Item);\n")
        .replace('"a.proto";\n', '"a.proto";\nimport "b.proto";\n')
    )
    assert merged(KIND, BASE, main, unit) == (
        BASE.replace("2, 9 to 11;", "2, 9 to 11, 15, 16;")
        .replace("// old\n", "// old\n  int64 price = 5;\n")
        .replace("RED = 1;\n", "RED = 1;\n  BLUE = 2;\n")
        .replace('"a.proto";\n', '"a.proto";\nimport "m.proto";\nimport "b.proto";\n')
        .replace("bool big = 4;\n", "bool big = 4;\n    bool small = 6;\n")
        .replace("(Item) returns (Item);\n", "(Item) returns (Item);\n  rpc Drop(Item) returns (Item);\n")
    )


def test_a_number_that_both_took_is_refused() -> None:
    main = BASE.replace("// old\n", "// old\n  int64 price = 5;\n")
    unit = BASE.replace("bool big = 4;\n", "bool big = 4;\n    bool small = 5;\n")
    assert refusal(KIND, BASE, main, unit) == "field number 5 is taken by both price and small (message Item)"
    main, unit = (BASE.replace("RED = 1;\n", f"RED = 1;\n  {name} = 2;\n") for name in ("BLUE", "PINK"))
    assert refusal(KIND, BASE, main, unit) == "value number 2 is taken by both BLUE and PINK (enum Color)"


def test_a_number_that_the_other_reserved_is_refused() -> None:
    main = BASE.replace("2, 9 to 11;", "2, 9 to 11, 5;")
    unit = BASE.replace("// old\n", "// old\n  int64 price = 5;\n")
    assert refusal(KIND, BASE, main, unit) == "field number 5 of price is reserved (message Item)"


def test_both_reserve_what_they_remove() -> None:
    base = "message A {\n  int32 a = 1;\n  int32 b = 2;\n  int32 c = 3;\n}\n"
    main = "message A {\n  reserved 1;\n  int32 b = 2;\n  int32 c = 3;\n}\n"
    unit = "message A {\n  reserved 3;\n  int32 a = 1;\n  int32 b = 2;\n}\n"
    assert merged(KIND, base, main, unit) == "message A {\n  reserved 1, 3;\n  int32 b = 2;\n}\n"


def test_the_units_field_is_renumbered_only_when_asked_for() -> None:
    base = "message A {\n  reserved 7;\n  int32 a = 1;\n}\n"
    main = "message A {\n  reserved 7;\n  int32 a = 1;\n  int32 m = 2;\n}\n"
    unit = "message A {\n  reserved 7;\n  int32 a = 1;\n  int32 u = 2; // new\n  int32 v = 3;\n}\n"
    answer = renumber_later(FileConflict("a.proto", base.encode(), main.encode(), unit.encode()))
    assert answer == Resolved(
        b"message A {\n  reserved 7;\n  int32 a = 1;\n  int32 m = 2;\n  int32 u = 8; // new\n  int32 v = 3;\n}\n",
        "renumber",
        added=(b"  int32 u = 8; // new", b"  int32 v = 3;"),
    )
    assert renumber_later(FileConflict("a.proto", None, main.encode(), unit.encode())) == Refused(
        "both sides added the file, so no number is the later one"
    )


def test_what_is_wrong_with_a_proto_file() -> None:
    assert faults(KIND, BASE) == ()
    assert faults(KIND, "message A {\n  int32 a = 1;\n  int32 b = 1;\n  int32 a = 2;\n}\n") == (
        "message A has field a twice",
        "field number 1 is taken by both a and b (message A)",
    )
    assert faults(KIND, "enum A {\n  B = 0;\n  C = 0;\n}\n") == ("value number 0 is taken by both B and C (enum A)",)
    assert faults(KIND, "enum A {\n  option allow_alias = true;\n  B = 0;\n  C = 0;\n}\n") == ()
    assert faults(KIND, 'message A {\n  reserved 5 to max;\n  reserved "b";\n  int32 b = 6;\n}\n') == (
        "field number 6 of b is reserved (message A)",
        "field name b is reserved (message A)",
    )
    assert faults(KIND, "message A {\n  int32 b = 1;\n") == ("brackets do not pair up",)
    assert faults(KIND, "message A {\n  int32 b = 1\n}\n") == ("a statement is not ended",)
    assert faults(KIND, "message A {" * 60 + "}" * 60) == ("blocks are nested too deep",)


def test_values_of_two_enums_beside_each_other_share_their_names() -> None:
    one = "enum A {\n  A0 = 0;\n  X = 7;\n}\n\nenum B {\n  B0 = 0;\n  X = 8;\n}\n"
    for text in (one, f"message M {{\n{one}}}\n"):
        assert faults(KIND, text) == ("the value X is in several enums",)
    assert faults(KIND, one.replace("enum B", "message M {\nenum B") + "}\n") == ()
