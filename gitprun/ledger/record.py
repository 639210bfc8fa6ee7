"""Values with named fields that know which of them were said: read from JSON at the door, written back the same."""

from __future__ import annotations

import types
from collections.abc import Callable, Iterator, Mapping
from dataclasses import FrozenInstanceError, asdict
from inspect import get_annotations
from typing import (
    ClassVar,
    Literal,
    NamedTuple,
    Self,
    TypeVar,
    Union,
    dataclass_transform,
    get_args,
    get_origin,
)

from gitprun.supervisor.process import ProcessIdentity

Facts = Mapping[str, object]
NOTHING: Facts = types.MappingProxyType({})
# A number beyond this is no time, size or count: it would only overflow in the arithmetic of whoever reads it.
MOST_NUMBER = 1e15
# What no field is called: where a value keeps the keys that nobody here knows.
_UNKNOWN = "*"

_T = TypeVar("_T")
_Other = TypeVar("_Other", bound="TypedRecord")


class OddFact(ValueError):
    """A fact is not what it must be: somebody edited the ledger, or a version to come says it otherwise."""


# No dataclass: the ledger has some eighty of these, and to make that many dataclasses takes longer than to run most
# commands. What was said lies in the instance, what was not is the default in the class.
@dataclass_transform(kw_only_default=True, frozen_default=True)
class TypedRecord:
    """A frozen value; equal to another of its class that says the same, whatever the defaults are.

    ``on_disk`` maps fields to keys in JSON that are called otherwise, ``needed`` names fields that JSON must have,
    ``together`` those of which none counts without the others, ``beside`` fields that are no part of the JSON.
    """

    on_disk: ClassVar[Mapping[str, str]] = types.MappingProxyType({})
    needed: ClassVar[tuple[str, ...]] = ()
    together: ClassVar[tuple[str, ...]] = ()
    beside: ClassVar[tuple[str, ...]] = ()

    def __init__(self, **said: object) -> None:
        names = field_names(type(self))
        if odd := said.keys() - names:
            raise TypeError(f"{type(self).__name__} has no field {', '.join(sorted(odd))}")
        if missing := _required(type(self)) - said.keys():
            raise TypeError(f"{type(self).__name__} needs {', '.join(sorted(missing))}")
        self.__dict__.update(said)

    def __setattr__(self, name: str, value: object) -> None:
        raise FrozenInstanceError(f"{name} of {type(self).__name__} cannot be set anew")

    def __eq__(self, other: object) -> bool:
        if type(self) is not type(other):
            return False
        # What is beside the JSON cannot be said or not, it only is.
        beside = type(self).beside
        if any(getattr(self, name) != getattr(other, name) for name in beside):
            return False
        mine, theirs = self.__dict__, other.__dict__
        return mine == theirs if not beside else _without(mine, beside) == _without(theirs, beside)

    def __hash__(self) -> int:
        # By the names alone: values may be mappings and lists out of JSON, which have no hash.
        return hash((type(self), *self.__dict__))

    def __repr__(self) -> str:
        said = ", ".join(f"{name}={value!r}" for name, value in self.__dict__.items())
        return f"{type(self).__name__}({said})"

    @classmethod
    def build(cls, said: Mapping[str, object]) -> Self:
        """Return a value of this class from fields that are known to be right."""
        # Past the checks of __init__: a fold builds one of these for every event of a ledger.
        made = cls.__new__(cls)
        made.__dict__.update(said)
        return made

    @classmethod
    def read(cls, facts: Facts, *, whole: bool = False) -> Self:
        """Return the value that JSON says; keys that are not known here are kept as they are.

        Raises OddFact where something needed is missing or odd, with ``whole`` where anything is odd. Otherwise what
        is odd counts as not said.
        """
        fields, said, unknown = fields_of(cls), dict[str, object](), dict[str, object]()
        odd = set[str]()
        for key, value in facts.items():
            known = fields.get(key)
            if known is None:
                unknown[key] = value
                continue
            for field in known:
                try:
                    said[field.name] = field.read(value)
                    break
                except OddFact:
                    continue
            else:
                odd.add(key)
        if odd and whole:
            raise OddFact(", ".join(sorted(odd)))
        if odd.intersection(cls.together):
            said = {name: value for name, value in said.items() if name not in cls.together}
        if any(said.get(name) is None for name in _needed_in_json(cls)):
            raise OddFact(cls.__name__)
        if unknown:
            said[_UNKNOWN] = unknown
        return cls.build(said)

    @property
    def unknown(self) -> Facts:
        """Return what was read and is not known here."""
        unknown: Facts = self.__dict__.get(_UNKNOWN, NOTHING)
        return unknown

    def said(self) -> Iterator[tuple[str, object]]:
        """Yield the fields that were said, and their values, in the order in which they were."""
        names = field_names(type(self))
        return ((name, value) for name, value in self.__dict__.items() if name in names)

    def as_json(self) -> dict[str, object]:
        """Return what was said as plain values: what ``read`` read."""
        names = _by_name(type(self))
        row = {names[name].key: names[name].write(value) for name, value in self.said() if name in names}
        return {**row, **self.unknown}

    def into(self, cls: type[_Other], **more: object) -> _Other:
        """Return a value of another class that says the same as far as that has the fields, and ``more``."""
        names = field_names(cls)
        said = {name: value for name, value in self.said() if name in names}
        # What is not known here goes along, so that nothing a later version wrote is lost.
        unknown = {_UNKNOWN: self.unknown} if self.unknown else {}
        return cls.build({**said, **unknown, **more})

    def joined(self, news: TypedRecord) -> Self:
        """Return this with what ``news`` says put over it; of a stranger what both have the same key for."""
        kin = isinstance(self, type(news))
        values = {**self.__dict__, **dict(news.said())} if kin else dict(self.__dict__)
        if more := news.unknown if kin else news.as_json():
            read = type(self).read(more)
            values |= dict(read.said())
            if unknown := {**self.unknown, **read.unknown}:
                values[_UNKNOWN] = unknown
        return self.build(values)


