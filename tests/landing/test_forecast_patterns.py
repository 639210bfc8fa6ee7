"""Looking a path up among many patterns gives what holding it against each of them gives."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from gitprun.model.globs import Patterns, matches
from gitprun.resolvers.kinds import all_kinds, kinds_for

PARTS = st.text("ab.*?", max_size=4)
PATHS = st.lists(PARTS, max_size=3).map("/".join)


@given(st.lists(PATHS, max_size=6), PATHS.map(lambda path: path.replace("*", "b").replace("?", "a")))
def test_as_one_by_one(patterns: list[str], path: str) -> None:
    index = Patterns((pattern, pattern) for pattern in patterns)
    assert index.find(path) == {pattern for pattern in patterns if matches(pattern, path)}


def test_kinds_as_one_by_one() -> None:
    kinds = all_kinds()
    paths = [kind.files[0].replace("*", "x") for kind in kinds] + ["a/b.txt", "x", ".gitignore/deep", "go.mod", ""]
    for path in paths:
        assert kinds_for(path) == tuple(kind for kind in kinds if any(matches(one, path) for one in kind.files))
