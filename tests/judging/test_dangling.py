"""What one side took away and a file of the other side needs: each case with the words, and what must pass."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pygit2
import pytest

from gitprun.git.walk import Trees
from gitprun.judging.dangling import find_dangling
from gitprun.judging.judged import Sides, Unchecked
from gitprun.model.names import Oid
from tests.support.landing import land_branches, states
from tests.support.repos import make_repo

Files = Mapping[str, str | None]


def write_tree(repo: pygit2.Repository, files: Mapping[str, str]) -> Oid:
    index = pygit2.Index()
    for path, text in files.items():
        index.add(pygit2.IndexEntry(path, repo.create_blob(text.encode()), pygit2.enums.FileMode.BLOB))
    return Oid(str(index.write_tree(repo)))


def look(tmp_path: Path, base: Mapping[str, str], main: Files, unit: Files) -> list[str]:
    """Look at a merge of two sides that changed different files: what each says a path is, None for removed."""
    repo = pygit2.init_repository(tmp_path, bare=True)
    trees = Trees(repo)
    texts = [
        {path: text for path, text in {**base, **side}.items() if text is not None}
        for side in ({}, main, unit, {**main, **unit})
    ]
    old, one, other, merged = (write_tree(repo, each) for each in texts)
    changes = [{change.path: change for change in trees.compare(old, side)} for side in (one, other)]
    sides = Sides(base=old, main=one, unit=other, by_main=changes[0], by_unit=changes[1])
    found = find_dangling(trees, sides, merged, None)
    assert not isinstance(found, Unchecked)
    return [str(one.suspect) for one in found]


NAMES = {
    "python": (
        {"shop/prices.py": "def net_price(a):\n    return a\n", "shop/cart.py": "x = 1\n"},
        {"shop/prices.py": "def price_without_tax(a):\n    return a\n"},
        {"shop/cart.py": "from shop.prices import net_price\n\nx = net_price(1)\n"},
        'shop/cart.py: main renamed "net_price" to "price_without_tax" in shop/prices.py, and line 1 uses it',
    ),
    "python attribute": (
        {"a/prices.py": "class Prices:\n    def net_price(self):\n        pass\n"},
        {"a/prices.py": "class Prices:\n    def gross(self):\n        pass\n"},
        {"a/new.py": "def total(prices):\n    # net_price\n    return prices.net_price()\n"},
        'a/new.py: main renamed "net_price" to "gross" in a/prices.py, and line 3 uses it',
    ),
    "typescript": (
        {"src/api.ts": "export function fetchUser(id: string) {\n  return id;\n}\n"},
        {"src/api.ts": "export function loadUser(id: string) {\n  return id;\n}\n"},
        {"src/page.tsx": 'import { fetchUser } from "./api";\n\nfetchUser("1");\n'},
        'src/page.tsx: main renamed "fetchUser" to "loadUser" in src/api.ts, and line 1 uses it',
    ),
    "java": (
        {"a/Prices.java": "package a;\n\npublic class Prices {\n    public int netPrice() { return 1; }\n}\n"},
        {"a/Prices.java": "package a;\n\npublic class Prices {\n    public int gross(int x) { return x; }\n}\n"},
        {"a/Cart.java": "package a;\n\nclass Cart {\n    int sum(Prices p) { return p.netPrice(); }\n}\n"},
        'a/Cart.java: main took "netPrice" away in a/Prices.java, and line 4 uses it',
    ),
    "go": (
        {"a/a.go": "package a\n\nfunc openStore() int { return 1 }\n"},
        {"a/a.go": "package a\n\nfunc newStore() int { return 1 }\n"},
        {"a/b.go": "package a\n\nvar x = openStore()\n"},
        'a/b.go: main renamed "openStore" to "newStore" in a/a.go, and line 3 uses it',
    ),
    "rust": (
        {"src/time.rs": "pub fn far_future() -> u64 { 1 }\n"},
        {"src/time.rs": "pub fn distant() -> u64 { 1 }\n"},
        {"src/new.rs": "fn f() -> u64 { crate::time::far_future() }\n"},
        'src/new.rs: main renamed "far_future" to "distant" in src/time.rs, and line 1 uses it',
    ),
    "ruby": (
        {"lib/a.rb": "def deep_merge(x)\n  x\nend\n"},
        {"lib/a.rb": "VERSION = 1\n"},
        {"lib/b.rb": "deep_merge({})\n"},
        'lib/b.rb: main took "deep_merge" away in lib/a.rb, and line 1 uses it',
    ),
    "c#": (
        {"A.cs": "public class A {\n  public int NetPrice() { return 1; }\n}\n"},
        {"A.cs": "public class A {\n}\n"},
        {"B.cs": "class B { int X(A a) => a.NetPrice(); }\n"},
        'B.cs: main took "NetPrice" away in A.cs, and line 1 uses it',
    ),
    "php": (
        {"src/A.php": "<?php\nfunction net_price() { return 1; }\n"},
        {"src/A.php": "<?php\n"},
        {"src/B.php": "<?php\necho net_price();\n"},
        'src/B.php: main took "net_price" away in src/A.php, and line 2 uses it',
    ),
    "a plain word that is taken from there": (
        {"pkg/io.py": "def load(p):\n    return p\n", "pkg/other.py": "def load(p):\n    return p\n"},
        {"pkg/io.py": "def read(p):\n    return p\n"},
        {"app.py": "import os\nfrom pkg.io import (\n    load,\n)\n\nload(1)\n"},
        'app.py: main renamed "load" to "read" in pkg/io.py, and line 3 uses it',
    ),
    "a module at the top": (
        {"store.py": "def load(p):\n    return p\n", "app.py": "x = 1\n"},
        {"store.py": "def read(p):\n    return p\n"},
        {"app.py": "from store import load\n\nx = load(1)\n"},
        'app.py: main renamed "load" to "read" in store.py, and line 1 uses it',
    ),
    "a plain word of a script": (
        {"src/api.ts": "export const load = 1;\n", "src/other.ts": "export const load = 2;\n"},
        {"src/api.ts": "export const read = 1;\n"},
        {"src/page.ts": "import {\n  load,\n} from './api';\n\nload;\n"},
        'src/page.ts: main renamed "load" to "read" in src/api.ts, and line 2 uses it',
    ),
    "c": (
        {"src/a.h": "int open_store(const char *name);\n", "src/a.c": "int open_store(const char *name)\n{\n}\n"},
        {"src/a.h": "int make_store(const char *name);\n", "src/a.c": "int make_store(const char *name)\n{\n}\n"},
        {"src/b.c": '#include "a.h"\n\nint x(void)\n{\n\treturn open_store("a");\n}\n'},
        'src/b.c: main renamed "open_store" to "make_store" in src/a.c, and line 5 uses it',
    ),
    "a macro": (
        {"src/a.h": "#define MOST_ROWS 3\n"},
        {"src/a.h": "#define MOST_LINES 3\n"},
        {"src/b.cpp": '#include "a.h"\n\nint rows[MOST_ROWS];\n'},
        'src/b.cpp: main renamed "MOST_ROWS" to "MOST_LINES" in src/a.h, and line 3 uses it',
    ),
    "swift": (
        {"A.swift": "class SessionManager {}\n"},
        {"A.swift": "class Session {}\n"},
        {"B.swift": "let manager = SessionManager()\n"},
        'B.swift: main renamed "SessionManager" to "Session" in A.swift, and line 1 uses it',
    ),
    "shell": (
        {"lib.sh": "print_usage() {\n  :\n}\n"},
        {"lib.sh": "show_usage() {\n  :\n}\n"},
        {"run.sh": ". ./lib.sh\nprint_usage # as ever\n"},
        'run.sh: main renamed "print_usage" to "show_usage" in lib.sh, and line 2 uses it',
    ),
    "a class with its file": (
        {"src/CausalCell.java": "package a;\nclass CausalCell {}\n"},
        {"src/CausalCell.java": None},
        {"src/B.java": "package a;\nclass B { CausalCell cell; }\n"},
        'src/B.java: main took "CausalCell" away in src/CausalCell.java, and line 2 uses it',
    ),
}


@pytest.mark.parametrize("case", NAMES)
@pytest.mark.parametrize("turned", [False, True])
def test_a_name_ends_here_and_is_used_there(tmp_path: Path, case: str, turned: bool) -> None:
    base, main, unit, said = NAMES[case]
    sides = (unit, main) if turned else (main, unit)
    assert look(tmp_path, base, *sides) == [said.replace(": main", ": unit") if turned else said]


CALLS = {
    "a parameter more": (
        {"shop/tax.py": "def net(a, rate=1):\n    return a\n"},
        {"shop/tax.py": "def net(a, country, rate=1):\n    return a\n"},
        {"shop/cart.py": "from shop.tax import net\n\nx = net(1)\n"},
        'shop/cart.py: main changed what "net" takes in shop/tax.py, and line 3 gives it 1 argument',
    ),
    "a method": (
        {"a.py": "class A:\n    def net(self, a, b):\n        return a\n"},
        {"a.py": "class A:\n    def net(self, a):\n        return a\n"},
        {"b.py": "def f(a):\n    return a.net((1, 2), [3])\n"},
        'b.py: main changed what "net" takes in a.py, and line 2 gives it 2 arguments',
    ),
    "a constructor": (
        {"Cell.java": "class Cell {\n    Cell(int row, int column) {\n    }\n}\n"},
        {"Cell.java": "class Cell {\n    Cell(int row, int column, boolean date) {\n    }\n}\n"},
        {"Row.java": 'class Row {\n    Cell a = new Cell(1, f("a, b"));\n}\n'},
        'Row.java: main changed what "Cell" takes in Cell.java, and line 2 gives it 2 arguments',
    ),
    "an interface": (
        {"A.java": "interface A {\n    Map<A, B> find(Map<A, B> all, int at);\n}\n"},
        {"A.java": "interface A {\n    Map<A, B> find(Map<A, B> all);\n}\n"},
        {"B.java": "class B {\n    int f(A a) { return a.find(new HashMap<A, B>(), 1); }\n}\n"},
        'B.java: main changed what "find" takes in A.java, and line 2 gives it 2 arguments',
    ),
    "typescript": (
        {"tax.ts": "export function net(a: number, b?: Map<string, number>): number {\n  return a;\n}\n"},
        {"tax.ts": "export function net(a: number, c: string, b?: Map<string, number>): number {\n  return a;\n}\n"},
        {"cart.ts": 'import { net } from "./tax";\n\nconst x = net(1);\n'},
        'cart.ts: main changed what "net" takes in tax.ts, and line 3 gives it 1 argument',
    ),
    "c": (
        {"a.c": "int net(int a)\n{\n\treturn a;\n}\n"},
        {"a.c": "int net(int a, int b)\n{\n\treturn a;\n}\n"},
        {"b.c": "int x(void)\n{\n\treturn net(1);\n}\n"},
        'b.c: main changed what "net" takes in a.c, and line 3 gives it 1 argument',
    ),
    "go": (
        {"a.go": "package a\n\nfunc Open(name string) error {\n\treturn nil\n}\n"},
        {"a.go": "package a\n\nfunc Open(ctx Context, name string) error {\n\treturn nil\n}\n"},
        {"b.go": 'package a\n\nvar x = Open("a")\n'},
        'b.go: main changed what "Open" takes in a.go, and line 3 gives it 1 argument',
    ),
    "rust": (
        {"src/a.rs": "impl A {\n    pub fn open(&self, name: &str) {}\n}\n"},
        {"src/a.rs": "impl A {\n    pub fn open(&self, name: &str, how: Mode) {}\n}\n"},
        {"src/b.rs": 'fn f(a: A) { a.open("x, y") }\n'},
        'src/b.rs: main changed what "open" takes in src/a.rs, and line 1 gives it 1 argument',
    ),
    "c#": (
        {"A.cs": "class A {\n  public int Net(int a) { return a; }\n}\n"},
        {"A.cs": "class A {\n  public int Net(int a, int b) { return a; }\n}\n"},
        {"B.cs": "class B {\n  int x = new A().Net(1);\n}\n"},
        'B.cs: main changed what "Net" takes in A.cs, and line 2 gives it 1 argument',
    ),
    "kotlin": (
        {"A.kt": "fun net(a: Int) = a\n"},
        {"A.kt": "fun net(a: Int, b: Int) = a\n"},
        {"B.kt": "val x = net(1)\n"},
        'B.kt: main changed what "net" takes in A.kt, and line 1 gives it 1 argument',
    ),
    "php": (
        {"A.php": "<?php\nfunction net($a) { return $a; }\n"},
        {"A.php": "<?php\nfunction net($a, $b) { return $a; }\n"},
        {"B.php": "<?php\necho net(1);\n"},
        'B.php: main changed what "net" takes in A.php, and line 2 gives it 1 argument',
    ),
    "ruby": (
        {"a.rb": "def net(a)\n  a\nend\n"},
        {"a.rb": "def net(a, b)\n  a\nend\n"},
        {"b.rb": "puts net(1)\n"},
        'b.rb: main changed what "net" takes in a.rb, and line 1 gives it 1 argument',
    ),
    "in the same file": (
        {"a.py": "def net(a):\n    return a\n\n\ndef f():\n    pass\n\n\ndef g():\n    pass\n"},
        {"a.py": "def net(a, b):\n    return a\n\n\ndef f():\n    pass\n\n\ndef g():\n    pass\n"},
        {"b.py": "from a import net\nnet(1)\n"},
        'b.py: main changed what "net" takes in a.py, and line 2 gives it 1 argument',
    ),
}


@pytest.mark.parametrize("case", CALLS)
@pytest.mark.parametrize("turned", [False, True])
def test_a_call_with_as_many_arguments_as_nothing_takes(tmp_path: Path, case: str, turned: bool) -> None:
    base, main, unit, said = CALLS[case]
    sides = (unit, main) if turned else (main, unit)
    assert look(tmp_path, base, *sides) == [said.replace(": main", ": unit") if turned else said]


FILES = {
    "a script": (
        {"src/util.ts": "export const a = 1;\n"},
        {"src/util.ts": None, "src/tools.ts": "export const a = 1;\n"},
        {"src/page.ts": "import { a } from './util';\n"},
        "src/page.ts: line 1 needs src/util.ts, which main moved to src/tools.ts",
    ),
    "the index of a folder": (
        {"src/util/index.js": "export const a = 1;\n"},
        {"src/util/index.js": None},
        {"src/page.js": "const a = require('./util');\n"},
        "src/page.js: line 1 needs src/util/index.js, which main removed",
    ),
    "python": (
        {"shop/old.py": "x = 1\n"},
        {"shop/old.py": None},
        {"shop/new.py": "import os\nfrom .old import x\n"},
        "shop/new.py: line 2 needs shop/old.py, which main removed",
    ),
    "a module of a package": (
        {"src/shop/old.py": "x = 1\n"},
        {"src/shop/old.py": None},
        {"tests/t.py": "from shop import old\n"},
        "tests/t.py: line 1 needs src/shop/old.py, which main removed",
    ),
    "rust": (
        {"src/old.rs": "pub const X: u8 = 1;\n", "src/lib.rs": "\n"},
        {"src/old.rs": None},
        {"src/lib.rs": "mod old;\n"},
        "src/lib.rs: line 1 needs src/old.rs, which main removed",
    ),
    "go": (
        {"old/a.go": "package old\n"},
        {"old/a.go": None},
        {"b.go": 'package b\n\nimport "example.com/me/old"\n'},
        "b.go: line 3 needs old/a.go, which main removed",
    ),
    "a header": (
        {"src/old.h": "#define X 1\n"},
        {"src/old.h": None},
        {"src/b.c": '#include "old.h"\n'},
        "src/b.c: line 1 needs src/old.h, which main removed",
    ),
    "ruby": (
        {"lib/old.rb": "X = 1\n"},
        {"lib/old.rb": None},
        {"lib/b.rb": "require_relative 'old'\n"},
        "lib/b.rb: line 1 needs lib/old.rb, which main removed",
    ),
    "a script of a workflow": (
        {"scripts/deploy.sh": "true\n"},
        {"scripts/deploy.sh": None, "tools/deploy.sh": "false\n"},
        {".github/workflows/ci.yml": "jobs:\n  a:\n    run: bash scripts/deploy.sh --now\n"},
        ".github/workflows/ci.yml: line 3 needs scripts/deploy.sh, which main moved to tools/deploy.sh",
    ),
    "a file of an image": (
        {"conf/app.ini": "[a]\n"},
        {"conf/app.ini": None},
        {"Dockerfile": "FROM x\nCOPY conf/app.ini /etc/\n"},
        "Dockerfile: line 2 needs conf/app.ini, which main removed",
    ),
    "a link": (
        {"docs/use.md": "# Use\n"},
        {"docs/use.md": None},
        {"docs/index.md": "See [use](use.md).\n"},
        "docs/index.md: line 1 needs docs/use.md, which main removed",
    ),
    "a style": (
        {"css/old.css": "a {}\n"},
        {"css/old.css": None},
        {"css/b.css": "@import url('./old.css');\n"},
        "css/b.css: line 1 needs css/old.css, which main removed",
    ),
}


@pytest.mark.parametrize("case", FILES)
def test_a_file_goes_here_and_is_needed_there(tmp_path: Path, case: str) -> None:
    base, main, unit, said = FILES[case]
    assert look(tmp_path, base, main, unit) == [said]


KEYS = {
    "json": (
        {"web/locales/en.json": '{"cart": {"total": "Total", "tax": "Tax"}}\n'},
        {"web/locales/en.json": '{"cart": {"sum": "Total", "tax": "Tax"}}\n'},
        {"web/page.tsx": "const a = 1;\n<p>{t('cart.total')}</p>;\n"},
        'web/page.tsx: main took "cart.total" away in web/locales/en.json, and line 2 uses it',
    ),
    "yaml, with the language at the top": (
        {"config/locales/en.yml": "en:\n  cart:\n    total: Total\n    tax: Tax\n"},
        {"config/locales/en.yml": "en:\n  basket:\n    total: Total\n  cart:\n    tax: Tax\n"},
        {"app/views/a.erb": '<%= t("cart.total") %>\n'},
        'app/views/a.erb: main took "cart.total" away in config/locales/en.yml, and line 1 uses it',
    ),
    "properties": (
        {"src/i18n/en.properties": "cart.total = Total\n"},
        {"src/i18n/en.properties": "cart.sum = Total\n"},
        {"src/A.java": 'class A { String a = text("cart.total"); }\n'},
        'src/A.java: main took "cart.total" away in src/i18n/en.properties, and line 1 uses it',
    ),
}


@pytest.mark.parametrize("case", KEYS)
def test_a_key_of_a_translation(tmp_path: Path, case: str) -> None:
    base, main, unit, said = KEYS[case]
    assert look(tmp_path, base, main, unit) == [said]


FINE = {
    "another file has the key": (
        {"locales/en.json": '{"cart": {"total": "Total"}}\n', "locales/more/en.json": '{"cart": {"total": "Total"}}\n'},
        {"locales/en.json": "{}\n"},
        {"page.ts": "t('cart.total');\n"},
    ),
    "the key was asked for before": (
        {"locales/en.json": '{"cart": {"total": "Total"}}\n', "page.ts": "t('cart.total');\n"},
        {"locales/en.json": "{}\n"},
        {"page.ts": "t('cart.total', 1);\n"},
    ),
    "no folder of translations": (
        {"data/en.json": '{"cart": {"total": "Total"}}\n'},
        {"data/en.json": "{}\n"},
        {"page.ts": "t('cart.total');\n"},
    ),
    "a file that cannot be read": (
        {"locales/en.json": '{"cart": {"total": "Total"}\n'},
        {"locales/en.json": "{}\n"},
        {"page.ts": "t('cart.total');\n"},
    ),
    "the name is still declared": (
        {"a.py": "def net_price():\n    pass\n", "b.py": "def net_price():\n    pass\n"},
        {"a.py": "\n"},
        {"c.py": "from b import net_price\n"},
    ),
    "a plain word that is taken from elsewhere": (
        {"a.py": "def load():\n    pass\n", "b.py": "def load():\n    pass\n"},
        {"a.py": "\n"},
        {"c.py": "from b import load\n\nload()\n"},
    ),
    "a file that gives what another one has": (
        {"pkg/api.ts": "export const load = 1;\n", "pkg/impl.ts": "export const save = 1;\n"},
        {"pkg/api.ts": "export * from './impl';\n", "pkg/impl.ts": "export const save = 1;\nexport const load = 1;\n"},
        {"page.ts": "import { load } from './pkg/api';\n\nload;\n"},
    ),
    "a word of many libraries": (
        {"a.py": "def size():\n    pass\n"},
        {"a.py": "\n"},
        {"c.py": "x = y.size()\n"},
    ),
    "main still uses it": (
        {"a.py": "def net_price():\n    pass\n", "b.py": "x.net_price()\n"},
        {"a.py": "\n"},
        {"c.py": "y.net_price()\n"},
    ),
    "used in a comment": (
        {"a.py": "def net_price():\n    pass\n"},
        {"a.py": "\n"},
        {"c.py": "# net_price was here\n"},
    ),
    "no use more than before": (
        {"a.py": "def net_price():\n    pass\n", "b.py": "net_price(1)\n"},
        {"a.py": "\n"},
        {"b.py": "net_price(2)\n"},
    ),
    "the other side declares it": (
        {"a.py": "def net_price():\n    pass\n"},
        {"a.py": "\n"},
        {"b.py": "def net_price():\n    pass\n\nnet_price()\n"},
    ),
    "a name of a package": (
        {"web/pages/_document.tsx": "export default class Document {}\n"},
        {"web/pages/_document.tsx": None},
        {"app/doc.tsx": 'import Document, { Html } from "next/document";\n\nclass Mine extends Document {}\n'},
    ),
    "another language": (
        {"a.py": "def net_price():\n    pass\n"},
        {"a.py": "\n"},
        {"c.ts": "netPrice.net_price();\n"},
    ),
    "a module of the standard library": (
        {"json.py": "def dumps():\n    pass\n"},
        {"json.py": None},
        {"app.py": "import json\nfrom json import dumps\n"},
    ),
    "a script became another": (
        {"src/util.js": "export const a = 1;\n"},
        {"src/util.js": None, "src/util.ts": "export const a = 1;\n"},
        {"src/page.ts": "import { a } from './util';\n"},
    ),
    "a module became a package": (
        {"shop/old.py": "x = 1\n"},
        {"shop/old.py": None, "shop/old/__init__.py": "x = 1\n"},
        {"shop/new.py": "from shop.old import x\n"},
    ),
    "prose tells of what is gone": (
        {"scripts/deploy.sh": "true\n"},
        {"scripts/deploy.sh": None},
        {"CHANGELOG.md": "- scripts/deploy.sh is gone\n"},
    ),
    "of the standard library": (
        {"json/a.go": "package json\n"},
        {"json/a.go": None},
        {"b.go": 'package b\n\nimport "encoding/json"\n'},
    ),
    "a file moved with the use in it": (
        {"a.py": "def net_price():\n    pass\n", "b/c.py": "net_price = 1\n", "x.py": "net_price()\n"},
        {"a.py": "\n", "x.py": "\n", "b/c.py": "x = 1\n"},
        {"b/c.py": None, "d/c.py": "net_price = 1\ny = 2\n"},
    ),
    "a parameter that may be left out": (
        {"a.py": "def net(a):\n    return a\n"},
        {"a.py": "def net(a, b=1, *more, **named):\n    return a\n"},
        {"b.py": "net(1)\nnet(1, 2)\n"},
    ),
    "another of the name takes it": (
        {"a.py": "def net(a):\n    return a\n", "c.py": "def net(a):\n    return a\n"},
        {"a.py": "def net(a, b):\n    return a\n"},
        {"b.py": "net(1)\n"},
    ),
    "it is called so elsewhere": (
        {"a.py": "def net(a):\n    return a\n", "c.py": "x.net(1)\n"},
        {"a.py": "def net(a, b):\n    return a\n"},
        {"b.py": "y.net(1)\n"},
    ),
    "arguments that are spread": (
        {"a.py": "def net(a):\n    return a\n"},
        {"a.py": "def net(a, b):\n    return a\n"},
        {"b.py": "net(*both)\n"},
    ),
    "a call that nothing took before": (
        {"a.py": "def net(a):\n    return a\n"},
        {"a.py": "def net(a, b):\n    return a\n"},
        {"b.py": "net(1, 2, 3)\n"},
    ),
    "only the body is another": (
        {"a.py": "def net(a):\n    return a\n"},
        {"a.py": "def net(a):\n    return 1\n"},
        {"b.py": "net(1)\n"},
    ),
    "a library has it now": (
        {"lib/x/json/Types.java": "package x.json;\nclass Types {}\n", "A.java": "import x.json.Types;\nTypes t;\n"},
        {"lib/x/json/Types.java": None},
        {"B.java": "import x.json.Types;\nTypes t;\n"},
    ),
    "the line was there": (
        {"src/old.h": "#define X 1\n", "src/b.c": '#include "old.h"\n'},
        {"src/old.h": None},
        {"src/b.c": '#include "old.h"\nint x;\n'},
    ),
}


@pytest.mark.parametrize("case", FINE)
def test_what_says_nothing(tmp_path: Path, case: str) -> None:
    assert look(tmp_path, *FINE[case]) == []


def test_an_object_that_is_not_there_is_said(tmp_path: Path) -> None:
    repo = pygit2.init_repository(tmp_path, bare=True)
    trees = Trees(repo)
    trees_of = [write_tree(repo, files) for files in ({"a.py": "def a_name():\n    1\n"}, {"a.py": "2\n"})]
    lost = repo.create_blob(b"a_name\n")
    index = pygit2.Index()
    index.add(pygit2.IndexEntry("b.py", lost, pygit2.enums.FileMode.BLOB))
    unit = Oid(str(index.write_tree(repo)))
    (tmp_path / "objects" / str(lost)[:2] / str(lost)[2:]).unlink()
    changes = [{one.path: one for one in trees.compare(trees_of[0], side)} for side in (trees_of[1], unit)]
    sides = Sides(base=trees_of[0], main=trees_of[1], unit=unit, by_main=changes[0], by_unit=changes[1])
    fresh = Trees(pygit2.Repository(str(tmp_path)))
    assert find_dangling(fresh, sides, unit, None) == Unchecked(
        "the merge", "names of other files: not checked: an object is not there"
    )


def test_nothing_is_fetched_into_a_partial_clone(tmp_path: Path) -> None:
    repo = pygit2.init_repository(tmp_path, bare=True)
    (tmp_path / "objects" / "pack" / "pack-1.promisor").write_text("")
    trees = Trees(repo)
    tree = write_tree(repo, {"a.py": "1\n"})
    sides = Sides(base=tree, main=tree, unit=tree, by_main={}, by_unit={})
    assert find_dangling(trees, sides, tree, tmp_path / "prun") == Unchecked(
        "the merge", "names of other files: not checked in a partial clone"
    )


def test_a_landing_holds_it_and_lets_it_pass_by_name(tmp_path: Path) -> None:
    repo = make_repo(tmp_path / "repo", prices_dot_py="def net_price():\n    return 1\n")
    repo.switch("topic", new=True)
    repo.commit("topic", cart_dot_py="from prices import net_price\n")
    repo.switch("main")
    repo.commit("main", prices_dot_py="def gross_price():\n    return 1\n")
    report = land_branches(repo, "topic")
    said = 'main renamed "net_price" to "gross_price" in prices.py, and line 1 uses it'
    assert (states(report), report.items[0].reason) == ({"topic": "suspect"}, f"cart.py: {said}")
    assert states(land_branches(repo, "topic", allow_suspect=("cart.py",), no_verify=True)) == {"topic": "landed"}
