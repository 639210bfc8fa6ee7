"""Commits of units are signed where the user signs his, with his programs and nobody else's."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

import gitprun.capture.signing
from tests.support.landing import candidate, land_branches, states
from tests.support.repos import Repo, make_repo_for_workers
from tests.support.runs import run_units, sh, unit_of

pytestmark = pytest.mark.slow


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    return make_repo_for_workers(tmp_path / "repo")


def signs_by_ssh(repo: Repo, folder: Path) -> None:
    key = folder / "key"
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(key)], check=True)
    allowed = Repo(folder).write("allowed", f"carl@example.test {key.with_suffix('.pub').read_text()}")
    settings = {
        "commit.gpgSign": "true",
        "gpg.format": "ssh",
        "user.signingKey": str(key),
        "gpg.ssh.allowedSignersFile": str(allowed),
    }
    for name, value in settings.items():
        repo.git("config", name, value)


@pytest.mark.parametrize("kind", ["clone", "worktree"])
def test_a_unit_is_signed(repo: Repo, tmp_path: Path, kind: str) -> None:
    signs_by_ssh(repo, tmp_path)
    run_units(repo, sh("u", "echo b >b.txt", workspace=kind), verify=("true",))
    repo.git("verify-commit", "refs/prun/r1/u")
    assert (
        repo.git("log", "-1", "--format=%an %ae %cn", "refs/prun/r1/u") == "Ada Author ada@example.test Carl Committer"
    )
    repo.git("config", "merge.verifySignatures", "true")
    assert states(land_branches(repo, candidate(repo, "refs/prun/r1/u"))) == {"refs/prun/r1/u": "landed"}


def test_what_a_worker_says_about_signing_counts_nowhere(repo: Repo, tmp_path: Path) -> None:
    program = Repo(tmp_path).write("evil", f"#!/bin/sh\ntouch {tmp_path}/canary\nexit 1\n", executable=True)
    plant = f"git config commit.gpgSign true; git config gpg.program {program}; echo b >b.txt"
    run_units(repo, sh("u", plant, workspace="worktree"), sh("v", plant), verify=("true",))
    assert repo.files("refs/prun/r1/u")["b.txt"] == "b"
    assert not (tmp_path / "canary").exists()


@pytest.mark.parametrize("script", ["echo no key >&2; exit 2", "sleep 60"])
def test_a_signer_that_fails_holds_no_work_up(
    repo: Repo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, script: str
) -> None:
    signer = Repo(tmp_path).write("signer", f"#!/bin/sh\n{script}\n", executable=True)
    for key, value in {"commit.gpgSign": "true", "gpg.program": str(signer), "user.signingKey": "ABCD"}.items():
        repo.git("config", key, value)
    monkeypatch.setattr(gitprun.capture.signing, "TIMEOUT", 0.3 if "sleep" in script else 30.0)
    run_units(repo, sh("u", "echo b >b.txt"), verify=("true",))
    unit = unit_of(repo, "u")
    assert (unit.state, repo.files("refs/prun/r1/u")["b.txt"]) == ("ready", "b")
    (note,) = [text for text in unit.as_json()["collect_notes"] if "not signed" in text]
    assert note.startswith("not signed")
