"""Judgments of different voices or rubrics are never mixed in silence."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence

from outweigh.compare.pass_fact import PassFact
from outweigh.errors import name_some
from outweigh.score.jury import Jury
from outweigh.score.score import Score

_PARTS = {"model": "model", "version": "version", "prompt_sha256": "prompt"}


def voice_warnings(arms: Iterable[Sequence[Score]], asked: Iterable[PassFact], jury: Jury) -> tuple[str, ...]:
    """Judges that changed while they judged, and judges that are shown but may not decide.

    `asked` is all that judges were asked, unusable answers included: who fails by a new rubric has changed, too.
    """
    runs = [score for scores in arms for score in scores if score.counted]
    tasks = {run.run_id: run.task_id for run in runs}
    facts = [fact for fact in asked if fact.run_id in tasks]
    return (*_drifted(facts), *_rubrics(facts, tasks), *_objections(runs, jury))


def silence_warnings(asked: Iterable[PassFact]) -> Iterator[str]:
    """Judges none of whose answers can be used: their rows in a table look like opinions, and there is none."""
    usable: dict[str, list[bool]] = defaultdict(list)
    for fact in asked:
        if not fact.replaced:
            usable[fact.judge.name].append(not fact.invalid)
    for name, answers in sorted(usable.items()):
        if not any(answers):
            count = "its only answer" if len(answers) == 1 else f"none of its {len(answers)} answers"
            can = "cannot" if len(answers) == 1 else "can"
            yield (
                f"judge {name!r} says nothing: {count} {can} be used. `outweigh judge RUNS` tells why, and with "
                "--retry-invalid it asks again."
            )


def _drifted(facts: Sequence[PassFact]) -> Iterator[str]:
    seen: dict[tuple[str, str], set[str | None]] = defaultdict(set)
    for fact in facts:
        for field in _PARTS:
            value = getattr(fact.judge, field)
            if value is not None or not fact.invalid:  # who did not answer did not say its version
                seen[fact.judge.name, field].add(value)
    changed: dict[str, list[str]] = defaultdict(list)
    for (name, field), values in sorted(seen.items()):
        if len(values) > 1:
            changed[name].append(f"{len(values)} {_PARTS[field]}s")
    for name, parts in changed.items():
        yield (
            f"judge {name!r} answered with {' and '.join(parts)}: these count as different judges, and only runs that "
            "have the same ones are compared."
        )


def _rubrics(facts: Sequence[PassFact], tasks: Mapping[str, str]) -> Iterator[str]:
    seen: dict[tuple[str, str], set[str | None]] = defaultdict(set)
    for fact in facts:
        seen[tasks[fact.run_id], fact.judge.name].add(fact.judge.rubric_sha256)
    changed = dict.fromkeys(task for (task, _), rubrics in seen.items() if len(rubrics) > 1)
    if changed:
        yield (
            f"runs of task {name_some(list(changed))} were judged by different rubrics, which makes different judges; "
            "usable answers by older ones still count."
        )


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
