"""What of the user's environment a check may see: everything but what opens doors in the user's name. Rules only."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping

# Names that say what they hold, whoever made them up.
_TELLING = re.compile(
    r"""SECRET|PASSW(?:OR)?D|PASSPHRASE|CREDENTIAL|API_?KEY|ACCESS_?KEY|PRIVATE_?KEY|AUTH_?TOKEN|WEBHOOK
    | (?:^|_)TOKENS?(?:_|$) | TOKEN$ | (?<!PUBLIC)_KEYS?$ | _PAT$ | _PASS$ | _PWD$ | _AUTH$ | _DSN$""",
    re.VERBOSE,
)
# All variables of services, whatever they are called, and of the programs that are workers.
_SERVICES = ("AWS_", "AZURE_", "CLOUDSDK_AUTH_", "ANTHROPIC_", "OPENAI_", "CODEX_", "CLAUDE_", "ACTIONS_", "BW_", "OP_")
# They name a place or a pager.
_HARMLESS = ("AWS_REGION", "AWS_DEFAULT_REGION", "AWS_PAGER", "AZURE_CONFIG_DIR")
# Sockets that sign and unlock, files with passwords, and what a CI service reads back.
_DOORS = frozenset(
    {
        "SSH_AUTH_SOCK",
        "SSH_AGENT_PID",
        "GPG_AGENT_INFO",
        "GNOME_KEYRING_CONTROL",
        "DBUS_SESSION_BUS_ADDRESS",
        "SUDO_ASKPASS",
        "NETRC",
        "PGPASSFILE",
        "KRB5CCNAME",
        "KUBECONFIG",
        "DOCKER_CONFIG",
        "DOCKER_AUTH_CONFIG",
        "BOTO_CONFIG",
        "XAUTHORITY",
        "TMUX",
        "STY",
        "GITHUB_ENV",
        "GITHUB_PATH",
        "GITHUB_OUTPUT",
        "GITHUB_STATE",
    }
)
# A database on this machine, or a neighbour in the same compose file, has a password that opens nothing else.
_WITH_PASSWORD = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://[^/?#\s@:]*:[^/?#\s@]+@(\[[^]]*\]|[^/?#\s:,]*)")
_HERE = re.compile(r"(?:localhost|127(?:\.\d+){3}|\[::1\]|[A-Za-z0-9_-]+|)", re.IGNORECASE)

# Nothing asks the user anything, and git uses no password the user has stored, whoever calls it.
UNASKED = {
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_ASKPASS": "",
    "SSH_ASKPASS": "",
    "SSH_ASKPASS_REQUIRE": "never",
    "GCM_INTERACTIVE": "never",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_CONFIG_COUNT": "1",
    "GIT_CONFIG_KEY_0": "credential.helper",
    "GIT_CONFIG_VALUE_0": "",
    # Without an address libraries look for the bus, and with it for the keyring, where it usually is.
    "DBUS_SESSION_BUS_ADDRESS": "disabled:",
}


def names_secret(name: str) -> bool:
    """Check whether a variable is a credential by what its name says, whichever program it is for."""
    return _TELLING.search(name.upper()) is not None


def is_credential(name: str, value: str) -> bool:
    """Check whether a variable opens doors in the user's name, by its name or by a password within a URL."""
    upper = name.upper()
    # PWD ends as names of passwords do, and is the current folder.
    if upper in _HARMLESS or upper in ("PWD", "OLDPWD"):
        return False
    if upper in _DOORS or upper.startswith(_SERVICES) or _TELLING.search(upper):
        return True
    return any(not _HERE.fullmatch(host) for host in _WITH_PASSWORD.findall(value))


def strip_credentials(env: Mapping[str, str]) -> dict[str, str]:
    """Return an environment without credentials, without ``GIT_*`` and ``PRUN_*``, in which nothing can ask anybody."""
    kept = {
        name: value
        for name, value in env.items()
        if not name.startswith(("GIT_", "PRUN_")) and not is_credential(name, value)
    }
    return {**kept, **UNASKED}


def withheld(env: Mapping[str, str]) -> frozenset[str]:
    """Name the credentials of an environment that ``strip_credentials`` leaves out."""
    return frozenset(name for name, value in env.items() if is_credential(name, value))


def missed(output: str, names: Collection[str]) -> list[str]:
    """List which of the withheld variables a failed check speaks of."""
    words = set(re.findall(r"[A-Za-z_][A-Za-z0-9_]*", output))
    return sorted(words & set(names))


# What programs say of a place they may not write.
_DENIED = re.compile(
    r"\bEACCES\b|\bEPERM\b|\bEROFS\b|\bEXDEV\b|permission denied|operation not permitted|read-only file ?system"
    r"|out of pty devices|access(?:\s+is|\s+was)?\s+denied|AccessDeniedException|Invalid cross-device link",
    re.IGNORECASE,
)


def speaks_of_denial(output: str) -> bool:
    """Check whether a failed check speaks of something it was not allowed to do."""
    return _DENIED.search(output) is not None
