"""One question, one answer: what a merge of random sides comes to, asked at every entrance.

Forecast, dry run and landing judge trees; ``merge-file`` and the driver judge a file; the gate judges what is in the
index; ``resolve`` judges what a person made of a conflict. Each gets the same sides, and all have to agree on whether
they land by themselves, as which text, and what is wrong where they do not.
"""

from __future__ import annotations

import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from gitprun.git.command import Git
from gitprun.git.refs import open_repository
from gitprun.git.trees import REGULAR, merge_trees, read_blob, tree_of
from gitprun.git.walk import Trees
from gitprun.guards.driver import install_driver, read_driver
from gitprun.judging.hotspots import parse_hotspots
from gitprun.judging.recorded_resolutions import keep_resolution
from gitprun.judging.text import blob_name
from gitprun.landing.accept_resolution import find_faults_of
from gitprun.landing.combine import Combined
from gitprun.landing.engine import combine_alone
from gitprun.landing.file import FileMerge, merge_file
from gitprun.landing.forecast import forecast
from gitprun.landing.forecast_branches import Asked
from gitprun.landing.gate import refuse_merge
from gitprun.landing.plan import LandingItem, LandingOptions
from gitprun.landing.resolution import OpenPath
from tests.support.landing import candidate, land_branches, states
from tests.support.repos import make_repo
from tests.support.three_sides import CASES, ThreeWayCase, in_folders

RULES = '[[hotspot]]\npath = "*.lst"\npolicy = "union"\n'
HOTSPOTS = parse_hotspots([{"path": "*.lst", "policy": "union"}], "prun.toml")


@dataclass(frozen=True, slots=True)
class Answer:
    """What an entrance says: whether it lands by itself, the merged texts where it does, else what is wrong."""

    lands: bool
    texts: Mapping[str, bytes]
    wrong: frozenset[str] = frozenset()


