"""YAML files, merged by key with the text spliced; lock files in YAML."""

from __future__ import annotations

from gitprun.resolvers.base import Kind
from gitprun.resolvers.yaml.check import find_yaml_faults
from gitprun.resolvers.yaml.pnpm import find_pnpm_faults, merge_pnpm
from gitprun.resolvers.yaml.resolve import merge_yaml
from gitprun.resolvers.yaml.yarn import find_yarn_faults, merge_yarn

# Locks before "yaml", which matches pnpm-lock.yaml too and would merge one package from two resolutions.
KINDS: tuple[Kind, ...] = (
    Kind(
        "pnpm-lock",
        files=("pnpm-lock.yaml",),
        resolvers=(merge_pnpm,),
        faults=find_pnpm_faults,
    ),
    Kind(
        "yarn-lock",
        files=("yarn.lock",),
        resolvers=(merge_yarn,),
        faults=find_yarn_faults,
    ),
    Kind(
        "yaml",
        files=("*.yaml", "*.yml"),
        resolvers=(merge_yaml,),
        faults=find_yaml_faults,
    ),
)
