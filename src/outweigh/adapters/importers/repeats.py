"""Repeats of runs that have no number of their own: numbered in time order, and marked as labels without a meaning."""

from collections import Counter
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime

import msgspec

from outweigh.record.run_record import RunRecord

REPEAT_LABEL = "repeat_label"
ARBITRARY = "arbitrary"

_LAST = datetime.max.replace(tzinfo=UTC)


def numbered(runs: Iterable[RunRecord]) -> Iterator[RunRecord]:
    """The same runs with repeats from 1 for each task and arm, in order of time, else of their ids.

    Repeat 2 of one arm then has nothing in common with repeat 2 of another but the number, and `extra` says so.
    A trial of which there is only one run has nothing to be numbered.
    """
    ordered = sorted(runs, key=lambda run: (run.started_at or _LAST, run.run_id))
    size = Counter((run.trial.task_id, run.trial.arm) for run in ordered)
    seen: Counter[tuple[str, str]] = Counter()
    for run in ordered:
        key = (run.trial.task_id, run.trial.arm)
        seen[key] += 1
        extra = run.extra | {REPEAT_LABEL: ARBITRARY} if size[key] > 1 else run.extra
        trial = msgspec.structs.replace(run.trial, repeat=seen[key])
        yield msgspec.structs.replace(run, trial=trial, extra=extra)
