"""Published schemas are those of the values, and what commands print is what the schemas say."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping
from pathlib import Path

import jsonschema
import pytest

from gitprun.api.schema import DOCUMENTS, Json, document_class, envelope, json_schema, schema_id, to_json
from tests.support.cli import ROOT, prun
from tests.support.repos import Repo, make_repo
from tests.support.schemas import FOLDER, check, strict, write_schemas


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    return make_repo(tmp_path / "repo")


def test_published_schemas_are_current() -> None:
    # python -m tests.support.schemas writes them.
    published = {path.stem: json.loads(path.read_text()) for path in FOLDER.glob("*.json")}
    assert published == {name: json_schema(name) for name in DOCUMENTS}


def test_writing_schemas(tmp_path: Path) -> None:
    write_schemas(tmp_path)
    assert sorted(path.stem for path in tmp_path.iterdir()) == sorted(DOCUMENTS)
    assert {path.name: path.read_text() for path in tmp_path.iterdir()} == {
        path.name: path.read_text() for path in FOLDER.iterdir()
    }


@pytest.mark.parametrize("name", DOCUMENTS)
def test_schemas_are_schemas_of_frozen_values(name: str) -> None:
    jsonschema.Draft202012Validator.check_schema(json_schema(name))
    cls = document_class(name)
    assert dataclasses.is_dataclass(cls)
    assert cls.__dataclass_params__.frozen  # type: ignore[attr-defined]


def test_schemas_are_in_the_page() -> None:
    page = (ROOT / "references" / "api.md").read_text()
    assert [name for name in DOCUMENTS if f"`{schema_id(name)}`" not in page] == []


def test_a_value_that_is_none_is_refused() -> None:
    with pytest.raises(TypeError, match="object is no published value"):
        to_json(object())
    with pytest.raises(TypeError, match="ledger is no object"):
        envelope("ledger", "text")
    with pytest.raises(KeyError):
        envelope("unknown", {})


def test_a_key_nobody_knows_is_noticed() -> None:
    row: dict[str, Json] = {"schema": "gitprun.error/1", "error": "", "hint": "", "exit_code": 1, "code": 1}
    check(row)
    with pytest.raises(jsonschema.ValidationError, match="'more' was unexpected"):
        check(row | {"more": 1})
    with pytest.raises(jsonschema.ValidationError, match="'code' is a required property"):
        check({key: value for key, value in row.items() if key != "code"})


def test_strictness_reaches_what_lies_deeper() -> None:
    said = strict(json_schema("collect"))
    defs = said["$defs"]
    assert isinstance(defs, Mapping)
    assert {name: row["additionalProperties"] for name, row in defs.items()} == {"PathReason": False}


WORKER = """
[run]
verify = ["test -f a.txt"]
[[unit]]
id = "a"
prompt = "add a"
executor = "command"
command = ["sh", "-c", "echo a >a.txt; printf '# a result\\\\nConclusion: done\\\\n' >$PRUN_RESULT"]
[[unit]]
id = "b"
prompt = "fail"
executor = "command"
command = ["sh", "-c", "echo b >b.txt; exit 3"]
"""


def documents(out: str) -> list[dict[str, Json]]:
    """Read a stream of JSON lines, each checked by its schema."""
    rows = [json.loads(line) for line in out.splitlines()]
    for row in rows:
        check(row)
    return rows


def names(out: str) -> set[object]:
    """Return which documents a stream is made of, each checked by its schema."""
    return {row["schema"] for row in documents(out)}


def test_what_commands_print_is_what_the_schemas_say(repo: Repo, tmp_path: Path) -> None:
    place, plan = repo.path, tmp_path / "plan.toml"
    plan.write_text(WORKER)
    seen = names(prun(place, "run", str(plan), "--json").out)
    assert seen == {"gitprun.event/1"}
    for words in (
        ("status",), ("status", "--all"), ("show", "a"), ("show", "b"), ("reconcile",), ("forecast",), ("verify", "a"),
        ("verify", "--all"), ("verify", "HEAD", "--verify", "true"), ("collect", "a"), ("merge", "--dry-run"),
            ("verify", "--difference", "a"),
        ("merge",),
        ("undo", "--list"), ("undo", "--dry-run"), ("undo",), ("monitor", "--once"), ("workspace", "list", "--sizes"),
        ("new", "mine", "mine"), ("workspace", "reset", "mine"), ("rescue", "--list"), ("rescue", "a"),
        ("rescue", "--ignored", "--list"), ("gc", "--dry-run"), ("gc",), ("ledger", "verify"), ("resolve",), ("stop",),
        ("remove", "mine"), ("clean",), ("status", "r9"), ("undo", "--drift", "a"), ("merge", "--sideways"),
    ):  # fmt: skip
        said = prun(place, *words, "--json")
        rows = documents(said.out)
        assert len(rows) == 1, (words, said)
        seen |= {rows[0]["schema"]}
    seen |= names(prun(place, "ledger", "show").out) | names(prun(place, "log", "--events", "a").out)
    assert {schema_id(name) for name in DOCUMENTS} - seen == {schema_id(name) for name in ELSEWHERE}


# Printed in situations that take more to come about; the tests named check them.
ELSEWHERE = ("adopt", "adopt-moved", "gather-done", "gather-start", "gather-timeout", "resolution", "restored-files",
             "stop", "undo-drift")  # fmt: skip


def test_what_gather_prints(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text("# a result\nConclusion: done\n")
    quick = {"AGENT_CONFIG_GATHER_TIMEOUT": "0.2", "PRUN_GATHER_POLL": "0.02", "PRUN_GATHER_STABLE_WINDOW": "0"}
    said = prun(tmp_path, "gather", "a.md", "--json", env=quick | {"TMPDIR": str(tmp_path)})
    assert [row["schema"] for row in documents(said.out)] == ["gitprun.gather-start/1", "gitprun.gather-done/1"]
    said = prun(tmp_path, "gather", "b.md", "--json", env=quick | {"TMPDIR": str(tmp_path)})
    assert [row["schema"] for row in documents(said.out)] == ["gitprun.gather-start/1", "gitprun.gather-timeout/1"]


def test_what_adopting_prints(repo: Repo, tmp_path: Path) -> None:
    repo.git("worktree", "add", "-q", str(tmp_path / "own"), "-b", "own")
    said = prun(repo.path, "workspace", "adopt", str(tmp_path / "own"), "--json")
    assert names(said.out) == {"gitprun.adopt/1"}
    (tmp_path / "own").rename(tmp_path / "moved")
    said = prun(repo.path, "workspace", "adopt", str(tmp_path / "moved"), "--json")
    assert names(said.out) == {"gitprun.adopt-moved/1"}


def test_what_resolving_prints(repo: Repo) -> None:
    repo.commit("one", **{"f.txt": "one\n"})
    repo.switch("side", new=True)
    repo.commit("two", **{"f.txt": "two\n"})
    repo.switch("main")
    repo.commit("three", **{"f.txt": "three\n"})
    said = prun(repo.path, "resolve", "side", "--json")
    assert names(said.out) == {"gitprun.resolution/1"}
    row = documents(prun(repo.path, "resolve", "--json").out)[0]
    assert row["schema"] == "gitprun.resolutions/1"
    assert isinstance(row["resolutions"], list)
    assert [one["branch"] for one in row["resolutions"]] == ["side"]
