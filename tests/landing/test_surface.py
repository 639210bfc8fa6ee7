"""The trust surface by names and texts: what is held where it is live, what is only named, what is neither."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gitprun.landing.called import configured_drivers, led_anew, names_in_text, names_run, names_started
from gitprun.landing.surface import (
    RUNNERS,
    Altered,
    Live,
    Touch,
    describe,
    grade,
    runners_in,
)

EVERY = frozenset(name for name, _, _ in RUNNERS)


def altered(path: str, old: str = "100644", new: str = "100644") -> Altered:
    return Altered(path, old, new, "1" * 40, "2" * 40)


def graded(path: str, live: Live | None = None, mode: str = "100644") -> str:
    """Say grade and reason of a path; empty where it is no part of the surface."""
    touch = grade(altered(path, mode, mode), live or Live())
    return f"{touch.grade}{'!' if touch.hook else ''}: {touch.what}" if touch else ""


@pytest.mark.parametrize(
    ("path", "said"),
    [
        (".claude/settings.json", "held: settings of Claude Code, with its hooks"),
        (".claude/settings.local.json", "held: settings of Claude Code, with its hooks"),
        ("packages/one/.claude/settings.json", "held: settings of Claude Code, with its hooks"),
        (".mcp.json", "held: servers that Claude Code starts"),
        (".codex/config.toml", "held: settings of codex, with its servers"),
        (".cursor/mcp.json", "held: servers that Cursor starts"),
        (".github/workflows/ci.yml", "named: a workflow"),
        ("docs/.github/workflows/ci.yml", ""),
        (".vscode/tasks.json", "named: tasks of the editor"),
        (".envrc", "named: direnv, which asks before it runs it"),
        ("app/.envrc", "named: direnv, which asks before it runs it"),
        ("mise.toml", "named: mise, which asks before it runs it"),
        (".husky/pre-commit", "named: husky, which no hook here calls"),
        (".pre-commit-config.yaml", "named: pre-commit, which no hook here calls"),
        ("lefthook.yml", "named: lefthook, which no hook here calls"),
        (".config/lefthook-local.toml", "named: lefthook, which no hook here calls"),
        (".githooks/pre-push", "named: hooks that nobody installed here"),
        ("CLAUDE.md", ""),
        (".claude/agents/reviewer.md", ""),
        ("settings.json", ""),
        ("src/mcp.json", ""),
        ("src/main.py", ""),
        ("lefthook/readme.md", ""),
    ],
)
def test_by_name_alone(path: str, said: str) -> None:
    assert graded(path) == said


def test_what_is_installed_is_held() -> None:
    live = Live(
        hooks=frozenset({"tools/hooks"}),
        runners=EVERY,
        called={"scripts/lint.sh": "the hook pre-commit", "yarn.lock": "the hook post-merge"},
        mentioned={"src/schema.ts": "the hook pre-commit"},
        scripts={"the hook pre-push": "exec 'my tools/x.sh' \"my lock.json\""},
        values={"your setting merge.y.driver": "'my tools/merge.py' %A"},
        started={"tools/clean.py": "your setting filter.x.clean"},
        aliases={"shared/claude": ".claude"},
        settings=frozenset({".gitconfig"}),
        protected=(".github/**",),
    )
    assert [
        graded(path, live)
        for path in (
            *("tools/hooks/post-merge", "tools/hooks", "tools/hooks.md", ".husky/pre-push", ".pre-commit-config.yaml"),
            *("lefthook.yml", "scripts/lint.sh", "yarn.lock", "tools/clean.py", "shared/claude/settings.json"),
            *(".gitconfig", ".github/workflows/ci.yml", "tools/other.py", "src/schema.ts"),
        )
    ] == [
        "held!: git runs hooks from tools/hooks here",
        "held!: git runs hooks from tools/hooks here",
        "",
        "held!: husky, which a hook here calls",
        "held!: pre-commit, which a hook here calls",
        "held!: lefthook, which a hook here calls",
        "held!: the hook pre-commit runs it",
        # A hook that names it looks whether it changed.
        "",
        "held: your setting filter.x.clean starts it",
        "held: .claude is a link to it",
        "held: git reads its settings from it here",
        "held: [merge] protected",
        "",
        "",
    ]
    assert [graded(f"my tools/{name}", live) for name in ("x.sh", "merge.py", "y.sh")] == [
        "held!: the hook pre-push runs it",
        "held: your setting merge.y.driver starts it",
        "",
    ]
    assert graded("my lock.json", live) == ""
    assert graded("src/schema.ts", live, "100755") == "held!: the hook pre-commit runs it"


@pytest.mark.parametrize("mode", ["120000", "160000"])
def test_what_takes_the_place_of_a_folder(mode: str) -> None:
    live = Live(hooks=frozenset({"tools/hooks"}), called={"scripts/lint.sh": "the hook pre-commit"})
    assert [graded(path, live, mode) for path in ("tools", "scripts", ".claude", "sub/.cursor", "docs")] == [
        "held!: git runs hooks from tools/hooks here",
        "held!: the hook pre-commit runs it",
        "held: settings of Claude Code, with its hooks",
        "held: servers that Cursor starts",
        "",
    ]
    assert graded("tools", live) == ""


def test_hooks_at_the_top_and_names_in_other_letters() -> None:
    assert graded("post-merge", Live(hooks=frozenset({""}))) == "held!: git runs hooks from the top here"
    assert graded("src/post-merge", Live(hooks=frozenset({""}))) == ""
    assert graded(".Claude/Settings.json") == ""
    assert graded(".Claude/Settings.json", Live(ignore_case=True)).startswith("held: ")


def test_what_a_script_names() -> None:
    text = """\
