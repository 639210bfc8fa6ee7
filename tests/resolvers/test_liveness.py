"""Names that one side took away and the other relies on; values that one side changed throughout."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gitprun.judging.text import Merged, merge_text
from gitprun.resolvers.base import FileConflict, Refused
from gitprun.resolvers.liveness import find_ended, find_swept
from gitprun.resolvers.naming import WORDINGS, wording_of

# By the path: base, main, unit, what git makes of them (lines are joined by "|"), and what is said of it.
ENDED = {
    "a function is renamed": (
        *("a.py", "def load(p):|    return p||def main():|    pass|"),
        "def load_text(p):|    return p||def main():|    pass|",
        "def load(p):|    return p||def main():|    return load(1)|",
        "def load_text(p):|    return p||def main():|    return load(1)|",
        ('main took "load" away, and line 5 uses it',),
    ),
    "an import is renamed": (
        *("a.js", "var setProto = require('setproto');||exports.init = function () {|  return 1;|};|"),
        "var setProto = require('setproto');||exports.init = function () {|  setProto(app);|  return 1;|};|",
        "var setPrototype = require('setproto');||exports.init = function () {|  return 1;|};|",
        "var setPrototype = require('setproto');||exports.init = function () {|  setProto(app);|  return 1;|};|",
        ('unit took "setProto" away, and line 4 uses it',),
    ),
    "an import that was used no more": (
        *("A.java", "import java.util.List;|import java.util.Map;||class A {|    Map m;|    int n;|}|"),
        "import java.util.List;||class A {|    int n;|}|",
        "import java.util.List;|import java.util.Map;||class A {|    Map m;|    int n;|    Map more;|}|",
        "import java.util.List;||class A {|    int n;|    Map more;|}|",
        ('main took "Map" away, and line 5 uses it',),
    ),
    "a package that moved": (
        *("A.java", "import com.old.json.Mapper;|import com.old.json.Node;||class A {}|"),
        "import tools.json.Mapper;|import tools.json.Node;||class A {}|",
        "import com.old.json.Mapper;|import com.old.json.Node;|import com.old.json.Util;||class A {}|",
        "import tools.json.Mapper;|import tools.json.Node;|import com.old.json.Util;||class A {}|",
        ('main imports from "com/old/json" no more, and the other side does anew',),
    ),
    "an import made lazy": (
        *("a.ts", "import { gen } from './gen';||it('one', () => {|  gen(1);|});|"),
        "const load = async () => (await import('./gen')).gen;||it('one', async () => {|  const gen = await load();|"
        "  gen(1);|});|",
        "import { gen } from './gen';||it('two', () => {|  gen(2);|});||it('one', () => {|  gen(1);|});|",
        "const load = async () => (await import('./gen')).gen;||it('two', () => {|  gen(2);|});||"
        "it('one', async () => {|  const gen = await load();|  gen(1);|});|",
        ('main imports "gen" no more, and the other side uses it anew',),
    ),
    "a name behind as": (
        *("a.rs", "use a::b as cd;|use x::y;||fn f() {|}|"),
        "use x::y;||fn f() {|}|",
        "use a::b as cd;|use x::y;||fn f() {|    cd();|}|",
        "use x::y;||fn f() {|    cd();|}|",
        ('main took "cd" away, and line 4 uses it',),
    ),
    "one of several": (
        *("a.py", "from x import (|    one,  # first|    two,|)||print(one, two)|"),
        "from x import (|    one,  # first|)||print(one)|",
        "from x import (|    one,  # first|    two,|)||print(one, two)|print(two)|",
        "from x import (|    one,  # first|)||print(one)|print(two)|",
        ('main took "two" away, and line 6 uses it',),
    ),
}
# Both sides are right, and so is the merge.
ALIVE = {
    "its own file": ("a.py", "def f():|    pass|", "", "def f():|    pass|f()|", "def f():|    pass|f()|"),
    "only in a comment": (*("a.py", "import os|os|"), "pass|", "import os|os|# os|", "pass|# os|"),
    "only in a text": (*("a.py", "import os|os|"), "pass|", 'import os|os|x = "os"|', 'pass|x = "os"|'),
    "of another object": (*("a.py", "import path|path|"), "pass|", "import path|path|os.path|", "pass|os.path|"),
    "as a keyword": (*("a.py", "import path|path|"), "pass|", "import path|path|f(path=1)|", "pass|f(path=1)|"),
    "by an import of everything": (
        *("a.py", "from x import a|a()|", "from x import *|", "from x import a|a()|b(a)|", "from x import *|b(a)|"),
    ),
    "by a builtin": (
        *("a.py", "from six.moves import range|range(1)|", "pass|", "from six.moves import range|range(1)|range(2)|"),
        "pass|range(2)|",
    ),
    "by a parameter": (
        *(
            "a.js",
            "import x from 'x';|x();|",
            "",
            "import x from 'x';|x();|const f = (x) => x;|",
            "const f = (x) => x;|",
        ),
    ),
    "by a loop": (*("a.py", "import x|x|", "pass|", "import x|x|for x in y: x|", "pass|for x in y: x|"),),
    "by another file of the package": (
        *("a_test.go", "func ask() {}||func TestA() { ask() }|", "func TestA() { }|"),
        "func ask() {}||func TestA() { ask() }||func TestB() { ask() }|",
        "func TestA() { }||func TestB() { ask() }|",
    ),
    "the side does use it": (*("a.py", "import os|os.a|", "os.a|", "import os|os.a|os.b|", "os.a|os.b|"),),
    "no language that is known": (*("a.xyz", "import os|os|", "", "import os|os|os|", "os|"),),
}


def texts(row: tuple[str, ...]) -> list[bytes]:
    return [text.replace("|", "\n").encode() for text in row]


@pytest.mark.parametrize("name", ENDED)
def test_what_ended_is_named(name: str) -> None:
    path, *versions, said = ENDED[name]
    base, main, unit, merged = texts(tuple(map(str, versions)))
    found = tuple(one.reason for one in find_ended(FileConflict(str(path), base, main, unit), merged))
    assert found[: len(said)] == said
    turned = tuple(one.reason for one in find_ended(FileConflict(str(path), base, unit, main), merged))
    assert turned[: len(said)] == tuple(
        re.sub(r"^(main|unit)", lambda m: "unit" if m[1] == "main" else "main", words) for words in said
    )


@pytest.mark.parametrize("name", ALIVE)
def test_what_lives_is_not(name: str) -> None:
    path, *versions = ALIVE[name]
    base, main, unit, merged = texts(tuple(versions))
    assert find_ended(FileConflict(path, base, main, unit), merged) == ()


NAMES = st.sampled_from([b"one", b"two", b"three"])
LINES = st.lists(
    st.one_of(
        NAMES.map(lambda n: b"import " + n),
        NAMES.map(lambda n: b"from x import " + n),
        NAMES.map(lambda n: b"def " + n + b"():\n    pass"),
        NAMES.map(lambda n: n + b"()"),
        NAMES.map(lambda n: n + b" = 1"),
    ),
    max_size=8,
).map(lambda lines: b"".join(line + b"\n" for line in lines))


@given(LINES, LINES, LINES)
def test_a_side_by_itself_is_never_called(base: bytes, main: bytes, unit: bytes) -> None:
    conflict = FileConflict("a.py", base, main, unit)
    # What one side wrote whole has nothing that it relied on taken from it by the merge.
    for own in (main, unit):
        if find_ended(FileConflict("a.py", base, own, own), own):
            raise AssertionError(own)
    # What is named is bound by nobody in the merge, and used there.
    for words in (one.reason for one in find_ended(conflict, unit)):
        found = re.fullmatch(r'(main|unit) took "(\w+)" away, and line (\d+) uses it', words)
        if found is not None:
            line = unit.split(b"\n")[int(found[3]) - 1]
            assert line == found[2].encode() + b"()"


@given(st.binary(max_size=300), st.sampled_from([wording.endings[0] for wording in WORDINGS]))
def test_any_text_can_be_read(text: bytes, ending: str) -> None:
    wording = wording_of(f"a.{ending}")
    assert wording is not None
    assert wording.code(text).count(b"\n") == text.count(b"\n")
    assert b"" not in wording.imported(text) | wording.declared(text)
    assert find_ended(FileConflict(f"a.{ending}", text, text, text), text) == ()


@pytest.mark.parametrize("ending", [wording.endings[0] for wording in WORDINGS])
def test_no_text_takes_long(ending: str) -> None:
    # Bounded in steps, not in seconds: a megabyte of what each pattern begins with is read in the test's own limit.
    for part in (
        b"a ",
        b"import ",
        b"from x import ",
        b"public static ",
        b"const {",
        b"|",
        b"a,",
        b"fn a(",
        b'"',
        b"/*",
    ):
        text = part * (100_000 // len(part))
        find_ended(FileConflict(f"a.{ending}", b"import zz\nzz\n", text, b"import zz\nzz\nzz\n"), text + b"zz\n")


SWEPT = {
    "a version": ("a.json", '["1.0"]|["1.0"]|["1.0"]|', '["1.1"]|["1.1"]|["1.1"]|', '"1.0"', "1.0"),
    "a line": (
        "a.go",
        "equal(t, code, mode)|equal(t, code, mode)|",
        "x(int(code))|x(int(code))|",
        *2 * ("equal(t, code, mode)",),
    ),
    "numbers": ("a.json", '{"a": 1,|"b": 2,|', '{"a": "1",|"b": "2",|', '"c": 3,', "number"),
}


@pytest.mark.parametrize("name", SWEPT)
def test_what_was_changed_throughout_is_named(name: str) -> None:
    path, base, main, more, value = SWEPT[name]
    old, new, unit, merged = texts((base, main, base + more + "|", main + more + "|"))
    shown = value if name == "numbers" else f'"{value}"'
    said = f"main changed each {shown}, and the other side wrote one more"
    assert find_swept(FileConflict(path, old, new, unit), merged) == said
    assert find_swept(FileConflict(path, old, unit, new), merged) == said.replace("main", "unit")
    # One that the side left as it was is no custom that it ended.
    kept = new + old.split(b"\n")[0] + b"\n"
    assert find_swept(FileConflict(path, old, kept, unit), merged) is None
    assert find_swept(FileConflict(path, None, new, unit), merged) is None


def test_it_is_refused_and_said() -> None:
    base = b"def load(p):\n    return p\n\n\ndef last():\n    pass\n"
    main, unit = base.replace(b"load", b"read"), base.replace(b"pass", b"return load(1)")
    assert merge_text(base, main, unit, "a.py") == Refused('main took "load" away, and line 6 uses it')
    assert isinstance(merge_text(base, main, base.replace(b"pass", b"return 1"), "a.py"), Merged)
