"""core.sharedRepository: read as git reads it, honoured by what prun makes in the repository, and nowhere else."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from gitprun.system.sharing import parse_sharing, share, shared_mode
from tests.support.repos import make_repo_for_workers

PLAN = """
[run]
verify = ["true"]
[[unit]]
id = "a"
prompt = "x"
command = ["sh", "-c", "umask >mask.txt; git add -A; git -c user.name=w -c user.email=w@x.test commit -qm own"]
"""


@pytest.mark.parametrize(
    ("value", "bits"),
    [
        ("umask", 0), ("false", 0), ("0", 0), ("group", 0o660), ("true", 0o660), ("1", 0o660), ("all", 0o664),
        ("World", 0o664), ("everybody", 0o664), ("2", 0o664), ("0640", -0o640), ("0664", -0o664), ("770", -0o660),
    ],
)  # fmt: skip
def test_values_as_git_reads_them(value: str, bits: int) -> None:
    assert parse_sharing(value) == bits


@pytest.mark.parametrize("value", ["0440", "nobody", "9", "-1"])
def test_values_git_refuses(value: str) -> None:
    with pytest.raises(ValueError, match=r".+"):
        parse_sharing(value)


@pytest.mark.parametrize(
    ("permission", "modes"),
    [
        (0, {0o600: 0o600, 0o444: 0o444, 0o700: 0o700}),
        (0o660, {0o600: 0o660, 0o444: 0o444, 0o400: 0o440, 0o700: 0o770}),
        (0o664, {0o600: 0o664, 0o400: 0o444, 0o700: 0o775}),
        (-0o640, {0o666: 0o640, 0o444: 0o440, 0o755: 0o750}),
    ],
)
def test_modes(permission: int, modes: dict[int, int]) -> None:
    share(Path("/r/.git"), permission)
    try:
        assert {mode: shared_mode(Path("/r/.git/x"), mode) for mode in modes} == modes
        assert {mode: shared_mode(Path("/r/x"), mode) for mode in modes} == dict(zip(modes, modes, strict=True))
    finally:
        share(Path("/"), 0)


def test_a_run_and_its_landing_in_a_shared_repository(tmp_path: Path) -> None:
    repo = make_repo_for_workers(tmp_path / "repo")
    subprocess.run(["chmod", "-R", "g+rwX", repo.path / ".git"], check=True)
    subprocess.run(["find", repo.path / ".git", "-type", "d", "-exec", "chmod", "g+s", "{}", "+"], check=True)
    repo.git("config", "core.sharedRepository", "group")
    (tmp_path / "plan.toml").write_text(PLAN)
    for words in (("run", str(tmp_path / "plan.toml")), ("merge",)):
        done = subprocess.run(
            [sys.executable, "-m", "gitprun", *words],
            cwd=repo.path, env=os.environ, umask=0o077, capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
    assert repo.files()["mask.txt"] == "0077"
    closed = [
        path
        for path in (repo.path / ".git").rglob("*")
        for mode in [path.lstat().st_mode]
        if not stat.S_ISLNK(mode) and (not mode & 0o040 or (stat.S_ISDIR(mode) and mode & 0o070 != 0o070))
    ]
    assert closed == []
    assert not (repo.path / ".git" / "prun" / "ledger.jsonl").stat().st_mode & 0o007
    # Files of the checkout, and workspaces, are as the umask says.
    assert (repo.path / "mask.txt").stat().st_mode & 0o777 == 0o600
    assert [path.stat().st_mode & 0o077 for path in (tmp_path / "repo.prun", tmp_path / "repo.prun" / "r1")] == [0, 0]


def test_a_repository_that_is_not_shared_gets_the_users_umask_back(tmp_path: Path) -> None:
    """One process may use both, side by side: what lets a group into one must not let it into the other."""
    before = os.umask(0o077)
    os.umask(before)
    try:
        share(tmp_path / "shared", 0o660)
        share(tmp_path / "own", 0)
        after = os.umask(before)
        assert after == before
        assert (shared_mode(tmp_path / "shared" / "f", 0o600), shared_mode(tmp_path / "own" / "f", 0o600)) == (
            0o660,
            0o600,
        )
    finally:
        share(tmp_path / "shared", 0)
        os.umask(before)
