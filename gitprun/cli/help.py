"""``git prun help``: the pages that ship with the program, and the help of its commands."""

from __future__ import annotations

import re
from pathlib import Path

import click

from gitprun.cli.console import hint, put, safe, table
from gitprun.model.errors import PrunError, UsageProblem
from gitprun.model.names import nearest

LISTING = "git prun help TOPIC prints a page, git prun help COMMAND says how a command is used."


class TopicCommand(click.Command):
    """A command whose own help lists the topics that it prints."""

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the topics, as many a line as there is room for."""
        with formatter.section("Topics"):
            formatter.write_text(", ".join(read_pages()))


@click.command("help", cls=TopicCommand)
@click.argument("words", metavar="[TOPIC|COMMAND]...", nargs=-1)
@click.pass_context
def help_on(ctx: click.Context, words: tuple[str, ...]) -> None:
    """Print a page of the documentation as plain Markdown, or the help of a COMMAND; without a name, list the pages.

    Where a page and a command have one name, NAME is the command and NAME.md is the page.
    """
    pages, root = read_pages(), ctx.find_root()
    commands = root.command.list_commands(root) if isinstance(root.command, click.Group) else []
    if not words or [word.lower() for word in words] in (["topics"], ["pages"]):
        rows = [(f"{name}.md" if name in commands else name, _title(path)) for name, path in pages.items()]
        put(f"{table(('topic', 'what it is about'), rows)}\n\n{LISTING}")
        return
    name = words[0].removeprefix("references/").removesuffix(".md").lower()
    if words[0] in commands:
        put(_command_help(root, words))
        if len(words) == 1 and name in pages:
            hint(f"git prun help {name}.md prints the page about it")
        return
    if len(words) > 1 or name not in pages:
        raise _unknown(" ".join(words), words[0], [*pages, *commands])
    put(pages[name].read_text(encoding="utf-8").rstrip("\n"))


def read_pages() -> dict[str, Path]:
    """Find the pages by name: inside the installed package, or at the top of the source tree."""
    package = Path(__file__).parents[1]
    for folder in (package / "_references", package.parent / "references"):
        if found := sorted(folder.glob("*.md")):
            return {path.stem: path for path in found}
    raise PrunError("this installation has no pages", "install it again: pip install --force-reinstall gitprun")


def _title(path: Path) -> str:
    first = path.read_text(encoding="utf-8").partition("\n")[0]
    return re.sub(r"^# |`", "", first)


def _command_help(root: click.Context, words: tuple[str, ...]) -> str:
    """Return in words what ``--help`` of a command says; for a command of a group, such as ``hooks install``, too."""
    ctx = root
    for word in words:
        group = ctx.command
        found = group.get_command(ctx, word) if isinstance(group, click.Group) else None
        if found is None:
            known = group.list_commands(ctx) if isinstance(group, click.Group) else []
            raise _unknown(" ".join(words), word, known)
        ctx = found.make_context(word, [], parent=ctx, resilient_parsing=True)
    return ctx.get_help()


def _unknown(said: str, word: str, known: list[str]) -> UsageProblem:
    meant = nearest(word.removesuffix(".md"), known)
    advice = f"did you mean {meant!r}?" if meant else "git prun help lists the pages, git prun --help the commands"
    return UsageProblem(f"there is no page and no command {safe(said)!r}", advice)
