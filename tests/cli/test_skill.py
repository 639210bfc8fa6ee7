"""``git prun skill``: where the skill goes, and what is never written over."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.support.cli import ROOT, prun
from tests.support.repos import make_bare, make_repo

pytestmark = pytest.mark.slow

SKILL = ROOT / "gitprun" / "skill" / "SKILL.md"
CLAUDE, CODEX = ".claude/skills/prun/SKILL.md", ".agents/skills/prun/SKILL.md"


def test_front_matter_is_what_both_programs_read() -> None:
    text = SKILL.read_text()
    found = re.match(r"---\nname: (?P<name>[a-z0-9-]{1,64})\ndescription: (?P<about>[^\n]+)\n---\n\n# ", text)
    assert found is not None
    assert found["name"] == "prun"
    # A plain YAML scalar: nothing in it may look like a key or a comment. 1024 characters is the limit of both.
    assert len(found["about"]) <= 1024
    assert not re.search(r": |\s#|[<>]", found["about"])
    assert len(text.splitlines()) < 150


def test_path_is_the_folder_that_ships(tmp_path: Path) -> None:
    said = prun(tmp_path, "skill", "path")
    assert (said.code, said.out) == (0, f"{SKILL.parent}\n")


@pytest.mark.parametrize("options", [[], ["--user"]])
def test_for_the_user_it_goes_below_home(tmp_path: Path, sealed: Path, options: list[str]) -> None:
    first, second = (prun(tmp_path, "skill", "install", *options) for _ in range(2))
    assert (first.code, first.out, first.err) == (
        0,
        f"{sealed / CLAUDE}: written\n{sealed / CODEX}: written\n",
        "",
    )
    assert second.out == f"{sealed / CLAUDE}: already up to date\n{sealed / CODEX}: already up to date\n"
    for place in (CLAUDE, CODEX):
        text = (sealed / place).read_text()
        assert text.startswith(SKILL.read_text())
        assert re.fullmatch(
            r"\n<!-- put here by git prun skill install; [0-9a-f]{16} -->\n", text.removeprefix(SKILL.read_text())
        )
        assert (sealed / place).stat().st_mode & 0o777 == 0o644


def test_for_the_project_it_goes_to_the_top_of_the_checkout(tmp_path: Path, sealed: Path) -> None:
    repo = make_repo(tmp_path / "r", deep__file_dot_txt="1\n")
    said = prun(repo.path / "deep", "skill", "install", "--project")
    assert (said.code, said.out) == (0, f"{repo.path / CLAUDE}: written\n{repo.path / CODEX}: written\n")
    assert said.err == "hint: they are new files of your checkout: commit them to share them\n"
    assert repo.status() == [f"?? {CODEX}", f"?? {CLAUDE}"]
    assert list(sealed.iterdir()) == []
    assert prun(repo.path, "skill", "install", "--project").err == ""


def test_a_file_somebody_edited_stays_and_then_nothing_is_written(tmp_path: Path, sealed: Path) -> None:
    mine = sealed / CODEX
    mine.parent.mkdir(parents=True)
    mine.write_text("mine\n")
    said = prun(tmp_path, "skill", "install")
    assert (said.code, said.out) == (1, "")
    assert said.err == (
        f"error: {mine} was edited, or is not ours; nothing was written\n"
        "hint: --force keeps it as SKILL.md.old and writes ours\n"
    )
    assert (mine.read_text(), (sealed / CLAUDE).exists()) == ("mine\n", False)


def test_force_keeps_what_was_there(tmp_path: Path, sealed: Path) -> None:
    mine = sealed / CLAUDE
    mine.parent.mkdir(parents=True)
    for number, kept in enumerate(("SKILL.md.old", "SKILL.md.old-2")):
        mine.write_text(f"mine {number}\n")
        said = prun(tmp_path, "skill", "install", "--force")
        assert said.code == 0
        assert said.out.splitlines()[0] == f"{mine}: written; what was there is kept as {kept}"
        assert mine.with_name(kept).read_text() == f"mine {number}\n"
    assert mine.read_text().startswith(SKILL.read_text())


def test_an_untouched_copy_of_another_version_is_brought_up_to_date(tmp_path: Path, sealed: Path) -> None:
    assert prun(tmp_path, "skill", "install").code == 0
    from gitprun.api.skill import sealed as seal

    (sealed / CLAUDE).write_bytes(seal(b"an older version\n"))
    assert prun(tmp_path, "skill", "install").out == (
        f"{sealed / CLAUDE}: brought up to date\n{sealed / CODEX}: already up to date\n"
    )
    edited = (sealed / CLAUDE).read_text().replace("## When\n", "## When, and my own remark\n", 1)
    (sealed / CLAUDE).write_text(edited)
    assert prun(tmp_path, "skill", "install").code == 1
    assert (sealed / CLAUDE).read_text() == edited


def test_one_folder_may_be_a_link_to_the_other(tmp_path: Path, sealed: Path) -> None:
    (sealed / ".claude" / "skills").mkdir(parents=True)
    (sealed / ".agents").symlink_to(".claude")
    said = prun(tmp_path, "skill", "install")
    assert said.out == f"{sealed / CLAUDE}: written\n{sealed / CODEX}: already up to date\n"


def test_a_file_that_is_a_link_stays(tmp_path: Path, sealed: Path) -> None:
    (sealed / CLAUDE).parent.mkdir(parents=True)
    (sealed / CLAUDE).symlink_to(tmp_path / "dotfiles.md")
    assert prun(tmp_path, "skill", "install").code == 1
    assert (sealed / CLAUDE).is_symlink()


@pytest.mark.parametrize(
    ("options", "env", "code", "message"),
    [
        (["--user", "--project"], {}, 129, "--user and --project cannot be given together"),
        (["--user"], {"HOME": ""}, 128, "HOME is not set, so there is no place for your skills"),
        (["--project"], {}, 128, "a bare repository has no checkout to put the skill in"),
    ],
)
def test_refusals(tmp_path: Path, options: list[str], env: dict[str, str], code: int, message: str) -> None:
    bare = make_bare(tmp_path / "bare.git", make_repo(tmp_path / "r"))
    said = prun(bare.path, "skill", "install", *options, env=env)
    assert (said.code, said.err.splitlines()[0]) == (code, f"error: {message}")
