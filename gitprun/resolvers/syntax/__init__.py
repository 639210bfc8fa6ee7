"""Program text, merged as a tree that a grammar gives."""

from __future__ import annotations

from functools import partial

from gitprun.resolvers.base import Kind
from gitprun.resolvers.syntax.faults import find_faults
from gitprun.resolvers.syntax.fences import merge_fences
from gitprun.resolvers.syntax.grammars import has_grammar
from gitprun.resolvers.syntax.languages import GRAMMARS
from gitprun.resolvers.syntax.resolver import resolve

KINDS: tuple[Kind, ...] = (
    *(
        Kind(
            row.name,
            row.files,
            (partial(resolve, row),),
            partial(find_faults, row),
            is_able=partial(has_grammar, row) if row.needed else lambda: True,
        )
        for row in GRAMMARS
    ),
    Kind("markdown", ("*.md", "*.markdown", "*.mdx"), (merge_fences,)),
)
