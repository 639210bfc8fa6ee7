"""Files made of blocks: schemas, build files, protocols, SQL, migrations, notebooks."""

from __future__ import annotations

from gitprun.resolvers.base import Kind
from gitprun.resolvers.blocks import bracketed, dockerfile, makefile, markup, notebooks, prisma, proto, rails, sql

KINDS: tuple[Kind, ...] = (
    prisma.KIND,
    dockerfile.KIND,
    makefile.KIND,
    proto.KIND,
    rails.KIND,
    sql.KIND,
    notebooks.KIND,
    *bracketed.KINDS,
    markup.PAGES,
    markup.KIND,
)
