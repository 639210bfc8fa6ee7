"""Every planted program and redirect against every operation of prun that touches its unit."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from tests.proof.plans import sh, write_plan
from tests.proof.rows import Row, Size
from tests.proof.vectors import CODA, LINKED, LINKED_PRELUDE, PRELUDE, PROGRAMS, REDIRECTS
from tests.support.cli import Said
from tests.support.forker import Forker
from tests.support.repos import Repo, make_repo

# Operations on all units at once, and on each; {unit} is its name, {run} the run's.
BEFORE = (
    ("status",),
    ("status", "--json"),
    ("monitor", "--once"),
    ("prompt", "{unit}"),
    ("log", "{unit}"),
    ("show", "{unit}"),
    ("show", "--json", "{unit}"),
    ("diff", "{unit}"),
    ("collect", "{unit}"),
    ("reconcile",),
    ("forecast",),
    ("ledger", "verify"),
    ("rescue", "--list"),
    ("gc", "--dry-run"),
    ("run", "--resume"),
)
AFTER = (("merge", "--dry-run", "{unit}"), ("merge", "{unit}"), ("undo",), ("gc",), ("remove", "{unit}"), ("clean",))


@dataclass(frozen=True, slots=True)
class Ground:
    """The user's repository, what lies outside of it, and where planted programs leave their mark."""

    repo: Repo
    outside: Path
    fired: Path
    secret: str

    @property
    def env(self) -> Mapping[str, str]:
        """Give what the workers find in their environment."""
        return {"FIRED": str(self.fired), "OUTSIDE": str(self.outside)}

    def marks(self) -> list[str]:
        """List who was run, and forget it."""
        found = sorted(os.listdir(self.fired))
        for name in found:
            (self.fired / name).unlink()
        return found


def lay_out(folder: Path) -> Ground:
    """Make the ground of a trial."""
    repo = make_repo(
        folder / "user", a_dot_txt="1\n", folder__in_dot_txt="1\n", shared_dot_bin="base\n", b_dot_txt="2\n"
    )
    outside, fired = folder / "outside", folder / "fired"
    fired.mkdir()
    private = make_repo(outside / "private", secret_dot_txt="the secret\n")
    (outside / "private-commit").write_text(private.head)
    (outside / "file").write_text("mine\n")
    return Ground(repo, outside, fired, private.oid("HEAD:secret.txt"))


def digest(folder: Path, skip: frozenset[str] = frozenset()) -> str:
    """Digest every path, mode and content below a folder, following no link."""
    found = hashlib.sha256()
    for top, folders, files in os.walk(folder):
        folders[:] = sorted(name for name in folders if os.path.relpath(os.path.join(top, name), folder) not in skip)
        for name in sorted([*files, *folders]):
            path = os.path.join(top, name)
            about = os.lstat(path)
            found.update(f"{os.path.relpath(path, folder)}\0{about.st_mode:o}\0".encode(errors="surrogateescape"))
            if os.path.islink(path):
                found.update(os.fsencode(os.readlink(path)))
            elif name in files:
                found.update(Path(path).read_bytes())
    return found.hexdigest()


def watched(ground: Ground) -> dict[str, str]:
    """Take down all that only a landing may change."""
    git = ground.repo.path / ".git"
    refs = ground.repo.git("for-each-ref", "--format=%(refname) %(objectname)").splitlines()
    own = [row for row in refs if not row.startswith(("refs/prun/", "refs/heads/prun/"))]
    plain = {name: digest_file(git / name) for name in ("HEAD", "config", "index", "info/exclude", "logs/HEAD")}
    return {
        **plain,
        "refs": "\n".join(own),
        "hooks": digest(git / "hooks") if (git / "hooks").is_dir() else "",
        "checkout": digest(ground.repo.path, frozenset({".git"})),
        "outside": digest(ground.outside),
    }


def digest_file(path: Path) -> str:
    """Digest one file; empty if it is not there."""
    return hashlib.sha256(path.read_bytes()).hexdigest() if path.exists() else ""


