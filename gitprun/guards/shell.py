"""Read shell text as far as it is simple: the commands that stand in it, and the texts it may feed to a shell.

This is no shell. A command is taken to begin wherever one could, behind each operator and keyword, so that at least
what would run is found; nothing is expanded, and what only the shell can know stands as ``UNKNOWN`` in a word. What
takes more to be read (``case`` within ``$(...)``, quotes within ``${...}``, a here-document without its end) raises
NotSimple: to guess there would be to let something pass unseen.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

# Stands in a word for what the shell would put there; no shell text means anything by it.
UNKNOWN = "\ufdd0"

# Nobody writes commands in commands so deep, and each level is some calls of Python's own, of which it has a thousand.
MOST_DEPTH = 40
_BLANK = re.compile(r"(?:[ \t]|\\\n)+|#[^\n]*")
_PLAIN = re.compile(r"[^ \t\n;&|()<>'\"\\`$]+")
_TEXT = re.compile(r"[^\"\\`$]+|\"")
# What is whole without a word behind it comes first: "2>&1", "<&-".
_REDIRECTION = re.compile(r"[0-9]*([<>]&(?:[0-9]+(?![^ \t\n;&|()<>])|-)|<<<|<<-?|[<>]&|&>>?|<>|>>|>\||[<>])(?!\()")
_PARAMETER = re.compile(r"\$(?:[A-Za-z_]\w*|[0-9@*#?$!-]|\{[^{}'\"\\`$\n]*\})", re.ASCII)
_ARITHMETIC = re.compile(r"\$\(\([^'\"\\`()<>;&|]*\)\)")
_BACKTICKS = re.compile(r"`((?:[^`\\]|\\.)*)`", re.DOTALL)
_ANSI = re.compile(r"\$'((?:[^'\\]|\\.)*)'", re.DOTALL)
_CODE = re.compile(r"\\(?:(?:x([0-9A-Fa-f]{1,2})|u([0-9A-Fa-f]{1,4})|U([0-9A-Fa-f]{1,8}))|([0-7]{1,3})|(.))", re.DOTALL)
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "a": "\a", "b": "\b", "e": "\x1b", "E": "\x1b", "f": "\f", "v": "\v"}
_ASSIGNMENT = re.compile(r"[A-Za-z_][A-Za-z0-9_]*(?:\[[^]]*\])?\+?=")
# Behind these a command begins, wherever they stand: "for x do", "function f {".
_BETWEEN = frozenset({"{", "}", "do", "then", "else"})
# With these one begins.
_PREFIXES = frozenset({"!", "coproc", "done", "elif", "esac", "fi", "function", "if", "time", "until", "while"})


class NotSimple(ValueError):
    """A shell text takes a shell to be read."""


@dataclass(frozen=True, slots=True)
class ShellText:
    """The simple commands of a text as words, inner ones first, without assignments and redirections.

    ``inputs`` are its here-documents and here-strings, whichever command they are for.
    """

    commands: list[tuple[str, ...]] = field(default_factory=list)
    inputs: list[str] = field(default_factory=list)


def read_shell(text: str, depth: int = 0) -> ShellText:
    """Return the commands of a shell text, and maybe more than would run; raises NotSimple."""
    reader = _ShellReader(text, depth)
    reader.script()
    if reader.waiting:
        raise NotSimple("a here-document has no text")
    return reader.found


class _ShellReader:
    """One pass over a text; ``within`` counts the substitutions around the place where it is."""

    def __init__(self, text: str, depth: int) -> None:
        self.text, self.at, self.depth, self.within = text, 0, depth, 0
        self.found = ShellText()
        # Here-documents that were announced on this line: delimiter, whether it is quoted, whether tabs are taken off.
        self.waiting: list[tuple[str, bool, bool]] = []

    def script(self, until: str = "", *, array: bool = False) -> None:
        """Read commands up to ``until`` (empty: the end of the text); the words of an array are none."""
        self.depth += 1
        if self.depth > MOST_DEPTH:
            raise NotSimple(f"commands are nested more than {MOST_DEPTH} deep")
        words: list[str] = []
        while self.at < len(self.text):
            start, char = self.at, self.text[self.at]
            if blank := _BLANK.match(self.text, self.at):
                self.at = blank.end()
            elif redirection := _REDIRECTION.match(self.text, self.at):
                self.at = redirection.end()
                self.redirection(redirection[1])
            elif char in "\n;&|()":
                self.at += 1
                self.end(words, array)
                if char == "\n":
                    self.here_documents()
                elif char == "(":
                    self.script(")")
                elif char == until:
                    self.depth -= 1
                    return
            else:
                word = self.word()
                raw = self.text[start : self.at]
                if raw == "case" and self.within:
                    # The parenthesis behind a pattern would be taken for the end of the substitution.
                    raise NotSimple("case within a substitution")
                if raw in _BETWEEN:
                    self.end(words, array)
                else:
                    words.append(word)
        if until:
            raise NotSimple("a parenthesis is not closed")
        self.end(words, array)

    def end(self, words: list[str], array: bool) -> None:
        """Take the words so far as a command."""
        first = 0
        while first < len(words) and (words[first] in _PREFIXES or _ASSIGNMENT.match(words[first])):
            first += 1
        if words[first:] and not array:
            self.found.commands.append(tuple(words[first:]))
        words.clear()

    def redirection(self, sign: str) -> None:
        """Pass over the word that a redirection points to."""
        if (sign[-1] == "-" and sign[1] == "&") or sign[-1].isdigit():
            return
        while self.text[self.at : self.at + 1] in (" ", "\t"):
            self.at += 1
        start = self.at
        target = self.word()
        raw = self.text[start : self.at]
        if sign in ("<<", "<<-"):
            if UNKNOWN in raw or UNKNOWN in target or not target or target.isdigit():
                # A shift in arithmetic looks like that, too.
                raise NotSimple("a here-document has no plain end")
            self.waiting.append((target, raw != target, sign == "<<-"))
        elif sign == "<<<":
            self.found.inputs.append(target)
        elif sign in ("<&", ">&") and raw != target:
            # bash expands this word once more after it took the quotes off.
            raise NotSimple("a descriptor is not written out")

    def here_documents(self) -> None:
        """Read the here-documents announced on the line that just ended."""
        waiting, self.waiting = self.waiting, []
        for delimiter, quoted, tabs in waiting:
            rows: list[str] = []
            while True:
                if self.at >= len(self.text):
                    raise NotSimple("a here-document has no end")
                line, self.at = self._line()
                if (line.lstrip("\t") if tabs else line) == delimiter:
                    break
                rows.append(line)
            body = "\n".join(rows)
            if not quoted:
                if any(row.endswith("\\") for row in rows):
                    # The shell joins such lines before it looks for the end.
                    raise NotSimple("lines of a here-document are joined")
                self.take_in(_ShellReader(body, self.depth + 1), expand=True)
            self.found.inputs.append(body)

    def _line(self) -> tuple[str, int]:
        end = self.text.find("\n", self.at)
        return (self.text[self.at :], len(self.text)) if end < 0 else (self.text[self.at : end], end + 1)

    def take_in(self, inner: _ShellReader, *, expand: bool = False) -> None:
        """Read a text of its own within this one: commands, or words that are only expanded."""
        if expand:
            inner.quoted("")
        else:
            inner.script()
        if inner.waiting:
            raise NotSimple("a here-document has no text")
        self.found.commands.extend(inner.found.commands)
        self.found.inputs.extend(inner.found.inputs)

    def word(self) -> str:
        """Read one word; quotes are taken off, expansions become UNKNOWN."""
        parts: list[str] = []
        while self.at < len(self.text):
            char, two = self.text[self.at], self.text[self.at : self.at + 2]
            if plain := _PLAIN.match(self.text, self.at):
                parts.append(plain[0])
                self.at = plain.end()
            elif char == "'":
                end = self.text.find("'", self.at + 1)
                if end < 0:
                    raise NotSimple("a quote is not closed")
                parts.append(self.text[self.at + 1 : end])
                self.at = end + 1
            elif char == '"':
                self.at += 1
                parts.append(self.quoted('"'))
            elif char == "\\":
                parts.append(two[1:].replace("\n", ""))
                self.at += 2
            elif char in "$`":
                parts.append(self.expansion(quoted=False))
            elif two in ("<(", ">("):
                self.at += 2
                parts.append(self.substitution())
            elif char == "(" and parts and parts[-1].endswith("="):
                self.at += 1
                self.script(")", array=True)
            else:
                break
        return "".join(parts)

    def quoted(self, until: str) -> str:
        """Read text in double quotes (or a here-document: up to the end), where only some things are special."""
        parts: list[str] = []
        while self.at < len(self.text):
            char, following = self.text[self.at], self.text[self.at + 1 : self.at + 2]
            if char == until:
                self.at += 1
                return "".join(parts)
            if char == "\\":
                special = following in ("$", "`", "\\", "\n", until)
                parts.append(following.replace("\n", "") if special else char + following)
                self.at += 2
            elif char in "$`":
                parts.append(self.expansion(quoted=True))
            elif text := _TEXT.match(self.text, self.at):
                parts.append(text[0])
                self.at = text.end()
        if until:
            raise NotSimple("a quote is not closed")
        return "".join(parts)

    def expansion(self, *, quoted: bool) -> str:
        """Read what a dollar sign or a backtick begins."""
        at = self.at
        if self.text[at] == "`":
            found = _BACKTICKS.match(self.text, at)
            if found is None:
                raise NotSimple("a backtick is not closed")
            self.at = found.end()
            inner = re.sub(r"\\([`\\$\"])" if quoted else r"\\([`\\$])", r"\1", found[1])
            self.take_in(_ShellReader(inner, self.depth + 1))
            return UNKNOWN
        for pattern in (_ARITHMETIC, _PARAMETER):
            if found := pattern.match(self.text, at):
                self.at = found.end()
                return UNKNOWN
        if self.text.startswith("$(", at):
            self.at += 2
            return self.substitution()
        if self.text.startswith("${", at):
            raise NotSimple("an expansion has more in it than names")
        if not quoted and self.text.startswith("$'", at):
            found = _ANSI.match(self.text, at)
            if found is None:
                raise NotSimple("a quote is not closed")
            self.at = found.end()
            # The shell ends the word there.
            return _CODE.sub(_decode, found[1]).partition("\0")[0]
        # In double quotes with a dollar sign before them only their translation differs.
        self.at += 1
        return "" if not quoted and self.text.startswith('$"', at) else "$"

    def substitution(self) -> str:
        """Read the commands of ``$(...)`` or ``<(...)``."""
        self.within += 1
        self.script(")")
        self.within -= 1
        return UNKNOWN


def _decode(found: re.Match[str]) -> str:
    """Return the character that an escape in ``$'...'`` means."""
    code = found[1] or found[2] or found[3]
    if code:
        return chr(int(code, 16)) if int(code, 16) < 0x110000 else "?"
    return chr(int(found[4], 8) & 0xFF) if found[4] else _ESCAPES.get(found[5], found[5])