def _without(values: Facts, names: tuple[str, ...]) -> dict[str, object]:
    return {name: value for name, value in values.items() if name not in names}


class Field(NamedTuple):
    """One field of a record: the key in JSON, and how its value is read (raising OddFact) and written."""

    name: str
    key: str
    read: Callable[[object], object]
    write: Callable[[object], object]


def _once(read: Callable[[type[TypedRecord]], _T]) -> Callable[[type[TypedRecord]], _T]:
    """Ask for what a class is made of only once."""
    known: dict[type[TypedRecord], _T] = {}

    def ask(cls: type[TypedRecord]) -> _T:
        if cls not in known:
            known[cls] = read(cls)
        return known[cls]

    return ask


@_once
def _own_hints(cls: type[TypedRecord]) -> Mapping[str, object]:
    hints = get_annotations(cls) if issubclass(cls, TypedRecord) else {}
    own = {name for name, hint in hints.items() if not str(hint).startswith("ClassVar")}
    return {name: hint for name, hint in get_annotations(cls, eval_str=True).items() if name in own} if own else {}


@_once
def _hints(cls: type[TypedRecord]) -> Mapping[str, object]:
    """Return the fields of a record with their types, those of its bases first: with one key they are tried so."""
    return {name: hint for base in reversed(cls.__mro__) for name, hint in _own_hints(base).items()}


@_once
def field_names(cls: type[TypedRecord]) -> frozenset[str]:
    """Return the names of the fields of a record."""
    return frozenset(_hints(cls))


@_once
def _required(cls: type[TypedRecord]) -> frozenset[str]:
    """Return the names of the fields that have no default."""
    return frozenset(name for name in _hints(cls) if not hasattr(cls, name))


@_once
def _needed_in_json(cls: type[TypedRecord]) -> frozenset[str]:
    return _required(cls).difference(cls.beside).union(cls.needed)


@_once
def _by_name(cls: type[TypedRecord]) -> Mapping[str, Field]:
    return {name: _field(cls, name, hint) for name, hint in _hints(cls).items() if name not in cls.beside}


@_once
def fields_of(cls: type[TypedRecord]) -> Mapping[str, tuple[Field, ...]]:
    """Return the fields of a record by their key in JSON: of two with the same one that which can read it counts."""
    found: dict[str, tuple[Field, ...]] = {}
    for field in _by_name(cls).values():
        found[field.key] = (*found.get(field.key, ()), field)
    return found


