"""Listed files one by one: what is united, what is refused and why, what is wrong with one version."""

from __future__ import annotations

import pytest

from gitprun.resolvers import listed
from gitprun.resolvers.base import Dropped, FileConflict, Refused, Resolved
from gitprun.resolvers.listed.gomod import higher_version

KINDS = {kind.name: kind for kind in (*listed.KINDS, *listed.FALLBACKS)}
PATHS = {
    "requirements": "requirements.txt",
    "go.mod": "go.mod",
    "go.sum": "go.sum",
    "properties": "messages.properties",
    "ini": "setup.cfg",
    "editorconfig": ".editorconfig",
    "env example": ".env.example",
    "po": "locale/de.po",
    "CODEOWNERS": ".github/CODEOWNERS",
    "gitattributes": ".gitattributes",
    "ignore list": ".gitignore",
    "todo list": "todo.md",
    "changelog": "CHANGELOG.md",
    "barrel": "src/index.ts",
    "R packages": "a.R",
}


def settle(kind: str, base: str | None, main: str, unit: str) -> str:
    """Give the merge, or why there is none."""
    (resolver,) = KINDS[kind].resolvers
    old = None if base is None else base.encode()
    found = resolver(FileConflict(PATHS[kind], old, main.encode(), unit.encode()))
    return found.reason if isinstance(found, Refused) else found.text.decode()


def faults(kind: str, text: str) -> tuple[str, ...]:
    return KINDS[kind].faults(PATHS[kind], text.encode())