class Entrances:
    """A repository in which a branch for each case meets a main side that changed all of them."""

    def __init__(self, folder: Path, cases: Sequence[ThreeWayCase]) -> None:
        self.cases, self.folder = cases, folder
        self.repo = make_repo(folder / "repo", prun_dot_toml=RULES)
        base = self._commit("base", in_folders(cases, "base"), {})
        self.names = [f"u{number}" for number in range(len(cases))]
        for number, name in enumerate(self.names):
            self.repo.switch(name, new=True, start=base)
            own = {path: text for path, text in in_folders(cases, "unit").items() if path.startswith(f"c{number}/")}
            before = {path for path in in_folders(cases, "base") if path.startswith(f"c{number}/")}
            self._commit(name, own, before - own.keys())
        self.repo.switch("main")
        self._commit("main", in_folders(cases, "main"), {*in_folders(cases, "base")} - {*in_folders(cases, "main")})

    def _commit(self, message: str, files: Mapping[str, str], gone: set[str] | dict[str, str]) -> str:
        for path, text in files.items():
            self.repo.write(path, text)
        for path in gone:
            (self.repo.path / path).unlink()
        self.repo.git("add", "-A", "-f")
        self.repo.git("commit", "-q", "--allow-empty", "-m", message)
        return self.repo.head

    def _texts(self, tree: str, number: int) -> dict[str, bytes]:
        """Read the contested files of a case out of a tree."""
        trees = Trees(open_repository(self.repo.repository.common))
        paths = [f"c{number}/{name}" for name in self.cases[number].contested]
        found = {path: trees.find(tree, path.encode()) for path in paths}  # type: ignore[arg-type]
        return {path: read_blob(trees.repo, row[1]) for path, row in found.items() if row and row[0] in REGULAR}

    def judged(self, number: int) -> Combined | LandingItem:
        return combine_alone(
            self.repo.repository, candidate(self.repo, self.names[number]), LandingOptions(hotspots=HOTSPOTS)
        )

    def landing(self, number: int) -> Answer:
        found = self.judged(number)
        if isinstance(found, Combined):
            return Answer(True, self._texts(found.tree, number))
        suspects = {(one.path, one.reason) for one in found.suspects}
        left = {(one.path, "") for one in found.conflicts if not one.would_settle}
        assert suspects or left, found
        return Answer(False, {}, frozenset(f"{path}: {reason}" for path, reason in suspects | left))

    def forecast(self) -> tuple[dict[str, tuple[bool, frozenset[str]]], set[str]]:
        """Return what it says of each branch against the target, and which a landing would hold for a person."""
        asked = Asked(names=tuple(self.names), hotspots=HOTSPOTS)
        seen = forecast(self.repo.repository, self.repo.ledger.read().history, asked)
        said = dict.fromkeys(self.names, (True, frozenset[str]()))
        for met in seen.against:
            wrong = {
                f"{row.path}: {reason if row.kind == 'suspect' else ''}"
                for row in met.paths
                if row.kind != "not checked" and not row.resolver
                for reason in row.reasons
            }
            said[met.one] = (met.state.lands, frozenset(wrong))
        assert not [one for one in seen.branches if one.suspect or one.refused]
        return said, {one.name for one in seen.branches if one.held}

    def _place(self, number: int, name: str) -> list[str]:
        """Write the three versions of a file where merge-file can read them."""
        case = self.cases[number]
        texts = (case.main[name], case.base.get(name, ""), case.unit[name])
        names = []
        for side, text in zip(("main", "base", "unit"), texts, strict=True):
            # Beside the work, and not in it.
            place = self.repo.path / ".git" / side
            place.write_bytes(text.encode())
            names.append(str(place))
        return names

    def merge_file(self, number: int, name: str) -> tuple[int, bytes]:
        names, path = self._place(number, name), f"c{number}/{name}"
        found = merge_file(FileMerge(main=names[0], base=names[1], unit=names[2], path=path), self.repo.path)
        return found.code, found.text

    def git_agrees(self, number: int) -> bool:
        """Check whether git merges each contested file of a case as it merges the trees.

        ``git merge-file`` compares lines by another algorithm than ``git merge-tree`` (which takes no other in git
        before 2.44): where git itself says two things, what is judged is not the same text.
        """
        git, case = Git(cwd=self.repo.path), self.cases[number]
        merged = merge_trees(git, self.repo.oid("main"), self.repo.oid(self.names[number]))
        left, texts = {stage.path for stage in merged.stages}, self._texts(merged.tree, number)
        for name in case.contested:
            places = self._place(number, name)
            said = git.run("merge-file", "-p", *places, ok=tuple(range(128)))
            path = f"c{number}/{name}"
            if (said.code == 0) != (path.encode() not in left) or (said.code == 0 and said.out != texts.get(path)):
                return False
        return True

    def gate(self, number: int, tree: str) -> str:
        """Put a tree into the index as if git had merged it."""
        self.repo.git("read-tree", "-m", "-u", "HEAD", tree)
        notes: list[str] = []
        heads = {str(self.repo.oid(self.names[number])): self.names[number]}
        reason = refuse_merge(self.repo.repository, self.repo.ledger.read().history, heads, notes.append)
        self.repo.git("read-tree", "-m", "-u", tree, "HEAD")
        return reason

    def git_merge(self, number: int) -> tuple[bool, str]:
        done = subprocess.run(
            ["git", "merge", "-q", "--no-commit", "--no-ff", self.names[number]],
            cwd=self.repo.path,
            capture_output=True,
        )
        tree = self.repo.git("write-tree") if done.returncode == 0 else ""
        self.repo.git("reset", "-q", "--hard")
        return done.returncode == 0, tree


def check(folder: Path, cases: Sequence[ThreeWayCase], *, driver: bool) -> None:
    """Ask every entrance about each case, and compare."""
    at = Entrances(folder, cases)
    dry = states(land_branches(at.repo, *at.names, dry_run=True, hotspots=HOTSPOTS))
    seen, held = at.forecast()
    answers = [at.landing(number) for number in range(len(cases))]
    # Before the driver is there: with it git merges files as we do.
    agreed = [at.git_agrees(number) for number in range(len(cases))]
    for number, (name, case, answer) in enumerate(zip(at.names, cases, answers, strict=True)):
        about = (case, answer)
        assert (dry[name] not in ("conflict", "suspect")) == answer.lands, about
        assert not answer.lands or (dry[name] == "held") == (name in held), about
        assert seen[name] == (answer.lands, answer.wrong), about
        if agreed[number]:
            _check_files(at, number, answer)
        _check_gate(at, number, answer)
    if driver:
        install_driver(at.repo.repository, read_driver(at.repo.repository))
        for number, answer in enumerate(answers):
            if agreed[number]:
                _check_driver(at, number, answer)
        (at.repo.path / ".git" / "info" / "attributes").unlink()
    for number, answer in enumerate(answers):
        if agreed[number]:
            _check_resolve(at, number, answer)
    done = land_branches(at.repo, *at.names, hotspots=HOTSPOTS)
    for number, (name, answer) in enumerate(zip(at.names, answers, strict=True)):
        if answer.lands and name not in held:
            assert states(done)[name] not in ("conflict", "suspect"), cases[number]
            tree = tree_of(open_repository(at.repo.repository.common), at.repo.head)
            assert at._texts(tree, number) == answer.texts, cases[number]


