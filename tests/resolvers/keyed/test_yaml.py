"""YAML by key: what is merged and how it reads, what is refused, and what is wrong with a file."""

from __future__ import annotations

import pytest

from gitprun.resolvers.base import FileConflict, Kind, Refused, Resolved
from gitprun.resolvers.proof import prove
from gitprun.resolvers.yaml import KINDS
from gitprun.resolvers.yaml.check import find_yaml_faults
from gitprun.resolvers.yaml.resolve import merge_yaml

YAML: Kind = next(kind for kind in KINDS if kind.name == "yaml")

WORKFLOW = """\
name: CI
on:
  push:
    branches: [main]

jobs:
  test:
    strategy:
      matrix:
        python: ["3.11", "3.12"]
    steps:
      - uses: actions/checkout@v4
      # run them
      - name: Test
        run: |
          pip install -e .
          pytest -q

  # style
  lint:
    steps:
      - run: ruff check .
"""

CLUSTER = """\
apiVersion: apps/v1
kind: Deployment
metadata:
  name: web
spec:
  containers:
    - name: web
      image: web:1
      env:
        - name: A
          value: "1"
      ports:
        - containerPort: 80
---
apiVersion: v1
kind: Service
metadata:
  name: web
spec:
  ports:
  - port: 80
"""


def conflict(base: str | None, main: str, unit: str, path: str = "a.yaml") -> FileConflict:
    return FileConflict(path, None if base is None else base.encode(), main.encode(), unit.encode())


def merged(base: str | None, main: str, unit: str) -> str:
    asked = conflict(base, main, unit)
    found = merge_yaml(asked)
    assert isinstance(found, Resolved), found
    assert prove(asked, found.text, YAML) is None
    return found.text.decode()


def refusal(base: str | None, main: str, unit: str, path: str = "a.yaml") -> str:
    found = merge_yaml(conflict(base, main, unit, path))
    assert isinstance(found, Refused), found
    return found.reason


def test_jobs_by_key_steps_by_name_and_matrix_as_a_set() -> None:
    main = WORKFLOW.replace('"3.12"]', '"3.12", "3.13"]')
    main = main.replace("pytest -q\n", "pytest -q\n      - name: Cover\n        run: coverage\n")
    unit = WORKFLOW.replace("@v4", "@v5").replace('"3.12"]', '"3.12", "pypy"]')
    unit += "\n  docs:\n    steps: []\n"
    assert (
        merged(WORKFLOW, main, unit)
        == """\
name: CI
on:
  push:
    branches: [main]

jobs:
  test:
    strategy:
      matrix:
        python: ["3.11", "3.12", "3.13", "pypy"]
    steps:
      - uses: actions/checkout@v5
      # run them
      - name: Test
        run: |
          pip install -e .
          pytest -q
      - name: Cover
        run: coverage

  # style
  lint:
    steps:
      - run: ruff check .

  docs:
    steps: []
"""
    )


def test_documents_containers_and_ports_of_a_cluster() -> None:
    main = CLUSTER.replace("web:1", "web:2").replace(
        '"1"\n', '"1"\n        - name: B\n          valueFrom:\n            key: b\n'
    )
    main += "---\napiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: c\n"
    unit = CLUSTER.replace('"1"\n', '"1"\n        - name: C\n          value: "3"\n') + "  - port: 443\n"
    assert (
        merged(CLUSTER, main, unit)
        == """\
apiVersion: apps/v1
kind: Deployment
metadata:
  name: web
spec:
  containers:
    - name: web
      image: web:2
      env:
        - name: A
          value: "1"
        - name: B
          valueFrom:
            key: b
        - name: C
          value: "3"
      ports:
        - containerPort: 80
---
apiVersion: v1
kind: Service
metadata:
  name: web
spec:
  ports:
  - port: 80
  - port: 443
---
apiVersion: v1
kind: ConfigMap
metadata:
  name: c
"""
    )


