"""Program text in fenced blocks of Markdown."""

from __future__ import annotations

from gitprun.resolvers.base import FileConflict, Refused, Resolved, Unread
from gitprun.resolvers.syntax.fences import ProsePart, merge_fences, split_fences

BASE = """# Title

```python
from m import a

def main():
    a()
```

Then:
~~~ ts
call(a);
~~~

```unknown
one
two
three
```
"""


def merge(base: str, main: str, unit: str) -> str | Refused:
    answer = merge_fences(FileConflict("a.md", base.encode(), main.encode(), unit.encode()))
    return answer.text.decode() if isinstance(answer, Resolved) else answer


def test_each_block_is_merged_as_its_language() -> None:
    main = BASE.replace("import a", "import a, b").replace("    a()", "    a(x=1)").replace("Then:", "Then")
    main = main.replace("call(a)", "call(a.b)").replace("one", "1")
    unit = BASE.replace("    a()", "    a(y=2)").replace("call(a)", "call(a, c)").replace("three", "3")
    assert merge(BASE, main, unit) == (
        BASE.replace("import a", "import a, b")
        .replace("    a()", "    a(x=1, y=2)")
        .replace("Then:", "Then")
        .replace("call(a)", "call(a.b, c)")
        .replace("one", "1")
        .replace("three", "3")
    )


def test_the_word_behind_the_fence_is_one_sides() -> None:
    assert merge(BASE, BASE.replace("```python", "```py"), BASE.replace("    a()", "    b()")) == (
        BASE.replace("```python", "```py").replace("    a()", "    b()")
    )


def test_refuses_what_both_sides_changed() -> None:
    assert merge(BASE, BASE.replace("Then", "Now"), BASE.replace("Then", "Next")) == Unread(
        "both sides changed the same lines"
    )
    assert merge(BASE, BASE.replace("two", "2"), BASE.replace("two", "II")) == Unread(
        "both sides changed the same lines"
    )
    assert merge(BASE, BASE.replace("call(a)", "call(b)"), BASE.replace("call(a)", "call(c)")) == Refused(
        'both sides changed "a"'
    )
    assert merge(BASE, BASE + "```\nx\n```\n", BASE.replace("one", "1")) == Unread(
        "the versions do not have the same fenced blocks"
    )


def test_an_open_fence_is_prose() -> None:
    assert split_fences([b"a", b"```py", b"x", b"```", b"~~~", b"y"]) == [
        ProsePart((b"a",)),
        ProsePart((b"```py", b"x", b"```"), "py"),
        ProsePart((b"~~~", b"y")),
    ]
