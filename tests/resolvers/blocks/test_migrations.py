"""Folders of migrations: what a merge brings together that neither side has."""

from __future__ import annotations

import pytest

from gitprun.resolvers.blocks.migrations import (
    MigrationFault,
    find_clashes,
    find_migration_faults,
    find_record_clashes,
)

Files = dict[str, str]


def audit(base: Files, main: Files, unit: Files) -> tuple[str, ...]:
    whole = {**base, **main, **unit}
    clashes = find_clashes({**base, **main}, {**base, **unit}, whole, lambda path: whole[path].encode())
    return tuple(one.line for one in clashes)


def django(*needed: str, app: str = "shop") -> str:
    listed = "".join(f'        ("{app}", "{name}"),\n' for name in needed)
    return f"class Migration(migrations.Migration):\n    dependencies = [\n{listed}    ]\n"


def alembic(revision: str, down: str) -> str:
    return f'revision: str = "{revision}"\ndown_revision: Union[str, None] = {down}\n'


def test_numbered_scripts_of_one_number() -> None:
    base = {"migrations/0001_init.sql": "", "migrations/0002_user.sql": ""}
    assert audit(base, {"migrations/0003_add_tags.sql": ""}, {"migrations/0003_add_posts.sql": ""}) == (
        "migrations: 0003_add_posts.sql and 0003_add_tags.sql have one number: give the later one a new number",
    )
    assert audit(base, {"migrations/0003_add_tags.sql": ""}, {"migrations/0004_add_posts.sql": ""}) == ()


def test_paths_that_each_side_added_do_as_well() -> None:
    added = (["db/migrate/0003_a.sql"], ["db/migrate/0003_b.sql"])
    clashes = find_clashes(*added, [*added[0], *added[1], "db/migrate/0001_x.sql"], lambda path: b"")
    assert [one.line for one in clashes] == [
        "db/migrate: 0003_a.sql and 0003_b.sql have one number: give the later one a new number",
    ]


def test_up_and_down_are_one_migration() -> None:
    base = {"migrations/1_a.up.sql": "", "migrations/1_a.down.sql": ""}
    main = {"migrations/2_m.up.sql": "", "migrations/2_m.down.sql": ""}
    unit = {"migrations/2_u.up.sql": "", "migrations/2_u.down.sql": ""}
    assert audit(base, main, {"migrations/3_u.up.sql": "", "migrations/3_u.down.sql": ""}) == ()
    assert audit(base, main, unit) == (
        "migrations: 2_m.down.sql and 2_u.down.sql have one number: give the later one a new number",
    )


def test_a_folder_that_shares_numbers_by_custom_is_left_alone() -> None:
    base = {"migrations/1_a.sql": "", "migrations/1_b.sql": ""}
    assert audit(base, {"migrations/2_m.sql": ""}, {"migrations/2_u.sql": ""}) == ()


def test_a_fault_that_one_side_has_alone_is_not_the_merges() -> None:
    base = {"migrations/1_a.sql": ""}
    assert audit(base, {"migrations/2_m.sql": "", "migrations/2_n.sql": ""}, {"migrations/3_u.sql": ""}) == ()


def test_django_leaves() -> None:
    base = {"shop/migrations/0001_initial.py": django(), "shop/migrations/__init__.py": ""}
    main = {"shop/migrations/0002_tags.py": django("0001_initial")}
    unit = {
        "shop/migrations/0002_posts.py": django("0001_initial"),
        "shop/migrations/0003_more.py": django("0002_posts"),
    }
    assert audit(base, main, unit) == (
        "shop/migrations: 0002_tags.py and 0003_more.py are both the last migration: "
        "python manage.py makemigrations --merge",
    )
    merge = {"shop/migrations/0004_merge.py": django("0002_tags", "0003_more")}
    assert audit(base, main, {**unit, **merge}) == ()


def test_django_apps_with_a_label_of_their_own() -> None:
    base = {"apps/shop/migrations/0001_initial.py": django()}
    main = {"apps/shop/migrations/0002_tags.py": django("0001_initial", app="store")}
    assert audit(base, main, {"apps/shop/migrations/0003_x.py": django("0002_tags", app="store")}) == ()


