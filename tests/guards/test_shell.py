"""Reading shell text: which programs it starts, with which words."""

from __future__ import annotations

import shlex

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gitprun.guards.shell import UNKNOWN, CommandTooDeep, read_commands

X = UNKNOWN


def words(text: str) -> list[list[str]]:
    return [list(command.words) for command in read_commands(text)]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("", []),
        ("ls", [["ls"]]),
        ("a b  c\t d", [["a", "b", "c", "d"]]),
        ("a;b && c || d | e & f\ng", [["a"], ["b"], ["c"], ["d"], ["e"], ["f"], ["g"]]),
        ("a \\\n b", [["a", "b"]]),
        ("a#b # c d\ne", [["a#b"], ["e"]]),
        ("A=1 B='x y' git push", [["git", "push"]]),
        ("A=1", []),
        ("a=(git push) b", [["b"]]),
        ("declare -a a=(git push)", [["declare", "-a", "a="]]),
        ("a=($(git push))", [["git", "push"]]),
        ("(a; b) && { c; }", [["a"], ["b"], ["c"]]),
        ("! a; time b", [["a"], ["b"]]),
        ("if a; then b; elif c; then d; else e; fi", [["a"], ["b"], ["c"], ["d"], ["e"]]),
        ("while a; do b; done; until c; do d; done", [["a"], ["b"], ["c"], ["d"]]),
        ("for git in push; do a $git; done", [["a", X]]),
        ("case git in push) a;; (b) c;; esac; d", [["a"], ["b"], ["c"], ["d"]]),
        ("f() { a; }; function g { b; }", [["f"], ["a"], ["b"]]),
        ("[[ git == push ]] && a", [["a"]]),
        ("'if' a", [["if", "a"]]),
    ],
)
def test_commands(text: str, found: list[list[str]]) -> None:
    assert words(text) == found


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("a 'b c' \"d e\" f\\ g", [["a", "b c", "d e", "f g"]]),
        ("g'i't p\"us\"h", [["git", "push"]]),
        ("a ''", [["a", ""]]),
        ('a \'b\\n\' "c\\n\\"\\$\\\\"', [["a", "b\\n", 'c\\n"$\\']]),
        ("a $'b\\x67\\t\\'\\101\\u00e9'", [["a", "bg\t'A\u00e9"]]),
        ('a $"b c"', [["a", "b c"]]),
        ("a $b ${c} ${d:-e f} $1 $@ $", [["a", X, X, X, X, X, "$"]]),
        ("a x$b'y'", [["a", f"x{X}y"]]),
        ('a "x $b"', [["a", f"x {X}"]]),
        ("a 'unended", [["a", "unended"]]),
        ('a "unended', [["a", "unended"]]),
        ("a \\", [["a", ""]]),
    ],
)
def test_quotes_and_expansions(text: str, found: list[list[str]]) -> None:
    assert words(text) == found


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("echo $(git push)", [["git", "push"], ["echo", X]]),
        ("echo `git push`", [["git", "push"], ["echo", X]]),
        ("echo `echo \\`git push\\``", [["git", "push"], ["echo", X], ["echo", X]]),
        ('echo "a $(git push) `b`"', [["git", "push"], ["b"], ["echo", f"a {X} {X}"]]),
        ("echo '$(git push)' \"\\$(git push)\"", [["echo", "$(git push)", "$(git push)"]]),
        ("${x:-$(git push)}", [["git", "push"], [X]]),
        ("echo $((1 + $(git push)))", [["git", "push"], ["1", "+", X], ["echo", X]]),
        ("diff <(git push) >(a)", [["git", "push"], ["a"], ["diff", X, X]]),
        ("x=$(git push)", [["git", "push"]]),
        ("a >$(git push)", [["git", "push"], ["a"]]),
        ('"$(case x in a) git push;; esac)"', [["git", "push"], [X]]),
    ],
)
def test_commands_within_words(text: str, found: list[list[str]]) -> None:
    assert words(text) == found


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("a >b 2>&1 <c", [["a"]]),
        (">b a", [["a"]]),
        ("2>&1 a 3 >b", [["a", "3"]]),
        ("a &>b c >|d e", [["a", "c", "e"]]),
        ("a>b;c", [["a"], ["c"]]),
        ("a >'b c' d", [["a", "d"]]),
        ("a <&- b >&-c", [["a", "b", "c"]]),
        ("a >&'$(git push)'", [["git", "push"], ["a"]]),
        ("a <<< 'git push' b", [["a", "b"]]),
    ],
)
def test_redirections_are_no_words(text: str, found: list[list[str]]) -> None:
    assert words(text) == found


class TestHereDocuments:
    def test_their_text_is_no_command(self) -> None:
        assert words("cat <<EOF >f\ngit push\nEOF\na") == [["cat"], ["a"]]
        assert words("cat <<-'E F'\n\tgit push\n\tE F\na") == [["cat"], ["a"]]

    def test_what_is_expanded_in_them_is(self) -> None:
        assert words('cat <<EOF\n$(git push) "`a`"\nEOF') == [["cat"], ["git", "push"], ["a"]]
        assert words("cat <<'EOF'\n$(git push)\nEOF") == [["cat"]]
        assert words("cat <<\\EOF\n$(git push)\nEOF") == [["cat"]]

    def test_they_are_the_input_of_their_command(self) -> None:
        text = "a <<A; b <<B\ntext of a\nA\ntext of b\nB\nc"
        assert [(c.words, c.stdin) for c in read_commands(text)] == [
            (("a",), "text of a"),
            (("b",), "text of b"),
            (("c",), None),
        ]
        assert [c.stdin for c in read_commands("(sh <<A)\ngit push\nA")] == ["git push"]
        assert read_commands("sh <<< 'git push'")[0].stdin == "git push"

    def test_unended(self) -> None:
        assert words("cat <<EOF\ngit push") == [["cat"]]


def test_a_command_knows_what_it_reads_from() -> None:
    found = read_commands("a | b |\n c; d || e")
    assert [(c.words[0], c.before.words[0] if c.before else None) for c in found] == [
        ("a", None),
        ("b", "a"),
        ("c", "b"),
        ("d", None),
        ("e", None),
    ]


def test_nesting_has_an_end() -> None:
    assert words("$(" * 30 + "a" + ")" * 30)[0] == ["a"]
    with pytest.raises(CommandTooDeep):
        words("$(" * 1000 + "a")
    with pytest.raises(CommandTooDeep):
        words("(" * 1000 + "a")


@given(st.lists(st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0\ufdd0"))))
def test_quoted_words_are_read_as_they_were(given_words: list[str]) -> None:
    text = " ".join(["prog", *map(shlex.quote, given_words)])
    assert words(text) == [["prog", *given_words]]


@settings(deadline=None)
@given(st.text(st.sampled_from("git push;&|()<>{}$`'\"\\\n#=aif do<<EOF"), max_size=60) | st.text())
def test_any_text_is_read_to_its_end(text: str) -> None:
    try:
        found = read_commands(text)
    except (CommandTooDeep, RecursionError):
        return
    assert all(command.words for command in found)


def test_long_texts_take_no_longer_than_their_length() -> None:
    text = "echo 'x' \"$y\" $(a) >b 2>&1; " * 5000
    assert len(read_commands(text)) == 10_000