def _check_files(at: Entrances, number: int, answer: Answer) -> None:
    case = at.cases[number]
    merged = {name: at.merge_file(number, name) for name in case.contested}
    if answer.lands:
        texts = {f"c{number}/{name}": text for name, (_, text) in merged.items()}
        assert ({*(code for code, _ in merged.values())} or {0}, texts) == ({0}, answer.texts), (case, answer)
    elif not case.between:
        assert [code for code, _ in merged.values() if code] != [], (case, answer)


def _check_gate(at: Entrances, number: int, answer: Answer) -> None:
    case, found = at.cases[number], at.judged(number)
    if isinstance(found, Combined):
        assert at.gate(number, found.tree) == "", (case, answer)
    clean, tree = at.git_merge(number)
    if not clean:
        return
    reason = at.gate(number, tree)
    if not answer.lands:
        assert reason, (case, answer)
        assert any(fault.partition(": ")[2] in reason for fault in answer.wrong), (case, answer, reason)
    elif at._texts(tree, number) == answer.texts:
        assert reason == "", (case, answer)
    else:
        # Git's own text was faulty, and the landing has a better one.
        assert "but look at it" in reason, (case, answer)


def _check_driver(at: Entrances, number: int, answer: Answer) -> None:
    case = at.cases[number]
    known = at.repo.git("check-attr", "merge", "--", *(f"c{number}/{name}" for name in case.contested or ["x"]))
    if "unspecified" in known:
        return
    clean, tree = at.git_merge(number)
    if answer.lands:
        assert (clean, clean and at._texts(tree, number)) == (True, answer.texts), (case, answer)
    elif not case.between:
        assert not clean, (case, answer)


def _check_resolve(at: Entrances, number: int, answer: Answer) -> None:
    """Let a person answer each conflict with texts good and bad: what is accepted is what lands afterwards."""
    case, found = at.cases[number], at.judged(number)
    if case.between or not isinstance(found, LandingItem) or found.state != "conflict":
        return
    [name] = case.contested
    base, main, unit = case.base.get(name), case.main[name], case.unit[name]
    path, repo = f"c{number}/{name}", open_repository(at.repo.repository.common)
    marked = f"<<<<<<< main\n{main}=======\n{unit}>>>>>>> unit\n"
    for text in (marked, main + unit, main + f"# {number}\n", unit):
        oid = at.repo.git("hash-object", "-w", "--stdin", stdin=text.encode())
        versions = tuple(None if one is None else f"100644 {blob_name(one.encode())}" for one in (base, main, unit))
        row = OpenPath(path=path, kind="contents", versions=versions, textual=True)  # type: ignore[arg-type]
        faults = find_faults_of(repo, at.repo.repository.state, row, oid)  # type: ignore[arg-type]
        keys = (None if base is None else blob_name(base.encode()), blob_name(main.encode()), blob_name(unit.encode()))
        kept = keep_resolution(at.repo.repository.state, *keys, text.encode())
        again = at.landing(number)
        assert (again.lands, at.merge_file(number, name)[0] == 0) == (not faults, not faults), (case, text, faults)
        assert not again.lands or text.encode() in (*again.texts.values(), unit.encode(), main.encode())
        kept.unlink()


def check_in_a_fresh_folder(cases: Sequence[ThreeWayCase], *, driver: bool) -> None:
    with tempfile.TemporaryDirectory() as name:
        check(Path(name), cases, driver=driver)


SOME = st.lists(CASES, min_size=4, max_size=6)
# The cases are small as they are; to make them smaller takes longer than to read them.
UNSHRUNK = (Phase.explicit, Phase.reuse, Phase.generate)


# The same each time: what is found by chance belongs to a person who looks for it, not to a build.
@settings(max_examples=3, derandomize=True, database=None, phases=UNSHRUNK, suppress_health_check=[*HealthCheck])
@given(SOME)
def test_every_entrance_says_the_same(cases: list[ThreeWayCase]) -> None:
    check_in_a_fresh_folder(cases, driver=False)


@pytest.mark.slow
@settings(max_examples=30, derandomize=True, database=None, phases=UNSHRUNK, suppress_health_check=[*HealthCheck])
@given(SOME)
def test_every_entrance_says_the_same_of_many(cases: list[ThreeWayCase]) -> None:
    check_in_a_fresh_folder(cases, driver=True)
