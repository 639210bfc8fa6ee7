"""What the tests of block files share: three versions, the answer, and random edits of named entries in blocks."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from hypothesis import strategies as st

from gitprun.resolvers.base import FileConflict, Kind, Refused, Resolved
from gitprun.resolvers.proof import prove

# Blocks by name, each with its entries by name.
V = TypeVar("V")
Model = dict[str, dict[str, str]]


def merged(kind: Kind, base: str | None, main: str, unit: str) -> str:
    """Give the proved text of a merge that must be made."""
    conflict = _conflict(kind, base, main, unit)
    answer = kind.resolvers[0](conflict)
    assert isinstance(answer, Resolved), answer
    assert prove(conflict, answer.text, kind) is None
    return answer.text.decode()


def refusal(kind: Kind, base: str | None, main: str, unit: str) -> str:
    """Give the reason of a merge that must be refused."""
    answer = kind.resolvers[0](_conflict(kind, base, main, unit))
    assert isinstance(answer, Refused), answer.text.decode()
    return answer.reason


def faults(kind: Kind, text: str) -> tuple[str, ...]:
    """Name what is wrong with one text."""
    return kind.faults(kind.files[0], text.encode())


def _conflict(kind: Kind, base: str | None, main: str, unit: str) -> FileConflict:
    path = kind.files[0].replace("*", "x")
    return FileConflict(path, None if base is None else base.encode(), main.encode(), unit.encode())


def due(base: Model, main: Model, unit: Model) -> Model | None:
    """Merge three models by the three-way rule; None when the sides contradict each other."""
    result: Model = {}
    for name in dict.fromkeys((*base, *main, *unit)):
        old, by_main, by_unit = base.get(name), main.get(name), unit.get(name)
        if by_main == by_unit or by_unit == old:
            found = by_main
        elif by_main == old:
            found = by_unit
        elif old is None or by_main is None or by_unit is None:
            return None
        else:
            found = {}
            for key in dict.fromkeys((*old, *by_main, *by_unit)):
                values = (old.get(key), by_main.get(key), by_unit.get(key))
                if values[1] == values[2] or values[2] == values[0]:
                    value = values[1]
                elif values[1] == values[0]:
                    value = values[2]
                else:
                    return None
                if value is not None:
                    found[key] = value
        if found is not None:
            result[name] = found
    return result


@st.composite
def sides(
    draw: st.DrawFn, blocks: list[str], names: list[str], values: list[str], *, fixed: bool = False
) -> tuple[Model, Model, Model]:
    """Draw a base and two sides with random edits; ``fixed`` leaves the blocks themselves as they are."""
    entries = st.lists(st.tuples(st.sampled_from(names), st.sampled_from(values)), min_size=1, max_size=6)
    chosen = draw(st.lists(st.sampled_from(blocks), min_size=1, max_size=3, unique=True))
    base: Model = {block: dict(draw(entries)) for block in chosen}
    return base, *(_edited(draw, base, blocks, names, values, fixed) for _ in range(2))


def _edited(draw: st.DrawFn, base: Model, blocks: list[str], names: list[str], values: list[str], fixed: bool) -> Model:
    model = {block: dict(entries) for block, entries in base.items()}
    deeds = ["add", "add", "set", "drop"] + ([] if fixed else ["add block", "drop block"])
    for deed in draw(st.lists(st.sampled_from(deeds), max_size=4)):
        block = draw(st.sampled_from(sorted(model))) if model else None
        name, value = draw(st.sampled_from(names)), draw(st.sampled_from(values))
        at = draw(st.integers(0, 8))
        if deed == "add block":
            new = draw(st.sampled_from(blocks))
            if new not in model:
                model = _inserted(model, at, new, {name: value})
        elif deed == "drop block" and block and len(model) > 1:
            del model[block]
        elif deed == "add" and block and name not in model[block]:
            model[block] = _inserted(model[block], at, name, value)
        elif deed == "set" and block and model[block]:
            model[block][draw(st.sampled_from(sorted(model[block])))] = value
        elif deed == "drop" and block and len(model[block]) > 1:
            del model[block][draw(st.sampled_from(sorted(model[block])))]
    return model


def _inserted(entries: dict[str, V], at: int, name: str, value: V) -> dict[str, V]:
    pairs = list(entries.items())
    return dict([*pairs[:at], (name, value), *pairs[at:]])


def check_merge(
    kind: Kind,
    versions: tuple[Model, Model, Model],
    write: Callable[[Model], str],
    read: Callable[[str], Model],
) -> bool:
    """Check one random merge, both ways round: what is resolved is right; tell whether it was resolved.

    The shared proof may refuse more: it counts words, and cannot tell which of many equal ones was meant.
    """
    base, main, unit = versions
    texts = [write(version).encode() for version in versions]
    answers = []
    for first, second in ((1, 2), (2, 1)):
        conflict = FileConflict(kind.files[0].replace("*", "x"), texts[0], texts[first], texts[second])
        answer = kind.resolvers[0](conflict)
        answers.append(answer)
        if isinstance(answer, Resolved):
            found = read(answer.text.decode())
            assert found == due(base, main, unit)
            _check_order(found, base, main, unit)
            assert kind.faults(conflict.path, answer.text) == ()
    assert isinstance(answers[0], Resolved) == isinstance(answers[1], Resolved)
    return isinstance(answers[0], Resolved)


def _check_order(found: Model, base: Model, main: Model, unit: Model) -> None:
    """Check that what stays keeps base's order, in blocks and among them, where neither side moved it."""
    for version in ({"": dict.fromkeys(base)}, base):
        for block in version:
            lists = [list(each) if not block else list(each.get(block, ())) for each in (base, main, unit, found)]
            stays = [key for key in lists[0] if all(key in names for names in lists[1:])]
            orders = [[key for key in names if key in stays] for names in lists]
            if orders[1] == orders[2] == stays:
                assert orders[3] == stays