MERGED = {
    "a bound each": (
        "requirements",
        "lib>1.0,<3  # why\n",
        "lib>2.0,<3  # why\n",
        "lib>1.0,<4  # why\n",
        "lib>2.0,<4  # why\n",
    ),
    "the same bump": (
        "requirements",
        "a==1\nb==1\n",
        "a==2\nb==1\nc==1\n",
        "a==2\nb==1\nd==1\n",
        "a==2\nb==1\nc==1\nd==1\n",
    ),
    "names are compared as pip does": (
        "requirements",
        "a\n",
        "a\nFoo_Bar==1\n",
        "a\nFoo_Bar==1\nz\n",
        "a\nFoo_Bar==1\nz\n",
    ),
    "a bump beside a removal": ("requirements", "a==1\nb==1\n", "a==2\nb==1\n", "a==1\n", "a==2\n"),
    "sorted stays sorted": (
        "requirements",
        "aiohttp\nflask\nzope\n",
        "aiohttp\nflask\nsix\nzope\n",
        "aiohttp\nflask\njinja2\nzope\n",
        "aiohttp\nflask\njinja2\nsix\nzope\n",
    ),
    "comments travel": (
        "requirements",
        "# web\nflask\n",
        "# web\nflask\n\n# tests\npytest\n",
        "# web\nflask\n# needed by flask\njinja2\n",
        "# web\nflask\n# needed by flask\njinja2\n\n# tests\npytest\n",
    ),
    "both write below one comment": (
        "requirements",
        "# web\nz\n",
        "# web\na\nz\n",
        "# web\nb\nz\n",
        "# web\na\nb\nz\n",
    ),
    "a comment of an entry and an entry above it": (
        "requirements",
        "a\nz\n",
        "a\n# about z\nz\n",
        "a\nm\nz\n",
        "a\nm\n# about z\nz\n",
    ),
    "the origin below belongs to the entry": (
        "requirements",
        "a==1\n    # via b\n",
        "a==1\n    # via b\nc==1\n    # via b\n",
        "a==1\n    # via b\nd==1\n    # via b\n",
        "a==1\n    # via b\nc==1\n    # via b\nd==1\n    # via b\n",
    ),
    "one side sorts": (
        "requirements",
        "c==1\na==1\nb==1\n",
        "a==1\nb==1\nc==1\n",
        "c==1\na==1\nb==2\n",
        "a==1\nb==2\nc==1\n",
    ),
    "version and comment": (
        "go.mod",
        "require (\n\ta.b/c v1.0.0 // indirect\n)\n",
        "require (\n\ta.b/c v1.1.0 // indirect\n)\n",
        "require (\n\ta.b/c v1.0.0\n)\n",
        "require (\n\ta.b/c v1.1.0\n)\n",
    ),
    "both open a second block": (
        "go.mod",
        "module m\n\nrequire (\n\ta.b/c v1.0.0\n)\n",
        "module m\n\nrequire (\n\ta.b/c v1.0.0\n)\n\nrequire (\n\tm.m/m v1.0.0 // indirect\n)\n",
        "module m\n\nrequire (\n\ta.b/c v1.0.0\n)\n\nrequire (\n\tu.u/u v1.0.0 // indirect\n)\n",
        "module m\n\nrequire (\n\ta.b/c v1.0.0\n)\n\n"
        "require (\n\tm.m/m v1.0.0 // indirect\n\tu.u/u v1.0.0 // indirect\n)\n",
    ),
    "sums": (
        "go.sum",
        "a v1 h1:a=\nz v1 h1:z=\n",
        "a v1 h1:a=\nm v1 h1:m=\nz v1 h1:z=\n",
        "a v1 h1:a=\nb v1 h1:b=\nz v1 h1:z=\n",
        "a v1 h1:a=\nb v1 h1:b=\nm v1 h1:m=\nz v1 h1:z=\n",
    ),
    "a continued value": (
        "properties",
        "a=1\nb=2\n",
        "a=1, \\\n  2\nb=2\n",
        "a=1\nb=3\nc=4\n",
        "a=1, \\\n  2\nb=3\nc=4\n",
    ),
    "a section each": (
        "ini",
        "[a]\nx = 1\n",
        "[a]\nx = 1\n\n[m]\nk = 1\n",
        "[a]\nx = 1\ny = 2\n\n[u]\nk = 1\n",
        "[a]\nx = 1\ny = 2\n\n[m]\nk = 1\n\n[u]\nk = 1\n",
    ),
    "the same new section": (
        "ini",
        "[a]\nx = 1\n",
        "[a]\nx = 1\n\n[n]\nm = 1\n",
        "[a]\nx = 1\n\n[n]\nu = 1\n",
        "[a]\nx = 1\n\n[n]\nm = 1\nu = 1\n",
    ),
    "a comment above the next section": (
        "ini",
        "[a]\nx = 1\n\n# about b\n[b]\nx = 1\n",
        "[a]\nx = 1\nm = 1\n\n# about b\n[b]\nx = 1\n",
        "[a]\nx = 1\nu = 1\n\n# about b\n[b]\nx = 1\n",
        "[a]\nx = 1\nm = 1\nu = 1\n\n# about b\n[b]\nx = 1\n",
    ),
    "sections of different keys": (
        "editorconfig",
        "root = true\n",
        "root = true\n\n[*.md]\nmax_line_length = off\n",
        "root = true\n\n[*.go]\nindent_style = tab\n",
        "root = true\n\n[*.md]\nmax_line_length = off\n\n[*.go]\nindent_style = tab\n",
    ),
    "variables": ("env example", "A=1\n", "A=1\nM='x\ny'\n", "A=1\n\nU=\n", "A=1\nM='x\ny'\n\nU=\n"),
    "messages": (
        "po",
        'msgid "a"\nmsgstr ""\n',
        'msgid "a"\nmsgstr "A"\n\nmsgctxt "m"\nmsgid "b"\nmsgstr "M"\n',
        '#: a.py:1\nmsgid "a"\nmsgstr ""\n\nmsgid "b"\nmsgid_plural "bs"\nmsgstr[0] "U"\nmsgstr[1] "Us"\n',
        '#: a.py:1\nmsgid "a"\nmsgstr "A"\n\nmsgctxt "m"\nmsgid "b"\nmsgstr "M"\n\n'
        'msgid "b"\nmsgid_plural "bs"\nmsgstr[0] "U"\nmsgstr[1] "Us"\n',
    ),
    "the later date of the header": (
        "po",
        'msgid ""\nmsgstr ""\n"PO-Revision-Date: 2024-01-01 10:00+0000\\n"\n"Language: de\\n"\n',
        'msgid ""\nmsgstr ""\n"PO-Revision-Date: 2024-05-01 00:30+0200\\n"\n"Language: de\\n"\n',
        'msgid ""\nmsgstr ""\n"PO-Revision-Date: 2024-04-30 23:00+0000\\n"\n"Language: de\\n"\n"X-New: 1\\n"\n',
        'msgid ""\nmsgstr ""\n"PO-Revision-Date: 2024-04-30 23:00+0000\\n"\n"Language: de\\n"\n"X-New: 1\\n"\n',
    ),
    "folders apart": (
        "CODEOWNERS",
        "* @all\n",
        "* @all\n/src/ @m\n",
        "* @all\n/docs/ @u\n",
        "* @all\n/src/ @m\n/docs/ @u\n",
    ),
    "the same owners": (
        "CODEOWNERS",
        "* @all\n",
        "* @all\n*.js @m\n",
        "* @all\n*.ts @m\n",
        "* @all\n*.js @m\n*.ts @m\n",
    ),
    "other attributes": (
        "gitattributes",
        "* text\n",
        "* text\n*.sh eol=lf\n",
        "* text\n*.lock linguist-generated\n",
        "* text\n*.sh eol=lf\n*.lock linguist-generated\n",
    ),
    "patterns": ("ignore list", "a\n!keep\n", "a\n!keep\nm\n", "a\n!keep\nu\nm\n", "a\n!keep\nu\nm\n"),
    "ticks": (
        "todo list",
        "- [ ] a\n- [ ] b\n  more\n",
        "- [x] a\n- [ ] b\n  more\n- [ ] m\n",
        "- [x] a\n- [x] b\n  more\n- [ ] u\n",
        "- [x] a\n- [x] b\n  more\n- [ ] m\n- [ ] u\n",
    ),
    "an item moved to another heading": (
        "todo list",
        "## Now\n\n- [ ] a\n- [ ] b\n\n## Done\n\n- [x] z\n",
        "## Now\n\n- [ ] b\n\n## Done\n\n- [x] z\n- [x] a\n",
        "## Now\n\n- [ ] a\n- [ ] b\n- [ ] u\n\n## Done\n\n- [x] z\n",
        "## Now\n\n- [ ] b\n- [ ] u\n\n## Done\n\n- [x] z\n- [x] a\n",
    ),
    "parts of one item": (
        "todo list",
        "- [ ] a\n- [ ] z\n",
        "- [ ] a\n  - [ ] m\n- [ ] z\n",
        "- [ ] a\n  - [ ] u\n- [ ] z\n",
        "- [ ] a\n  - [ ] m\n  - [ ] u\n- [ ] z\n",
    ),
    "bullets under one heading": (
        "changelog",
        "# Changes\n\n## [Unreleased]\n\n## [1.0.0]\n\n### Fixed\n\n- x\n",
        "# Changes\n\n## [Unreleased]\n\n### Fixed\n\n- m\n  more\n\n## [1.0.0]\n\n### Fixed\n\n- x\n",
        "# Changes\n\n## [Unreleased]\n\n### Added\n\n- n\n\n### Fixed\n\n- u\n\n## [1.0.0]\n\n### Fixed\n\n- x\n",
        "# Changes\n\n## [Unreleased]\n\n### Added\n\n- n\n\n### Fixed\n\n- m\n  more\n- u\n\n## [1.0.0]\n\n"
        "### Fixed\n\n- x\n",
    ),
    "a release on one side": (
        "changelog",
        "## Unreleased\n- x\n\n## 1.0\n- o\n",
        "## Unreleased\n\n## 1.1 - 2024-01-01\n- x\n\n## 1.0\n- o\n",
        "## Unreleased\n- x\n- u\n\n## 1.0\n- o\n",
        "## Unreleased\n- u\n\n## 1.1 - 2024-01-01\n- x\n\n## 1.0\n- o\n",
    ),
    "links at the end": (
        "changelog",
        "## 1.0\n- o\n\n[1.0]: https://x/1.0\n",
        "## 1.2\n- m\n\n## 1.0\n- o\n\n[1.2]: https://x/1.2\n[1.0]: https://x/1.0\n",
        "## 1.1\n- u\n\n## 1.0\n- o\n\n[1.1]: https://x/1.1\n[1.0]: https://x/1.0\n",
        "## 1.2\n- m\n\n## 1.1\n- u\n\n## 1.0\n- o\n\n[1.2]: https://x/1.2\n[1.1]: https://x/1.1\n[1.0]: https://x/1.0\n",
    ),
    "headings with a line below": (
        "changelog",
        "News\n====\n\n1.0\n---\n- o\n",
        "News\n====\n\n1.0\n---\n- o\n- m\n",
        "News\n====\n\n1.0\n---\n- o\n- u\n",
        "News\n====\n\n1.0\n---\n- o\n- m\n- u\n",
    ),
    "exports": (
        "barrel",
        "export * from './a';\n",
        "export * from './a';\nexport { m } from './m';\n",
        "export * from './a';\nexport { U } from './u';\n",
        # One that was there shows no order.
        "export * from './a';\nexport { m } from './m';\nexport { U } from './u';\n",
    ),
    "the same package and one more": (
        "R packages",
        "library(a)\nf <- 1\n",
        "library(a)\nlibrary(b)\nf <- 1\n",
        "library(a)\nlibrary(b)\nlibrary(c)\nf <- 1\n",
        "library(a)\nlibrary(b)\nlibrary(c)\nf <- 1\n",
    ),
}


