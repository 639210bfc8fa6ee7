"""``git prun merge-file``: merge one file as ``git merge-file`` does, and settle what can be proved."""

from __future__ import annotations

import click

from gitprun.cli.merge_file_args import merge_words


class RawCommand(click.Command):
    """A command whose words are read by ``merge_file_args``; click only knows its help."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Take the words as they are, unless they ask for help."""
        if any(word in ctx.help_option_names for word in args):
            return super().parse_args(ctx, args)
        ctx.args = [*args]
        return []


@click.command(name="merge-file", cls=RawCommand)
@click.argument("files", metavar="OURS BASE THEIRS", nargs=3)
@click.option("-p", "--stdout", is_flag=True, help="Print the merged text; OURS stays as it is.")
@click.option("--path", metavar="PATH", help="What the file is called in the repository: tells of what kind it is.")
@click.option("--marker-size", metavar="N", help="How long conflict markers are.")
@click.option("-L", "label", multiple=True, help="What to call OURS, BASE and THEIRS in markers (up to three times).")
@click.option("--diff3", is_flag=True, help="Show the base in conflicts, as merge.conflictStyle=diff3 does.")
@click.option("--zdiff3", is_flag=True, help="The same, with what both sides share taken out.")
@click.option("--ours", is_flag=True, help="Let OURS win in conflicts; nothing else is tried.")
@click.option("--theirs", is_flag=True, help="Let THEIRS win.")
@click.option("--union", is_flag=True, help="Take both.")
@click.option("-q", "--quiet", is_flag=True, help="Say nothing on stderr.")
@click.pass_context
def merge_file(ctx: click.Context, /, **_: object) -> int:
    """Merge THEIRS into OURS, both made from BASE, as git merge-file does; with fewer conflicts.

    What git merges cleanly is git's result, byte for byte. Where git leaves a conflict, or its result is wrong in a
    way that neither side is (a key twice, say), the resolvers for PATH are asked, and a text they can prove is the
    answer. Else it is what git merge-file gives.

    Exit codes are git's: 0 clean, up to 127 the number of conflicts left, from 128 on an error. 1 also for a text
    without markers: git merged it, but it is wrong in the way that is said on stderr.
    """
    return merge_words(ctx.args, ctx.obj)
