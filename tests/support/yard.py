"""A repository and an object folder that a worker filled as it liked."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from gitprun.capture.import_objects import Imported, ImportRequest, import_objects
from gitprun.model.names import Oid
from gitprun.workspaces.clone import read_source
from tests.support.raw_objects import Entry, RawStore, in_order
from tests.support.repos import Repo, make_repo

FILE, LINK, SUBMODULE, FOLDER = 0o100644, 0o120000, 0o160000, 0o40000


@dataclass(frozen=True, slots=True)
class Yard:
    """A repository, and an object folder that a worker filled."""

    repo: Repo
    store: RawStore
    base: Oid
    alternates: bytes

    def with_entry(self, *entries: Entry, sort: bool = True) -> Oid:
        """Commit the base's tree with more entries."""
        added = {entry[1] for entry in entries} if sort else set()
        rows = (row.partition("\t") for row in self.repo.git("ls-tree", "-z", self.base).split("\0")[:-1])
        found = [(int(about.split()[0], 8), name.encode(), Oid(about.split()[2])) for about, _, name in rows]
        old = [entry for entry in found if entry[1] not in added]
        rows = in_order([*old, *entries]) if sort else [*old, *entries]
        return self.store.commit(self.store.tree(*rows), self.base)

    def file(self, name: bytes, body: bytes = b"x\n", mode: int | bytes = FILE) -> Oid:
        """Commit one more file at the top."""
        return self.with_entry((mode, name, self.store.blob(body)))

    def cross(self, tip: Oid | Mapping[str, Oid], **more: object) -> Imported:
        """Bring one commit over, or several by name."""
        tips = {"head": tip} if isinstance(tip, str) else tip
        fixed: dict[str, object] = {"run": "r1", "unit": "u", "objects": self.store.path, "base": self.base}
        fixed["alternates"] = self.alternates
        return import_objects(self.repo.repository, ImportRequest(tips=tips, **{**fixed, **more}))  # type: ignore[arg-type]


def make_yard(path: Path) -> Yard:
    """Make a repository of two files, and an empty folder for a worker's objects."""
    repo = make_repo(path / "repo", Readme_dot_md="base\n", src__a_dot_txt="1\n")
    objects, alternates = path / "work" / "objects", read_source(repo.repository).alternates
    (objects / "info").mkdir(parents=True)
    (objects / "pack").mkdir()
    (objects / "info" / "alternates").write_bytes(alternates)
    return Yard(repo, RawStore(objects), repo.head, alternates)
