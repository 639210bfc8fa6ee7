"""npm's files and the faults of JSON files."""

from __future__ import annotations

import json
from typing import Any

import pytest

from gitprun.resolvers.base import FileConflict, Refused, Resolved
from gitprun.resolvers.cascade import run_cascade
from gitprun.resolvers.json.package import merge_lock
from gitprun.resolvers.kinds import find_faults, kinds_for

HINT = "regenerate with: npm install --package-lock-only"


def conflict(path: str, base: Any, main: Any, unit: Any) -> FileConflict:
    texts = [json.dumps(version, indent=2).encode() + b"\n" for version in (base, main, unit)]
    return FileConflict(path, *texts)


def manifest(**sections: dict[str, str]) -> dict[str, Any]:
    return {"name": "x", "version": "1.0.0", **sections}


def lock(packages: dict[str, Any], version: str = "1.0.0", **needs: dict[str, str]) -> dict[str, Any]:
    root = {"name": "x", "version": version, **needs}
    places = {f"node_modules/{place}": package for place, package in sorted(packages.items())}
    return {"name": "x", "version": version, "lockfileVersion": 3, "packages": {"": root, **places}}


def test_dependencies_stay_sorted() -> None:
    base = manifest(scripts={"test": "y", "build": "x"}, dependencies={"b": "1", "x": "1"})
    main = manifest(scripts={"test": "y", "build": "x", "lint": "l"}, dependencies={"a": "1", "b": "1", "x": "2"})
    unit = manifest(
        scripts={"test": "y", "build": "x", "fmt": "f"}, dependencies={"@s/c": "1", "aa": "1", "b": "1", "x": "1"}
    )
    due = manifest(
        scripts={"test": "y", "build": "x", "lint": "l", "fmt": "f"},
        dependencies={"@s/c": "1", "a": "1", "aa": "1", "b": "1", "x": "2"},
    )
    (found,) = run_cascade(conflict("web/package.json", base, main, unit)).texts
    assert (found.resolver, found.text.decode()) == ("package-json", json.dumps(due, indent=2) + "\n")


def test_a_package_in_two_sections_is_refused() -> None:
    found = run_cascade(
        conflict(
            "package.json",
            manifest(dependencies={"a": "1"}, devDependencies={"a1": "1"}),
            manifest(dependencies={"a": "1", "x": "1"}, devDependencies={"a1": "1"}),
            manifest(dependencies={"a": "1"}, devDependencies={"a1": "1", "x": "1"}),
        )
    )
    assert found.texts == ()
    assert str(found.refusals[0]) == 'package-json: "x" stands in dependencies and devDependencies'


def test_a_lock_of_two_additions() -> None:
    one = {"version": "1.0.0", "integrity": "sha512-one"}
    needy = {"version": "2.0.0", "integrity": "sha512-needy", "dependencies": {"one": "^1.0.0"}}
    base = lock({"one": one}, dependencies={"one": "^1.0.0"})
    main = lock({"one": one, "m": needy}, dependencies={"m": "^2.0.0", "one": "^1.0.0"})
    unit = lock({"one": one, "@s/u": needy}, dependencies={"@s/u": "^2.0.0", "one": "^1.0.0"})
    due = lock({"one": one, "m": needy, "@s/u": needy}, dependencies={"@s/u": "^2.0.0", "m": "^2.0.0", "one": "^1.0.0"})
    found = merge_lock(conflict("package-lock.json", base, main, unit))
    assert isinstance(found, Resolved), found
    assert json.loads(found.text) == due
    assert found.text.decode() == json.dumps(due, indent=2) + "\n"
    assert find_faults("package-lock.json", found.text) == ()


def refusal(base: Any, main: Any, unit: Any) -> str:
    found = merge_lock(conflict("package-lock.json", base, main, unit))
    assert isinstance(found, Refused), found
    return found.reason


