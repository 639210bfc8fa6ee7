"""Read shell text far enough to tell which programs it would start, and with which words.

Nothing is expanded: what only the shell can know stands as ``UNKNOWN`` in a word. Commands inside ``$(...)``,
backticks, subshells, functions and process substitutions are found; words in quotes, comments and here-documents
are not taken for commands.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

# Stands in a word for what the shell would put there; no shell text means anything by it.
UNKNOWN = "\ufdd0"

MOST_DEPTH = 40
_BLANK = " \t\r"
_META = " \t\r\n;&|()<>"
_OPENING = frozenset({"if", "then", "elif", "else", "while", "until", "do", "{", "!", "time", "coproc"})
_CLOSING = frozenset({"fi", "done", "esac", "}"})
# What follows these up to the end of the command are names and patterns, no programs.
_INERT = frozenset({"for", "select", "case", "[["})
_ASSIGNMENT = re.compile(r"[A-Za-z_][A-Za-z0-9_]*(?:\[[^]]*\])?\+?=")
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "a": "\a", "b": "\b", "e": "\x1b", "E": "\x1b", "f": "\f", "v": "\v"}
_CODE = re.compile(r"x([0-9A-Fa-f]{1,2})|u([0-9A-Fa-f]{1,4})|U([0-9A-Fa-f]{1,8})|([0-7]{1,3})")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*|[0-9@*#?$!-]")


class CommandTooDeep(ValueError):
    """Commands are nested deeper than anybody writes them."""


@dataclass(frozen=True, slots=True)
class SimpleCommand:
    """One simple command: its words without assignments and redirections.

    ``stdin`` is the text a here-document or here-string gives it; ``before`` the command whose output it reads.
    """

    words: tuple[str, ...]
    stdin: str | None = None
    before: SimpleCommand | None = None


def read_commands(text: str, depth: int = 0) -> list[SimpleCommand]:
    """List the simple commands of a shell text, inner ones first; raises TooDeep."""
    reader = _ShellReader(text, depth)
    reader.script("")
    return reader.found


@dataclass(slots=True)
class _Heredoc:
    """A here-document that was announced; ``place`` is that of its command among those found (-1: none)."""

    delimiter: str
    quoted: bool
    strip: bool
    place: int = -1


@dataclass(slots=True)
class _Simple:
    """A simple command as far as it has been read."""

    words: list[str] = field(default_factory=list)
    inert: bool = False
    named: bool = False
    stdin: str | None = None
    heredocs: list[_Heredoc] = field(default_factory=list)


class _ShellReader:
    """One pass over a text."""

    def __init__(self, text: str, depth: int) -> None:
        if depth > MOST_DEPTH:
            raise CommandTooDeep(f"nested more than {MOST_DEPTH} deep")
        self.text, self.at, self.depth = text, 0, depth
        self.found: list[SimpleCommand] = []
        self.piped: SimpleCommand | None = None
        self.cases = 0
        self.waiting: list[_Heredoc] = []

    def peek(self, length: int = 1) -> str:
        """Look at what comes next without taking it."""
        return self.text[self.at : self.at + length]

    def script(self, until: str) -> None:
        """Read commands up to ``until`` (a closing parenthesis; empty: the end of the text)."""
        now = _Simple()
        while self.at < len(self.text):
            char = self.peek()
            if char == until and not self.cases:
                self.at += 1
                break
            if char in _BLANK:
                self.at += 1
            elif self.peek(2) == "\\\n":
                self.at += 2
            elif char == "#":
                end = self.text.find("\n", self.at)
                self.at = len(self.text) if end < 0 else end
            elif char == "\n":
                self.at += 1
                self.flush(now)
                self.read_heredocs()
                now = _Simple()
            elif char in "<>" or self.peek(2) == "&>":
                self.redirection(now)
            elif char in ";&|()":
                now = self.operator(now)
            else:
                self.take_word(now)
        self.flush(now)
        if not until:
            self.read_heredocs()

    def operator(self, now: _Simple) -> _Simple:
        """Take an operator; give the simple command that begins behind it."""
        char = self.peek()
        self.at += 1
        if char == "(":
            if self.text.endswith("=", 0, self.at - 1):
                # An array: its words are no command, though what they hold in $(...) is.
                self.array()
                return now
            self.flush(now)
            self.inner(")")
            return _Simple()
        command = self.flush(now)
        if char == "|" and self.peek() != "|":
            self.at += self.peek() == "&"
            self.piped = command
        elif char == self.peek():
            self.at += 1
        return _Simple()

    def array(self) -> None:
        """Pass over the words of an array, finding the commands in them."""
        while self.at < len(self.text) and self.peek() != ")":
            before = self.at
            self.word()
            self.at += self.at == before
        self.at += 1

    def take_word(self, now: _Simple) -> None:
        """Take a word into a simple command, unless it is a keyword or an assignment."""
        start = self.at
        word = self.word()
        # A keyword in quotes is none.
        keyword = word if not now.words and self.text[start : self.at] == word else ""
        if now.inert:
            return
        if now.named:
            now.named = False
        elif keyword == "function":
            now.named = True
        elif keyword in _INERT:
            now.inert = True
            self.cases += keyword == "case"
        elif keyword in _OPENING or keyword in _CLOSING:
            self.cases -= keyword == "esac" and self.cases > 0
        elif now.words or not _ASSIGNMENT.match(word):
            now.words.append(word)

    def flush(self, now: _Simple) -> SimpleCommand | None:
        """End a simple command; what comes after it in a pipe is told by the caller."""
        place = len(self.found)
        command = None
        if now.words and not now.inert:
            # A line may end behind the pipe: what reads from it is the next command there is.
            command = SimpleCommand(tuple(now.words), now.stdin, self.piped)
            self.piped = None
            self.found.append(command)
        for heredoc in now.heredocs:
            heredoc.place = place if command else -1
        self.waiting += now.heredocs
        now.heredocs = []
        return command

    def redirection(self, now: _Simple) -> None:
        """Take a redirection, or the process substitution that looks like one."""
        if now.words and now.words[-1].isdigit() and self.text.endswith(now.words[-1], 0, self.at):
            now.words.pop()
        if self.peek(2) in ("<(", ">("):
            self.take_word(now)
            return
        if self.peek(3) == "<<<":
            self.at += 3
            now.stdin = self.target()
        elif self.peek(2) == "<<":
            self.at += 2
            strip = self.peek() == "-"
            self.at += strip
            start = self.at
            delimiter = self.target()
            quoted = any(mark in self.text[start : self.at] for mark in "'\"\\")
            now.heredocs.append(_Heredoc(delimiter, quoted, strip))
        else:
            while self.peek() and self.peek() in "<>&|":
                self.at += 1
            joins = self.text.endswith("&", 0, self.at)
            if joins and self.peek() == "-":
                # "<&-" is whole: what stands right behind it is a word of its own.
                self.at += 1
            elif joins:
                # bash expands this word again after it took the quotes off.
                self.expanded(self.target())
            else:
                self.target()

    def target(self) -> str:
        """Read the word a redirection points to."""
        while self.peek() and self.peek() in _BLANK:
            self.at += 1
        return self.word()

    def read_heredocs(self) -> None:
        """Read the here-documents announced on the line that just ended."""
        waiting, self.waiting = self.waiting, []
        for heredoc in waiting:
            rows = []
            while self.at < len(self.text):
                end = self.text.find("\n", self.at)
                line = self.text[self.at :] if end < 0 else self.text[self.at : end]
                self.at = len(self.text) if end < 0 else end + 1
                if (line.lstrip("\t") if heredoc.strip else line) == heredoc.delimiter:
                    break
                rows.append(line)
            body = "\n".join(rows)
            if not heredoc.quoted:
                body = self.expanded(body)
            if heredoc.place >= 0:
                self.give(heredoc.place, body)

    def give(self, place: int, body: str) -> None:
        """Tell a command, and the one that reads from it, what its input is."""
        command = self.found[place]
        told = self.found[place] = SimpleCommand(command.words, body, command.before)
        for at, other in enumerate(self.found[place:], place):
            if other.before is command:
                self.found[at] = SimpleCommand(other.words, other.stdin, told)

    def expanded(self, body: str) -> str:
        """Take the commands out of a here-document whose text the shell expands."""
        inner = _ShellReader(body, self.depth + 1)
        text = inner.quoted_text("")
        self.found += inner.found
        return text

    def inner(self, until: str) -> None:
        """Read commands inside parentheses."""
        reader = _ShellReader(self.text, self.depth + 1)
        reader.at = self.at
        reader.script(until)
        self.at = reader.at
        for heredoc in reader.waiting:
            heredoc.place += len(self.found) if heredoc.place >= 0 else 0
        self.waiting += reader.waiting
        self.found += reader.found

    def word(self) -> str:
        """Read one word; quotes are taken off, expansions become UNKNOWN."""
        parts: list[str] = []
        while self.at < len(self.text):
            char = self.peek()
            if self.peek(2) in ("<(", ">("):
                self.at += 2
                self.inner(")")
                parts.append(UNKNOWN)
            elif char in _META:
                break
            elif char == "'":
                parts.append(self.single_quoted())
            elif char == '"':
                self.at += 1
                parts.append(self.quoted_text('"'))
            elif char == "\\":
                parts.append(self.peek(2)[1:].replace("\n", ""))
                self.at += 2
            elif char == "`":
                parts.append(self.backticks())
            elif char == "$":
                parts.append(self.dollar(quoted=False))
            else:
                parts.append(char)
                self.at += 1
        return "".join(parts)

    def single_quoted(self) -> str:
        """Read text in single quotes."""
        end = self.text.find("'", self.at + 1)
        end = len(self.text) if end < 0 else end
        found = self.text[self.at + 1 : end]
        self.at = end + 1
        return found

    def quoted_text(self, until: str) -> str:
        """Read text in double quotes (or a here-document: up to the end), where only some things are special."""
        parts: list[str] = []
        while self.at < len(self.text):
            char = self.peek()
            if char == until:
                self.at += 1
                break
            if char == "\\":
                following = self.peek(2)[1:]
                special = following in ("$", "`", "\\", "\n", until or "$")
                parts.append(following.replace("\n", "") if special else char + following)
                self.at += 2
            elif char == "`":
                parts.append(self.backticks())
            elif char == "$":
                parts.append(self.dollar(quoted=True))
            else:
                parts.append(char)
                self.at += 1
        return "".join(parts)

    def backticks(self) -> str:
        """Read the commands in backticks."""
        rows: list[str] = []
        self.at += 1
        while self.at < len(self.text) and self.peek() != "`":
            if self.peek() == "\\" and self.peek(2)[1:] in ("`", "\\", "$"):
                self.at += 1
            rows.append(self.peek())
            self.at += 1
        self.at += 1
        self.found += read_commands("".join(rows), self.depth + 1)
        return UNKNOWN

    def dollar(self, *, quoted: bool) -> str:
        """Read what a dollar sign begins."""
        self.at += 1
        char = self.peek()
        if char == "(":
            self.at += 1
            self.inner(")")
        elif char == "{":
            self.at += 1
            self.braces()
        elif char == "'" and not quoted:
            return self.ansi_quoted()
        elif char == '"' and not quoted:
            self.at += 1
            return self.quoted_text('"')
        elif name := _NAME.match(self.text, self.at):
            self.at = name.end()
        else:
            return "$"
        return UNKNOWN

    def braces(self) -> None:
        """Pass over ``${...}``, finding the commands in it."""
        while self.at < len(self.text) and self.peek() != "}":
            char = self.peek()
            if char == "'":
                self.single_quoted()
            elif char == '"':
                self.at += 1
                self.quoted_text('"')
            elif char == "`":
                self.backticks()
            elif char == "$":
                self.dollar(quoted=True)
            else:
                self.at += 2 if char == "\\" else 1
        self.at += 1

    def ansi_quoted(self) -> str:
        """Read text in ``$'...'``, with its escapes."""
        parts: list[str] = []
        self.at += 1
        while self.at < len(self.text) and self.peek() != "'":
            char = self.peek()
            self.at += 1
            if char == "\\":
                code = _CODE.match(self.text, self.at)
                if code:
                    number = int(code[4], 8) & 0xFF if code[4] else int(code[1] or code[2] or code[3], 16)
                    parts.append(chr(number) if number < 0x110000 else "?")
                    self.at = code.end()
                    continue
                char = _ESCAPES.get(self.peek(), self.peek())
                self.at += 1
            parts.append(char)
        self.at += 1
        return "".join(parts)