def _field(cls: type[TypedRecord], name: str, hint: object) -> Field:
    parts = get_args(hint) if get_origin(hint) in (Union, types.UnionType) else (hint,)
    nullable = type(None) in parts or hint is object
    # A field of two types could not be read back for certain; such a hint fails here, at the first use.
    [kind] = [part for part in parts if part is not type(None)]
    inner = _reader(kind)
    default = getattr(cls, name, None)

    def read(value: object) -> object:
        if value is None and nullable:
            return None
        # Null takes back what was said before; a list cannot be taken back, only be empty.
        if value is None and hasattr(cls, name) and not isinstance(default, tuple):
            return default
        return inner(value)

    # Of nobody ``{}`` has always been written.
    nobody: object = {} if kind is ProcessIdentity else None
    return Field(name, cls.on_disk.get(name, name), read, lambda value: nobody if value is None else plain(value))


def plain(value: object) -> object:
    """Return a value as plain JSON."""
    if isinstance(value, TypedRecord):
        return value.as_json()
    if isinstance(value, tuple | list):
        return [plain(part) for part in value]
    if isinstance(value, Mapping):
        return {key: plain(part) for key, part in value.items()}
    return asdict(value) if isinstance(value, ProcessIdentity) else value


def _reader(kind: object) -> Callable[[object], object]:
    """Return what reads values of a type from JSON."""
    if kind is object:
        return lambda value: value
    if kind is ProcessIdentity:
        return _process
    if isinstance(kind, type) and issubclass(kind, TypedRecord):
        return lambda value: _record(kind, value)
    if get_origin(kind) is tuple:
        return _tuple(get_args(kind))
    if get_origin(kind) is Literal:
        return _one_of(get_args(kind))
    if get_origin(kind) is Mapping:
        return _mapping(_reader(get_args(kind)[1]))
    return _SCALARS[kind]


def _one_of(words: tuple[object, ...]) -> Callable[[object], object]:
    def read(value: object) -> object:
        if value not in words:
            raise OddFact("word")
        return value

    return read


def _mapping(inner: Callable[[object], object]) -> Callable[[object], object]:
    def read(value: object) -> object:
        if not isinstance(value, dict):
            raise OddFact("mapping")
        return {key: inner(part) for key, part in value.items()}

    return read


def _of_type(value: object, kind: type[_T]) -> _T:
    if not isinstance(value, kind):
        raise OddFact(kind.__name__)
    return value


def _text(value: object) -> str:
    return _of_type(value, str)


def _flag(value: object) -> bool:
    return _of_type(value, bool)


def _whole(value: object) -> int:
    # True is a number to Python, and to nobody else.
    if isinstance(value, bool):
        raise OddFact("int")
    return _of_type(value, int)


def _number(value: object) -> object:
    if isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) < MOST_NUMBER:
        raise OddFact("float")
    return value


_SCALARS: Mapping[object, Callable[[object], object]] = {str: _text, bool: _flag, int: _whole, float: _number}


def _process(value: object) -> object:
    """Read who a process is; ``{}`` is one that could not be told, as null is."""
    if value == {}:
        return None
    # All three, or it could be taken for another process that has the same pid.
    if not isinstance(value, dict) or value.keys() != {"pid", "start", "boot"}:
        raise OddFact("process")
    return ProcessIdentity(_whole(value["pid"]), _text(value["start"]), _text(value["boot"]))


def _record(kind: type[TypedRecord], value: object) -> object:
    if not isinstance(value, dict):
        raise OddFact(kind.__name__)
    # Half a record is none: a verdict without its checks would say more than was found.
    return kind.read(value, whole=True)


def _tuple(parts: tuple[object, ...]) -> Callable[[object], object]:
    every = parts[1:] == (Ellipsis,)
    readers = [_reader(part) for part in parts if part is not Ellipsis]

    def read(value: object) -> object:
        if not isinstance(value, list | tuple) or (not every and len(value) != len(readers)):
            raise OddFact("tuple")
        return tuple((readers[0] if every else readers[number])(part) for number, part in enumerate(value))

    return read
