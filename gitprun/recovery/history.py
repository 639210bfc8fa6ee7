"""Put refs and reflogs back, with the objects they need; what they held meanwhile is pinned first."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from gitprun.git.repo import Repository
from gitprun.ledger.drift_findings import STASH, Change
from gitprun.model.errors import PrunError
from gitprun.model.names import ZERO, short
from gitprun.observe.keep import bring_back, shared_git
from gitprun.observe.reflogs import join_logs, read_entry
from gitprun.observe.snapshotter import log_place
from gitprun.recovery.restore import (
    CHANGED_AGAIN,
    REASON,
    KeptState,
    RestoreOutcome,
    Restorer,
    grows,
    lock_file,
    run_or_refuse,
)
from gitprun.system.files import read_plain, write_whole

GONE = "its commits are gone, and were not kept"
# As long as what drift keeps of one (see ``observe.attribution``).
MOST_LOG = 64 << 20
# Pins a commit under a name of prun's; gives that name.
Pin = Callable[[str, str], str]


class Refs:
    """Puts refs and reflogs back; ``pin`` keeps what a ref holds now."""

    def __init__(self, repository: Repository, kept: KeptState, files: Restorer, pin: Pin, *, dry: bool) -> None:
        self.repository, self.kept, self.files, self.pin, self.dry = repository, kept, files, pin, dry
        self.common = repository.common
        self.objects = kept.store.path.parent / "objects"

    def bring_objects(self, things: Sequence[Change]) -> int:
        """Bring back what refs and reflogs need and the repository lacks; returns how many files."""
        needed = {thing.old for thing in things if thing.kind == "ref" and thing.old and "ref: " not in thing.old}
        logged = {oid for thing in things for oid in self._logged(thing)}
        if self.dry or (self._whole(needed) and not self._missing(logged)):
            return 0
        return bring_back(self.objects, self.common / "objects")

    def _logged(self, thing: Change) -> set[str]:
        """List the commits a reflog that comes back names."""
        entries = (read_entry(line) for line in (self._old_log(thing.name) or b"").split(b"\n"))
        return {oid for entry in entries if entry is not None for oid in (entry.old, entry.new) if oid != ZERO}

    def _whole(self, oids: Iterable[str]) -> bool:
        """Check whether everything below some commits is there; in a dry run what was kept counts too."""
        wanted = sorted(oids)
        if not wanted:
            return True
        env = {"GIT_ALTERNATE_OBJECT_DIRECTORIES": str(self.objects)} if self.dry else {}
        stdin = "".join(f"{oid}\n" for oid in wanted)
        # Down to what some ref has anyway: only what was lost is walked.
        words = ("rev-list", "--objects", "--quiet", "--stdin", "--not", "--all")
        try:
            return shared_git(self.repository, **env).run(*words, stdin=stdin.encode(), ok=(0, 1, 128)).code == 0
        except PrunError:
            return False

    def _missing(self, oids: Iterable[str]) -> set[str]:
        wanted = sorted(oids)
        if not wanted:
            return set()
        stdin = "".join(f"{oid}\n" for oid in wanted).encode()
        rows = shared_git(self.repository).run("cat-file", "--batch-check", stdin=stdin).text.split("\n")
        return {row.partition(" ")[0] for row in rows if row.endswith(" missing")}

    def restore_ref(self, thing: Change) -> RestoreOutcome:
        """Put one ref back from where it was found, pinning that, and its reflog with it."""
        now = self.files.eye.refs().get(thing.name, "")
        if now == thing.old:
            self._restore_log(thing)
            return RestoreOutcome("put-back", value=thing.old)
        if now != thing.new:
            if thing.name == STASH and thing.old:
                # What was stashed since stays on top; the list below it comes back.
                self._restore_log(thing)
            return RestoreOutcome("left", CHANGED_AGAIN, now)
        if "ref: " in thing.old + thing.new:
            return RestoreOutcome("refused", f"git symbolic-ref {thing.name} {thing.old.removeprefix('ref: ')}")
        blocked = self._blocked(thing)
        if blocked:
            return RestoreOutcome("refused", blocked)
        # A ref to a commit whose files are gone would break every git that walks it.
        if thing.old and not self._whole([thing.old]):
            return RestoreOutcome("refused", GONE)
        if self.dry:
            return RestoreOutcome("put-back", value=thing.old)
        # Before the ref moves: what the worker put there is nobody else's to lose either.
        if thing.new:
            self.pin(thing.name, thing.new)
        refused = self._move(thing)
        if refused is None:
            self._restore_log(thing)
        return refused or RestoreOutcome("put-back", value=thing.old)

    def _move(self, thing: Change) -> RestoreOutcome | None:
        if not thing.old:
            return run_or_refuse(self.repository, "update-ref", "--no-deref", "-d", thing.name, thing.new)
        words = ("update-ref", "--no-deref", "-m", REASON, thing.name, thing.old, thing.new or ZERO)
        return run_or_refuse(self.repository, *words)

    def _blocked(self, thing: Change) -> str:
        """Return which checkout would be left dirty; empty if none would."""
        for place, git in self.files.checkouts_on(thing.name):
            if not thing.old:
                return f"{place} is on it: git -C {place} switch to another branch first"
            if grows(git, thing.old, thing.new):
                return f"the files of {place} have followed: git -C {place} reset --keep {short(thing.old)}"
        return ""

    def restore_reflog(self, thing: Change) -> RestoreOutcome:
        """Put lost lines back into a reflog; what was written since stays."""
        if not self.dry:
            self._restore_log(thing)
        return RestoreOutcome("put-back")

    def _old_log(self, name: str) -> bytes | None:
        mark = (self.kept.before.logs or {}).get(name, "")
        return self.kept.store.content(mark.partition(" ")[2]) if mark else None

    def _restore_log(self, thing: Change) -> None:
        old, path = self._old_log(thing.name), self.common / log_place(thing.name)
        if old is None or self.dry or (thing.kind == "ref" and not thing.old):
            return
        # Git takes the lock of the ref to write its log, and has no other for it.
        with lock_file(str(self.common / thing.name)):
            now = read_plain(path, MOST_LOG) or b""
            # An entry of ours on the stash would be one more thing that was stashed.
            joined = self._without_gone(join_logs(old, now, REASON if thing.name == STASH else ""))
            if joined != now:
                path.parent.mkdir(parents=True, exist_ok=True)
                write_whole(path, joined, mode=0o644)

    def _without_gone(self, log: bytes) -> bytes:
        """Leave out the entries whose commits are nowhere any more."""
        entries = {line: read_entry(line) for line in log.split(b"\n") if line}
        missing = self._missing({entry.new for entry in entries.values() if entry is not None})
        kept = [line for line, entry in entries.items() if entry is None or entry.new not in missing]
        return b"".join(line + b"\n" for line in kept)
