"""Looking ahead at a landing: which branches get along, and who would settle what."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

from gitprun.api.forecasts import (
    ForecastBranch,
    ForecastCounts,
    ForecastPair,
    ForecastPath,
    LandingForecast,
    NameReason,
)
from gitprun.api.opened import Opened
from gitprun.api.settings import hotspots_of, settings_of
from gitprun.model.errors import UsageProblem

if TYPE_CHECKING:
    from gitprun.landing.forecast_plan import Forecast, Meeting, PathForecast


def forecast(
    opened: Opened, names: Sequence[str] = (), *, into: str | None = None, every: bool = False
) -> LandingForecast:
    """Say which branches conflict with each other or the target, and who would settle it; nothing is changed.

    ``every`` looks at all local branches. The work of units that still run is looked at as it is now.
    """
    from gitprun.git.command import require_git
    from gitprun.landing.forecast import forecast as look_ahead
    from gitprun.landing.forecast_branches import Asked
    from gitprun.model.plan import MAX_DELETED

    if names and every:
        raise UsageProblem("--all-branches and names cannot be given together", "leave one of them out")
    require_git(opened.start)
    settings, history = settings_of(opened), opened.history()
    declared = (history.last.verify or ()) if history.last else ()
    asked = Asked(
        names=names,
        every=every,
        into=into,
        hotspots=hotspots_of(settings),
        checks=settings.verify or tuple(declared),
        max_deleted=MAX_DELETED if settings.max_deleted is None else settings.max_deleted,
        protected=settings.protected or (),
    )
    return _forecast_of(look_ahead(opened.repository, history, asked))


def _forecast_of(seen: Forecast) -> LandingForecast:
    from gitprun.ledger.held import accept_flags

    counts = Counter[str](one.state for one in seen.meetings)
    return LandingForecast(
        target=seen.target,
        tip=seen.tip,
        branches=tuple(
            ForecastBranch(
                name=one.name,
                tip=one.tip,
                run=one.run,
                unit=one.unit,
                live=one.live,
                paths=one.paths,
                gate=one.gate,
                named=one.named,
                suspect=one.suspect,
                refused=one.refused,
                held=one.held,
                accept=one.accept,
                accept_flags=accept_flags(one.accept),
            )
            for one in seen.branches
        ),
        pairs=tuple(map(_pair, seen.meetings)),
        against=tuple(map(_pair, seen.against)),
        order=seen.order,
        left_out=tuple(NameReason(name=name, reason=reason) for name, reason in seen.left_out),
        counts=ForecastCounts(
            pairs=seen.pairs,
            compared=len(seen.meetings),
            pruned=seen.pairs - len(seen.meetings),
            suspect=counts["suspect"],
            conflict=counts["conflict"],
            settled=counts["settled"],
            clean=counts["clean"],
        ),
    )


def _pair(one: Meeting) -> ForecastPair:
    return ForecastPair(one=one.one, other=one.other, state=one.state.value, paths=tuple(map(_path, one.paths)))


def _path(row: PathForecast) -> ForecastPath:
    return ForecastPath(
        path=row.path,
        kind=row.kind,
        detail=row.detail,
        resolver=row.resolver,
        reasons=row.reasons,
        dropped=row.dropped,
    )
