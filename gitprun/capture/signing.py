"""Sign a unit's commit where ``commit.gpgSign`` asks: with the user's programs as they were before its worker began."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from gitprun.capture.context import SEALED, CaptureContext
from gitprun.git.command import Git
from gitprun.git.refs import Signature
from gitprun.model.errors import GitFailed, GitTimeout, PrunError
from gitprun.model.names import Oid, parse_oid
from gitprun.workspaces.gitdir import read_snapshot

# In seconds: nobody sees a prompt here, and an agent that is unlocked signs in less than one.
TIMEOUT = 30.0
_ON = ("true", "yes", "on", "1")


class NotSigned(PrunError):
    """A signature was asked for, and could not be made; the work is not held up by that."""


def wants_signature(site: CaptureContext) -> bool:
    """Check whether the user's settings, as they were before the worker began, ask for signed commits."""
    return site.own is not None and _signing(site.own).get("commit.gpgsign", "").lower() in _ON


def write_signed(site: CaptureContext, tree: Oid, parent: Oid, message: str, who: tuple[Signature, Signature]) -> Oid:
    """Write a signed commit into the git folder of the workspace; raises NotSigned."""
    assert site.own is not None
    env = {"GIT_DIR": str(site.own), **SEALED, **_identity("AUTHOR", who[0]), **_identity("COMMITTER", who[1])}
    settings = tuple(f"{key}={value}" for key, value in _signing(site.own).items())
    # From the user's checkout: a path of a program's counts from there, and never from the workspace.
    git = Git(cwd=_place(site), env=env, config=("core.hooksPath=/dev/null", *settings))
    text = message.encode("utf-8", "surrogateescape").decode("utf-8", "replace").encode()
    try:
        return parse_oid(git.run("commit-tree", "-S", "-p", parent, tree, stdin=text, timeout=TIMEOUT).text)
    except GitTimeout:
        raise NotSigned(
            f"not signed: signing did not finish within {TIMEOUT:g} s (nobody sees a prompt here)"
        ) from None
    except GitFailed as problem:
        raise NotSigned(f"not signed, although commit.gpgSign asks for it: {problem.message}") from None


def _signing(own: Path) -> Mapping[str, str]:
    return read_snapshot(own).signing


def _place(site: CaptureContext) -> Path:
    return site.repository.top or site.repository.common


def _identity(role: str, who: Signature) -> dict[str, str]:
    hours, minutes = divmod(abs(who.offset), 60)
    zone = f"{'-' if who.offset < 0 else '+'}{hours:02d}{minutes:02d}"
    said = {"NAME": who.name, "EMAIL": who.email, "DATE": f"@{who.time} {zone}"}
    return {f"GIT_{role}_{key}": value for key, value in said.items()}
