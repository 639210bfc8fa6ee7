"""What in a text looks like a credential: precise shapes only, no guesses by entropy; a value is never given back."""

from __future__ import annotations

import base64
import functools
import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Shape:
    """One kind of credential: texts one of which it always holds, its pattern (group 1 or all of it is the value)."""

    kind: str
    hints: tuple[bytes, ...]
    pattern: re.Pattern[bytes]
    judge: Callable[[bytes], bool] = lambda value: True


@dataclass(frozen=True, slots=True)
class Spot:
    """Where something was found: what kind it is, and the number of its line."""

    kind: str
    line: int


_ALLOWED = re.compile(rb"pragma:\s*(?:allow|white)list[ -](?:nextline[ -])?secret")
# What documentation and tests show in the place of a value; each of them would hold up a capture.
_PLACEHOLDER = re.compile(
    rb"(?i)example|placeholder|redacted|changeme|dummy|your[_-]|<[^>]*>|\$\{|\{\{|x{4,}|\*{3,}|\.\.\.|0{8,}|1234567890|abcdefgh"
)
# Passwords nobody takes for one.
_KNOWN_TO_ALL = frozenset(
    b"admin changeit changeme guest pass passwd password postgres pwd root secret test user username".split()
)
# Every part is bounded, so that a long line of anything costs no more than its length.
_URL = re.compile(rb"[a-z][a-z0-9+.-]{1,20}://([^\s:/?#@\"'<>]{1,100}):([^\s/?#@\"'<>]{1,200})@([A-Za-z0-9.-]{1,200})")
# Names that are reserved for examples, and those only one machine or network knows.
_NOWHERE = re.compile(rb"(?i)(?:^|\.)(?:example(?:\.(?:com|org|net))?|test|invalid|localhost|local|internal)\.?$")


def _is_jwt(value: bytes) -> bool:
    """Check whether a token really has a header and a payload, and is none of those everybody shows."""
    try:
        head, body = (json.loads(base64.urlsafe_b64decode(part + b"===")) for part in value.split(b".")[:2])
    except (ValueError, RecursionError):
        return False
    if not (isinstance(head, dict) and isinstance(body, dict) and "alg" in head):
        return False
    # The one of jwt.io, and keys that are made to be public.
    return body.get("sub") != "1234567890" and body.get("role") != "anon" and head["alg"] != "none"


def _is_password(value: bytes) -> bool:
    """Check whether an address holds a password of a place that exists somewhere else."""
    found = _URL.fullmatch(value)
    if found is None:
        return False
    user, word, host = found.groups()
    # Shorter ones, a repeated user name and template variables are examples nobody is hurt by.
    weak = len(word) < 6 or word == user or word.lower() in _KNOWN_TO_ALL or any(mark in word for mark in b"${}%[]()")
    numbers = host.startswith((b"127.", b"0.", b"10.", b"192.168."))
    return not (weak or numbers or b"." not in host or _NOWHERE.search(host))


_JWT = rb"eyJ[A-Za-z0-9_=-]{10,4000}\.eyJ[A-Za-z0-9_=-]{10,4000}\.[A-Za-z0-9_-]{20,1000}"
_KEY_BLOCK = (
    rb"-----BEGIN (?:[A-Z0-9]+ ){0,3}PRIVATE KEY(?: BLOCK)?-----(?:\\[nr]|[\s\"'+,]){0,40}"
    rb"(?:[A-Za-z-]{2,20}: [^\r\n]{0,200}\r?\n){0,4}\s{0,4}((?:[A-Za-z0-9+/=]|\\n|\r?\n){60,})"
)
# Kind; hints; the pattern, which no letter or digit may go before or after. Where it has a group, that is the value.
_TABLE: tuple[tuple[str, str, bytes], ...] = (
    ("an AWS access key id", "A3T ABIA ACCA AKIA ASIA", rb"(?:A3T[A-Z0-9]|ABIA|ACCA|AKIA|ASIA)[A-Z2-7]{16}"),
    (
        "an AWS secret key",
        "ccess_key CCESS_KEY ccessKey",
        rb"(?:[A-Za-z0-9]*[_.])?(?i:secret_?access_?key)[\"']?\s{0,4}[:=]{1,2}\s{0,4}[\"']?([A-Za-z0-9/+]{40})(?![/+=])",
    ),
    ("a GitHub token", "ghp_ gho_ ghu_ ghs_ ghr_", rb"gh[pousr]_[A-Za-z0-9]{36,255}"),
    ("a GitHub token", "github_pat_", rb"github_pat_[A-Za-z0-9]{22}_[A-Za-z0-9]{59}"),
    (
        "a GitLab token",
        "glpat- gldt- glft- glsoat- glrt- glcbt- glptt- glagent- gloas-",
        rb"gl(?:pat|dt|ft|soat|rt|cbt|ptt|agent|oas)-[A-Za-z0-9_-]{20,}",
    ),
    ("a Slack token", "xox", rb"xox[abposr]-(?:[0-9]+-)+[A-Za-z0-9]{8,}"),
    ("a Slack token", "xapp-", rb"xapp-[0-9]-[A-Za-z0-9-]{20,}"),
    (
        "a Slack webhook",
        "hooks.slack.com/services/",
        rb"hooks\.slack\.com/services/T[A-Za-z0-9_]{6,}/B[A-Za-z0-9_]{6,}/([A-Za-z0-9_]{16,})",
    ),
    ("a Stripe key", "k_live_", rb"[sr]k_live_[A-Za-z0-9]{24,}"),
    ("a Stripe key", "whsec_", rb"whsec_[A-Za-z0-9]{32,}"),
    ("an Anthropic key", "sk-ant-", rb"sk-ant-[a-z]{3,8}[0-9]{2}-[A-Za-z0-9_-]{80,}"),
    ("an OpenAI key", "T3BlbkFJ", rb"sk-[A-Za-z0-9_-]*[A-Za-z0-9_-]{20}T3BlbkFJ[A-Za-z0-9_-]{20,}"),
    ("a Google key", "AIza", rb"AIza[A-Za-z0-9_-]{35}"),
    ("a Google key", "GOCSPX-", rb"GOCSPX-[A-Za-z0-9_-]{28}"),
    ("an npm token", "npm_", rb"npm_[A-Za-z0-9]{36}"),
    ("an npm token", "_authToken", rb"[:/._-]*_authToken\s{0,4}=\s{0,4}[\"']?([0-9a-f]{8}-[0-9a-f-]{27})"),
    ("a PyPI token", "pypi-AgE", rb"pypi-AgE[A-Za-z0-9_-]{70,}"),
    ("a Twilio key", "SK", rb"SK[0-9a-f]{32}"),
    ("a SendGrid key", "SG.", rb"SG\.[A-Za-z0-9_-]{22}\.[A-Za-z0-9_-]{43}"),
)
# Inside of a longer word it is a piece of a hash or of base64.
_BEFORE, _AFTER = rb"(?<![A-Za-z0-9_])", rb"(?![A-Za-z0-9])"
SHAPES = (
    *(
        Shape(kind, tuple(hints.encode().split()), re.compile(_BEFORE + pattern + _AFTER))
        for kind, hints, pattern in _TABLE
    ),
    Shape("a private key", (b"PRIVATE",), re.compile(_KEY_BLOCK)),
    Shape("a JSON web token", (b"eyJ",), re.compile(_BEFORE + _JWT), _is_jwt),
    Shape("an address with a password", (b"://",), _URL, _is_password),
)

