"""What prun.toml says of programs, commands and walls counts once the user approved it, key by key."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.inside import inside
from tests.support.landing import landing_events
from tests.support.repos import Repo, make_repo

Words = Callable[..., tuple[int, str, str]]
TOOL = '#!/bin/sh\necho ran >>"$(dirname "$0")/mark"\nexit 1\n'


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    return make_repo(tmp_path / "repo")


@pytest.fixture
def prun(repo: Repo, capsys: pytest.CaptureFixture[str]) -> Words:
    def call(*words: str) -> tuple[int, str, str]:
        said = inside(capsys, repo.path, *words)
        return said.code, said.out, said.err

    return call


def refused(*said: str) -> str:
    return (
        f"error: prun.toml says what you have not approved yet: {'; '.join(said)}\n"
        "hint: read it; git prun trust --yes approves it\n"
    )


def test_only_what_changed_is_asked(repo: Repo, prun: Words) -> None:
    assert prun("trust") == (0, "", "prun.toml names nothing to approve\n")
    repo.write("prun.toml", '[executor.codex]\nprogram = "./x"\n[workspace]\nsetup = ["make"]\n[run]\nverify = ["t"]\n')
    both = ('[executor.codex] program = "./x"', '[workspace] setup = ["make"]')
    assert prun("trust") == (128, "", refused(*both))
    assert prun("trust", "--yes") == (0, "".join(f"approved: {one}\n" for one in both), "")
    assert prun("trust") == (0, "", "everything in prun.toml that asks for it is approved\n")
    repo.write("prun.toml", '[executor.codex]\nprogram = "./y"\n[workspace]\nsetup = ["make"]\n[run]\nverify = ["u"]\n')
    assert prun("trust") == (128, "", refused('[executor.codex] program = "./y"'))
    repo.write("prun.toml", '[executor.claude]\nprogram = "./x"\n')
    assert prun("trust") == (128, "", refused('[executor.claude] program = "./x"'))


def test_no_credential_is_shown_or_kept(repo: Repo, prun: Words, sealed: Path) -> None:
    token = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
    repo.write(
        "prun.toml",
        '[executor.codex]\nenv = { CODEX_HOME = "/its/home", PLAIN = "1", MY_API_KEY = "hunter2" }\n'
        f'args = ["-c", "{token}"]\n',
    )
    hidden = "(looks like a credential, not shown)"
    code, out, err = prun("trust", "--yes")
    assert (code, err) == (0, "")
    assert out.splitlines() == [
        f"approved: [executor.codex] args = {hidden}",
        f'approved: [executor.codex] env = {{ CODEX_HOME = "/its/home", MY_API_KEY = {hidden}, PLAIN = "1" }}',
    ]
    kept = (sealed / ".local" / "state" / "git-prun" / "trust.json").read_text()
    assert not [one for one in ("hunter2", token, "/its/home") if one in kept]


@pytest.mark.parametrize(
    ("said", "words"),
    [
        ('[executor.codex] program = "./tool"', ("run", "--unit", "id=n", "--prompt", "x", "--executor", "codex")),
        ('[executor.codex] env = { "A": "1" }', ("exec", "w", "s", "do it")),
        ("[executor.codex] isolate = false", ("exec", "w", "s", "do it")),
        ('[run] verify_sandbox = "none"', ("run", "--unit", "id=n", "--prompt", "x", "--command", "true")),
        ('[run] verify_view = "none"', ("merge", "topic")),
        ('[run] verify_sandbox = "none"', ("verify", "topic")),
        ('[collect] filters = ["lfs"]', ("run", "--unit", "id=n", "--prompt", "x", "--command", "true")),
    ],
)
def test_whatever_needs_it_is_refused_until_then(repo: Repo, prun: Words, said: str, words: tuple[str, ...]) -> None:
    repo.branch("topic")
    if words[0] == "exec":
        assert prun("new", "w", "w")[0] == 0
    table, _, line = said.partition("] ")
    key, _, value = line.partition(" = ")
    value = value.replace('"A":', "A =")
    repo.write("prun.toml", f"{table}]\n{key} = {value}\n")
    code, out, err = prun(*words)
    assert (code, out) == (128, "")
    assert err == refused(said.replace('"A":', "A ="))
    assert not (repo.path / ".git" / "prun" / "runs" / "r1").exists()


def test_what_is_not_needed_is_not_asked(repo: Repo, prun: Words) -> None:
    repo.switch("topic", new=True)
    repo.commit("topic", b_dot_txt="b\n")
    repo.switch("main")
    repo.write("prun.toml", '[executor.codex]\nprogram = "./tool"\n[[hotspot]]\npath = "z"\nafter = ["make"]\n')
    assert prun("merge", "topic", "--verify", "true")[0] == 0
    assert prun("run", "--unit", "id=n", "--prompt", "x", "--command", "true", "--verify", "true")[0] == 1
    repo.write("plan.toml", '[executor.codex]\nprogram = "false"\n[[unit]]\nid = "n"\nprompt = "x"\n')
    # It is named on the command line: its program is tried, and fails.
    assert prun("run", "plan.toml", "--no-retry")[0] == 1


def test_yes_on_the_command_approves(repo: Repo, prun: Words) -> None:
    repo.write("tool", TOOL, executable=True)
    repo.write("prun.toml", f'[executor.codex]\nprogram = "{repo.path}/tool"\n')
    words = ("run", "--unit", "id=n", "--prompt", "x", "--executor", "codex", "--no-retry")
    assert (prun(*words)[0], (repo.path / "mark").exists()) == (128, False)
    assert (prun(*words, "--yes")[0], repo.read("mark")) == (1, "ran\n")
    assert (prun(*words)[0], repo.read("mark")) == (1, "ran\nran\n")


def test_a_program_of_the_checkout_is_asked_anew_when_it_changed(repo: Repo, prun: Words) -> None:
    repo.write("tool", TOOL, executable=True)
    repo.write("prun.toml", '[executor.codex]\nprogram = "./tool"\n[executor.claude]\nprogram = "/bin/true"\n')
    assert prun("trust", "--yes")[0] == 0
    assert prun("trust")[0] == 0
    repo.write("tool", TOOL + "# more\n")
    assert prun("trust") == (128, "", refused('[executor.codex] program = "./tool"'))
    repo.write("tool", TOOL)
    assert prun("trust")[0] == 0


def test_a_resumed_run_asks_for_what_changed(repo: Repo, prun: Words) -> None:
    repo.write("tool", TOOL, executable=True)
    repo.write("prun.toml", f'[executor.codex]\nprogram = "{repo.path}/tool"\n')
    words = ("run", "--unit", "id=n", "--prompt", "x", "--executor", "codex", "--no-retry")
    assert prun(*words, "--yes")[0] == 1
    repo.write("other", TOOL, executable=True)
    repo.write("prun.toml", f'[executor.codex]\nprogram = "{repo.path}/other"\n')
    code, _, err = prun("run", "--resume")
    assert (code, err) == (128, refused(f'[executor.codex] program = "{repo.path}/other"'))
    assert repo.read("mark") == "ran\n"


BRINGS = '[run]\nverify = ["true"]\n[executor.codex]\nprogram = "./tool"\n'


def with_branch(repo: Repo) -> None:
    repo.commit("settings", prun_dot_toml='[run]\nverify = ["true"]\n')
    repo.switch("topic", new=True)
    repo.commit("topic", prun_dot_toml=BRINGS, tool="x\n")
    repo.switch("main")


def test_what_was_accepted_by_name_is_approved_with_it(repo: Repo, prun: Words) -> None:
    with_branch(repo)
    assert prun("merge", "topic", "--accept", "prun.toml")[0] == 0
    assert landing_events(repo)[-1] == "landing.finished landed"
    assert prun("trust") == (0, "", "everything in prun.toml that asks for it is approved\n")


def test_what_cannot_be_written_down_is_asked_later(repo: Repo, prun: Words, sealed: Path) -> None:
    with_branch(repo)
    (sealed / ".local").write_text("no folder\n")
    code, _, err = prun("merge", "topic", "--accept", "prun.toml")
    assert code == 0
    said = "prun.toml names programs or sandboxes that you have not approved yet ([executor.codex] program)"
    assert f"warning: {said}: git prun trust" in err.splitlines()
    assert prun("trust") == (128, "", refused('[executor.codex] program = "./tool"'))


def test_another_path_that_was_accepted_approves_nothing(repo: Repo, prun: Words) -> None:
    with_branch(repo)
    repo.write("prun.toml", '[run]\nverify = ["true"]\n[workspace]\nsetup = ["mine"]\n')
    repo.git("commit", "-qam", "mine")
    assert prun("merge", "topic", "--accept", "tool", "--accept", "docs")[0] in (0, 1)
    assert prun("trust")[0] == 128


def test_a_plan_and_the_environment_need_nothing(repo: Repo, prun: Words, monkeypatch: pytest.MonkeyPatch) -> None:
    repo.write(
        "plan.toml", '[run]\nverify = ["true"]\nverify_sandbox = "none"\n[workspace]\nsetup = ["touch made"]\n' + ROW
    )
    assert prun("run", "plan.toml")[0] == 0
    assert prun("merge")[0] == 0
    assert prun("new", "w", "w")[0] == 0
    monkeypatch.setenv("POST_VERIFY_CMD", "true")
    assert prun("exec", "w", "s", "do it", "--command", "touch c")[0] == 0


ROW = '[[unit]]\nid = "n"\nprompt = "x"\ncommand = ["sh", "-c", "test -f made && touch b"]\n'


def test_it_is_no_program_for_init_either(repo: Repo, prun: Words) -> None:
    repo.write("tool", TOOL, executable=True)
    repo.write("prun.toml", f'[executor.codex]\nprogram = "{repo.path}/tool"\n')
    code, out, _ = prun("init")
    said = "not asked for its version: what prun.toml says of it is not approved (git prun trust)"
    assert (code, [row for row in out.splitlines() if row.startswith("codex")]) == (0, [f"codex       {said}"])
    assert not (repo.path / "mark").exists()


def test_the_record_names_keys_only(repo: Repo, prun: Words, sealed: Path) -> None:
    repo.write("prun.toml", '[workspace]\nsetup = ["make"]\n')
    prun("trust", "--yes")
    record = json.loads((sealed / ".local" / "state" / "git-prun" / "trust.json").read_text())
    assert [sorted(row) for row in record["trusted"].values()] == [["key", "repository", "time"]]