def test_a_lock_that_nobody_made_is_refused() -> None:
    old, new = {"version": "1.0.0"}, {"version": "2.0.0"}
    needy = {"version": "1.0.0", "dependencies": {"one": "^1.0.0"}}
    base = lock({"one": old}, dependencies={"one": "*"})
    removed = lock({}, dependencies={})
    added = lock({"one": old, "u": needy}, dependencies={"one": "*", "u": "1"})
    assert refusal(base, removed, added) == f'"one" is needed and not in the lock ({HINT})'
    bumped = lock({"one": new}, dependencies={"one": "*"})
    assert refusal(base, bumped, added) == f'neither side shows that "one" 2.0.0 is what "^1.0.0" asks for ({HINT})'
    other = lock({"one": {"version": "3.0.0"}}, dependencies={"one": "*"})
    assert refusal(base, bumped, other) == (
        f'"packages.node_modules/one.version" is changed on both sides, differently ({HINT})'
    )
    first = {"lockfileVersion": 1, "dependencies": {}}
    main, unit = ({**first, "dependencies": {name: {"version": "1"}}} for name in "mu")
    assert refusal(first, main, unit) == (
        f"the lock is of version 1, which does not tell whether its packages fit together ({HINT})"
    )


def test_the_other_resolvers_do_not_touch_what_the_lock_refused() -> None:
    base = lock({}, dependencies={})
    main, unit = (lock({name: {"version": "1"}}, version, dependencies={name: "1"}) for name, version in ("m2", "u3"))
    found = run_cascade(conflict("npm-shrinkwrap.json", base, main, unit))
    assert found.texts == ()
    assert [one.strategy for one in found.refusals] == ["package-lock", "json"]


@pytest.mark.parametrize(
    ("path", "text", "faults"),
    [
        ("a.json", '{"a": 1}', ()),
        ("a.json", "", ()),
        ("a.json", "\ufeff[1]\r\n", ()),
        ("a.json", "[" * 100, ()),
        ("a.json", "{]", ("the file is no JSON",)),
        ("a.json", '{"a": 1 "b": 2}', ("the file is no JSON",)),
        ("a.json", '{"a": 1}\n{"a": 2}', ("the file is no JSON",)),
        ("a.json", '{"a": 1,}', ("the file is no JSON: a comma stands before a closing bracket",)),
        ("a.json", '{"a": 1 // x\n}', ("the file is no JSON: it has comments",)),
        ("tsconfig.build.json", '{"a": 1, // x\n}', ()),
        ("web/.vscode/settings.json", '{"a": 1, // x\n}', ()),
        ("web/.eslintrc", '{"a": 1, // x\n "a": 2}', ('the key "a" is there twice',)),
        (
            "a.json",
            '{"x": [{"a": 1, "\\u0061": 2}], "x": 1}',
            ('the key "x.[].a" is there twice', 'the key "x" is there twice'),
        ),
        (
            "package.json",
            '{"dependencies": {"a": "1"}, "devDependencies": {"a": "1"}}',
            ('"a" stands in dependencies and devDependencies',),
        ),
        (
            "package-lock.json",
            json.dumps(lock({}, dependencies={"a": "1"})),
            (f'the project needs "a", which the lock does not have ({HINT})',),
        ),
        (
            "package-lock.json",
            json.dumps(lock({"a": {"dependencies": {"b": "1"}}, "c/node_modules/b": {}}, dependencies={"a": "1"})),
            (f'"node_modules/a" needs "b", which the lock does not have ({HINT})',),
        ),
        (
            "package-lock.json",
            json.dumps(
                lock({"a": {"dependencies": {"b": "1"}}, "a/node_modules/b": {"dependencies": {"c": "1"}}, "c": {}})
            ),
            (),
        ),
    ],
)
def test_faults(path: str, text: str, faults: tuple[str, ...]) -> None:
    assert sorted(find_faults(path, text.encode())) == sorted(faults)


def test_kinds() -> None:
    assert [kind.name for kind in kinds_for("a/package.json")] == ["package-json", "json"]
    assert [kind.name for kind in kinds_for("a/package-lock.json")] == ["package-lock", "json"]
    assert [kind.name for kind in kinds_for("a/b.jsonc")] == ["json"]
    assert [kind.name for kind in kinds_for(".prettierrc")] == ["json"]
