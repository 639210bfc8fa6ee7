"""What would become a program of the user by landing is held until it is accepted by name, and no hook of it runs."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from gitprun.judging.hotspots import Hotspot
from gitprun.landing import landed
from gitprun.landing.forecast import forecast
from gitprun.landing.forecast_branches import Asked
from gitprun.landing.move import CheckoutStuck
from gitprun.landing.undo import UndoRequest, undo
from gitprun.model.errors import OperationRefused
from tests.support.landing import candidate, land_branches, states
from tests.support.repos import Repo, make_repo

HOOKS = ("post-merge", "post-index-change", "reference-transaction", "post-checkout")
# A branch of each kind: its files, what has to be accepted, and why it is held.
KINDS: dict[str, tuple[Mapping[str, str | None], tuple[str, ...], str]] = {
    "hook": ({".githooks/pre-push": "x"}, (".githooks/pre-push",), "git runs hooks from .githooks here"),
    "unhook": ({".githooks/commit-msg": None}, (".githooks/commit-msg",), "git runs hooks from .githooks here"),
    "linked": ({"tools/hook.sh": "x"}, ("tools/hook.sh",), "git runs hooks from tools/hook.sh here"),
    "named": ({"scripts/lint.sh": "x"}, ("scripts/lint.sh",), "the hook commit-msg runs it"),
    "runner": ({"lefthook.yml": "x"}, ("lefthook.yml",), "lefthook, which a hook here calls"),
    "runs": ({"scripts/deep.sh": "x"}, ("scripts/deep.sh",), "lefthook.yml runs it"),
    "filter": ({"bin/clean.py": "x"}, ("bin/clean.py",), "your setting filter.x.clean starts it"),
    "included": ({".gitconfig": "[alias]\nx = !x\n"}, (".gitconfig",), "git reads its settings from it here"),
    "attribute": (
        {"sub/.gitattributes": "*.bin filter=x\n"},
        ("sub/.gitattributes",),
        "leads files through your filter=x",
    ),
    "attributes": ({"more.attributes": "* merge=y\n"}, ("more.attributes",), "leads files through your merge=y"),
    "submodule": (
        {".gitmodules": '[submodule "s"]\npath = s\nurl = https://elsewhere.example/s\nupdate = rebase\n'},
        (".gitmodules",),
        "url of submodule s, update of submodule s",
    ),
    "settings": (
        {"prun.toml": '[executor.codex]\nprogram = "./codex"\n[run]\nverify = ["true"]\n'},
        ("prun.toml",),
        "[executor.codex] program, [run] verify",
    ),
    "broken": ({"prun.toml": "x = \n"}, ("prun.toml",), "it is no TOML any more"),
    "macro": ({"sub/.gitattributes": "*.bin big\n"}, ("sub/.gitattributes",), "leads files through your filter=x"),
    "package": (
        {"package.json": '{"lint-staged": {"*": "x"}}'},
        ("package.json",),
        "lint-staged, which a hook here calls",
    ),
    "agent": ({".claude/settings.json": "{}"}, (".claude/settings.json",), "settings of Claude Code, with its hooks"),
    "agents": ({"shared/mcp.json": "{}"}, ("shared/mcp.json",), ".mcp.json is a link to it"),
    "protected": ({"deploy/x.yml": "x"}, ("deploy/x.yml",), "[merge] protected"),
}
# Named at most: the same names where nothing makes them live, and changes that start nothing.
PLAIN: dict[str, Mapping[str, str | None]] = {
    "workflow": {".github/workflows/ci.yml": "on: push\n"},
    "husky": {".husky/pre-commit": "x"},
    "script": {"scripts/other.sh": "x"},
    "text": {".gitattributes": "[attr]big filter=x\n*.txt text\n*.svg diff=unknown\n"},
    "scripts": {"package.json": '{"scripts": {"a": "b"}}'},
    "jobs": {"prun.toml": "[run]\njobs = 3\n"},
    "path": {".gitmodules": '[submodule "s"]\npath = t\nurl = https://example.test/s\n'},
    "lock": {"yarn.lock": "x"},
}


def branch(repo: Repo, name: str, files: Mapping[str, str | None], start: str = "main") -> None:
    """Make a branch with files; None deletes one."""
    repo.switch(name, new=True, start=start)
    put(repo, files)
    repo.git("add", "-A")
    repo.git("-c", "core.hooksPath=/dev/null", "commit", "-q", "-m", name)
    repo.switch("main")


def put(repo: Repo, files: Mapping[str, str | None]) -> None:
    for path, text in files.items():
        if text is None:
            (repo.path / path).unlink()
        else:
            repo.write(path, text, executable=path.startswith((".githooks", ".husky", "scripts", "tools", "bin")))


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    """Make a repository with everything installed that can be."""
    repo = make_repo(tmp_path / "repo", a="1\n", yarn_dot_lock="1\n")
    put(
        repo,
        {
            ".githooks/commit-msg": '#!/bin/sh\n"$(git rev-parse --show-toplevel)"/scripts/lint.sh; : yarn.lock\n',
            "scripts/lint.sh": "#!/bin/sh\n",
            "scripts/deep.sh": "#!/bin/sh\n",
            "tools/hook.sh": "#!/bin/sh\n: lefthook run pre-commit lint-staged\n",
            "package.json": '{"scripts": {}}',
            ".gitattributes": "[attr]big filter=x\n",
            "lefthook.yml": "pre-commit:\n  commands:\n    a:\n      run: ./scripts/deep.sh\n",
            ".gitmodules": '[submodule "s"]\npath = s\nurl = https://example.test/s\n',
        },
    )
    (repo.path / ".githooks" / "pre-commit").symlink_to("../tools/hook.sh")
    (repo.path / "shared").mkdir()
    (repo.path / "shared" / "mcp.json").write_text("[]")
    (repo.path / ".mcp.json").symlink_to("shared/mcp.json")
    repo.commit("everything")
    for key, value in {
        "core.hooksPath": ".githooks",
        "core.attributesFile": str(repo.path / "more.attributes"),
        "filter.x.clean": "python3 bin/clean.py %f",
        "merge.y.driver": "true",
        "include.path": "../.gitconfig",
    }.items():
        repo.git("config", key, value)
    return repo


def test_every_kind_is_held_and_told_ahead(repo: Repo) -> None:
    for name, (files, _, _) in KINDS.items():
        branch(repo, name, files)
    for name, plain in PLAIN.items():
        branch(repo, name, plain)
    seen = forecast(repo.repository, repo.ledger.read().history, Asked(every=True, protected=("deploy/**",)))
    ahead = {one.name: (one.held, one.accept) for one in seen.branches}
    report = land_branches(repo, *KINDS, *PLAIN, dry_run=True, protected=("deploy/**",), one_by_one=True)
    wanted = {name: (f"it changes what is run here: {row[1][0]} ({row[2]})", row[1]) for name, row in KINDS.items()}
    held = {item.candidate.branch: (item.reason, item.accept) for item in report.items if item.state == "held"}
    assert held == wanted
    assert ahead == wanted | dict.fromkeys(PLAIN, ("", ()))
    assert {one.name: one.named for one in seen.branches if one.named} == {
        "workflow": ".github/workflows/ci.yml (a workflow)",
        "husky": ".husky/pre-commit (husky, which no hook here calls)",
    }
    again = {state for name, state in states(report).items() if name in PLAIN and name != "path"}
    assert again == {"would-land"}


@pytest.mark.slow
def test_where_nothing_is_installed_little_is_held(repo: Repo) -> None:
    for key in ("core.hooksPath", "core.attributesFile", "filter.x.clean", "merge.y.driver", "include.path"):
        repo.git("config", "--unset", key)
    for name, (files, _, _) in KINDS.items():
        branch(repo, name, files)
    found = states(land_branches(repo, *KINDS, dry_run=True, allow_suspect=("all",)))
    assert [name for name, state in found.items() if state == "held"] == [
        *("submodule", "settings", "broken", "agent", "agents"),
    ]


def test_what_is_accepted_lands_and_is_written_down_with_its_blobs(repo: Repo) -> None:
    old = repo.oid("main:scripts/lint.sh")
    branch(repo, "both", {"scripts/lint.sh": "new", ".claude/settings.json": "{}", "a": "2\n"})
    assert states(land_branches(repo, "both", accept=("scripts/lint.sh",))) == {"both": "held"}
    fence = (".claude/settings.json", "scripts/**", "a")
    fenced = candidate(repo, "both", run="r1", unit="u", verdict="pass", fence=fence)
    assert states(land_branches(repo, fenced, dry_run=True)) == {"both": "held"}
    assert states(land_branches(repo, fenced, accept=("./scripts/",))) == {"both": "landed"}
    [row] = [event.payload.as_json()["trust"] for event in repo.ledger.read().events if event.kind == "landing.landed"]
    assert row == [
        {
            "path": ".claude/settings.json",
            "what": "settings of Claude Code, with its hooks",
            "grade": "held",
            "old": "0" * 40,
            "new": repo.oid("both:.claude/settings.json"),
            "accepted": "paths",
        },
        {
            "path": "scripts/lint.sh",
            "what": "the hook commit-msg runs it",
            "grade": "held",
            "old": old,
            "new": repo.oid("both:scripts/lint.sh"),
            "accepted": "--accept",
        },
    ]


def test_a_link_in_the_place_of_a_folder_is_held(repo: Repo) -> None:
    repo.switch("swap", new=True)
    repo.git("mv", ".githooks", "mine")
    (repo.path / ".githooks").symlink_to("mine")
    repo.commit("swap")
    repo.switch("main")
    [item] = land_branches(repo, "swap").items
    assert (item.state, item.accept) == ("held", (".githooks", ".githooks/commit-msg", ".githooks/pre-commit"))


def marking(repo: Repo, word: str) -> dict[str, str | None]:
    """Write hooks that leave a mark."""
    return {f".githooks/{name}": f"#!/bin/sh\necho {word} {name} >>'{repo.path}.mark'\n" for name in HOOKS}


def marks(repo: Repo) -> set[str]:
    """Read and forget which hooks ran."""
    place = Path(f"{repo.path}.mark")
    found = set(place.read_text().splitlines()) if place.exists() else set()
    place.unlink(missing_ok=True)
    return found


@pytest.fixture
def hooked(tmp_path: Path) -> Repo:
    """Make a repository whose hooks are part of it and leave a mark; the branch ``evil`` has others."""
    repo = make_repo(tmp_path / "repo", a="1\n")
    put(repo, marking(repo, "mine"))
    repo.commit("hooks")
    branch(repo, "evil", {**marking(repo, "evil"), "b": "1\n"})
    branch(repo, "good", {"c": "1\n"})
    repo.git("config", "core.hooksPath", ".githooks")
    marks(repo)
    return repo


def test_hooks_that_a_landing_brings_do_not_run_in_it(hooked: Repo) -> None:
    old = hooked.head
    report = land_branches(hooked, "evil", accept=(".githooks",))
    assert states(report) == {"evil": "landed"}
    # The branch itself moved under the hooks that were the user's own until then.
    assert {row for row in marks(hooked) if not row.startswith("mine")} == set()
    assert report.notes[-1] == (
        "not run, because .githooks/post-checkout, .githooks/post-index-change, .githooks/post-merge, 1 more changed:"
        " post-merge, post-index-change, reference-transaction; read what they do, then run: git hook run post-merge --"
        " 0; git hook run post-index-change -- 1 0;"
        f" echo {old} {hooked.head} refs/heads/main | {hooked.path}/.githooks/reference-transaction committed"
    )
    hooked.git("hook", "run", "post-merge", "--", "0")
    assert marks(hooked) == {"evil post-merge"}


def test_the_users_own_hooks_run_as_ever(hooked: Repo) -> None:
    report = land_branches(hooked, "good")
    assert report.notes[-1] == "the post-merge hook ran"
    assert marks(hooked) >= {"mine post-merge", "mine reference-transaction", "mine post-index-change"}


def test_neither_those_that_go_nor_those_that_come_run_in_an_undo(hooked: Repo) -> None:
    land_branches(hooked, "evil", accept=(".githooks",))
    land_branches(hooked, "good")
    marks(hooked)
    note = (
        "not run, because .githooks/post-checkout, .githooks/post-index-change, .githooks/post-merge, 1 more changed:"
    )
    reverted = undo(hooked.repository, hooked.ledger, UndoRequest(name="evil"))
    assert (reverted.way, marks(hooked)) == ("reverted", set())
    assert reverted.notes[0].startswith(f"{note} post-index-change, reference-transaction; read what they do, then run")
    assert hooked.files() == {"a": "1", "c": "1"} | {
        path: (text or "").rstrip("\n") for path, text in marking(hooked, "mine").items()
    }
    redone = undo(hooked.repository, hooked.ledger, UndoRequest(name="1", redo=True))
    assert (redone.way, marks(hooked)) == ("redone", set())
    assert redone.notes[0].startswith(note)
    assert undo(hooked.repository, hooked.ledger, UndoRequest(name="good")).way == "reverted"
    assert marks(hooked) >= {"evil reference-transaction"}


def test_a_branch_moves_back_without_the_hooks_that_go(hooked: Repo) -> None:
    land_branches(hooked, "evil", accept=(".githooks",))
    marks(hooked)
    assert undo(hooked.repository, hooked.ledger).way == "moved"
    assert marks(hooked) == set()


def test_a_landing_that_was_cut_off_is_finished_without_hooks(hooked: Repo, monkeypatch: pytest.MonkeyPatch) -> None:
    def killed(*_: Any) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(landed, "follow", killed)
        with pytest.raises(KeyboardInterrupt):
            land_branches(hooked, "evil", accept=(".githooks",))
    marks(hooked)
    report = land_branches(hooked, "evil", dry_run=False)
    assert report.notes[0].startswith("a landing on main that was cut off is complete now")
    assert {row for row in marks(hooked) if row.startswith("evil")} == set()
    assert hooked.status() == []


def test_a_checkout_that_goes_back_runs_none_either(hooked: Repo, monkeypatch: pytest.MonkeyPatch) -> None:
    # The new hooks would lie there for a moment, with what git could not write.
    branch(hooked, "fails", {**marking(hooked, "evil"), ".gitattributes": "z filter=fails\n", "z": "1\n"})
    hooked.git("config", "filter.fails.smudge", "false")
    hooked.git("config", "filter.fails.required", "true")
    marks(hooked)
    monkeypatch.setattr("gitprun.landing.move._rehearse_filters", lambda *_: None)
    with pytest.raises(Exception, match="is back where it was") as caught:
        land_branches(hooked, "fails", accept=(".githooks", ".gitattributes"))
    assert not isinstance(caught.value, CheckoutStuck)
    assert {row for row in marks(hooked) if row.startswith("evil")} == set()
    assert hooked.status() == []


def test_what_commands_make_afterwards_is_held_too(hooked: Repo) -> None:
    rows = (Hotspot("c", after=("mkdir -p .claude; echo '{}' >.claude/settings.json",)),)
    before = hooked.head
    with pytest.raises(OperationRefused) as caught:
        land_branches(hooked, "good", hotspots=rows, may_run_after=True)
    assert (caught.value.message, caught.value.hint) == (
        "what mkdir -p .claude; echo '{}' >.claude/settings.json made changes what is run here: .claude/settings.json"
        " (settings of Claude Code, with its hooks); nothing was changed",
        "look at it; git prun merge --accept .claude/settings.json with the same names lands it",
    )
    assert hooked.head == before
    report = land_branches(hooked, "good", hotspots=rows, may_run_after=True, accept=(".claude",))
    assert states(report) == {"good": "landed"}


def test_a_merge_hook_does_not_let_it_in(tmp_path: Path) -> None:
    repo = make_repo(tmp_path / "repo", a="1\n")
    branch(repo, "topic", {"b": "1\n"})
    repo.hook("pre-merge-commit", "echo '{}' >.mcp.json; git add .mcp.json")
    [item] = land_branches(repo, "topic").items
    assert (item.state, item.accept) == ("held", (".mcp.json",))


@pytest.mark.slow
@pytest.mark.parametrize("absolute", [True, False])
def test_a_target_in_another_worktree(tmp_path: Path, absolute: bool) -> None:
    repo = make_repo(tmp_path / "repo", a="1\n")
    put(repo, marking(repo, "mine"))
    repo.commit("hooks")
    branch(repo, "evil", {".githooks/post-merge": "x"})
    repo.worktree(tmp_path / "other", "release", new=True)
    repo.git("config", "core.hooksPath", str(repo.path / ".githooks") if absolute else ".githooks")
    for into in ("release", "main"):
        [item] = land_branches(repo, "evil", into=into).items
        assert (item.state, item.accept) == ("held", (".githooks/post-merge",))


def test_husky_is_known_by_its_generated_folder(tmp_path: Path) -> None:
    repo = make_repo(tmp_path / "repo", a="1\n", _dot_husky__pre_push="sh scripts/check.sh\n")
    repo.write(".husky/_/h", '#!/usr/bin/env sh\nsh -e "$(dirname "$(dirname "$0")")/$(basename "$0")"\n')
    repo.write(".git/info/exclude", ".husky/_/\n")
    repo.git("config", "core.hooksPath", ".husky/_")
    branch(repo, "hook", {".husky/post-merge": "x"})
    branch(repo, "script", {"scripts/check.sh": "x"})
    report = land_branches(repo, "hook", "script")
    assert [(item.state, item.reason) for item in report.items] == [
        ("held", "it changes what is run here: .husky/post-merge (husky, which a hook here calls)"),
        ("held", "it changes what is run here: scripts/check.sh (the hook .husky/pre_push runs it)"),
    ]


def test_a_forecast_holds_what_the_landing_does_when_main_went_on(tmp_path: Path) -> None:
    repo = make_repo(tmp_path / "repo", a="1\n2\n3\n4\n5\n")
    branch(repo, "same", {".mcp.json": "{}", "b": "1\n"})
    branch(repo, "beside", {".mcp.json": "[]", "a": "one\n2\n3\n4\n5\n"})
    branch(repo, "apart", {".codex/config.toml": "x = 1\n"})
    branch(repo, "conflict", {".cursor/mcp.json": "{}", "a": "uno\n2\n3\n4\n5\n"})
    repo.commit("main went on", a="1\n2\n3\n4\nfive\n", _dot_mcp_dot_json="{}")
    repo.switch("ahead", new=True)
    repo.commit("ahead", a="eins\n2\n3\n4\nfive\n")
    repo.switch("main")
    names = ("same", "apart", "ahead", "conflict")
    seen = forecast(repo.repository, repo.ledger.read().history, Asked(names=names))
    alone = [land_branches(repo, name, dry_run=True).items[0] for name in names]
    held = {item.candidate.branch: item.reason for item in alone if item.state == "held"}
    assert {one.name: one.held for one in seen.branches if one.held} == held
    assert sorted(held) == ["apart", "conflict"]
    # Where nothing can be merged, what the branch itself changes is looked at.
    [one] = forecast(repo.repository, repo.ledger.read().history, Asked(names=("beside",))).branches
    assert (one.held, one.accept) == (
        "it changes what is run here: .mcp.json (servers that Claude Code starts)",
        (".mcp.json",),
    )
