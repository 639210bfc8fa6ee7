"""Mends of what ended: an import that is kept, a name put for another one; and what has no mend."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gitprun.resolvers.base import FileConflict
from gitprun.resolvers.cascade import run_cascade
from gitprun.resolvers.liveness import find_ended
from gitprun.resolvers.mending import Mend, find_mend, keep_imports

# Path, base, main, unit, what git makes of them, and the mend: its text and its words (lines are joined by "|").
MENDED = {
    "a function is renamed": (
        *("a.py", "def load(p):|    return p||def main():|    pass|"),
        "def load_text(p):|    return p||def main():|    pass|",
        "def load(p):|    return p||def main():|    return load(1)|",
        "def load_text(p):|    return p||def main():|    return load(1)|",
        "def load_text(p):|    return p||def main():|    return load_text(1)|",
        "load -> load_text in line 5",
    ),
    "an import is renamed": (
        *("a.js", "var setProto = require('setproto');||exports.x = () => {|  return 1;|};|"),
        "var setPrototype = require('setproto');||exports.x = () => {|  return 1;|};|",
        "var setProto = require('setproto');||exports.x = () => {|  setProto(a);|  setProto(b);|  return 1;|};|",
        "var setPrototype = require('setproto');||exports.x = () => {|  setProto(a);|  setProto(b);|};|",
        "var setPrototype = require('setproto');||exports.x = () => {|  setPrototype(a);|  setPrototype(b);|};|",
        "setProto -> setPrototype in lines 4, 5",
    ),
    "an import that was used no more": (
        *("A.java", "package a;||import java.util.List;|import java.util.Map;||class A {|    Map m;|}|"),
        "package a;||import java.util.List;||class A {|}|",
        "package a;||import java.util.List;|import java.util.Map;||class A {|    Map m;|    Map more;|}|",
        "package a;||import java.util.List;||class A {|    Map more;|}|",
        "package a;||import java.util.List;|import java.util.Map;||class A {|    Map more;|}|",
        'keep "import java.util.Map;"',
    ),
    "the only import": (
        *("A.java", "package a;||import java.util.Map;||class A {|    Map m;|}|"),
        "package a;||class A {|}|",
        "package a;||import java.util.Map;||class A {|    Map m;|    Map more;|}|",
        "package a;||class A {|    Map more;|}|",
        "package a;||import java.util.Map;||class A {|    Map more;|}|",
        'keep "import java.util.Map;"',
    ),
    "one of several": (
        *("a.py", "from x import (|    one,|    two,|)|import os||print(one, two)|"),
        "from x import (|    one,|)|import os||print(one)|",
        "from x import (|    one,|    two,|)|import os||print(one, two)|print(two)|",
        "from x import (|    one,|)|import os||print(one)|print(two)|",
        "from x import (|    one,|)|from x import two|import os||print(one)|print(two)|",
        'keep "from x import two"',
    ),
    "one of several in a script": (
        *("a.ts", "import { one, two } from './x';|import b from 'b';||one(two);|"),
        "import { one } from './x';|import b from 'b';||one(1);|",
        "import { one, two } from './x';|import b from 'b';||one(two);|two();|",
        "import { one } from './x';|import b from 'b';||one(1);|two();|",
        "import { one } from './x';|import { two } from './x';|import b from 'b';||one(1);|two();|",
        "keep \"import { two } from './x';\"",
    ),
    "a package that moved": (
        *("A.java", "import com.old.json.Mapper;|import com.old.json.Node;||class A {}|"),
        "import tools.json.Mapper;|import tools.json.Node;||class A {}|",
        "import com.old.json.Mapper;|import com.old.json.Node;|import com.old.json.Util;||class A {}|",
        "import tools.json.Mapper;|import tools.json.Node;|import com.old.json.Util;||class A {}|",
        "import tools.json.Mapper;|import tools.json.Node;|import tools.json.Util;||class A {}|",
        "com.old -> tools in line 3",
    ),
    "lines that end as on Windows": (
        *("A.java", "package a;\r||import java.util.Map;\r|\r|class A {\r|    Map m;\r|}\r|"),
        "package a;\r|\r|class A {\r|}\r|",
        "package a;\r|\r|import java.util.Map;\r|\r|class A {\r|    Map m;\r|    Map more;\r|}\r|",
        "package a;\r|\r|class A {\r|    Map more;\r|}\r|",
        "package a;\r|\r|import java.util.Map;\r|\r|class A {\r|    Map more;\r|}\r|",
        'keep "import java.util.Map;"',
    ),
}
# Nobody can tell by the letter what is meant.
UNMENDED = {
    "an import made lazy": (
        *("a.ts", "import { gen } from './gen';||it('one', () => {|  gen(1);|});|"),
        "it('one', async () => {|  const gen = await load();|  gen(1);|});|",
        "import { gen } from './gen';||it('two', () => {|  gen(2);|});||it('one', () => {|  gen(1);|});|",
        "it('two', () => {|  gen(2);|});||it('one', async () => {|  const gen = await load();|  gen(1);|});|",
    ),
    "more than a name changed": (
        *("a.py", "def load(p):|    return p||def main():|    pass|"),
        "def load_text(p, encoding):|    return p||def main():|    pass|",
        "def load(p):|    return p||def main():|    return load(1)|",
        "def load_text(p, encoding):|    return p||def main():|    return load(1)|",
    ),
    "the other side knows the new name for something else": (
        *("a.py", "def load(p):|    return p||def main():|    pass|"),
        "def read(p):|    return p||def main():|    pass|",
        "def load(p):|    return p||def main():|    read = 1|    return load(read)|",
        "def read(p):|    return p||def main():|    read = 1|    return load(read)|",
    ),
    "the name is in a text on its line": (
        *("a.py", "def load(p):|    return p||def main():|    pass|"),
        "def read(p):|    return p||def main():|    pass|",
        'def load(p):|    return p||def main():|    return load("load")|',
        'def read(p):|    return p||def main():|    return load("load")|',
    ),
    "an import by another name": (
        *("a.py", "from x import one, two as bb||print(one, bb)|"),
        "from x import one||print(one)|",
        "from x import one, two as bb||print(one, bb)|print(bb)|",
        "from x import one||print(one)|print(bb)|",
    ),
}


def texts(*rows: str) -> list[bytes]:
    return [row.replace("|", "\n").encode() for row in rows]


@pytest.mark.parametrize("case", MENDED)
@pytest.mark.parametrize("turned", [False, True])
def test_what_ended_is_mended(case: str, turned: bool) -> None:
    path, *rows, words = MENDED[case]
    base, main, unit, merged, due = texts(*rows)
    sides = (unit, main) if turned else (main, unit)
    assert find_mend(FileConflict(path, base, *sides), merged) == Mend(due, words)


@pytest.mark.parametrize("case", UNMENDED)
def test_what_has_no_mend(case: str) -> None:
    path, *rows = UNMENDED[case]
    base, main, unit, merged = texts(*rows)
    conflict = FileConflict(path, base, main, unit)
    assert find_ended(conflict, merged)
    assert find_mend(conflict, merged) is None


JAVA = (
    "package a;||import java.util.List;|import java.util.Map;||class A {|    Map m;|    int n = 1;|    int k;|}|",
    "package a;||import java.util.List;||class A {|    int n = 2;|    int k;|    int j;|}|",
    "package a;||import java.util.List;|import java.util.Map;||class A {|    Map m;|    int n = 1;|    int k;|"
    "    Map more;|}|",
    "package a;||import java.util.List;|import java.util.Map;||class A {|    int n = 2;|    int k;|    int j;|"
    "    Map more;|}|",
)


def test_in_a_conflict_the_import_is_kept_under_proof() -> None:
    base, main, unit, due = texts(*JAVA)
    tried = run_cascade(FileConflict("A.java", base, main, unit))
    assert [(one.text, one.resolver, one.added) for one in tried.texts] == [
        (due, "syntax, import kept", (b"import java.util.Map;", b"    Map more;"))
    ]
    # Where git has merged it, its own text is what somebody has to look at.
    assert run_cascade(FileConflict("A.java", base, main, unit), keep=False).reason == (
        'java: main took "Map" away, and line 9 uses it'
    )


NAMES = st.sampled_from(["one", "two", "three", "four"])


@given(st.lists(NAMES, min_size=1, max_size=4, unique=True), st.sets(NAMES), st.lists(NAMES, max_size=3))
def test_what_is_kept_is_what_was_there(imported: list[str], dropped: set[str], used: list[str]) -> None:
    """Whatever is dropped here and used there: a mend adds lines of the sides and leaves nothing that ended."""
    head = [f"from x import {name}" for name in imported]
    base = "\n".join([*head, "", "a = 1", ""])
    main = "\n".join([*(row for row, name in zip(head, imported, strict=True) if name not in dropped), "", "a = 1", ""])
    unit = base + "".join(f"print({name})\n" for name in used)
    merged = main + "".join(f"print({name})\n" for name in used)
    conflict = FileConflict("a.py", base.encode(), main.encode(), unit.encode())
    mend = find_mend(conflict, merged.encode())
    lost = {name for name in used if name in dropped and name in imported}
    if mend is None:
        # Without any import around there is no place that is told, unless it stood at the top.
        assert not lost or all(name in dropped for name in imported)
        return
    assert {*mend.text.decode().split("\n")} - {*merged.split("\n")} == {f"from x import {name}" for name in lost}
    assert find_ended(conflict, mend.text) == ()
    kept = keep_imports(conflict, merged.encode())
    assert kept is not None
    assert {*kept.main.decode().split("\n")} - {*main.split("\n")} == {f"from x import {name}" for name in lost}
