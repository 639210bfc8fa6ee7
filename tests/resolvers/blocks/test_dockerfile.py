"""Dockerfiles."""

from __future__ import annotations

import pytest

from gitprun.resolvers.blocks.dockerfile import KIND
from tests.resolvers.blocks.sides import faults, merged, refusal

BASE = """\
# syntax=docker/dockerfile:1
FROM node:20 AS build
WORKDIR /app
ENV NODE_ENV=production
RUN apt-get update && apt-get install -y --no-install-recommends \\
    curl \\
    git \\
    && rm -rf /var/lib/apt/lists/*
RUN npm ci

FROM nginx AS web
COPY --from=build /app/dist /usr/share/nginx/html
CMD ["nginx"]
"""
AFTER = "RUN npm ci\n"


def put(new: str) -> str:
    return BASE.replace(AFTER, AFTER + new)


def test_packages_are_a_set_and_backslashes_are_repaired() -> None:
    base = "FROM x\nRUN apk add \\\n    a \\\n    b\n"
    main = "FROM x\nRUN apk add \\\n    a \\\n    b \\\n    c=1\n"
    unit = "FROM x\nRUN apk add \\\n    b \\\n    # for d\n    d\n"
    assert merged(KIND, base, main, unit) == "FROM x\nRUN apk add \\\n    b \\\n    c=1 \\\n    # for d\n    d\n"


def test_sorted_packages_stay_sorted() -> None:
    main = BASE.replace("    git \\\n", "    git \\\n    make \\\n")
    unit = BASE.replace("    git \\\n", "    git \\\n    jq \\\n")
    assert merged(KIND, BASE, main, unit) == BASE.replace("    git \\\n", "    git \\\n    jq \\\n    make \\\n")


def test_independent_instructions_are_united() -> None:
    main = put("RUN useradd web\n")
    unit = put("COPY nginx.conf /etc/nginx/nginx.conf\nEXPOSE 80\n")
    both = "RUN useradd web\nCOPY nginx.conf /etc/nginx/nginx.conf\nEXPOSE 80\n"
    assert merged(KIND, BASE, main, unit) == put(both)


@pytest.mark.parametrize(
    ("main", "unit", "reason"),
    [
        ("USER web\n", "RUN x\n", "both sides change something at one place and the order of USER counts"),
        (
            "RUN apt-get install -y jq\n",
            "RUN jq . x\n",
            "both sides change instructions at one place that have jq in common",
        ),
        (
            "COPY tool /bin/tool\n",
            "RUN chmod +x /bin/tool\n",
            "both sides change instructions at one place that have /bin/tool in common",
        ),
        ("COPY . .\n", "RUN make\n", "both sides change instructions at one place that have everything in common"),
        ("ENV A=1\n", "RUN echo $A\n", "both sides change instructions at one place that have A in common"),
    ],
)
def test_instructions_that_depend_on_each_other_are_refused(main: str, unit: str, reason: str) -> None:
    assert refusal(KIND, BASE, put(main), put(unit)) == reason
    assert refusal(KIND, BASE, put(unit), put(main)) == reason


def test_variables_go_by_name() -> None:
    base = "FROM x\nENV A=1 \\\n    B=2\nLABEL v=1\n"
    main = 'FROM x\nENV A=1 \\\n    B=2 \\\n    C="x y=z"\nLABEL v=1\n'
    unit = "FROM x\nENV A=1 \\\n    B=3 \\\n    D=4\nLABEL v=2\n"
    assert merged(KIND, base, main, unit) == ('FROM x\nENV A=1 \\\n    B=3 \\\n    C="x y=z" \\\n    D=4\nLABEL v=2\n')
    assert refusal(KIND, base, main.replace("B=2", "B=5"), unit) == '"variable B" is changed on both sides, differently'


def test_stages_are_merged_each_by_itself() -> None:
    main = BASE.replace("FROM nginx AS web\n", "FROM nginx:1.27 AS web\n")
    unit = put("RUN npm run build\n").replace('CMD ["nginx"]', 'CMD ["nginx", "-g"]')
    assert merged(KIND, BASE, main, unit) == unit.replace("FROM nginx AS web\n", "FROM nginx:1.27 AS web\n")


def test_a_package_of_two_versions_is_refused() -> None:
    main, unit = BASE.replace("    curl \\", "    curl=7 \\"), BASE.replace("    curl \\", "    curl=8 \\")
    assert refusal(KIND, BASE, main, unit) == '"item apt-get install curl" is changed on both sides, differently'


def test_a_stage_without_a_name_is_not_guessed() -> None:
    base = "FROM a\nRUN x\n"
    assert refusal(KIND, base, "FROM z\nRUN q\n\nFROM a\nRUN x\n", "FROM a\nRUN x\nRUN y\n") == (
        '"stage 1 of 1" is removed on main and changed by the unit'
    )


def test_steps_of_one_command_at_one_place_are_refused() -> None:
    base = "FROM x\nRUN a && \\\n    b\n"
    main, unit = "FROM x\nRUN a && \\\n    m && \\\n    b\n", "FROM x\nRUN a && \\\n    u && \\\n    b\n"
    assert refusal(KIND, base, main, unit) == "both sides change the same lines of one instruction"


def test_a_here_document_is_one_piece() -> None:
    base = "FROM x\nRUN <<EOF\napt-get install \\\n\nCMD 1\nEOF\nCMD z\n"
    main, unit = base.replace("CMD z", "CMD y"), base.replace("FROM x\n", "FROM x\nRUN q\n")
    assert merged(KIND, base, main, unit) == base.replace("CMD z", "CMD y").replace("FROM x\n", "FROM x\nRUN q\n")
    assert faults(KIND, base) == ()


def test_what_is_wrong_with_a_dockerfile() -> None:
    assert faults(KIND, BASE) == ()
    assert faults(KIND, "FROM x\nRUN a \\\n") == ("the last instruction ends with a backslash",)
    assert faults(KIND, "FROM x\nRUN apk add \\\n    a\n    b\n") == ("a line is no instruction",)
    assert faults(KIND, "FROM x\nRUN apk add \\\n    a \\\nCOPY a b\n") == ("COPY goes on the line above",)
    assert faults(KIND, "FROM x\nHEALTHCHECK --interval=5m \\\nCMD curl\n") == ()
    assert faults(KIND, "FROM x\nCMD a\nCMD b\nENTRYPOINT a\n") == ("a stage has CMD twice",)
    assert faults(KIND, "FROM x AS a\nFROM y as A\n") == ("stage a is there twice",)


def test_a_list_of_which_nothing_would_be_left_is_refused() -> None:
    base = "FROM x\nRUN pip install \\\n    a \\\n    b\n"
    main, unit = base.replace("    a \\\n", ""), base.replace(" \\\n    b\n", "\n")
    assert refusal(KIND, base, main, unit) == "no item would be left, for each side removes what the other keeps"


def test_what_is_added_amid_rewritten_instructions_is_refused() -> None:
    base = "FROM x\nRUN a\nRUN b\nCMD z\n"
    main, unit = base.replace("RUN a\n", "RUN a\n# m\n\n"), base.replace("RUN a\nRUN b\n", "RUN c\nRUN d\n")
    for sides in ((main, unit), (unit, main)):
        assert refusal(KIND, base, *sides).endswith("amid entries that the other rewrites")
