#!/bin/sh
# The command lines people used with the two skills, with `git prun` in the scripts' place. $1: an empty folder.
set -eu
work=$1

# --- run-codex-exec: bootstrap, a worktree per plan, the wrapper in the background, the monitor, the merge
git prun init
git add prun.toml
git commit -qm "prepare for parallel work"
git prun new wave1-reports wave1/reports-scheduled-pipeline
git prun new wave1-search wave1/search
git prun exec wave1-reports p1-reports "MODEL-SCRIPT: reports
Build the reports." >"$work/wrapper-reports" &
reports=$!
git prun exec wave1-search p1-search "MODEL-SCRIPT: search
Build the search." >"$work/wrapper-search" &
search=$!
wait "$reports"
wait "$search"
git prun monitor --once >"$work/monitor"
git prun merge wave1/reports-scheduled-pipeline -m "merge: ship wave1/reports-scheduled-pipeline"
git prun merge wave1/search -m "merge: ship wave1/search"

# --- prun: one prompt and one fresh result path a unit, dispatched in parallel, gathered, read
for unit in research survey; do
    printf 'MODEL-SCRIPT: %s\nLook into it.\n' "$unit" >"$work/$unit.prompt"
    git prun dispatch --prompt-file "$work/$unit.prompt" --result-file "$work/$unit.md" --unit-id "$unit" \
        >"$work/$unit.out" 2>"$work/$unit.err" &
done
PRUN_GATHER_POLL=0.2 PRUN_GATHER_STABLE_WINDOW=1 AGENT_CONFIG_GATHER_TIMEOUT=60 \
    git prun gather "$work/research.md" "$work/survey.md" >"$work/gather"
wait
