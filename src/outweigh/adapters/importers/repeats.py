"""Repeats of runs that have no number of their own: numbered in time order, and marked as labels without a meaning."""

import pickle
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime
from tempfile import SpooledTemporaryFile
from typing import IO, NamedTuple

import msgspec

from outweigh.record.run_record import RunRecord
from outweigh.record.stored import Json
from outweigh.record.trial import ARBITRARY, REPEAT_LABEL

_LAST = datetime.max.replace(tzinfo=UTC)
_HELD_BYTES = 16 * 2**20


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
    """The same runs with their repeats numbered; the first may depend on the last, so all are set aside."""
    with SpooledTemporaryFile(max_size=_HELD_BYTES) as aside:
        numbers = number_repeats(_set_aside(runs, aside))
        end = aside.tell()
        aside.seek(0)
        while aside.tell() < end:
            # Unpickled is only what was pickled a moment ago, in a file that nobody else can open.
            run: RunRecord = pickle.load(aside)
            number = numbers[run.run_id]
            trial = msgspec.structs.replace(run.trial, repeat=number.repeat)
            yield msgspec.structs.replace(run, trial=trial, extra=run.extra | number.extra())


def _set_aside(runs: Iterable[RunRecord], aside: IO[bytes]) -> Iterator[Sighting]:
    for run in runs:
        pickle.dump(run, aside)
        yield Sighting(run.run_id, run.trial.task_id, run.trial.arm, run.started_at)