#!/bin/sh
# see docs/hooks.sh
. "$(dirname "$0")/_/husky.sh"
exec ./run "$top/scripts/lint.sh" && $top/check && make test && sh lint.sh && python3 tools/x.py
"""
    assert names_in_text(text) == {
        *("_/husky.sh", "run", "scripts/lint.sh", "check", "lint.sh", "tools/x.py"),
    }
    settings = "repos:\n- id: x\n  entry: ./tools/check.py --fix\n  exclude: ^docs/conf.py\n"
    assert names_started(settings) == {"tools/check.py"}
    assert runners_in(["#!/bin/sh\nexec lefthook run pre-commit", "# the pre-commit hook\n"]) == {"lefthook"}
    assert runners_in(["exec python -mpre_commit hook-impl"]) == {"pre-commit"}


@pytest.mark.parametrize(
    ("line", "run"),
    [
        ("./scripts/lint.sh --fix", {"scripts/lint.sh"}),
        ("exec ./check", {"check"}),
        ('. "$(dirname "$0")/common.sh"', {"common.sh"}),
        ('"$(git rev-parse --show-toplevel)"/scripts/lint.sh || exit 1', {"scripts/lint.sh"}),
        ('"${top}/tools/x.py" "$@"', {"tools/x.py"}),
        ("out=$(python3 tools/x.py) && echo `sh b/c.sh`", {"tools/x.py", "b/c.sh"}),
        ("CI=1 /usr/bin/env python3 -u tools/x.py a/b.py", {"tools/x.py", "bin/env", "usr/bin/env"}),
        ("if git diff --quiet; then sh ci/run.sh; fi", {"ci/run.sh"}),
        ('subprocess.run(["node", "tools/x.js"])', {"tools/x.js", "subprocess.run"}),
        ("entry: bash tools/x.sh", {"tools/x.sh"}),
        ("  - run: ./a.sh && b/c.rb", {"a.sh", "b/c.rb"}),
        ("make -f tools/hooks.mk lint", {"tools/hooks.mk"}),
        ("!sh tools/alias.sh", {"tools/alias.sh"}),
        ("if ! ci/check; then", {"ci/check"}),
        ("uv run \\\n  tools/x.py", {"tools/x.py"}),
        # Only looked at.
        ("git diff --name-only | grep -q src/schema.ts", set()),
        ("test -f src/schema.ts && echo src/other.ts", set()),
        ("# sh tools/old.sh", set()),
        ("cp -r src/a.py out", set()),
    ],
)
def test_what_a_script_starts(line: str, run: set[str]) -> None:
    assert names_run(line) == run


@pytest.mark.parametrize(
    ("old", "new", "led"),
    [
        ("", "*.png filter=lfs diff=lfs merge=lfs -text\n", ("filter=lfs", "merge=lfs")),
        ("*.png filter=lfs\n", "*.png filter=lfs\n*.txt text\n", ()),
        ("*.png filter=lfs\n", "", ()),
        ("*.png filter=lfs\n", "*.psd filter=lfs\n*.png filter=lfs\n", ("filter=lfs",)),
        ("", "*.x filter=unknown diff=python merge=union\n", ()),
        ("", '"a b" filter=lfs # no comment\n# *.x filter=lfs\n', ("filter=lfs",)),
        ("[attr]big filter=lfs\n", "[attr]big filter=lfs\n*.bin big\n", ("filter=lfs",)),
        ("*.bin big\n", "[attr]big filter=lfs\n*.bin big\n", ("filter=lfs",)),
        ("", "*.bin shared\n", ("merge=lfs",)),
        ("", "[attr]later filter=lfs\n", ("filter=lfs",)),
        # What kept files away from it goes.
        ("* filter=lfs\n*.txt -filter\n", "* filter=lfs\n", ("filter=lfs",)),
        ("* filter=lfs\n*.txt !filter\n", "*.txt !filter\n* filter=lfs\n", ("filter=lfs",)),
        ("* filter=lfs\n*.txt -diff\n", "* filter=lfs\n", ()),
        ("", "[attr]a b\n[attr]b a\n* a\n", ()),
        ("", "".join(f"[attr]m{n} m{n + 1}\n" for n in range(40)) + "[attr]m40 filter=lfs\n* m0\n", ("filter=lfs",)),
    ],
)
def test_attributes_that_lead_to_a_program(old: str, new: str, led: tuple[str, ...]) -> None:
    drivers = configured_drivers(
        ["filter.lfs.clean", "filter.lfs.required", "merge.lfs.driver", "merge.lfs.name", "diff.lfs.wserrorhighlight"]
    )
    assert drivers == {"filter=lfs", "merge=lfs"}
    assert led_anew(old, new, drivers, ("[attr]shared merge=lfs\n",)) == led
    assert led_anew(old, new, frozenset()) == ()


LINES = st.lists(
    st.sampled_from(["* filter=lfs", "*.x -filter", "[attr]m filter=lfs", "*.y m", "*.z merge=lfs", "# c", "*.w text"]),
    max_size=6,
).map("\n".join)


@given(st.one_of(st.text(), LINES), st.one_of(st.text(), LINES))
def test_any_attributes(one: str, other: str) -> None:
    drivers = frozenset({"filter=lfs", "merge=lfs"})
    assert led_anew(one, one, drivers) == ()
    assert set(led_anew(one, other, drivers)) <= drivers


@given(st.text(st.sampled_from("ab./.-_ $\"'\n#é\udce9")), st.sampled_from(["100644", "100755", "120000", "160000"]))
def test_any_text_and_any_path(text: str, mode: str) -> None:
    names = names_in_text(text)
    assert names_run(text) | names_started(text) is not None
    assert all(name and not name.startswith("/") and "\n" not in name for name in names)
    live = Live(called=dict.fromkeys(names, "a hook"), runners=EVERY, hooks=frozenset({"a/b"}))
    for path in {*names, *filter(None, text.split("\n"))}:
        touch = grade(altered(path, new=mode), live)
        assert touch is None or (touch.path, touch.grade) in ((path, "held"), (path, "named"))


def test_many_are_told_in_one_line() -> None:
    touches = [Touch(f"{number}", "why", "held") for number in range(5)]
    assert describe(touches) == "0 (why), 1 (why), 2 (why) and 2 more"
    assert describe(()) == ""
