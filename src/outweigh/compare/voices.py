"""Judgments of different voices or rubrics are never mixed in silence."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence

from outweigh.errors import name_some
from outweigh.score.jury import Jury
from outweigh.score.score import Score

_PARTS = {"model": "model", "version": "version", "prompt_sha256": "prompt"}


def voice_warnings(arms: Iterable[Sequence[Score]], jury: Jury) -> tuple[str, ...]:
    """Judges that changed while they judged, and judges that are shown but may not decide."""
    runs = [score for scores in arms for score in scores if score.counted and score.seats]
    return (*_drifted(runs), *_rubrics(runs), *_objections(runs, jury))


def _drifted(runs: Sequence[Score]) -> Iterator[str]:
    seen: dict[tuple[str, str], set[str | None]] = defaultdict(set)
    for judge in {seat.judge for run in runs for seat in run.seats}:
        for field in _PARTS:
            seen[judge.name, field].add(getattr(judge, field))
    changed: dict[str, list[str]] = defaultdict(list)
    for (name, field), values in sorted(seen.items()):
        if len(values) > 1:
            changed[name].append(f"{len(values)} {_PARTS[field]}s")
    for name, parts in changed.items():
        yield (
            f"judge {name!r} answered with {' and '.join(parts)}: these count as different judges, and only runs that "
            "have the same ones are compared."
        )


def _rubrics(runs: Sequence[Score]) -> Iterator[str]:
    seen: dict[tuple[str, str], set[str | None]] = defaultdict(set)
    for run in runs:
        for seat in run.seats:
            seen[run.task_id, seat.judge.name].add(seat.judge.rubric_sha256)
    tasks = dict.fromkeys(task for (task, _), rubrics in seen.items() if len(rubrics) > 1)
    if tasks:
        yield f"runs of task {name_some(list(tasks))} were judged by different rubrics, which makes different judges."


def _objections(runs: Sequence[Score], jury: Jury) -> Iterator[str]:
    tasks: dict[str, set[str]] = defaultdict(set)
    silenced: dict[tuple[str, str], set[str]] = defaultdict(set)
    for task, judge in {(run.task_id, seat.judge) for run in runs for seat in run.seats}:
        tasks[judge.name].add(task)
        if (why := jury.objection(judge)) is not None:
            silenced[judge.name, why].add(task)
    for (name, why), where in sorted(silenced.items()):
        about = "" if where == tasks[name] else f" about {name_some(sorted(where))}"
        yield (
            f"judge {name!r} is shown but decides nothing{about}: {why}. `outweigh judge RUNS --calibrate LABELS` "
            "compares it with people."
        )
