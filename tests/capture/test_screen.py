"""Which new files are no part of the work, by name, size, head and link target."""

from __future__ import annotations

import posixpath

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gitprun.capture.screen import LeftOut, NewPath, build_folder, gather_left_out, screen_link, screen_new, within

SECRET = "looks like a secret by its name"


@pytest.mark.parametrize(
    "name",
    [".env", ".env.local", ".env.production", ".env.a.b", ".ENV", "id_rsa", "deploy_id_ed25519", "my-id_ecdsa",
     "server.pem", "x.p12", "x.pfx", "a.keystore", "a.jks", "a.ppk", "tls.key", ".netrc", ".npmrc", ".pypirc",
     ".git-credentials", "credentials", "credentials.json", "service-account-7.json", "auth.json", ".htpasswd",
     "kubeconfig"],
)  # fmt: skip
def test_secrets_by_name(name: str) -> None:
    for path in (name, f"deep/{name}"):
        assert screen_new(NewPath(path, 5), 100) == LeftOut(path, SECRET, 5)


@pytest.mark.parametrize(
    "name",
    [".env.example", ".env.sample", ".env.template", ".env.dist", ".env.defaults", ".env.test", ".envrc", "env",
     "id_rsa.pub", "x.pub.key", "keys.py", "credentials.py", "monkey", "test_auth.json.py", "environment.env.md"],
)  # fmt: skip
def test_names_that_only_look_alike(name: str) -> None:
    assert screen_new(NewPath(name, 5), 100) is None


@pytest.mark.parametrize(
    ("head", "reason"),
    [
        (b"-----BEGIN RSA PRIVATE KEY-----\n", "a private key"),
        (b"\n  -----BEGIN PRIVATE KEY-----", "a private key"),
        (b"-----BEGIN OPENSSH PRIVATE KEY-----", "a private key"),
        (b"-----BEGIN PUBLIC KEY-----", None),
        (b'KEY = "-----BEGIN PRIVATE KEY-----"', None),
        (b"\x7fELF\x02", "build output (a compiled program)"),
        (b"\xcf\xfa\xed\xfe", "build output (a compiled program)"),
        (b"#!/bin/sh", None),
    ],
)
def test_heads(head: bytes, reason: str | None) -> None:
    found = screen_new(NewPath("x", 5, head=head, executable=True), 100)
    assert (found.reason if found else None) == reason


def test_a_program_that_is_not_executable_is_a_file() -> None:
    assert screen_new(NewPath("tests/sample.o", 5, head=b"\x7fELF"), 100) is None


@pytest.mark.parametrize(
    ("path", "folder"),
    [
        ("node_modules/a/b.js", "node_modules"),
        ("web/node_modules/a/node_modules/b.js", "web/node_modules"),
        ("a/__pycache__/x.pyc", "a/__pycache__"),
        (".local/share/x", ".local/share"),
        ("sub/.local/share/x", None),
        (".cargo/config.toml", None),
        (".cargo/registry/x", ".cargo/registry"),
        ("node_modules", None),
        ("my_node_modules/x", None),
    ],
)
def test_build_folder(path: str, folder: str | None) -> None:
    assert build_folder(path) == folder


def test_a_folder_the_base_tracks_is_no_build_output() -> None:
    assert screen_new(NewPath("venv/node_modules/x"), 100, lambda folder: folder == "venv/node_modules") is None


@pytest.mark.parametrize("name", [".git", ".GIT", "a/.Git/x", "git~1", "GIT~1/x", ".git ", ".git...", ".git:stream"])
def test_names_git_refuses(name: str) -> None:
    assert screen_new(NewPath(name), 100) == LeftOut(name, "a name that git refuses")


@pytest.mark.parametrize("name", [".gitx", "git~2", "x.git", ".gitignore", "git", ". git"])
def test_names_git_takes(name: str) -> None:
    assert screen_new(NewPath(name), 100) is None


@pytest.mark.parametrize(
    ("path", "target", "reason"),
    [
        ("a/b", "c", None),
        ("a/b", "../c", None),
        ("a/b", "../../c", "a link that leaves the workspace (to ../../c)"),
        ("a", "..", "a link that leaves the workspace (to ..)"),
        ("a", "/etc/passwd", "a link that leaves the workspace (to /etc/passwd)"),
        ("a/b", "../.git", "a link into .git"),
        ("a", "x/../.git/config", "a link into .git"),
        ("a", ".github", None),
        ("a", "..x", None),
        (".gitmodules", "x", "a name that git refuses for a link"),
    ],
)
def test_links(path: str, target: str, reason: str | None) -> None:
    found = screen_link(NewPath(path, link=target))
    assert (found.reason if found else None) == reason


PARTS = st.lists(st.sampled_from(["a", "b", "..", ".", "x y"]), min_size=1, max_size=6).map("/".join)


@given(st.lists(st.sampled_from(["a", "b"]), max_size=3), PARTS)
def test_no_link_out_gets_through(above: list[str], target: str) -> None:
    path = "/".join([*above, "link"])
    full = posixpath.normpath(posixpath.join("/top/w", *above, target))
    leaves = full != "/top/w" and not full.startswith("/top/w/")
    assert (screen_link(NewPath(path, link=target)) is not None) == leaves


def test_sizes() -> None:
    assert screen_new(NewPath("x", 100), 100) is None
    assert screen_new(NewPath("x", 101), 100) == LeftOut("x", "larger than 100 bytes ([collect] max_file)", 101)


def test_within() -> None:
    assert [within(path, ("a/b", "c")) for path in ("a/b", "a/b/x", "a/bx", "a", "c/x", "cc")] == [
        True, True, False, False, True, False,
    ]  # fmt: skip


def test_gather_left_out_adds_up() -> None:
    rows = [LeftOut("b/", "built", 2), LeftOut("a", "secret", 1), LeftOut("b/", "built", 3), LeftOut("b/", "other", 4)]
    assert gather_left_out(rows) == (
        LeftOut("a", "secret", 1), LeftOut("b/", "built", 5), LeftOut("b/", "other", 4),
    )  # fmt: skip
