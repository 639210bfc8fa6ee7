"""Credentials in what a worker wrote: found by their shape, named by kind and line, never by their value."""

from __future__ import annotations

import base64
import json
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gitprun.model.secrets import SHAPES, Spot, find_secret
from tests.support.repos import make_repo
from tests.support.workshop import open_workshop

# No whole credential stands in this file: each is put together here.
LETTERS = "aB3dE5fG7hI9jK1lM2nO4pQ6rS8tU0vWxYzA7bC9dE1fG3hI5jK7lM9nO1pQ3rS5tU7vW9xY1zA3bC5dE7fG9hI1jK3lM5nO7pQ9"
HEX = "3f9a0c7e5b1d2846f0a9c3e7b5d18264ab90cd"


def jwt(head: object, body: object) -> str:
    parts = [base64.urlsafe_b64encode(json.dumps(part).encode()).decode().rstrip("=") for part in (head, body)]
    return ".".join([*parts, LETTERS[:43]])


GOOD_JWT = jwt({"alg": "HS256", "typ": "JWT"}, {"sub": "user-77", "iat": 1})
BLOCK = "-----BEGIN RSA PRIVATE {}-----\n{}\n{}\n-----END RSA PRIVATE {}-----\n"
FOUND = [
    ("AK" + "IAQ7R3T5V2X4Z6B2D5", "an AWS access key id"),
    ("aws_secret_access_key = " + LETTERS[:40], "an AWS secret key"),
    ('{"SecretAccessKey": "' + LETTERS[:38] + '/+"}', "an AWS secret key"),
    ("gh" + "p_" + LETTERS[:36], "a GitHub token"),
    ("github" + "_pat_" + LETTERS[:22] + "_" + LETTERS[:59], "a GitHub token"),
    ("gl" + "pat-" + LETTERS[:20], "a GitLab token"),
    ("xo" + "xb-293847561038-" + LETTERS[:24], "a Slack token"),
    ("https://hooks.sl" + "ack.com/services/T0AB12CD3/B0AB12CD3/" + LETTERS[:24], "a Slack webhook"),
    ("sk" + "_live_" + LETTERS[:24], "a Stripe key"),
    ("sk-" + "ant-api03-" + LETTERS[:93], "an Anthropic key"),
    ("sk-" + "proj-" + LETTERS[:24] + "T3Blbk" + "FJ" + LETTERS[:24], "an OpenAI key"),
    ("AI" + "za" + LETTERS[:35], "a Google key"),
    ("npm" + "_" + LETTERS[:36], "an npm token"),
    ("//registry.npmjs.org/:_auth" + "Token=3f9a0c7e-5b1d-2846-f0a9-c3e7b5d18264", "an npm token"),
    ("py" + "pi-AgEIcHlwaS5vcmc" + LETTERS[:75], "a PyPI token"),
    ("S" + "K" + HEX[:32], "a Twilio key"),
    ("S" + "G." + LETTERS[:22] + "." + LETTERS[:43], "a SendGrid key"),
    (BLOCK.format("KEY", LETTERS[:64], LETTERS[:64], "KEY"), "a private key"),
    ('key = "' + BLOCK.format("KEY", LETTERS[:64], LETTERS[:64], "KEY").replace("\n", "\\n") + '"', "a private key"),
    (GOOD_JWT, "a JSON web token"),
    ("postgres://app:" + LETTERS[:12] + "@db.prod.acme.io:5432/app", "an address with a password"),
    ("DefaultEndpointsProtocol=https;Account" + "Key=" + LETTERS[:86] + "==",
     "a credential (Azure Storage Account access key)"),
]  # fmt: skip
PASSES = [
    "AK" + "IAIOSFODNN7EXAMPLE",
    "aws_secret_access_key = " + "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
    "aws_secret_access_key = ${AWS_SECRET}",
    "gh" + "p_" + "x" * 36,
    "gh" + "p_<your token here>",
    "gh" + "p_" + LETTERS[:36] + "  # pragma: allowlist secret",
    "# pragma: allowlist nextline secret\n" + "gh" + "p_" + LETTERS[:36],
    "sk" + "_test_" + LETTERS[:24],
    "a.sk" + "y_live_in_a_house_that_is_long_enough_for_all",
    'MARK = "-----BEGIN PRIVATE KEY-----"',
    BLOCK.format("KEY", "EXAMPLE", "", "KEY"),
    jwt({"alg": "HS256"}, {"sub": "1234567890", "name": "John Doe"}),
    jwt({"alg": "HS256"}, {"role": "anon"}),
    jwt({"kid": "x"}, {"sub": "u"}),
    "eyJhbGciOi.eyJub3QganNvbg." + LETTERS[:43],
    "postgres://postgres:postgres@db.prod.acme.io/x",
    "postgres://app:" + LETTERS[:12] + "@localhost:5432/x",
    "postgres://app:" + LETTERS[:12] + "@db:5432/x",
    "https://user:${PASSWORD}@github.com/a/b.git",
    "https://user:" + LETTERS[:12] + "@example.com/",
    "ssh://git@github.com:22/a/b.git",
    "sha = SK" + "a" * 32,
    "0" * 5000,
]


