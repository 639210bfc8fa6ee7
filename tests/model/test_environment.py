"""What of an environment a check may see: credentials go by name, or by a password in a URL."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gitprun.model.environment import UNASKED, is_credential, missed, speaks_of_denial, strip_credentials, withheld

CREDENTIALS = """
GITHUB_TOKEN GH_TOKEN NPM_TOKEN HF_TOKEN CARGO_REGISTRY_TOKEN CARGO_REGISTRIES_MINE_TOKEN github_token GITHUBTOKEN
API_TOKENS TOKEN NODE_AUTH_TOKEN npm_config__authToken NPM_CONFIG__AUTH npm_config_//registry.test/:_authToken
CLIENT_SECRET SECRET_KEY_BASE DJANGO_SECRET_KEY JWT_SECRETS MY_SECRET_THING RAILS_MASTER_KEY PGPASSWORD DB_PASSWORD
POSTGRES_PASSWORD FTP_PASSWD MYSQL_PWD SMTP_PASS GPG_PASSPHRASE PASSWORD PASSWORD_STORE_DIR STRIPE_API_KEY
STRIPE_APIKEY SENDGRID_KEY SSH_PRIVATE_KEY DEPLOY_KEYS R2_ACCESS_KEY_ID ALGOLIA_ADMIN_KEY AWS_ACCESS_KEY_ID
AWS_SECRET_ACCESS_KEY AWS_SESSION_TOKEN AWS_PROFILE AZURE_CLIENT_ID GOOGLE_APPLICATION_CREDENTIALS
FIREBASE_CREDENTIALS NETLIFY_PAT SLACK_WEBHOOK_URL SENTRY_DSN SSH_AUTH_SOCK SSH_AGENT_PID GPG_AGENT_INFO NETRC
KUBECONFIG DOCKER_CONFIG DOCKER_AUTH_CONFIG DBUS_SESSION_BUS_ADDRESS CODEX_API_KEY CODEX_HOME OPENAI_API_KEY
OPENAI_BASE_URL ANTHROPIC_API_KEY ANTHROPIC_BASE_URL CLAUDE_CONFIG_DIR GITHUB_ENV GITHUB_PATH ACTIONS_RUNTIME_URL
BW_SESSION OP_SESSION_my SUDO_ASKPASS TMUX
"""
HARMLESS = """
PATH HOME USER SHELL LANG LC_ALL TERM TZ TMPDIR PWD OLDPWD EDITOR DISPLAY VIRTUAL_ENV PYTHONPATH
PYTHONDONTWRITEBYTECODE NODE_ENV NODE_OPTIONS CI GITHUB_ACTIONS GITHUB_SHA JAVA_HOME GOPATH GOFLAGS CARGO_HOME
RUSTUP_HOME RUSTFLAGS TOKENIZERS_PARALLELISM KEYBOARD KEYMAP MONKEY PUBLIC_KEY SSH_PUBLIC_KEY SSH_CONNECTION
AWS_REGION AWS_DEFAULT_REGION XDG_CACHE_HOME XDG_RUNTIME_DIR COLORTERM DOCKER_HOST PASSENGER_APP_ENV COMPASS_DIR
AUTHOR OAUTHLIB_RELAX
"""


@pytest.mark.parametrize("name", CREDENTIALS.split())
def test_names_that_tell(name: str) -> None:
    assert is_credential(name, "x")


@pytest.mark.parametrize("name", HARMLESS.split())
def test_names_that_tell_of_nothing(name: str) -> None:
    assert not is_credential(name, "x")


@pytest.mark.parametrize(
    ("value", "credential"),
    [
        ("postgres://app:pw@db.example.test:5432/app", True),
        ("postgres://app:pw@10.0.0.5/app", True),
        ("postgresql+asyncpg://app:pw@db.example.test/app", True),
        ("https://user:ghp_x@github.test/simple", True),
        ("https://:pw@proxy.example.test:8080", True),
        ("amqp://a:b@one.example.test,amqp://a:b@localhost", True),
        ("amqp://a:b@localhost,amqp://a:b@one.example.test", True),
        ("postgres://postgres:postgres@localhost:5432/test", False),
        ("postgres://postgres:postgres@127.0.0.1/test", False),
        ("redis://:pw@[::1]:6379/0", False),
        ("mysql://root:root@db/test", False),
        ("postgres://app@db.example.test/app", False),
        ("https://example.test/a:b@c", False),
        ("git@github.test:me/repo.git", False),
        ("sqlite:///tmp/test.db", False),
        ("", False),
    ],
)
def test_a_password_within_an_address(value: str, credential: bool) -> None:
    assert is_credential("DATABASE_URL", value) is credential


def test_what_is_left_of_an_environment() -> None:
    env = {
        "PATH": "/bin",
        "HOME": "/home/me",
        "GH_TOKEN": "x",
        "GIT_DIR": "/other",
        "GIT_CONFIG_PARAMETERS": "'a.b'='c'",
        "PRUN_UNIT": "other",
        "SSH_ASKPASS": "/usr/bin/ask",
        "DATABASE_URL": "postgres://a:b@prod.example.test/x",
    }
    assert strip_credentials(env) == {"PATH": "/bin", "HOME": "/home/me", **UNASKED}
    assert withheld(env) == {"GH_TOKEN", "DATABASE_URL"}


@given(st.dictionaries(st.text(max_size=20), st.text(max_size=30), max_size=5))
def test_any_environment(env: dict[str, str]) -> None:
    kept = strip_credentials(env)
    assert not withheld({name: value for name, value in kept.items() if name not in UNASKED})
    assert {name: env[name] for name in kept if name not in UNASKED}.items() <= env.items()
    assert strip_credentials({name: value for name, value in kept.items() if name not in UNASKED}) == kept


def test_what_a_failed_check_misses() -> None:
    names = {"GH_TOKEN", "DATABASE_URL", "API_KEY"}
    assert missed("KeyError: 'GH_TOKEN'\nMY_API_KEY_2\nset $DATABASE_URL first", names) == ["DATABASE_URL", "GH_TOKEN"]
    assert missed("fine", names) == []


@pytest.mark.parametrize(
    ("output", "denied"),
    [
        ("sh: 1: cannot create /home/me/x: Permission denied", True),
        ("OSError: [Errno 30] Read-only file system: '/home/me/.cache'", True),
        ("npm ERR! code EACCES", True),
        ("java.nio.file.AccessDeniedException: /tmp/x", True),
        ("mv: cannot move: Invalid cross-device link", True),
        ("kill: Operation not permitted", True),
        ("AssertionError: 1 != 2", False),
        ("1 failed, 3 passed", False),
    ],
)
def test_a_failure_that_speaks_of_walls(output: str, denied: bool) -> None:
    assert speaks_of_denial(output) is denied
