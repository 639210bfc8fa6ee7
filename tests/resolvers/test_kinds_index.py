"""The index of kinds says what the families say, so that loading only some of them changes no answer."""

from __future__ import annotations

import subprocess
import sys

from gitprun.model.globs import matches
from gitprun.resolvers.index import INDEX
from gitprun.resolvers.kinds import FAMILIES, all_kinds, kinds_for, load_family
from tests.support.cli import program_environment


def patterns_of(family: str) -> tuple[str, ...]:
    """List the patterns of a family's kinds, each once."""
    tables = [table for name, table in FAMILIES if name == family]
    return tuple(sorted({pattern for table in tables for kind in load_family(family, table) for pattern in kind.files}))


def render() -> str:
    """Write the index as it should be."""
    rows = []
    for family in dict.fromkeys(name for name, _ in FAMILIES):
        listed = "".join(f"        {_quoted(pattern)},\n" for pattern in patterns_of(family))
        rows.append(f'    "{family}": (\n{listed}    ),\n')
    return "INDEX: Final[dict[str, tuple[str, ...]]] = {\n" + "".join(rows) + "}\n"


def _quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def test_the_index_is_what_the_families_say() -> None:
    """After a change of patterns: ``python -m tests.resolvers.test_kinds_index`` prints the table for ``index.py``."""
    assert dict(INDEX) == {family: patterns_of(family) for family in dict.fromkeys(name for name, _ in FAMILIES)}


def test_no_answer_changes() -> None:
    samples = (
        "src/keys.ts",
        "package.json",
        "README.md",
        "go.sum",
        "a/b/.gitignore",
        "schema.prisma",
        "x.none",
        "Makefile",
    )
    for path in samples:
        whole = tuple(kind for kind in all_kinds() if any(matches(pattern, path) for pattern in kind.files))
        assert kinds_for(path) == whole


def test_only_what_is_needed_is_loaded() -> None:
    script = (
        "import sys; from gitprun.resolvers.kinds import kinds_for; kinds_for('src/keys.ts');"
        "print(*sorted(name for name in sys.modules if name.count('.') == 2 and 'resolvers' in name))"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], env=program_environment(), capture_output=True, text=True, check=True
    )
    families = {name for name, _ in FAMILIES} & {name.rpartition(".")[2] for name in done.stdout.split()}
    assert families == {"syntax"}


if __name__ == "__main__":
    print(render(), end="")
