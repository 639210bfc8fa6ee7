"""Makefiles."""

from __future__ import annotations

from gitprun.resolvers.blocks.makefile import KIND
from tests.resolvers.blocks.sides import faults, merged, refusal

BASE = """\
CC = gcc
SRCS = \\
\tmain.c \\
\tparse.c

.PHONY: all test

all: prog

# Build it.
prog: $(SRCS)
\t$(CC) -o $@ $^

test: prog
\t./prog --test

ifdef DEBUG
CFLAGS += -g
endif
"""


def test_lists_are_sets_and_rules_go_by_target() -> None:
    main = BASE.replace("\tparse.c\n", "\tparse.c \\\n\tlex.c\n").replace("all test", "all test lint")
    main += "\nlint:\n\tclint $(SRCS)\n"
    unit = BASE.replace("\tparse.c\n", "\tparse.c \\\n\tutil.c\n").replace("all test", "all test docs")
    unit += "\ndocs: prog\n\tdoxygen\n"
    assert (
        merged(KIND, BASE, main, unit)
        == BASE.replace("\tparse.c\n", "\tparse.c \\\n\tlex.c \\\n\tutil.c\n").replace("all test", "all test lint docs")
        + "\nlint:\n\tclint $(SRCS)\n\ndocs: prog\n\tdoxygen\n"
    )


def test_prerequisites_are_united_unless_their_order_counts() -> None:
    assert merged(KIND, BASE, BASE.replace("all: prog", "all: prog a"), BASE.replace("all: prog", "all: prog b")) == (
        BASE.replace("all: prog", "all: prog a b")
    )
    base = "x: a\n\tcat $^\n"
    assert refusal(KIND, base, base.replace("a\n", "a b\n"), base.replace("a\n", "a c\n")) == (
        '"prerequisites" is changed on both sides, differently'
    )


def test_phony_targets_on_a_line_or_on_lines_of_their_own() -> None:
    base = "a:\n\ta\n"
    main, unit = base + "\n.PHONY: m\nm:\n\tm\n", base + "\n.PHONY: u\nu:\n\tu\n"
    assert merged(KIND, base, main, unit) == base + "\n.PHONY: m u\nm:\n\tm\nu:\n\tu\n"
    base = ".PHONY: a\n" + base
    main, unit = (base + f"\n.PHONY: {name}\n{name}:\n\t{name}\n" for name in "mu")
    assert merged(KIND, base, main, unit) == main + "\n.PHONY: u\nu:\n\tu\n"


def test_recipes_keep_their_order() -> None:
    main, unit = BASE.replace("--test\n", "--test\n\tm\n"), BASE.replace("--test\n", "--test\n\tu\n")
    assert refusal(KIND, BASE, main, unit) == "both sides change a recipe at one place"
    unit = BASE.replace("test: prog\n", "test: prog\n\tu\n")
    assert merged(KIND, BASE, main, unit) == BASE.replace(
        "test: prog\n\t./prog --test\n", "test: prog\n\tu\n\t./prog --test\n\tm\n"
    )


def test_a_variable_that_both_changed_is_refused() -> None:
    main, unit = BASE.replace("CC = gcc", "CC = clang"), BASE.replace("CC = gcc", "CC = tcc")
    assert refusal(KIND, BASE, main, unit) == '"variable CC" is changed on both sides, differently'


def test_a_variable_that_uses_the_others_is_refused() -> None:
    main, unit = BASE.replace("gcc\n", "gcc\nA := 1\n"), BASE.replace("gcc\n", "gcc\nB := $(A)\n")
    assert refusal(KIND, BASE, main, unit) == "one side uses the variable A, which the other changes at the same place"


def test_another_default_goal_is_refused() -> None:
    base = "A = 1\n"
    assert refusal(KIND, base, base + "a:\n\ta\n", base + "b:\n\tb\n") == "the default goal would be another one"


def test_what_is_wrong_with_a_makefile() -> None:
    assert faults(KIND, BASE) == ()
    assert faults(KIND, "a: b\n\tx\nb:\n\ty\na:\n\tz\n") == ("target a has two recipes",)
    assert faults(KIND, "a:: b\n\tx\na:: c\n\tz\n%.o: %.c\n\tx\n%.o: %.d\n\ty\na: b\n") == ()
    assert faults(KIND, "ifdef X\na:\n\tx\nelse\na:\n\ty\nendif\n") == ()
