"""Names that trouble other systems are said of every captured and merged tree; a new script stays one."""

from __future__ import annotations

import unicodedata
from pathlib import Path

import pytest

from tests.support.landing import land_branches, states
from tests.support.repos import make_repo
from tests.support.workshop import open_workshop

FORMS = [unicodedata.normalize(form, "grün.txt") for form in ("NFC", "NFD")]


def test_names_are_noted_when_work_is_captured(tmp_path: Path) -> None:
    repo = make_repo(tmp_path / "repo", README_dot_md="r\n", src__a_dot_c="a\n")
    shop = open_workshop(repo, tmp_path / "root", "clone")
    for name in ("Readme.md", "Src/b.c", "aux.h", "what?.txt", *FORMS):
        shop.work.write(name, "x\n")
    assert shop.capture().notes == (
        "aux.h: is the name of a device on Windows",
        "what?.txt: holds a character Windows does not allow",
        "Readme.md: the same as README.md where case does not count",
        "src: the same as Src where case does not count",
        f"{FORMS[0]}: the same as {FORMS[1]} where Unicode form does not count",
    )


def test_twins_that_only_the_merge_makes(tmp_path: Path) -> None:
    repo = make_repo(tmp_path / "repo", a_dot_txt="a\n")
    repo.switch("topic", new=True)
    repo.commit("topic", docs__Guide_dot_md="one\n")
    repo.switch("main")
    repo.commit("main", docs__guide_dot_md="two\n")
    report = land_branches(repo, "topic")
    said = "topic: docs/guide.md: the same as docs/Guide.md where case does not count"
    assert (states(report), report.notes) == ({"topic": "landed"}, (said,))


def test_what_was_there_before_is_not_told_again(tmp_path: Path) -> None:
    repo = make_repo(tmp_path / "repo", A="1\n", a="2\n")
    repo.switch("topic", new=True)
    repo.commit("topic", A="3\n", b="b\n")
    repo.switch("main")
    repo.commit("main", c="c\n")
    assert land_branches(repo, "topic").notes == ()


@pytest.mark.parametrize("kind", ["clone", "worktree"])
def test_a_new_script_where_git_does_not_look_at_modes(tmp_path: Path, kind: str) -> None:
    repo = make_repo(tmp_path / "repo", old_dot_sh="old\n")
    repo.git("config", "core.fileMode", "false")
    shop = open_workshop(repo, tmp_path / "root", kind)  # type: ignore[arg-type]
    shop.work.write("run.sh", "#!/bin/sh\n", executable=True)
    shop.work.write("later.sh", "#!/bin/sh\n")
    shop.work.write("plain.txt", "p\n")
    (shop.path / "old.sh").chmod(0o755)
    assert shop.files(shop.capture()) == {
        "later.sh": "100644 #!/bin/sh",
        "plain.txt": "100644 p",
        "run.sh": "100755 #!/bin/sh",
    }
    # Captured once more, after somebody saw that one was missing.
    (shop.path / "later.sh").chmod(0o755)
    (shop.path / "run.sh").chmod(0o644)
    assert shop.files(shop.capture()) == {
        "later.sh": "100755 #!/bin/sh",
        "plain.txt": "100644 p",
        "run.sh": "100644 #!/bin/sh",
    }


def test_a_disk_that_keeps_no_modes_says_nothing_about_them(tmp_path: Path) -> None:
    repo = make_repo(tmp_path / "repo")
    repo.git("config", "core.fileMode", "false")
    shop = open_workshop(repo, tmp_path / "root", "clone")
    # On such a disk every file is executable, those that prun made too.
    (shop.path / ".prun/.gitignore").chmod(0o777)
    shop.work.write("new.txt", "n\n", executable=True)
    found = shop.capture()
    assert shop.files(found) == {"new.txt": "100644 n"}
    assert found.notes == ("new.txt: whether it is executable was not looked at (core.fileMode=false)",)
