"""The merge commit: its message as ``git merge`` would clean it, its signature, its encoding."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from gitprun.git.command import Git
from gitprun.git.refs import Signature, require_object, write_commit
from gitprun.git.trees import Objects
from gitprun.landing.plan import Candidate
from gitprun.landing.settings import MergeSettings
from gitprun.model.errors import GitFailed, GitStopped, GitTimeout, PrunError
from gitprun.model.names import Oid, parse_oid

# An agent that has the key answers at once, a token wants to be touched; more is a prompt that nobody sees.
SIGNING_TIMEOUT = 30.0
# Stands for the comment sign in shortlogs; nothing a person writes starts with it.
_CREDIT = "\x01"
# One line with nothing to clean up: what almost every merge message is.
_PLAIN = re.compile(r"\S(?:[^\n]*\S)?\n?", re.ASCII)


def finish_message(git: Git, settings: MergeSettings, text: str) -> str:
    """Clean a message up the way ``commit.cleanup`` asks for when nobody edits it; empty if nothing is left."""
    if settings.cleanup == "verbatim":
        return text
    # A program less for almost every merge.
    if settings.cleanup != "strip" and _PLAIN.fullmatch(text):
        return text.rstrip("\n") + "\n"
    options = ("--strip-comments",) if settings.cleanup == "strip" else ()
    return _text(git.run("stripspace", *options, stdin=_bytes(text)).out)


def append_shortlog(git: Git, settings: MergeSettings, candidate: Candidate, text: str) -> str:
    """Append the subjects of the merged commits, if ``merge.log`` asks for them."""
    if not settings.shortlog:
        return text
    # git words a branch and a commit differently, and fmt-merge-msg goes by these words.
    known = git.run("show-ref", "--verify", "--quiet", f"refs/heads/{candidate.branch}", ok=(0, 1, 128)).code == 0
    name = f"branch '{candidate.branch}' of ." if known else f"commit '{candidate.branch}'"
    row = f"{candidate.tip}\t\t{name}\n"
    # Under a comment character of ours: subjects may begin with the user's.
    apart = Git(cwd=git.cwd, env=git.env, config=(*git.config, f"core.commentChar={_CREDIT}"))
    out = _text(apart.run("fmt-merge-msg", "-m", text, stdin=_bytes(row)).out)
    said = "".join(line for line in out.splitlines(keepends=True) if not line.startswith(_CREDIT))
    # As git has it, and shows it to hooks.
    return said.removesuffix("\n")


@dataclass(frozen=True, slots=True, kw_only=True)
class NewCommit:
    """A commit about to be written; ``who`` are its author and its committer."""

    tree: Oid
    parents: tuple[Oid, ...]
    message: str
    who: tuple[Signature, Signature]


def write_new_commit(git: Git, repo: Objects, settings: MergeSettings, new: NewCommit) -> Oid:
    """Write the commit, moving no ref; raises PrunError when it cannot be signed."""
    tree, parents, message, who = new.tree, new.parents, new.message, new.who
    what = "the merge commit" if len(parents) > 1 else "the commit"
    # Without a program, which takes longer than all else a merge in memory does.
    plain = not settings.sign and not settings.encoding
    if plain and _encodable(message, *(text for one in who for text in (one.name, one.email))):
        return write_commit(repo, tree, parents, message, *who)
    options = ["-S"] if settings.sign else []
    for parent in parents:
        options += ["-p", parent]
    try:
        answer = git.run("commit-tree", *options, tree, stdin=_bytes(message), timeout=SIGNING_TIMEOUT)
    except GitStopped:
        raise
    except GitTimeout:
        raise PrunError(
            f"signing {what} did not finish within {SIGNING_TIMEOUT:g} s; nothing was changed",
            "unlock the key first (nobody sees a prompt here), or set commit.gpgSign to false",
        ) from None
    except GitFailed as problem:
        raise PrunError(
            f"{what} could not be written: {problem.message}; nothing was changed",
            "check user.signingKey and gpg.program" if settings.sign else "",
        ) from None
    oid = parse_oid(answer.text)
    # git commit-tree wrote it in another process: our object store has to see it before a ref names it.
    require_object(repo, oid)
    return oid


def revert_message(repo: Objects, commit: str, parent: str) -> str:
    """Return the message that ``git revert`` would write."""
    # Only an undo comes here, and loading libgit2 takes longer than a landing does.
    import pygit2

    found = repo[pygit2.Oid(hex=commit)].peel(pygit2.Commit)
    subject = found.raw_message.decode("utf-8", "surrogateescape").lstrip("\n").partition("\n")[0]
    # git's own sentence: servers and reverts.py know a revert by it.
    of_merge = f", reversing\nchanges made to {parent}" if len(found.parent_ids) > 1 else ""
    return f'Revert "{subject}"\n\nThis reverts commit {commit}{of_merge}.\n'


def read_message_file(path: Path) -> str:
    """Read a message a hook may have rewritten."""
    return _text(path.read_bytes())


def write_message_file(path: Path, text: str) -> None:
    """Write a message for a hook to read."""
    path.write_bytes(_bytes(text))


def _encodable(*texts: str) -> bool:
    """Check whether texts are what git would write; in names U+FFFD stands for bytes that were no UTF-8."""
    whole = "".join(texts)
    return "\ufffd" not in whole and not any("\udc80" <= character <= "\udcff" for character in whole)


def _text(raw: bytes) -> str:
    return raw.decode("utf-8", "surrogateescape")


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")
