"""Program text, merged as a tree that a grammar gives."""

from __future__ import annotations

from functools import partial

from gitprun.merge.resolvers.base import Kind
from gitprun.merge.resolvers.syntax.faults import find_faults
from gitprun.merge.resolvers.syntax.fences import merge_fences
from gitprun.merge.resolvers.syntax.grammars import has_grammar
from gitprun.merge.resolvers.syntax.languages import GRAMMARS
from gitprun.merge.resolvers.syntax.resolver import resolve

KINDS: tuple[Kind, ...] = (
    *(
        Kind(
            row.name, row.files, (partial(resolve, row),), partial(find_faults, row), is_able=partial(has_grammar, row)
        )
        for row in GRAMMARS
    ),
    Kind("markdown", ("*.md", "*.markdown", "*.mdx"), (merge_fences,)),
)