@pytest.mark.parametrize(("text", "kind"), FOUND, ids=[f"{kind}-{number}" for number, (_, kind) in enumerate(FOUND)])
def test_it_is_found(text: str, kind: str) -> None:
    assert find_secret(f"one\ntwo\n{text}\nfour\n".encode()) == Spot(kind, 3)
    assert find_secret(f"x = '{text}',\r\n".encode()) == Spot(kind, 1)


@pytest.mark.parametrize("text", PASSES, ids=range(len(PASSES)))
def test_it_passes(text: str) -> None:
    assert find_secret(f"one\n{text}\n".encode()) is None


@pytest.mark.parametrize(("text", "kind"), FOUND, ids=[f"{kind}-{number}" for number, (_, kind) in enumerate(FOUND)])
def test_what_the_base_holds_already_passes(text: str, kind: str) -> None:
    whole = f"moved to another line\n{text}\n".encode()
    assert find_secret(whole, f"{text}\nold\n".encode()) is None
    assert find_secret(whole, b"old\n") == Spot(kind, 2)


def test_the_first_of_several_is_named() -> None:
    rows = [FOUND[9][0], FOUND[3][0], FOUND[8][0]]
    assert find_secret("\n".join(rows).encode()) == Spot("an Anthropic key", 1)


@given(st.binary(max_size=400), st.binary(max_size=100))
def test_it_never_breaks(content: bytes, known: bytes) -> None:
    find_secret(content, known)
    hints = b" ".join(hint for shape in SHAPES for hint in shape.hints)
    find_secret(hints + content + hints, known)


def test_it_takes_no_time_over_what_was_made_to_take_it() -> None:
    began = time.process_time()
    for hint in {hint for shape in SHAPES for hint in shape.hints}:
        for filling in (b"a", b"A1", b"-", b"a:", b"\n", b"//a:a", b"eyJa.", b"1-", b"KEY-----"):
            find_secret((hint + filling * 40) * 60 + hint + filling * 20_000)
    assert time.process_time() - began < 20


def test_a_capture_leaves_such_files_out(tmp_path: Path) -> None:
    token = FOUND[3][0]
    repo = make_repo(tmp_path / "repo", old_dot_py=f"T = '{token}'\n", a_dot_py="1\n", b_dot_py="1\n")
    shop = open_workshop(repo, tmp_path / "w")
    shop.work.write("old.py", f"# moved\nT = '{token}'\n")
    shop.work.write("a.py", f"1\n2\nT = '{token}'\n")
    shop.work.write("b.py", f"T = '{token}'  # pragma: allowlist secret\n")
    shop.work.write("new.py", f"\nT = '{token}'\n")
    shop.work.write("binary", b"\0" + token.encode())
    shop.work.write("late.txt", "x" * 3_000_000 + "\n" + token, executable=False)
    found = shop.finish()
    assert set(shop.files(found)) == {"b.py", "binary", "old.py"}
    assert {(row.path, row.reason) for row in found.left_out} == {
        ("a.py", "line 3 looks like a GitHub token"),
        ("new.py", "line 2 looks like a GitHub token"),
        ("late.txt", "larger than 1000000 bytes ([collect] max_file)"),
    }
    assert token not in str(found.row.as_json())


def test_a_capture_that_is_told_not_to_look(tmp_path: Path) -> None:
    from dataclasses import replace

    from gitprun.capture.capture import capture
    from tests.support.workshop import RUN

    shop = open_workshop(make_repo(tmp_path / "repo"), tmp_path / "w")
    shop.work.write("a.txt", FOUND[3][0])
    assert capture(replace(shop.site, secrets=False), RUN, shop.unit).changed == ("a.txt",)