@pytest.mark.parametrize("name", MERGED)
def test_merged(name: str) -> None:
    kind, base, main, unit, expected = MERGED[name]
    assert settle(kind, base, main, unit) == expected


REFUSED = {
    "two pins": ("requirements", "a==1\n", "a==2\n", "a==3\n", '"a" is changed on both sides, differently'),
    "no room": ("requirements", "a>1,<3\n", "a>2.5,<3\n", "a>1,<2\n", '"a" is changed on both sides, differently'),
    "pinned against bumped": ("requirements", "a==1\n", "", "a==2\n", '"a" is removed on main and changed by the unit'),
    "a marker on one side": (
        "requirements",
        "z\n",
        "a==1\nz\n",
        "a==2; python_version < '3'\nz\n",
        '"a" is required in several ways, and no side has them all',
    ),
    "two indexes": (
        "requirements",
        "a\n",
        "--index-url https://m\na\n",
        "-i https://u\na\n",
        '"--index-url" is added on both sides, differently',
    ),
    "twice on one side": ("requirements", "a\n", "a\nb\nb\n", "a\nc\n", '"b" is there twice'),
    "a comment on what is removed": (
        "requirements",
        "a\nb\n",
        "a\n",
        "a\n# keep, see docs\nb\n",
        '"b" is removed on main and changed by the unit',
    ),
    "two comments": (
        "requirements",
        "# x\na\n",
        "# y\na\n",
        "# z\na\n",
        "both sides changed the same lines, or comments that stand side by side",
    ),
    "two versions of a module": (
        "go.mod",
        "require a.b/c v1.0.0\n",
        "require a.b/c v1.1.0\n",
        "require a.b/c v1.2.0\n",
        '"require a.b/c" is changed on both sides, differently',
    ),
    "two hashes": ("go.sum", "", "a v1 h1:a=\n", "a v1 h1:b=\n", '"a v1" is added on both sides, differently'),
    "a secret is not shown": (
        "env example",
        "TOKEN=\n",
        "TOKEN=tm-secret\n",
        "TOKEN=tu-secret\n",
        '"TOKEN" is changed on both sides, differently',
    ),
    "two keys": ("ini", "[a]\nx=1\n", "[a]\nx=2\n", "[a]\nX=3\n", '"[a].x" is changed on both sides, differently'),
    "a .cfg file of another form": (
        "ini",
        "global\n  daemon\n",
        "global\n  daemon\nlisten m\n",
        "global\n  daemon\nlisten u\n",
        "the base cannot be read: a line before the first section is no key with a value",
    ),
    "sections that overlap": (
        "editorconfig",
        "",
        "[*.md]\nindent_size = 2\n",
        "[*]\nindent_size = 4\n",
        '"[*.md]" and "[*]" are added at one place and their order matters',
    ),
    "two translations": (
        "po",
        'msgid "a"\nmsgstr ""\n',
        'msgid "a"\nmsgstr "m"\n',
        '#, fuzzy\nmsgid "a"\nmsgstr ""\n',
        '"a" is changed on both sides, differently',
    ),
    "patterns that overlap": (
        "CODEOWNERS",
        "* @all\n",
        "* @all\n/docs/ @m\n",
        "* @all\n*.md @u\n",
        '"/docs/" and "*.md" are added at one place and their order matters',
    ),
    "patterns that overlap, with a removal between": (
        "CODEOWNERS",
        "* @all\n/old/ @o\n",
        "* @all\n/docs/ @m\n",
        "* @all\n/old/ @o\n*.md @u\n",
        '"/docs/" and "*.md" are added at one place and their order matters',
    ),
    "two owners": (
        "CODEOWNERS",
        "* @all\n",
        "* @all\n/docs/ @m\n",
        "* @all\n/docs/ @u\n",
        '"/docs/" is added on both sides, differently',
    ),
    "a negation": (
        "ignore list",
        "a\n",
        "a\n!a/keep\n",
        "a\nu\n",
        'both sides changed the list and "!a/keep" makes its order matter',
    ),
    "numbered items": (
        "todo list",
        "1. a\n",
        "1. a\n2. m\n",
        "1. a\n2. u\n",
        'both sides changed the list and "m" makes its order matter',
    ),
    "ticked against removed": (
        "todo list",
        "- [ ] a\n- b\n",
        "- [x] a\n- b\n",
        "- b\n",
        '"a" is removed by the unit and changed on main',
    ),
    "one bullet edited twice": (
        "changelog",
        "## 1.0\n- x\n",
        "## 1.0\n- xm\n",
        "## 1.0\n- xu\n",
        "both sides changed the same lines, or comments that stand side by side",
    ),
    "a release of two dates": (
        "changelog",
        "# C\n",
        "# C\n## [1.1] - 2024-01-01\n- m\n",
        "# C\n## [1.1] - 2024-01-02\n- u\n",
        '"# c.## 1.1" is added on both sides, differently',
    ),
    "code without an end": (
        "changelog",
        "",
        "```\n- m\n",
        "- u\n",
        "main cannot be read: a block of code or a comment has no end",
    ),
    "more than exports": (
        "barrel",
        "",
        "export * from './m';\nstart();\n",
        "export * from './u';\n",
        "main cannot be read: a line is neither an export nor an import on one line",
    ),
    "a name from two files": (
        "barrel",
        "",
        "export { x } from './m';\n",
        "export { x } from './u';\n",
        '"export x" is exported twice',
    ),
    "code of R": (
        "R packages",
        "library(a)\nf <- 1\n",
        "library(a)\nlibrary(b)\nf <- 1\n",
        "library(a)\nlibrary(b)\nf <- 2\n",
        "the sides changed more than the packages that are attached",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refused(name: str) -> None:
    kind, base, main, unit, reason = REFUSED[name]
    assert settle(kind, base, main, unit) == reason


@pytest.mark.parametrize(
    ("kind", "text", "found"),
    [
        ("requirements", "a==1\nA==2\n", ('"a" is there twice',)),
        ("requirements", "a==1; python_version<'3'\na==2; python_version>='3'\n-r x\n-r x\n", ()),
        ("go.mod", "require a.b/c v1\nrequire (\n\ta.b/c v2\n)\n", ('"require a.b/c" is there twice',)),
        ("go.mod", "retract v1\nretract v1\n", ()),
        ("properties", "a=1\na : 2\n", ('"a" is there twice',)),
        ("ini", "[a]\nx=1\n[b]\nx=1\n", ()),
        ("ini", "[a]\nx=1\nx=2\n", ('"[a].x" is there twice',)),
        ("env example", "A=1\nexport A=2\n", ('"A" is there twice',)),
        ("po", 'msgid "a"\nmsgstr ""\n\nmsgid "a"\nmsgstr "b"\n', ('"a" is there twice',)),
        ("po", 'msgid "a"\nmsgstr ""\n\n#~ msgid "a"\n#~ msgstr "b"\n', ()),
        ("CODEOWNERS", "a @x\na @y\n", ('"a" is there twice',)),
        ("gitattributes", "a text\na eol=lf\n", ()),
        ("ignore list", "a\na\n", ()),
        ("changelog", "## 1\n### Fixed\n- a\n### Fixed\n- b\n", ('"## 1.### fixed" is there twice',)),
        ("changelog", "## 1\n### Fixed\n## 0\n### Fixed\n", ()),
        ("changelog", "## 1 ##\n## 1#\n## 1\n", ('"## 1" is there twice',)),
        ("changelog", "## 1\n<!--\n# a\n# a\n-->\n## 2\n## 2\n", ('"## 2" is there twice',)),
        ("changelog", "## 1\n```\n# a\n# a\n```\n", ()),
        ("ini", "no section, no key: [\n\t= \n=\n", ()),
    ],
)
def test_faults(kind: str, text: str, found: tuple[str, ...]) -> None:
    assert faults(kind, text) == found
    assert faults(kind, "\ufeff" + text.replace("\n", "\r\n")) == found


def test_a_file_in_a_folder_of_that_name_is_another_kind() -> None:
    (resolver,) = KINDS["changelog"].resolvers
    assert resolver(FileConflict("NEWS/a.md", b"", b"- a\n", b"- b\n")) == Refused(
        "the path is not that of a changelog file"
    )
    assert KINDS["changelog"].faults("NEWS/a.md", b"# a\n# a\n") == ()


def test_namesakes_that_nobody_touched_do_no_harm() -> None:
    base = "[a]\nurl = 1\nurl = 2\n"
    assert settle("ini", base, base + "m = 1\n", base + "u = 1\n") == base + "m = 1\nu = 1\n"
    assert settle("ini", base, base.replace("2", "3"), base.replace("1", "4")) == "[a]\nurl = 4\nurl = 3\n"
    assert settle("ini", base, base.replace("2", "3"), base.replace("2", "4")) == (
        '"url" is there twice and both sides changed it'
    )


def test_the_higher_version_wins_by_policy_and_the_lower_is_named() -> None:
    base = "module m\n\nrequire (\n\ta.b/c v1.0.0\n\tz.z/z v1.0.0\n)\n"
    main = base.replace("c v1.0.0", "c v1.10.0-rc.2").replace("z v1.0.0", "z v1.0.1")
    unit = base.replace("c v1.0.0", "c v1.9.0").replace("z v1.0.0", "z v1.0.2")
    found = higher_version(FileConflict("go.mod", base.encode(), main.encode(), unit.encode()))
    assert found == Resolved(
        b"module m\n\nrequire (\n\ta.b/c v1.10.0-rc.2\n\tz.z/z v1.0.2\n)\n",
        "go.mod",
        (b"\tz.z/z v1.0.2",),
        (Dropped("main", 5, b"\tz.z/z v1.0.1"), Dropped("unit", 4, b"\ta.b/c v1.9.0")),
    )


def test_long_lines_take_no_long_time() -> None:
    space = " " * 100_000
    for name, path in PATHS.items():
        for text in (
            f"a{space}b=1\n",
            f"a{space}@\n",
            f"# a{space}b\n",
            f"---{space}x\n",
            f"export {{a{space}b}} from './a';\n",
        ):
            settle(name, "", text, "b\n")
            assert isinstance(KINDS[name].faults(path, text.encode()), tuple)