# Kinds the library knows and we do not; each with what it cannot be without. Those that guess are not asked.
LIBRARY = {
    "azure_storage_key": (b"AccountKey=",),
    "cloudant": (b"cloudant",),
    "discord": (b"discord", b"DISCORD", b"Discord"),
    "mailchimp": (b"-us",),
    "softlayer": (b"softlayer", b"SOFTLAYER"),
    "square_oauth": (b"sq0csp-",),
}


def find_secret(content: bytes, known: bytes = b"") -> Spot | None:
    """Find the first credential in a text: no placeholder, not allowed in its line, and not in ``known``."""
    shapes = [shape for shape in SHAPES if any(hint in content for hint in shape.hints)]
    found = [spot for shape in shapes for spot in _spots(content, known, shape)]
    found += _ask_library(content, known)
    return min(found, key=lambda spot: spot.line, default=None)


def _spots(content: bytes, known: bytes, shape: Shape) -> Iterator[Spot]:
    for match in shape.pattern.finditer(content):
        value = match.group(0) if shape.pattern is _URL or not match.lastindex else match.group(match.lastindex)
        if not _passes(content, match.start(), value, known) and shape.judge(match.group(0)):
            yield Spot(shape.kind, content.count(b"\n", 0, match.start()) + 1)
            return


def _passes(content: bytes, at: int, value: bytes, known: bytes) -> bool:
    """Check whether a value is allowed: a placeholder, marked in its line or the one before, or in the base already."""
    # So few different characters are a pattern somebody typed, and no key.
    if _PLACEHOLDER.search(value) or len(set(value)) < 6 or (known and value in known):
        return True
    start = content.rfind(b"\n", 0, at) + 1
    end = content.find(b"\n", at)
    before = content[content.rfind(b"\n", 0, max(start - 1, 0)) + 1 : start]
    mark = _ALLOWED.search(before)
    return bool(
        _ALLOWED.search(content[start : end if end >= 0 else len(content)]) or (mark and b"nextline" in mark[0])
    )


def _ask_library(content: bytes, known: bytes) -> list[Spot]:
    """Return what detect-secrets alone finds, where it is installed; it is slow to load, so seldom asked."""
    wanted = [name for name, hints in LIBRARY.items() if any(hint in content for hint in hints)]
    spots = []
    for name in wanted:
        for plugin in _plugins(name):
            for number, line in enumerate(content.decode("utf-8", "replace").split("\n"), 1):
                values = [str(value).encode() for value in plugin.analyze_string(line)] if len(line) < 4000 else []
                raw = line.encode()
                if any(not _passes(raw, 0, value, known) for value in values):
                    spots.append(Spot(f"a credential ({plugin.secret_type})", number))
                    break
    return spots


@functools.cache
def _plugins(name: str) -> tuple[Any, ...]:
    """Load the detectors of one module of the library; none where it is not installed."""
    import importlib

    try:
        module = importlib.import_module(f"detect_secrets.plugins.{name}")
    except ImportError:
        return ()
    # Modules import their base classes, which detect nothing by themselves.
    own = [found for found in vars(module).values() if isinstance(found, type) and found.__module__ == module.__name__]
    return tuple(found() for found in own if hasattr(found, "secret_type"))
