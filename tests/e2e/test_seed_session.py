"""The seeds' own command lines, as one sh script, with the real codex on the scripted model."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.agents import agent_home, codex_program, codex_settings
from tests.support.cli import program_environment
from tests.support.model_server import BY_PROMPT, ModelServer, say, shell
from tests.support.repos import make_repo

pytestmark = [
    pytest.mark.real_codex,
    pytest.mark.skipif(codex_program() is None, reason="no codex: pip install openai-codex-cli-bin"),
]
SCRIPT = Path(__file__).with_name("seed_session.sh")


def result(unit: str) -> str:
    return f"# {unit} result\nConclusion: {unit} done\nFiles: none\nOpen items: none\nVerification: none\n"


@pytest.mark.slow
def test_the_seeds_command_lines_work(tmp_path: Path) -> None:
    scripts = {
        "reports": [shell("echo reports >reports.txt"), say("Done.")],
        "search": [shell("echo search >search.txt"), say("Done.")],
        "research": [say(result("research"))],
        "survey": [say(result("survey"))],
    }
    with agent_home() as home, ModelServer(scripts) as server:
        repo = make_repo(home / "r", a_dot_txt="1\n")
        table = codex_settings(server.codex_url(BY_PROMPT), home)
        env = ", ".join(f"{key} = {json.dumps(value)}" for key, value in table["env"].items())
        repo.write(
            "prun.toml",
            f'[run]\nverify = ["test -f a.txt"]\n[executor.codex]\nprogram = {json.dumps(table["program"])}\n'
            f"args = {json.dumps(table['args'])}\nenv = {{ {env} }}\n",
        )
        repo.approve()
        bin_folder = home / "bin"
        bin_folder.mkdir()
        shim = bin_folder / "git-prun"
        shim.write_text(f'#!/bin/sh\nexec {sys.executable} -m gitprun "$@"\n')
        shim.chmod(0o755)
        work = home / "work"
        work.mkdir()
        done = subprocess.run(
            ["sh", str(SCRIPT), str(work)],
            cwd=repo.path,
            env=program_environment(
                {"PATH": f"{bin_folder}{os.pathsep}{os.environ['PATH']}", "CODEX_MODEL": "gpt-5.5"}
                | {"POST_VERIFY_CMD": "cat *.txt | grep -c nosuch || true", "POST_VERIFY_TESTS": "echo '1 passed'"}
            ),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=120,
            check=False,
        )
        assert done.returncode == 0, done.stdout.decode() + done.stderr.decode()
        clock = r"\d\d:\d\d:\d\dZ"
        lines = (work / "wrapper-reports").read_text().splitlines()
        assert re.fullmatch(
            rf"\[wrapper p1-reports\] {clock} pid=\d+ branch=wave1/reports-scheduled-pipeline starting", lines[0]
        )
        assert re.fullmatch(r"\[wrapper p1-reports\] exit=0 runtime=\d+s", lines[1])
        assert any(line.endswith("committed") for line in lines)
        assert any("post-verify verify_errors=0" in line and "1 passed" in line for line in lines)
        assert {"a.txt", "reports.txt", "search.txt", "prun.toml"} == set(repo.files("main"))
        merges = repo.git("log", "--merges", "--format=%s").splitlines()
        assert merges == ["merge: ship wave1/search", "merge: ship wave1/reports-scheduled-pipeline"]
        subjects = repo.git("log", "--no-merges", "--format=%s").splitlines()
        assert "agent(p1-reports): MODEL-SCRIPT: reports" in subjects
        assert re.search(
            rf"^{clock}  procs=codex:\d+/wrap:\d+  commits=main:\d+/all:\d+", (work / "monitor").read_text()
        )
        gathered = (work / "gather").read_text().splitlines()
        assert gathered[0] == "GATHER-START count=2 timeout=60s"
        assert sorted(gathered[1:]) == [f"DONE {work / name}" for name in ("research.md", "survey.md")]
        for unit in ("research", "survey"):
            assert re.fullmatch(r"STATE-DIR /\S+\n", (work / f"{unit}.out").read_text())
            assert (work / f"{unit}.md").read_text().strip() == result(unit).strip()
        assert repo.status() == []