def test_services_volumes_and_variables() -> None:
    base = "services:\n  web:\n    image: web\n    environment:\n      - A=1\n      - B=1\nvolumes:\n  files:\n"
    main = base.replace("A=1", "A=2").replace("  web:\n", "  cache:\n    image: redis\n  web:\n")
    unit = base.replace("B=1", "B=1\n      - C=3").replace("image: web", "image: web:2") + "  more:\n"
    assert merged(base, main, unit) == (
        "services:\n  cache:\n    image: redis\n  web:\n    image: web:2\n    environment:\n"
        "      - A=2\n      - B=1\n      - C=3\nvolumes:\n  files:\n  more:\n"
    )


def test_deletions_hold_and_take_their_comments_along() -> None:
    base = "en:\n  # about a\n  a: A\n  b: B  # two\n\n  # loose\n\n  c: C\n"
    main = base.replace("  # about a\n  a: A\n", "").replace("b: B", "b: BB")
    unit = base.replace("  c: C\n", "  c: C\n  d: |\n    long\n\n    text\n")
    assert merged(base, main, unit) == "en:\n  b: BB  # two\n\n  # loose\n\n  c: C\n  d: |\n    long\n\n    text\n"


def test_a_side_that_only_indents_otherwise() -> None:
    base = "l:\n  - name: a\n    m:\n      - 1\nn: |\n  x\n"
    main = "l:\n- name: a\n  m:\n  - 1\nn: |\n    x\n"
    assert merged(base, main, base.replace("- 1", "- 1\n      - 2\n    k: b")) == (
        "l:\n- name: a\n  m:\n  - 1\n  - 2\n  k: b\nn: |\n    x\n"
    )


def test_an_empty_value_is_filled_by_both_sides() -> None:
    assert merged("a:\n", "a:\n  b: 1\n", "a:\n  c: 2\n") == "a:\n  b: 1\n  c: 2\n"
    assert merged("a: []\n", "a: [x]\n", "a: [y]\n") == "a: [x, y]\n"


def test_a_file_that_both_sides_add() -> None:
    assert merged(None, "a: 1\nb: 2\n", "a: 1\nc:\n  - x\n") == "a: 1\nb: 2\nc:\n  - x\n"


def test_anchors_are_no_trouble_where_nothing_touches_them() -> None:
    base = "x: &x\n  a: 1\ny:\n  <<: *x\n  b: 2\nz: 3\n"
    assert merged(base, base.replace("z: 3", "z: 4"), base + "w: 5\n") == base.replace("z: 3", "z: 4") + "w: 5\n"


def test_ordered_lists_merge_only_apart() -> None:
    base = "args:\n- a\n- b\n- c\n"
    assert merged(base, base.replace("- a", "- a1"), base + "- d\n") == "args:\n- a1\n- b\n- c\n- d\n"


@pytest.mark.parametrize(
    ("end", "bom", "final"), [("\r\n", "", True), ("\n", "\ufeff", True), ("\n", "", False), ("\r\n", "\ufeff", False)]
)
def test_line_ends_byte_order_mark_and_last_line_end_stay(end: str, bom: str, final: bool) -> None:
    def framed(text: str) -> str:
        return bom + (text if final else text.removesuffix("\n")).replace("\n", end)

    base = "a:\n  x: |\n    text\n\n    more\n"
    assert merged(*map(framed, (base, base + "w: 1\n", base + "z: 2\n"))) == framed(base + "w: 1\nz: 2\n")


