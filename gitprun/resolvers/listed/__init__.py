"""Files of one entry a line: requirements, modules, settings, translations, lists for people."""

from __future__ import annotations

from gitprun.resolvers.base import Kind
from gitprun.resolvers.listed import (
    barrels,
    documents,
    gettext,
    gomod,
    ignores,
    owners,
    requirements,
    rscript,
    settings,
)

KINDS: tuple[Kind, ...] = (
    *requirements.KINDS,
    *gomod.KINDS,
    *settings.KINDS,
    *gettext.KINDS,
    *owners.KINDS,
    *ignores.KINDS,
    *documents.KINDS,
    *rscript.KINDS,
)
# Tried after the kinds that know the grammar of these files.
FALLBACKS: tuple[Kind, ...] = barrels.KINDS