def test_alembic_heads() -> None:
    base = {"alembic/versions/a_init.py": alembic("a", "None")}
    main = {"alembic/versions/b_tags.py": alembic("b", '"a"')}
    unit = {"alembic/versions/c_posts.py": alembic("c", '"a"')}
    assert audit(base, main, unit) == (
        "alembic/versions: b_tags.py and c_posts.py are both heads: alembic merge heads",
    )
    assert audit(base, main, {**unit, "alembic/versions/d_merge.py": alembic("d", '("b", "c")')}) == ()


@pytest.mark.parametrize(
    ("main", "unit", "line"),
    [
        (
            "db/migrate/20240101000000_a.rb",
            "db/migrate/20240101000000_b.rb",
            "db/migrate: 20240101000000_a.rb and 20240101000000_b.rb have one timestamp: "
            "give the later one a new timestamp",
        ),
        (
            "db/migration/V3__a.sql",
            "db/migration/V3_0__b.sql",
            "db/migration: V3_0__b.sql and V3__a.sql have one number: give the later one a new number",
        ),
        (
            "prisma/migrations/20240101000000_a/migration.sql",
            "prisma/migrations/20240101000000_b/migration.sql",
            "prisma/migrations: 20240101000000_a and 20240101000000_b have one timestamp: "
            "give the later one a new timestamp",
        ),
        (
            "src/migrations/1700000000000-A.ts",
            "src/migrations/1700000000000-B.ts",
            "src/migrations: 1700000000000-A.ts and 1700000000000-B.ts have one timestamp: "
            "give the later one a new timestamp",
        ),
    ],
)
def test_one_version_twice(main: str, unit: str, line: str) -> None:
    assert audit({}, {main: ""}, {unit: ""}) == (line,)


def test_a_fault_names_its_paths() -> None:
    paths = ["a/migrations/1_x.sql", "a/migrations/1_y.sql", "docs/1_x.sql", "docs/1_y.sql"]
    assert find_migration_faults(paths, paths, lambda path: b"") == (
        MigrationFault(
            "have one number",
            "a/migrations",
            ("a/migrations/1_x.sql", "a/migrations/1_y.sql"),
            "give the later one a new number",
        ),
    )


ADRS = tuple(f"docs/adr/{number:04}-{name}.md" for number, name in enumerate(("record", "use-git", "no-web"), 1))
RECORDS = (
    (ADRS, ("docs/adr/0004-a.md",), ("docs/adr/0004-b.md",),
     "docs/adr: 0004-a.md and 0004-b.md have one number: give the later one the next number"),
    (ADRS, ("docs/adr/0004-a.md", "docs/adr/0005-a.md"), ("docs/adr/0004-b.md",),
     "docs/adr: 0004-a.md and 0004-b.md have one number: give the later one the next number"),
    (tuple(path.replace("0", "ADR-0", 1) for path in ADRS), ("docs/adr/ADR-0004-a.md",), ("docs/adr/ADR-0004-b.md",),
     "docs/adr: ADR-0004-a.md and ADR-0004-b.md have one number: give the later one the next number"),
    (("01_a.txt", "02_b.txt", "03_c.txt"), ("04_d.txt",), ("04_e.txt",),
     ".: 04_d.txt and 04_e.txt have one number: give the later one the next number"),
    # The same file, other numbers, another width, another sort of file, and numbers that nobody counts up.
    (ADRS, ("docs/adr/0004-a.md",), ("docs/adr/0004-a.md",), ""),
    (ADRS, ("docs/adr/0004-a.md",), ("docs/adr/0005-b.md",), ""),
    (ADRS, ("docs/adr/0004-a.md",), ("docs/adr/004-b.md",), ""),
    (ADRS, ("docs/adr/0004-a.md",), ("docs/adr/0004-a.png",), ""),
    (ADRS, ("docs/adr/1207-a.md",), ("docs/adr/1207-b.md",), ""),
    (ADRS[:2], ("docs/adr/0003-a.md",), ("docs/adr/0003-b.md",), ""),
    ((*ADRS, "docs/adr/0003-again.md"), ("docs/adr/0004-a.md",), ("docs/adr/0004-b.md",), ""),
    (ADRS, ("docs/other/0004-a.md",), ("docs/adr/0004-b.md",), ""),
)  # fmt: skip


@pytest.mark.parametrize(("base", "main", "unit", "line"), RECORDS)
def test_records_of_one_number(base: tuple[str, ...], main: tuple[str, ...], unit: tuple[str, ...], line: str) -> None:
    assert [fault.line for fault in find_record_clashes(base, main, unit)] == ([line] if line else [])