@pytest.mark.parametrize(
    ("base", "main", "unit", "reason"),
    [
        ("a: 1\n", "a: 2\n", "a: 3\n", '"a" is changed on both sides, differently ("2" and "3")'),
        ("a: 1\n", "a: 1\nb: 2\n", "a: 1\nb: 3\n", '"b" is added on both sides, differently ("2" and "3")'),
        ("a: 1\nb: 1\n", "b: 1\n", "a: 2\nb: 1\n", '"a" is removed on main and changed by the unit'),
        (
            "env:\n  - A=1\n", "env:\n  - A=1\n  - B=1\n", "env:\n  - A=1\n  - B=2\n",
            '"env" is added on both sides, differently ("B=1" and "B=2")',
        ),
        (
            "args: [a]\n", "args: [a, b]\n", "args: [a, c]\n",
            '"args" is changed at one place on both sides, and its order counts',
        ),
        (
            "l:\n- a: 1\n", "l:\n- a: 1\n- b: 1\n", "l:\n- a: 1\n- b: 2\n",
            '"l" is changed at one place on both sides, and its order counts',
        ),
        ("x: &x 1\ny: *x\n", "x: &x 2\ny: *x\n", "x: &x 1\ny: *x\nz: 1\n",
         "what an anchor names or calls up is changed"),
        ("a: |\n  x\n", "a: |\n  y\n", "a: |\n  z\n", '"a" is changed on both sides, differently ("|" and "|")'),
        ("a: 1\n", "a: 1\n---\nb: 1\n", "a: 2\n", "documents are added or removed, and nothing names them"),
        ("a: 1\n", "a: 1\na: 2\n", "a: 1\nb: 2\n", '"a" is there twice'),
        ("a: 1\n", "{{ x }}\n", "a: 1\nb: 2\n", "the file is no plain YAML on main: no plain key"),
        ("a: 1\n", "a:\t1\n", "a: 1\nb: 2\n", "the file is no plain YAML on main: a tab"),
    ],
)  # fmt: skip
def test_refuses_what_is_not_certain(base: str, main: str, unit: str, reason: str) -> None:
    assert refusal(base, main, unit) == reason


def test_refuses_what_it_cannot_read() -> None:
    deep = "".join(" " * i + "a:\n" for i in range(200))
    flow = "a: " + "[" * 3000 + "]" * 3000 + "\n"
    assert refusal("", deep, "b: 1\n") == "the file is no plain YAML on main: nested too deep"
    assert refusal("", flow, "b: 1\n") == "the file is no plain YAML on main: nested too deep"
    assert merge_yaml(FileConflict("a.yml", b"a: 1\n", b"a: \xff\n", b"a: 2\n")) == Refused("the file is not UTF-8")
    assert refusal("a: 1\n", "a: 2\n", "a: 1\nb: 1\n", "x/pnpm-lock.yaml") == ("a lock file is merged by package only")


@pytest.mark.parametrize(
    ("text", "faults"),
    [
        ("a: 1\nb: [x, y]\n", ()),
        ("", ()),
        ("a: 1\nb: 1\na: 2\n", ('duplicate key "a"',)),
        ("x:\n  y:\n    a: 1\n    'a': 2\n", ('duplicate key "x.y.a"',)),
        ("x: {a: 1, a: 2}\n", ('duplicate key "x.a"',)),
        ("? a\n: 1\n? a\n: 2\n", ('duplicate key "a"',)),
        ("a: b: c\n", ("the file is no YAML",)),
        ("a: [x\n", ("the file is no YAML",)),
        ("a: 1\n---\na: 2\n", ()),
        ("x:\n  <<: *a\n  <<: *b\n", ()),
        ("a: !Sub x\nb: !Ref y\n", ()),
        ("on: 1\nyes: 2\n1: 3\n1.0: 4\n", ()),
        ("a: " + "[" * 3000, ()),
        ("a: " + "[" * 3000 + "]" * 3000, ()),
    ],
)
def test_faults(text: str, faults: tuple[str, ...]) -> None:
    assert find_yaml_faults("a.yaml", text.encode()) == faults


def test_a_long_run_of_blanks_is_read_in_one_go() -> None:
    # Found slow once: each blank was tried as the start of the rest.
    base = b"a" + b" " * 100_000 + b"b\n"
    answer = merge_yaml(FileConflict("x.yaml", base, base + b"c: 1\n", base + b"d: 1\n"))
    assert isinstance(answer, Refused)
