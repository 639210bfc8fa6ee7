"""Rails' schema."""

from __future__ import annotations

from gitprun.resolvers.blocks.rails import KIND
from tests.resolvers.blocks.sides import faults, merged, refusal

BASE = """\
# This file is auto-generated.
# Do not edit it.

ActiveRecord::Schema[7.1].define(version: 2024_01_01_000000) do
  # These are extensions that must be enabled in order to support this database
  enable_extension "plpgsql"

  create_table "posts", force: :cascade do |t|
    t.string "title", default: "#", null: false
    t.index ["title"], name: "index_posts_on_title", unique: true
  end

  create_table "users", force: :cascade do |t|
    t.string "name"
  end

  add_foreign_key "posts", "users"
end
"""


def test_the_higher_version_holds_and_tables_stay_sorted() -> None:
    main = (
        BASE.replace("2024_01_01_000000", "2024_03_01_000000")
        .replace("  add_for", '  create_table "votes" do |t|\n    t.integer "n"\n  end\n\n  add_for')
        .replace("null: false\n", 'null: false\n    t.text "body"\n')
    )
    unit = (
        BASE.replace("2024_01_01_000000", "2024_02_01_000000")
        .replace("  add_for", '  create_table "videos" do |t|\n    t.integer "n"\n  end\n\n  add_for')
        .replace("null: false\n", 'null: false\n    t.integer "user_id"\n')
    )
    assert merged(KIND, BASE, main, unit) == (
        BASE.replace("2024_01_01_000000", "2024_03_01_000000")
        .replace(
            "  add_for",
            '  create_table "videos" do |t|\n    t.integer "n"\n  end\n\n'
            '  create_table "votes" do |t|\n    t.integer "n"\n  end\n\n  add_for',
        )
        .replace("null: false\n", 'null: false\n    t.text "body"\n    t.integer "user_id"\n')
    )


def test_a_column_that_both_changed_is_refused() -> None:
    main, unit = BASE.replace('string "name"', 'text "name"'), BASE.replace('string "name"', 'citext "name"')
    assert refusal(KIND, BASE, main, unit) == '"column name" is changed on both sides, differently'


def test_a_schema_with_other_code_is_refused() -> None:
    base = BASE.replace("  add_for", "  execute <<~SQL\n    SELECT 1\n  SQL\n  add_for")
    assert refusal(KIND, base, base.replace("name", "nick"), base.replace("title", "head")) == (
        "the base's version cannot be read: it holds more than Rails writes, or a block is not ended"
    )


def test_what_is_wrong_with_a_schema() -> None:
    assert faults(KIND, BASE) == ()
    twice = BASE.replace("  add_for", '  create_table "users" do |t|\n    t.text "a"\n    t.text "a"\n  end\n  add_for')
    assert faults(KIND, twice) == ("create_table users is there twice", "create_table users has column a twice")
    assert faults(KIND, BASE.replace("  end\n\n  add", "\n  add")) == ("a block is not ended",)
