"""Which files, and which parts of them, a check command leads to: its script, its target, its runner's settings.

Commands are read as a shell would split them, never run. A script is looked into one level deep: for the scripts it
calls. What cannot be followed (a variable, a program of the system) leads nowhere.
"""

from __future__ import annotations

import posixpath
import re
import shlex
from collections.abc import Callable, Iterator, Sequence

from gitprun.verify.parts import RUNNER, RUNNERS, find_parts, is_justfile, is_makefile, read_json_key

# Reads a text of a tree; None where it has no such file.
Reader = Callable[[str], str | None]

SHELLS = frozenset({"sh", "bash", "dash", "zsh", "ksh", "ash", ".", "source"})
INTERPRETERS = r"python[\d.]*|node|nodejs|ruby|perl|php|deno|bun|tsx|ts-node|Rscript|lua|escript|groovy"
PACKERS = frozenset({"npm", "pnpm", "yarn", "bun"})
# Words before the command that is meant.
_BEFORE = frozenset(
    {"env", "time", "exec", "command", "nice", "nohup", "then", "do", "else", "if", "!", "{", "(", "xvfb-run", "npx"}
)
_RUNS = frozenset({"poetry", "uv", "pipenv", "hatch", "pdm", "rye", "bundle", "dotenv", "direnv"})
# What is no script of the checks although an interpreter is given it.
_PRODUCT = r"(?:.*/)?(?:app|main|manage|setup|index|cli|server|__main__)\.\w+|(?:src|lib|app|pkg|cmd)/.*"
_CHECKING = (
    r"(?i)(?:.*/)?(?:\.?ci|scripts?|tools?|hack|tests?|checks?|\.github)/.*|.*(?:check|test|verif|lint|\bci\b).*"
)
# As make writes its variables; ``$NAME`` is one of the shell's.
_MADE_OF = r"\$[({]([A-Za-z_]\w*)[)}]"
# By such words a prerequisite or a variable is taken for a part of the checks.
_TELLING = r"(?i)test|check|spec|args|opts|lint|suite|case|unit|integration|e2e|verify|smoke|\bci\b"
_NPM_WORDS = {"t": "test", "tst": "test", "it": "test", "install-test": "test", "start": "start", "stop": "stop"}
# From a command to a target to a script to the script that one calls.
_DEEPEST = 4


def find_sources(checks: Sequence[str], read: Reader) -> dict[str, frozenset[str]]:
    """Return the files that checks lead to, each with the keys that count (none: all of it does)."""
    trail = _Trail(read)
    for command in checks:
        trail.follow(command, "", 0)
    trail.look_at_runners()
    return {path: frozenset(keys) for path, keys in trail.found.items()}


