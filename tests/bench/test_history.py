"""The replay of a history: files that both sides changed, judged against what people committed."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.bench.history import replay
from tests.support.repos import Repo, make_repo

IMPORTS = "import b\nimport d\n\nrun()\n"
USES = "from m import load\n\n\n\n\n\ndef first(x):\n    return load(x)\n\n\n\n\n\ndef last(x):\n    return x\n"
WORDS = "one\ntwo\nthree\nfour\nfive\nsix\nseven\n"


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    """Make merges of which git leaves two in conflict, and is silent about two."""
    made = make_repo(tmp_path / "r", a_dot_py=IMPORTS, n_dot_txt=WORDS, u_dot_py=USES, w_dot_txt=WORDS)
    made.branch("start")
    united = IMPORTS.replace("import d", "import c\nimport b2\nimport d")
    merge(
        made,
        main={"a.py": IMPORTS.replace("import d", "import c\nimport d"), "n.txt": WORDS.replace("four", "4")},
        unit={"a.py": IMPORTS.replace("import d", "import b2\nimport d"), "n.txt": WORDS.replace("four", "IV")},
        people={"a.py": united.replace("run()", "run(2)"), "n.txt": WORDS.replace("four", "4 IV")},
    )
    made.git("branch", "-f", "start")
    made.write("a.py", IMPORTS)
    made.commit("again")
    made.git("branch", "-f", "start")
    # One side drops the import with its last use, the other uses it anew: git sees no conflict, and people kept it.
    dropped = USES.replace("from m import load\n", "").replace("load(x)", "x")
    used = USES.replace("def last(x):\n    return x", "def last(x):\n    return load(x)")
    broken = dropped.replace("def last(x):\n    return x", "def last(x):\n    return load(x)")
    merge(
        made,
        main={"a.py": IMPORTS.replace("import d", "import c\nimport d"), "u.py": dropped, "w.txt": f"0\n{WORDS}"},
        unit={"a.py": IMPORTS.replace("import d", "import b2\nimport d"), "u.py": used, "w.txt": f"{WORDS}8\n"},
        people={"a.py": united, "u.py": broken, "w.txt": f"0\n{WORDS}8\n"},
    )
    return made


def merge(repo: Repo, main: dict[str, str], unit: dict[str, str], people: dict[str, str]) -> None:
    """Merge two sides of ``start`` into main, as people decided."""
    repo.switch("side", new=True, start="start")
    write(repo, unit)
    repo.commit("unit")
    repo.switch("main")
    write(repo, main)
    repo.commit("main")
    repo.git("merge", "-q", "--no-commit", "side", ok=(0, 1))
    write(repo, people)
    repo.git("add", "-A")
    repo.git("commit", "-q", "-m", "merge")
    repo.git("branch", "-D", "-q", "side")


def write(repo: Repo, files: dict[str, str]) -> None:
    for name, text in files.items():
        repo.write(name, text)


def test_files_are_judged_against_what_people_made(repo: Repo, capsys: pytest.CaptureFixture[str]) -> None:
    assert replay([str(repo.path), "--files", "--beside"]) == 0
    said = re.sub(r"\d+\.\d ms", "0.0 ms", re.sub(r"\b[0-9a-f]{10}\b", "COMMIT", capsys.readouterr().out))
    assert said.splitlines() == [
        "COMMIT a.py: other",
        "  line 6",
        f"  {'run()':<57} | run(2)",
        "file                       right   order   other    held   clean  called    kept    CPU a file",
        "lines .txt                     0       0       0       1       1       0       0        0.0 ms",
        "python .py                     1       0       1       0       0       0       1        0.0 ms",
        "all                            1       0       1       1       1       0       1        0.0 ms",
        "2 files clean for git: 1 called, 1 of them about what people kept",
        '  COMMIT u.py (kept): main took "load" away, and line 14 uses it',
    ]


def test_the_rest_of_a_merge_is_told_before(repo: Repo, capsys: pytest.CaptureFixture[str]) -> None:
    assert replay([str(repo.path), "--check", "true", "--quiet"]) == 0
    counts, trust, kinds, *files = capsys.readouterr().out.splitlines()
    assert re.sub(r"in \d+ s", "in 0 s", counts).startswith("2 merges in 0 s: 0 told, 0 checked once more, 0 held")
    assert trust.startswith("trust: 0 held (0.00 %), 0 if all it brings were installed (0.00 %), 0 named")
    assert kinds.startswith("taken back 0 (0.00 %), ")
    assert len(files) == 6
