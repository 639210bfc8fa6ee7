"""Every listed kind against one model: keys with values, edited at random on both sides."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gitprun.resolvers import listed
from gitprun.resolvers.base import FileConflict, Kind, Refused, Resolved

# Each test runs once for each kind, so a part of the usual number of examples is enough for one.
FEW = settings(max_examples=max(6, settings().max_examples // 4))
KEYS = [f"{letter}k{n}" for n, letter in enumerate("mcxahtqbzw")]
JUNK = [
    *("a=1", "[s]", "[t", ")", "require (", "- a", "  - b", "# h", "## h", "", " ", "\\", "x \\", '"', "```", "```py"),
    *("!k", 'msgid ""', 'msgstr ""', '"K: v\\n"', "=", "==", "---", "1. one", "library(x)", "export * from './x'"),
    *("\0", "\xff", "[a]: b", "\t\tdeep", '#~ msgid "x"', "a b c", "//x", "-r x", "a>1,<2", "\r", "<!--", "-->", "<!"),
]
BY_NAME = {kind.name: kind for kind in (*listed.KINDS, *listed.FALLBACKS)}


@dataclass(frozen=True)
class Model:
    """How a kind writes an entry (a line, or lines), its comments, and the file around all."""

    name: str
    path: str
    entry: Callable[[str, int], str]
    comment: str | None = "# about {}"
    head: str = ""
    tail: str = ""
    # A changed value is another line: the lists of plain lines know no change.
    plain: bool = False

    @property
    def kind(self) -> Kind:
        return BY_NAME[self.name]


MODELS = [
    Model("requirements", "requirements.txt", lambda k, v: f"{k}=={v}"),
    Model("requirements", "requirements-dev.txt", lambda k, v: f"{k}=={v} \\\n    --hash=sha256:{k}{v}"),
    Model("go.mod", "go.mod", lambda k, v: f"\texample.org/{k} v1.{v}.0", "\t// about {}", "require (\n", ")\n"),
    Model("go.mod", "go.mod", lambda k, v: f"replace example.org/{k} => ../v{v}", "// about {}"),
    Model("go.sum", "go.sum", lambda k, v: f"example.org/{k} v1.0.0 h1:v{v}=", None),
    Model("properties", "a.properties", lambda k, v: f"{k}=v{v}"),
    Model("ini", "a.ini", lambda k, v: f"{k} = v{v}", "; about {}", "[s]\n"),
    Model("ini", "setup.cfg", lambda k, v: f"[{k}]\nv = v{v}"),
    Model("env example", ".env.example", lambda k, v: f"export {k}='v{v}'"),
    Model("gitconfig", ".gitconfig", lambda k, v: f"\t{k} = v{v}", "\t# about {}", "[core]\n"),
    Model("editorconfig", ".editorconfig", lambda k, v: f"{k} = v{v}", "# about {}", "[*]\n"),
    Model("po", "de.po", lambda k, v: f'#: {k}.py\nmsgid "{k}"\nmsgstr "v{v}"\n', None),
    Model("CODEOWNERS", "CODEOWNERS", lambda k, v: f"/{k}/ @v{v}"),
    Model("gitattributes", ".gitattributes", lambda k, v: f"/{k}/x -text export-ignore=v{v}"),
    Model("ignore list", ".gitignore", lambda k, v: f"{k}.v{v}", plain=True),
    Model("todo list", "todo.md", lambda k, v: f"- [{'x '[v % 2]}] {k}", None, "# To do\n\n"),
    Model("changelog", "CHANGELOG.md", lambda k, v: f"- {k} v{v}", None, "# C\n\n## Unreleased\n\n", plain=True),
    Model("changelog", "NEWS.md", lambda k, v: f"## {k}\n\nprose v{v}", None, "# N\n\n"),
    Model("barrel", "index.ts", lambda k, v: f"export * from './{k}v{v}';", "// about {}", plain=True),
    Model("R packages", "a.R", lambda k, v: f"library({k})"),
]

Entry = tuple[str, int, str]


@st.composite
def versions(draw: st.DrawFn) -> tuple[list[Entry], list[Entry], list[Entry]]:
    """Draw a base and two sides: keys, values (0 to 3) and what stands above (nothing, blank, comment, both)."""
    above = st.sampled_from(["", "", "", "b", "c", "bc"])
    names = draw(st.permutations(KEYS))
    size = draw(st.integers(0, 6))
    if draw(st.booleans()):
        names = sorted(names[:size]) + names[size:]
    base = [(key, 0, draw(above)) for key in names[:size]]
    sides = []
    for _ in range(2):
        side = list(base)
        for _ in range(draw(st.integers(0, 4))):
            act = draw(st.sampled_from(["add", "add", "add", "remove", "change", "move", "comment"]))
            free = [key for key in KEYS if key not in {entry[0] for entry in side}]
            at = draw(st.integers(0, len(side)))
            if act == "add" and free:
                side.insert(at, (draw(st.sampled_from(free)), draw(st.integers(0, 3)), draw(above)))
            elif side:
                key, value, over = side.pop(min(at, len(side) - 1))
                if act == "change":
                    side.insert(at, (key, draw(st.integers(0, 3)), over))
                elif act == "comment":
                    side.insert(at, (key, value, draw(above)))
                elif act == "move":
                    side.insert(draw(st.integers(0, len(side))), (key, value, over))
        sides.append(side)
    return base, sides[0], sides[1]


def write(model: Model, entries: list[Entry]) -> bytes:
    lines: list[str] = []
    for key, value, above in entries:
        if "b" in above:
            lines.append("")
        if "c" in above and model.comment:
            lines.append(model.comment.format(key))
        lines.append(model.entry(key, value))
    body = "\n".join(lines) + ("\n" if lines else "")
    return (model.head + body + model.tail).encode()


def due(model: Model, base: list[Entry], main: list[Entry], unit: list[Entry]) -> dict[str, str] | None:
    """Tell the entries of the merge; None when the sides contradict each other."""
    old, by_main, by_unit = ({key: model.entry(key, value) for key, value, _ in each} for each in (base, main, unit))
    if model.plain:
        old, by_main, by_unit = ({text: text for text in each.values()} for each in (old, by_main, by_unit))
    merged: dict[str, str] = {}
    for key in {**old, **by_main, **by_unit}:
        was, ours, theirs = old.get(key), by_main.get(key), by_unit.get(key)
        if ours != theirs and was not in (ours, theirs):
            return None
        kept = theirs if ours == was else ours
        if kept is not None:
            merged[key] = kept
    return merged


def settle(model: Model, base: bytes | None, main: bytes, unit: bytes) -> Resolved | Refused:
    (resolver,) = model.kind.resolvers
    return resolver(FileConflict(model.path, base, main, unit))


def lines_of(model: Model, text: bytes) -> Counter[str]:
    """Count the lines of the entries of a text."""
    known = Counter(line.strip() for line in (model.head + model.tail).splitlines())
    comment = (model.comment or "//").split("about")[0].strip()
    found = Counter(line.strip() for line in text.decode().splitlines())
    return Counter({line: n for line, n in (found - known).items() if line and not line.startswith(comment + " about")})


@pytest.mark.parametrize("model", MODELS, ids=lambda model: f"{model.name}-{model.path}")
@FEW
@given(found=versions(), added=st.booleans())
def test_nothing_is_lost_and_nothing_comes_back(
    model: Model, found: tuple[list[Entry], list[Entry], list[Entry]], added: bool
) -> None:
    base, main, unit = found
    if added:
        base = []
    texts = [write(model, each) for each in (base, main, unit)]
    answers = [settle(model, None if added else texts[0], *pair) for pair in (texts[1:], texts[:0:-1])]
    expected = due(model, base, main, unit)
    assert isinstance(answers[0], Resolved) == isinstance(answers[1], Resolved), answers
    for answer in answers:
        if isinstance(answer, Refused):
            continue
        assert expected is not None or texts[1] == texts[2], (answer, texts)
        if expected is not None and not (model.name == "todo list" and texts[1] == texts[2]):
            wanted = Counter(line.strip() for text in expected.values() for line in text.split("\n") if line.strip())
            assert lines_of(model, answer.text) == wanted, (answer.text, texts)
        again = settle(model, None if added else texts[0], answer.text, texts[2])
        if isinstance(again, Resolved):
            assert lines_of(model, again.text) == lines_of(model, answer.text)


@pytest.mark.parametrize("model", MODELS, ids=lambda model: f"{model.name}-{model.path}")
def test_both_sides_add_at_the_end(model: Model) -> None:
    base, main, unit = [("ak1", 0, "")], [("ak1", 0, ""), ("ck2", 0, "")], [("ak1", 0, ""), ("dk3", 0, "")]
    found = settle(model, *(write(model, each) for each in (base, main, unit)))
    if model.name == "R packages":
        assert found == Refused('"ck2" and "dk3" are added at one place and their order matters')
    else:
        assert isinstance(found, Resolved), found
        assert found.text == write(model, [*main, ("dk3", 0, "")])


@pytest.mark.parametrize("model", MODELS, ids=lambda model: f"{model.name}-{model.path}")
@pytest.mark.parametrize("end", [b"\n", b"\r\n"])
@pytest.mark.parametrize("bom", [b"", b"\xef\xbb\xbf"])
def test_line_ends_and_marks_stay(model: Model, end: bytes, bom: bytes) -> None:
    base, main, unit = ([("ak1", 0, "")], [("bk1", 0, ""), ("ak1", 0, "")], [("ak1", 0, ""), ("dk3", 0, "")])
    texts = [bom + write(model, each).replace(b"\n", end) for each in (base, main, unit)]
    found = settle(model, *texts)
    assert isinstance(found, Resolved), found
    assert found.text == bom + write(model, [*main, ("dk3", 0, "")]).replace(b"\n", end)


@given(model=st.sampled_from(MODELS), texts=st.tuples(*[st.lists(st.sampled_from(JUNK), max_size=8)] * 3))
def test_any_text_is_merged_or_refused(model: Model, texts: tuple[list[str], list[str], list[str]]) -> None:
    base, main, unit = ("\n".join(lines).encode("latin-1") for lines in texts)
    for old in (base, None):
        found = settle(model, old, main, unit)
        if isinstance(found, Resolved):
            assert isinstance(model.kind.faults(model.path, found.text), tuple)


@pytest.mark.parametrize("model", MODELS, ids=lambda model: f"{model.name}-{model.path}")
def test_an_empty_and_a_deep_file(model: Model) -> None:
    deep = b"".join(b" " * n + b"- a\n" for n in range(300))
    for old in (b"", None):
        assert isinstance(settle(model, old, deep, deep + b"- b\n"), (Resolved, Refused))
        assert settle(model, old, b"", b"") == Resolved(b"", model.name)