class _Trail:
    """What was found on the way from commands to files."""

    def __init__(self, read: Reader) -> None:
        self.read = read
        self.found: dict[str, set[str]] = {}
        self.said: list[str] = []
        self.folders: set[str] = {""}
        self._seen: set[tuple[str, str]] = set()

    def follow(self, command: str, folder: str, depth: int) -> None:
        """Follow a command line that runs in a folder."""
        # Targets and scripts may call each other in a circle.
        if depth > _DEEPEST or (command, folder) in self._seen:
            return
        self._seen.add((command, folder))
        self.said.append(command)
        for words in split_commands(command):
            rest = _meant(words)
            if not rest:
                continue
            program, arguments = rest[0], rest[1:]
            name = program.rpartition("/")[2]
            if name in ("cd", "pushd") and arguments:
                folder = _join(folder, arguments[0])
                self.folders.add(folder)
            elif name in SHELLS:
                self._shell(arguments, folder, depth)
            elif re.fullmatch(INTERPRETERS, name) and not (name in PACKERS and arguments[:1] in (["run"], ["test"])):
                self._interpreter(arguments, folder, depth)
            elif name in ("make", "gmake"):
                self._make(arguments, folder, depth)
            elif name == "just":
                self._just(arguments, folder, depth)
            elif name in PACKERS:
                self._packer(name, arguments, folder, depth)
            elif name in ("nox", "pre-commit", "task", "rake", "invoke", "inv", "earthly"):
                self._whole(_OWN_FILES[name], folder)
            elif "/" in program or self.read(_join(folder, program)) is not None:
                self._script(_join(folder, program), folder, depth)

    def _shell(self, arguments: Sequence[str], folder: str, depth: int) -> None:
        for number, word in enumerate(arguments):
            # ``-ec`` and ``-lc`` hold a -c as well.
            if word.startswith("-") and not word.startswith("--") and "c" in word:
                for code in arguments[number + 1 : number + 2]:
                    self.follow(code, folder, depth + 1)
                return
            if not word.startswith(("-", "+")):
                self._script(_join(folder, word), folder, depth)
                return

    def _interpreter(self, arguments: Sequence[str], folder: str, depth: int) -> None:
        for number, word in enumerate(arguments):
            if word == "-m":
                for module in arguments[number + 1 : number + 2]:
                    self.said.append(module)
                    for ending in (".py", "/__main__.py"):
                        path = _join(folder, module.replace(".", "/") + ending)
                        if re.fullmatch(_CHECKING, path):
                            self._script(path, folder, depth)
                return
            # Code on the command line lies in no file.
            if word in ("-c", "-e"):
                return
            if not word.startswith("-") and word not in ("run", "task"):
                path = _join(folder, word)
                if not re.fullmatch(_PRODUCT, path):
                    self._script(path, folder, depth)
                return

    def _script(self, path: str, folder: str, depth: int) -> None:
        text = self.read(path)
        if text is None or path in self.found:
            return
        self.found[path] = set()
        self.said.append(text)
        if text.startswith("#!") or path.endswith((".sh", ".bash")) or "." not in posixpath.basename(path):
            for called in _called(text, folder, posixpath.dirname(path), self.read):
                self.found.setdefault(called, set())
            for line in text.split("\n"):
                # Targets and packages it runs; of the scripts it calls, _called knows.
                # Near the bottom already: what a script runs is followed by one more step, and no four.
                if re.search(r"\b(?:make|npm|pnpm|yarn|just)\b", line):
                    self.follow(line.strip(), folder, max(depth + 1, _DEEPEST - 1))

    def _make(self, arguments: Sequence[str], folder: str, depth: int) -> None:
        file, targets, waiting = "", list[str](), ""
        for word in arguments:
            if waiting:
                folder, file = (_join(folder, word), file) if waiting == "-C" else (folder, word)
                waiting = ""
            elif word in ("-C", "-f", "--directory", "--file"):
                waiting = "-C" if word in ("-C", "--directory") else "-f"
            elif word.startswith(("-C", "-f")) and len(word) > 2:
                folder, file = (_join(folder, word[2:]), file) if word[1] == "C" else (folder, word[2:])
            elif not word.startswith("-") and "=" not in word:
                targets.append(word)
        names = [file] if file else ["GNUmakefile", "makefile", "Makefile"]
        path = next((place for name in names if self.read(place := _join(folder, name)) is not None), "")
        text = self.read(path) if path else None
        if text is None:
            return
        keys = _targets(path, text, targets or [_first_target(text)])
        self.found.setdefault(path, set()).update(keys)
        self._recipes(path, text, keys, folder, depth)

    def _just(self, arguments: Sequence[str], folder: str, depth: int) -> None:
        names = ("justfile", ".justfile", "Justfile")
        path = next((place for name in names if self.read(place := _join(folder, name)) is not None), "")
        text = self.read(path) if path else None
        targets = [word for word in arguments if not word.startswith("-") and "=" not in word][:1]
        if text is None:
            return
        keys = _targets(path, text, targets or [_first_target(text)])
        self.found.setdefault(path, set()).update(keys)
        self._recipes(path, text, keys, folder, depth)

    def _recipes(self, path: str, text: str, keys: set[str], folder: str, depth: int) -> None:
        lines = text.split("\n")
        for first, end in find_parts(path, {key for key in keys if not key.startswith("$")}, text):
            for line in lines[first + 1 : end]:
                self.follow(line.strip().lstrip("@-+"), folder, depth + 1)

    def _packer(self, name: str, arguments: Sequence[str], folder: str, depth: int) -> None:
        words, waiting = list[str](), False
        for word in arguments:
            if waiting:
                folder, waiting = _join(folder, word), False
            elif word in ("--prefix", "-C", "--dir", "--cwd"):
                waiting = True
            # What follows is for the script itself.
            elif word == "--":
                break
            elif not word.startswith("-"):
                words.append(word)
        if words[:1] in (["run"], ["run-script"], ["rum"]):
            words = words[1:]
        # Other words of npm (install, audit) are commands of its own; those of yarn and pnpm may be scripts.
        elif name == "npm" and words and words[0] not in (*_NPM_WORDS, "test"):
            return
        path = _join(folder, "package.json")
        text = self.read(path)
        script = _NPM_WORDS.get(words[0], words[0]) if words else ""
        if text is None or not script:
            return
        # These run before and after it unasked.
        for key in (f"scripts.pre{script}", f"scripts.{script}", f"scripts.post{script}"):
            self.found.setdefault(path, set()).add(key)
            command = read_json_key(text, key)
            if isinstance(command, str):
                self.follow(command, folder, depth + 1)

    def _whole(self, names: Sequence[str], folder: str) -> None:
        for name in names:
            path = _join(folder, name)
            if self.read(path) is not None:
                self.found.setdefault(path, set())

    def look_at_runners(self) -> None:
        """Add the settings of every runner that was mentioned on the way."""
        said = "\n".join(self.said)
        for folder in sorted(self.folders):
            for row in (row for row in RUNNERS if re.search(row.said, said)):
                for path in (_join(folder, name) for name in row.names):
                    # Where all of a file counts already, its keys need not be named.
                    if self.found.get(path, {""}) and self.read(path) is not None:
                        self.found.setdefault(path, set()).add(f"{RUNNER}{row.runner}")
            path = _join(folder, "package.json")
            if self.read(path) is not None and re.search(r"\b(?:jest|vitest|mocha|ava|react-scripts)\b", said):
                tables = [f"{tool}.{key}" for tool in ("jest", "mocha", "ava") for key in _JS_TABLE_KEYS]
                self.found.setdefault(path, set()).update(tables)


