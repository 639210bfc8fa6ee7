"""In which order branches land so that as many as possible do: decided from who conflicts with whom, purely."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence


def plan_safe_order(
    sizes: Mapping[str, int], partners: Mapping[str, Collection[str]], given: Sequence[str]
) -> tuple[str, ...]:
    """Order branches: without conflicts first, then those with fewest partners, small before large, then as given.

    This is what ``git prun forecast`` suggests and ``git prun merge --order safe`` takes. ``partners`` names, for
    each branch, those it conflicts with (the target may be one of them); a pair named from one side only counts for
    both. ``sizes`` is how many paths each changes; what is in neither mapping has no partner, or size 0. A branch
    given twice is taken once. Ancestors are no business of this order: whoever lands puts them before their
    descendants.
    """
    known = dict.fromkeys(given)
    met: dict[str, set[str]] = {name: set() for name in known}
    for one, others in partners.items():
        for other in others:
            if one != other:
                met.setdefault(one, set()).add(other)
                met.setdefault(other, set()).add(one)
    # Sorting is stable: what ties stays as it was given.
    return tuple(sorted(known, key=lambda name: (len(met[name]), sizes.get(name, 0))))
