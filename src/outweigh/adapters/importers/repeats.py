"""Repeats of runs that have no number of their own: numbered in time order, and marked as labels without a meaning."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime
from typing import NamedTuple

import msgspec

from outweigh.record.run_record import RunRecord
from outweigh.record.stored import Json
from outweigh.record.trial import ARBITRARY, REPEAT_LABEL

_LAST = datetime.max.replace(tzinfo=UTC)


class Sighting(NamedTuple):
    """A run before it is read in full."""

    run_id: str
    task_id: str
    arm: str
    started_at: datetime | None


class Numbered(NamedTuple):
    """A repeat's number, and whether it is one of several that were numbered by us."""

    repeat: int
    arbitrary: bool

    def extra(self) -> Json:
        """What a run's `extra` says about its number."""
        return {REPEAT_LABEL: ARBITRARY} if self.arbitrary else {}


def number_repeats(sightings: Iterable[Sighting]) -> Mapping[str, Numbered]:
    """Repeats from 1 for each task and arm, by run id, in order of time, else of their ids.

    Repeat 2 of one arm has nothing in common with repeat 2 of another but the number. A trial of which there is only
    one run has nothing to be numbered.
    """
    ordered = sorted(sightings, key=lambda run: (run.started_at or _LAST, run.run_id))
    size = Counter((run.task_id, run.arm) for run in ordered)
    seen: Counter[tuple[str, str]] = Counter()
    numbers: dict[str, Numbered] = {}
    for run in ordered:
        key = (run.task_id, run.arm)
        seen[key] += 1
        numbers[run.run_id] = Numbered(seen[key], arbitrary=size[key] > 1)
    return numbers


def numbered(runs: Iterable[RunRecord]) -> Iterator[RunRecord]:
    """The same runs with their repeats numbered; for sources that are small enough to be held."""
    held = list(runs)
    numbers = number_repeats(Sighting(run.run_id, run.trial.task_id, run.trial.arm, run.started_at) for run in held)
    for run in held:
        number = numbers[run.run_id]
        trial = msgspec.structs.replace(run.trial, repeat=number.repeat)
        yield msgspec.structs.replace(run, trial=trial, extra=run.extra | number.extra())
