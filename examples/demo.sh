#!/bin/sh
# The main job over a small recorded example, offline: compare two arms, decide by every policy, climb the ladder.
set -u
runs=examples/recorded/runs.jsonl

show() {
    printf '\n$ %s\n' "$*"
    "$@"
    code=$?
    printf '(exit code %s)\n' "$code"
    # 1 and 3 are answers (regressed, inconclusive); anything else means that the demo is broken.
    case $code in 0|1|3) ;; *) exit "$code" ;; esac
}

show outweigh compare "$runs" --baseline T0-plain --candidate T1-skill
show outweigh verdict "$runs" --baseline T0-plain --candidate T1-skill
show outweigh verdict "$runs" --baseline T0-plain --candidate T1-skill --policy gates
show outweigh verdict "$runs" --baseline T0-plain --candidate T1-skill --policy composite
show outweigh ladder "$runs"