_OWN_FILES = {
    "nox": ("noxfile.py",),
    "pre-commit": (".pre-commit-config.yaml",),
    "task": ("Taskfile.yml", "Taskfile.yaml"),
    "rake": ("Rakefile",),
    "invoke": ("tasks.py",),
    "inv": ("tasks.py",),
    "earthly": ("Earthfile",),
}
_JS_TABLE_KEYS = (
    "testPathIgnorePatterns",
    "testMatch",
    "testRegex",
    "roots",
    "spec",
    "ignore",
    "files",
    "passWithNoTests",
)


def split_commands(text: str) -> list[list[str]]:
    """Split a command line into simple commands, each a list of words; at blanks where no shell would take it."""
    # Operators become words of their own, and lines that go on are joined.
    lexer = shlex.shlex(text.replace("\\\n", " "), posix=True, punctuation_chars=";&|()<>\n")
    lexer.whitespace = " \t\r"
    lexer.whitespace_split = True
    try:
        words = list(lexer)
    except ValueError:
        words = text.split()
    found: list[list[str]] = [[]]
    for word in words:
        # Redirections end no command.
        if word and not set(word) - set(";&|()\n"):
            found.append([])
        else:
            found[-1].append(word)
    return [row for row in found if row]


def _meant(words: Sequence[str]) -> list[str]:
    """Drop what stands before the command that is meant: variables, ``env``, ``timeout 60``, ``poetry run``."""
    rest = list(words)
    while rest:
        if re.fullmatch(r"[A-Za-z_]\w*=.*", rest[0], re.DOTALL) or rest[0] in _BEFORE or rest[0].startswith("-"):
            rest = rest[1:]
        elif rest[0] == "timeout":
            rest = rest[1:]
            # Its options first, then the duration.
            while rest and rest[0].startswith("-"):
                rest = rest[1:]
            rest = rest[1:]
        elif rest[0] in _RUNS and rest[1:2] in (["run"], ["exec"]):
            rest = rest[2:]
        else:
            break
    return rest


def _join(folder: str, name: str) -> str:
    path = posixpath.normpath(posixpath.join(folder, name))
    return "" if path == "." else path


def _called(text: str, folder: str, own: str, read: Reader) -> Iterator[str]:
    """List the scripts that a script calls: words of it that are files beside it, or where it runs."""
    for line in text.split("\n"):
        if line.lstrip().startswith("#"):
            continue
        for word in re.findall(r"[\w@.$(){}\"/-]*[\w.-]+", line):
            # What scripts put before a name: ``$(dirname "$0")/``, ``${HERE}/`` or ``$HERE/``.
            plain = re.sub(r"^.*[)}\"]/|^\"?\$\w+/", "", word).strip('"')
            shell = plain.endswith((".sh", ".bash")) or (plain.startswith("./") and not posixpath.splitext(plain)[1])
            if not shell and not (
                plain.endswith((".py", ".js", ".mjs", ".rb", ".pl", ".php")) and re.fullmatch(_CHECKING, plain)
            ):
                continue
            for place in (_join(folder, plain), _join(own, plain)):
                if not place.startswith("..") and read(place) is not None:
                    yield place
                    break


def _first_target(text: str) -> str:
    goal = re.search(r"^\.DEFAULT_GOAL\s*:?=\s*(\S+)", text, re.MULTILINE)
    first = re.search(r"^([A-Za-z_][\w./-]*)(?:\s[^:=\n]*)?\s*:(?!=)", text, re.MULTILINE)
    return goal[1] if goal else first[1] if first else ""


def _targets(path: str, text: str, targets: Sequence[str]) -> set[str]:
    """Add to targets what they are made of: prerequisites that are checks too, and the variables their recipes name."""
    lines, keys, waiting = text.split("\n"), set[str](), [target for target in targets if target]
    while waiting:
        key = waiting.pop()
        if key in keys:
            continue
        keys.add(key)
        for first, end in find_parts(path, {key}, text):
            head, recipe = lines[first], lines[first + 1 : end]
            # Comments behind a target, also those that document it, name no prerequisite.
            needed = head.partition(":")[2].partition("##")[0].partition("#")[0].partition("=")[0].split()
            # One without a recipe of its own stands for all it names.
            bare = not any(line.strip() for line in recipe) and is_makefile(posixpath.basename(path))
            wanted = needed if bare else [name for name in needed if re.search(_TELLING, name)]
            waiting += [name for name in wanted if not name.startswith(("$", "."))]
            names = re.findall(_MADE_OF, "\n".join((head, *recipe)))
            keys |= {f"${name}" for name in names if re.search(_TELLING, name)}
            if is_justfile(posixpath.basename(path)):
                waiting += re.findall(r"\bjust\s+([\w-]+)", "\n".join(recipe))
    return keys
