"""``git prun resolve`` of a branch without a conflict: what looks wrong, or is red, is mended and lands proved."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.cli import Said
from tests.support.inside import inside, timeless
from tests.support.repos import Repo, make_repo

LINES = '{\n  "a": 1,\n  "b": 2,\n  "c": 3,\n  "d": 4\n}\n'
MAIN = LINES.replace("{\n", '{\n  "limit": 5,\n')
UNIT = LINES.replace(": 4\n", ': 4,\n  "limit": 9\n')
TWICE = MAIN.replace(": 4\n", ': 4,\n  "limit": 9\n')
ONCE = MAIN.replace("5", "9")

Prun = Callable[..., Said]


@pytest.fixture
def prun(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Prun:
    return lambda *words: inside(capsys, tmp_path / "r", *words)


def workspace(repo: Repo, name: str = "topic") -> Repo:
    return Repo(repo.path.parent / "r.prun" / "resolve" / name)


def suspect(tmp_path: Path) -> Repo:
    repo = make_repo(tmp_path / "r", s_dot_json=LINES, other="1\n")
    repo.switch("topic", new=True)
    repo.commit("limit of the topic", s_dot_json=UNIT, more="m\n")
    repo.switch("main")
    repo.commit("limit of main", s_dot_json=MAIN)
    return repo


def test_a_suspect_is_opened_mended_and_landed(tmp_path: Path, prun: Prun) -> None:
    repo = suspect(tmp_path)
    main, before = repo.head, (repo.git("for-each-ref", "refs/heads"), repo.status())
    work = workspace(repo)
    said = prun("resolve", "topic")
    assert (said.code, said.out, said.err) == (
        0,
        f"topic: suspect; its merged files are in {work.path}\n"
        '  s.json: the key "limit" is there twice\n'
        f"brief: {repo.path}/.git/prun/resolve/topic/CONFLICT.md\n",
        "hint: edit the files there, then: git prun resolve topic --continue\n",
    )
    assert (repo.git("for-each-ref", "refs/heads"), repo.status()) == before
    # The file as it would land, without markers, in the middle of that merge.
    assert (work.read("s.json"), work.read("more")) == (TWICE, "m\n")
    assert (work.git("rev-parse", "MERGE_HEAD"), work.git("diff", "--name-only", "--diff-filter=U")) == (
        repo.oid("topic"),
        "",
    )
    work.write("s.json", ONCE)
    done = prun("resolve", "topic", "--continue", "--verify", "grep -c limit s.json | grep -qx 1")
    assert (done.code, timeless(done.out)) == (0, "branch  state   commit      note\ntopic   landed  COMMIT\n")
    assert (repo.read("s.json"), repo.read("more"), repo.status()) == (ONCE, "m\n", [])
    assert repo.git("log", "-1", "--format=%P").split() == [main, repo.oid("topic")]
    assert repo.git("log", "-1", "--format=%B") == "merge: ship topic\n\nResolved:\n- s.json: mended by hand"
    assert (work.path.exists(), repo.git("for-each-ref", "refs/prun/resolve")) == (False, "")
    assert prun("status").err.startswith("nothing has been run")


def test_what_is_still_suspect_does_not_land(tmp_path: Path, prun: Prun) -> None:
    repo = suspect(tmp_path)
    main = repo.head
    prun("resolve", "topic")
    work = workspace(repo)
    for text, reason in (
        (None, "nothing was changed"),
        (f"<<<<<<< x\n{ONCE}", 's.json: a conflict marker is left: "<<<<<<< x"; s.json: the file is no JSON'),
    ):
        if text is not None:
            work.write("s.json", text)
        said = prun("resolve", "--continue", "--no-verify")
        assert said.err.startswith(f"error: the files are not mended: {reason}")
        assert (said.code, said.out, repo.head) == (1, "", main)
    work.write("s.json", TWICE.replace("3", "4"))
    said = prun("resolve", "--continue", "--no-verify")
    assert (said.code, said.out, repo.head) == (
        1,
        'branch  state    commit  note\ntopic   suspect  -       s.json: the key "limit" is there twice\n'
        'topic: look at s.json: the key "limit" is there twice\n',
        main,
    )
    assert said.err.splitlines()[-1] == f"hint: the workspace is kept: {work.path}"
    # Who wants it like that says so, by name.
    assert prun("resolve", "--continue", "--no-verify", "--allow-suspect", "s.json").code == 0
    assert repo.read("s.json") == TWICE.replace("3", "4")


def test_other_paths_need_a_word(tmp_path: Path, prun: Prun) -> None:
    repo = suspect(tmp_path)
    prun("resolve", "topic")
    work = workspace(repo)
    work.write("s.json", ONCE)
    work.write("other", "2\n")
    assert prun("resolve", "--continue").err == (
        "error: the files are not mended: other: changed, but not named (--allow-other-paths takes it along)\n"
        f"hint: edit them in {work.path}\n"
    )
    assert prun("resolve", "--continue", "--take", "s.json=main").err == (
        f"error: --take decides conflicts, and there is none\nhint: edit the files in {work.path}\n"
    )
    assert prun("resolve", "--continue", "--no-verify", "--allow-other-paths").code == 0
    assert (repo.read("s.json"), repo.read("other"), repo.status()) == (ONCE, "2\n", [])


def test_main_may_move_meanwhile(tmp_path: Path, prun: Prun) -> None:
    repo = suspect(tmp_path)
    prun("resolve", "topic")
    workspace(repo).write("s.json", ONCE)
    moved = repo.commit("elsewhere", other="2\n")
    assert prun("resolve", "--continue", "--no-verify").code == 0
    assert (repo.read("s.json"), repo.read("other")) == (ONCE, "2\n")
    assert repo.git("log", "-1", "--format=%P").split() == [moved, repo.oid("topic")]


def test_but_not_in_what_was_mended(tmp_path: Path, prun: Prun) -> None:
    repo = suspect(tmp_path)
    prun("resolve", "topic")
    work = workspace(repo)
    work.write("s.json", ONCE)
    repo.commit("again", s_dot_json=MAIN.replace("5", "7"))
    before = repo.head
    said = prun("resolve", "--continue", "--no-verify")
    assert (said.code, repo.head, work.read("s.json")) == (1, before, ONCE)
    assert said.out.splitlines()[1].split()[:2] == ["topic", "conflict"]


def test_a_worker_mends_it(tmp_path: Path, prun: Prun) -> None:
    repo = suspect(tmp_path)
    script = "grep -q 'limit. is there twice' && sed -i '/limit.: 9/d; s/: 4,/: 4/; s/: 5/: 9/' s.json"
    said = prun("resolve", "topic", "--no-verify", "--with", script)
    assert (said.code, repo.read("s.json"), repo.status()) == (0, ONCE, [])


def test_a_side_that_was_thrown_away_is_put_back(tmp_path: Path, prun: Prun) -> None:
    repo = make_repo(tmp_path / "r", fix_dot_py="v=1\n", a_dot_txt="1\n")
    repo.switch("topic", new=True)
    repo.commit("topic", a_dot_txt="2\n")
    repo.switch("main")
    repo.commit("urgent fix", fix_dot_py="v=2\n")
    repo.switch("topic")
    repo.git("merge", "-q", "-s", "ours", "-m", "Merge main", "main")
    repo.switch("main")
    said = prun("resolve", "topic")
    assert said.out.splitlines()[1].startswith("  fix.py: the merge ")
    work = workspace(repo)
    assert work.read("fix.py") == "v=1\n"
    work.write("fix.py", "v=2\n")
    assert prun("resolve", "topic", "--continue", "--no-verify").code == 0
    assert (repo.read("fix.py"), repo.read("a.txt")) == ("v=2\n", "2\n")


def test_two_migrations_with_one_number(tmp_path: Path, prun: Prun) -> None:
    repo = make_repo(tmp_path / "r", shop__migrations__0001_initial_dot_py="dependencies = []\n")
    for name in ("colour", "topic"):
        repo.switch(name, new=True, start="main")
        text = f'class Migration:\n    dependencies = [("shop", "0001_initial")]\n    x = "{name}"\n'
        repo.write(f"shop/migrations/0002_{name}.py", text)
        repo.commit(name)
    repo.switch("main")
    assert prun("merge", "colour", "--no-verify").code == 0
    said = prun("resolve", "topic")
    assert said.out.splitlines()[1].startswith("  shop/migrations: 0002_colour.py and 0002_topic.py ")
    work = workspace(repo)
    text = work.read("shop/migrations/0002_topic.py").replace("0001_initial", "0002_colour")
    (work.path / "shop/migrations/0002_topic.py").unlink()
    work.write("shop/migrations/0003_topic.py", text)
    # A folder that is named stands for all in it.
    assert prun("resolve", "topic", "--continue", "--no-verify").code == 0
    names = ["shop/migrations/0001_initial.py", "shop/migrations/0002_colour.py", "shop/migrations/0003_topic.py"]
    assert sorted(repo.files()) == names


def red(tmp_path: Path) -> Repo:
    """Make a branch that merges well and fails the check: main wants every list to be sorted."""
    repo = make_repo(tmp_path / "r", names="a\nb\n", other="o\n", check_dot_sh="sort -c names\n")
    repo.switch("topic", new=True)
    repo.commit("topic", names="a\nb\na\n")
    repo.switch("main")
    repo.commit("main", other="2\n")
    return repo


CHECK = ("--verify", "echo looking at names; sh check.sh")


def test_what_the_last_landing_found_red_is_opened(tmp_path: Path, prun: Prun) -> None:
    repo = red(tmp_path)
    main, work = repo.head, workspace(repo)
    said = prun("merge", "topic", *CHECK)
    assert (said.code, said.err.splitlines()[-1]) == (
        1,
        "hint: git prun resolve topic opens the merged files to be mended",
    )
    said = prun("resolve", "topic")
    assert (said.code, said.out.splitlines()[0]) == (0, f"topic: red; its merged files are in {work.path}")
    assert said.out.splitlines()[1].startswith("  echo looking at names; sh check.sh: exit 1: ")
    assert (work.read("names"), work.read("other")) == ("a\nb\na\n", "2\n")
    shown = prun("resolve", "topic", "--markdown").out
    assert shown.startswith("# Merge topic into main: red\n\ngit finds no conflict. The merged files lie in `")
    assert "## `echo looking at names; sh check.sh` failed\n" in shown
    assert "The end of its output:\n\n```\n" in shown
    assert "looking at names\nsort: names:3: disorder: a\n```\n" in shown
    assert prun("resolve", "--continue", *CHECK).err == (
        f"error: the files are not mended: nothing was changed\nhint: edit them in {work.path}\n"
    )
    work.write("names", "b\na\n")
    said = prun("resolve", "--continue", *CHECK)
    assert (said.code, repo.head, said.out.splitlines()[1].split()[:2]) == (1, main, ["topic", "red"])
    work.write("names", "a\na\nb\n")
    said = prun("resolve", "--continue", *CHECK)
    assert (said.code, repo.read("names"), work.path.exists()) == (0, "a\na\nb\n", False)
    assert repo.git("log", "-1", "--format=%P").split() == [main, repo.oid("topic")]


def test_red_is_mended_in_what_the_branch_changed(tmp_path: Path, prun: Prun) -> None:
    repo = red(tmp_path)
    prun("merge", "topic", *CHECK)
    prun("resolve", "topic")
    work = workspace(repo)
    work.write("check.sh", "true\n")
    assert prun("resolve", "--continue", *CHECK).err == (
        "error: the files are not mended: check.sh: changed, but not by the branch"
        " (--allow-other-paths takes it along)\n"
        f"hint: edit them in {work.path}\n"
    )


def test_nobody_knows_what_is_red_without_a_landing(tmp_path: Path, prun: Prun) -> None:
    repo = red(tmp_path)
    assert prun("resolve", "topic").err == (
        "error: nothing of topic is left in conflict with main\n"
        "hint: git prun merge topic lands it, or says what else keeps it from landing\n"
    )
    prun("merge", "topic", *CHECK)
    repo.commit("went on", other="3\n")
    assert prun("resolve", "topic").err == (
        "error: topic was red, and main moved since: nobody knows whether it still is\n"
        "hint: git prun merge topic checks it again\n"
    )
    assert not workspace(repo).path.exists()