def calls(scripts: Mapping[str, str], words: tuple[str, ...]) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Give each command line with the unit it is about (empty: all of them)."""
    if not any("{unit}" in word for word in words):
        yield "", words
        return
    for name in scripts:
        yield name, tuple(word.format(unit=name) for word in words)


def try_vectors(folder: Path, size: Size) -> Row:
    """Plant everything, do everything, and count what ran, moved or was read."""
    faults: list[str] = []
    cells = 0
    live = _control(folder / "control", dict(list(PROGRAMS.items())[:: 6 if size == "quick" else 1]))
    if len(live) < (3 if size == "quick" else 20):
        faults.append(f"plain git ran only {len(live)} of the planted programs: the trial proves little")
    with Forker() as forker:
        for kind, vectors in (("program", PROGRAMS), ("redirect", REDIRECTS)):
            chosen = dict(list(vectors.items())[:: 6 if size == "quick" else 1])
            cells += _try_run(folder / kind, forker, chosen, faults)
            cells += _try_named(folder / f"{kind}-named", forker, chosen, faults)
        for name, script in list(LINKED.items())[:: 6 if size == "quick" else 1]:
            cells += _try_linked(folder / f"linked-{name}", forker, name, script, faults)
    count = len(PROGRAMS) + len(REDIRECTS) + len(LINKED)
    return Row(
        trial=(
            f"{len(PROGRAMS)} planted programs, {len(REDIRECTS)} redirects, {len(LINKED)} in linked worktrees"
            " x all operations on their unit"
        ),
        must="0 executions, 0 writes or reads outside",
        found=f"{cells} cells of {count} ways ({len(live)} run under plain git), {len(faults)} faults",
        faults=tuple(faults),
    )


PLAIN = (
    "status", "diff", "log -p", "show", "add -A", "commit -m x", "commit --allow-empty --trailer X=1 -m y", "fetch .",
    "merge side", "fetch origin", "pull", "push", "log --all --oneline", "tag -m x x", "gc", "submodule update --init",
)  # fmt: skip


def _control(folder: Path, scripts: Mapping[str, str]) -> list[str]:
    """Plant the programs in plain clones and use plain git there: who is run, to see that the trial can fail."""
    folder.mkdir(parents=True)
    ground = lay_out(folder)
    for name, script in scripts.items():
        clone = folder / name
        ground.repo.git("clone", "-q", "--no-hardlinks", str(ground.repo.path), str(clone))
        (clone / ".prun").mkdir()
        side = "git checkout -q -b side; echo side >shared.bin; git -c user.name=a -c user.email=a@b commit -qam side;"
        back = "git checkout -q main; git remote remove origin;"
        env = {**os.environ, **ground.env, "PRUN_UNIT": name, "PRUN_REPO": str(ground.repo.path)}
        quiet = {"cwd": clone, "env": env, "capture_output": True, "check": False, "stdin": subprocess.DEVNULL}
        subprocess.run(["sh", "-uc", side + back + PRELUDE + script + CODA], **quiet)
        for words in PLAIN:
            # What waits for the planted program was run; `timeout` ends the whole of it.
            subprocess.run(["timeout", "--kill-after=1", "2", "git", *words.split()], **quiet)
    return ground.marks()


def _try_run(folder: Path, forker: Forker, scripts: Mapping[str, str], faults: list[str]) -> int:
    """Let workers of a run plant; capture, look, land, remove."""
    folder.mkdir(parents=True)
    ground = lay_out(folder)
    write_plan(folder, {name: sh(PRELUDE + script + CODA) for name, script in scripts.items()})
    before = watched(ground)
    said = forker.run(ground.repo.path, "run", str(folder / "plan.toml"), env=ground.env)
    if said.code not in (0, 1):
        faults.append(f"run: exit code {said.code}: {said.err[-300:]}")
    cells = len(scripts) + _judge(ground, "run", "", said, before, faults)
    for words in (*BEFORE, *AFTER):
        landing = words[0] in ("merge", "undo") and "--dry-run" not in words
        for unit, line in calls(scripts, words):
            said = forker.run(ground.repo.path, *line, env=ground.env)
            if said.code in (70, 129) or said.code < 0:
                faults.append(f"{' '.join(line)}: exit code {said.code}: {said.err[-300:]}")
            if landing:
                # It may move the branch and its checkout, and nothing else.
                now = watched(ground)
                moved = ("refs", "index", "checkout", "logs/HEAD")
                before = {**before, **{key: now[key] for key in moved}}
            cells += _judge(ground, " ".join(words), unit, said, before, faults) + (0 if unit else len(scripts) - 1)
    shutil.rmtree(folder / "user.prun", ignore_errors=True)
    return cells


def _try_named(folder: Path, forker: Forker, scripts: Mapping[str, str], faults: list[str]) -> int:
    """Let workers in named workspaces plant; go on in them, commit, look, remove."""
    folder.mkdir(parents=True)
    ground = lay_out(folder)
    (folder / "again.sh").write_text("echo again >>again.txt\n")
    before, cells = watched(ground), 0
    for number, (name, script) in enumerate(scripts.items()):
        work = f"w{number}"
        (folder / f"{name}.sh").write_text(PRELUDE + script + CODA)
        steps = (
            ("new", work, f"own/{work}", "--clone"),
            ("exec", work, "plant", "do it", "--executor", "command", "--command", f"sh -u {folder}/{name}.sh"),
            ("status",),
            ("monitor", "--once"),
            ("exec", work, "again", "do more", "--executor", "command", "--command", f"sh -u {folder}/again.sh"),
            ("merge", "--dry-run", f"own/{work}"),
            ("remove", work),
        )
        for words in steps:
            said = forker.run(ground.repo.path, *words, env=ground.env)
            if said.code in (70, 129) or said.code < 0:
                faults.append(f"{name}: {' '.join(words[:2])}: exit code {said.code}: {said.err[-300:]}")
            now = watched(ground)
            # A workspace of one's own has a branch of one's own.
            before = {**before, "refs": _without(now["refs"], before["refs"], work)}
            cells += _judge(ground, f"{words[0]} (named)", name, said, before, faults)
    return cells


def _try_linked(folder: Path, forker: Forker, name: str, script: str, faults: list[str]) -> int:
    """Let a worker in a linked worktree plant in the user's own repository: seen before anything of it runs."""
    folder.mkdir(parents=True)
    ground = lay_out(folder)
    # Something git has to look at closely.
    ground.repo.write("b.txt", "edited by hand\n")
    text = LINKED_PRELUDE + script + CODA
    plan = write_plan(folder, {name: sh(text, 'workspace = "worktree"')})
    cells = 0
    looks = [words for words in (*BEFORE, *AFTER) if words[0] != "undo"]
    for words in (("run", str(plan)), *looks, ("undo", "--drift", name), ("merge", name)):
        line = tuple(word.format(unit=name) for word in words)
        said = forker.run(ground.repo.path, *line, env=ground.env)
        if said.code in (70, 129) or said.code < 0:
            faults.append(f"linked {name}: {' '.join(line)}: exit code {said.code}: {said.err[-300:]}")
        faults += [f"linked: {' '.join(words)}: ran what {one} planted" for one in ground.marks()]
        cells += 1
    return cells


def _without(now: str, before: str, work: str) -> str:
    """Let the branch of the named workspace be as it is now."""
    own = f"refs/heads/own/{work} "
    kept = [row for row in before.splitlines() if not row.startswith(own)]
    return "\n".join(sorted([*kept, *(row for row in now.splitlines() if row.startswith(own))]))


def _judge(ground: Ground, operation: str, unit: str, said: Said, before: Mapping[str, str], faults: list[str]) -> int:
    """Write down what should not have happened; gives the number of cells looked at."""
    faults += [f"{operation}: ran what {name} planted" for name in ground.marks()]
    now = watched(ground)
    faults += [f"{operation} {unit}: changed {key} of the user's" for key in before if now[key] != before[key]]
    known = ground.repo.git("cat-file", "--batch-check", stdin=f"{ground.secret}\n".encode())
    if not known.endswith("missing"):
        faults.append(f"{operation} {unit}: an object from outside is in the user's repository")
    if "the secret" in said.out + said.err:
        faults.append(f"{operation} {unit}: printed what lies outside")
    return 1
