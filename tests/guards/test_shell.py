"""Reading shell text: which programs it starts, with which words."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gitprun.guards.shell import UNKNOWN, NotSimple, ShellText, read_shell

X = UNKNOWN


def words(text: str) -> list[list[str]]:
    return [list(command) for command in read_shell(text).commands]


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
        # What begins with a keyword of its own is no program, and stays where it stands.
        ("for git in push; do a $git; done", [["for", "git", "in", "push"], ["a", X]]),
        ("for x do a; done", [["for", "x"], ["a"]]),
        ("case git in push) a;; (b) c;; esac; d", [["case", "git", "in", "push"], ["a"], ["b"], ["c"], ["d"]]),
        ("f() { a; }; function g { b; }", [["f"], ["a"], ["g"], ["b"]]),
        ("[[ git == push ]] && a", [["[[", "git", "==", "push", "]]"], ["a"]]),
        # Taken for the keyword it could be.
        ("'if' a", [["a"]]),
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
        ("echo $((1 + $(git push)))", [["git", "push"], ["1", "+", X], ["echo", X]]),
        ("echo $((a * ${b} + $c))", [["echo", X]]),
        ("diff <(git push) >(a)", [["git", "push"], ["a"], ["diff", X, X]]),
        ("x=$(git push)", [["git", "push"]]),
        ("a >$(git push)", [["git", "push"], ["a"]]),
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
        ("a >&1x b", [["a", "b"]]),
        ("a >&1 b 2>&1-", [["a", "b"]]),
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
        assert read_shell("a <<A; b <<B\ntext of a\nA\ntext of b\nB\nc") == ShellText(
            [("a",), ("b",), ("c",)], ["text of a", "text of b"]
        )
        assert read_shell("(sh <<A)\ngit push\nA").inputs == ["git push"]
        assert read_shell('"$(cat <<A\ngit push\nA\n)"').inputs == ["git push"]
        assert read_shell("sh <<< 'git push'").inputs == ["git push"]


@pytest.mark.parametrize(
    "text",
    [
        "a 'unended",
        'a "unended',
        "a `unended",
        "a $'unended",
        "(a",
        "a $(b",
        "cat <<EOF",
        "cat <<EOF\ngit push",
        "a $(cat <<EOF\nb\nEOF)",
        "cat <<EOF\na \\\nEOF\nb\nEOF",
        "cat <<$x\na\n$x",
        "((x = 1<<2))\na",
        "${x:-$(git push)}",
        "${x%'a'}",
        '"$(case x in a) git push;; esac)"',
        "a >&'$(git push)'",
    ],
)
def test_what_takes_a_shell_is_not_read(text: str) -> None:
    with pytest.raises(NotSimple):
        read_shell(text)


def test_nesting_has_an_end() -> None:
    assert words("$(" * 30 + "a" + ")" * 30)[0] == ["a"]
    with pytest.raises(NotSimple):
        words("$(" * 1000 + "a")
    with pytest.raises(NotSimple):
        words("(" * 1000 + "a")


@given(st.lists(st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0\ufdd0"))))
def test_quoted_words_are_read_as_they_were(given_words: list[str]) -> None:
    # All in quotes: a word "do" by itself is one behind which a command begins.
    text = " ".join(["prog", *("'" + word.replace("'", "'\"'\"'") + "'" for word in given_words)])
    assert words(text) == [["prog", *given_words]]


@settings(deadline=None)
@given(st.text(st.sampled_from("git push;&|()<>{}$`'\"\\\n#=aif do<<EOF"), max_size=60) | st.text())
def test_any_text_is_read_to_its_end(text: str) -> None:
    try:
        found = read_shell(text)
    except (NotSimple, RecursionError):
        return
    assert all(found.commands)


def test_long_texts_take_no_longer_than_their_length() -> None:
    text = "echo 'x' \"$y\" $(a) >b 2>&1; " * 5000
    assert len(read_shell(text).commands) == 10_000
