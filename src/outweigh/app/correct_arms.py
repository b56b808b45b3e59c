"""Put arms and tasks of a store right: add what is asked for to the store's corrections, and show the result."""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

from msgspec.structs import replace

from outweigh.app.arm_figures import figures_of
from outweigh.app.next_comparison import next_comparison
from outweigh.errors import UsageError
from outweigh.model.codec import refuse_invalid
from outweigh.model.corrections import (
    CORRECTIONS_FILE,
    CORRECTIONS_SCHEMA,
    CorrectionStep,
    CorrectionSteps,
    parse_steps,
)
from outweigh.model.run_record import RunRecord
from outweigh.report.document import Report
from outweigh.report.store_arms_page import store_arms_report
from outweigh.score.arm_tally import ArmTally
from outweigh.store.corrections_file import read_corrections
from outweigh.store.store import Store


@dataclass(frozen=True, slots=True, kw_only=True)
class CorrectRequest:
    """The store, and changes in the order in which they were asked for: an option, and its value.

    `by` is the field that arms are split by. With `tasks`, the changes are about tasks.
    """

    store: Store
    changes: tuple[tuple[str, str], ...] = ()
    by: str | None = None
    tasks: bool = False


def correct_arms(request: CorrectRequest) -> Report:
    """Add the changes, where there are any, and list what the store has then."""
    store = request.store.require()
    if (request.by is not None) != any(option == "split" for option, _ in request.changes):
        raise UsageError("--split ARM and --by FIELD belong together, as in --split all --by agent.model.")
    if request.changes:
        store.correct(_with_changes(request))
        store = store.reopened()
    arms: dict[str, ArmTally] = {}
    for located in store.records(refuse_invalid):
        if isinstance(located.record, RunRecord):
            arms.setdefault(located.record.trial.arm, ArmTally()).add(located.record)
    return store_arms_report(
        store.name,
        figures_of(store, arms),
        None if store.corrections is None else store.corrections.summary,
        next_comparison([store.name], arms),
    )


def _with_changes(request: CorrectRequest) -> CorrectionSteps:
    """The steps that the store has already, and the new ones after them."""
    store = request.store
    content = None if store.folder is None else read_corrections(store.folder)
    steps = (
        CorrectionSteps(schema=CORRECTIONS_SCHEMA)
        if content is None
        else parse_steps(content, f"{store.name}/{CORRECTIONS_FILE}")
    )
    known = {
        run.record.trial.task_id if request.tasks else run.record.trial.arm
        for run in store.records(refuse_invalid)
        if isinstance(run.record, RunRecord)
    }
    added: list[CorrectionStep] = []
    for option, value in request.changes:
        step = _step(option, value, request.by, known)
        added.append(step)
        known |= {step.target} if step.target is not None else set()
    if request.tasks:
        return replace(steps, tasks=(*steps.tasks, *added))
    return replace(steps, arms=(*steps.arms, *added))


def _step(option: str, value: str, by: str | None, known: Collection[str]) -> CorrectionStep:
    try:
        match option:
            case "rename":
                old, new = _split_pair(value, known, option)
                return CorrectionStep(rename=old[0], to=new)
            case "merge":
                old, new = _split_pair(value, known, option)
                return CorrectionStep(merge=tuple(old), into=new)
            case "split":
                return CorrectionStep(split=value, by=by)
        return CorrectionStep(drop=value)
    except ValueError as fault:
        raise UsageError(f"--{option} {value}: {fault}.") from fault


def _split_pair(value: str, known: Collection[str], option: str) -> tuple[Sequence[str], str]:
    """The old names and the new one. Names may hold `=` and `,`; those that the store has are found in the text."""
    pairs = [(value[:place], value[place + 1 :]) for place, mark in enumerate(value) if mark == "="]
    pairs = [pair for pair in pairs if all(pair)]
    if not pairs:
        form = "OLD=NEW" if option == "rename" else "ONE,OTHER=NEW"
        raise ValueError(f"write --{option} {form}")
    for old, new in reversed(pairs):
        if option == "rename" and old in known:
            return [old], new
        if option == "merge" and (names := next(_known_parts(old, known), None)) is not None:
            return names, new
    old, new = pairs[0]
    return ([old] if option == "rename" else old.split(",")), new


def _known_parts(text: str, known: Collection[str]) -> Iterator[list[str]]:
    """Every way to read a text as known names with commas between them."""
    if text in known:
        yield [text]
    for place, mark in enumerate(text):
        if mark == "," and text[:place] in known:
            for others in _known_parts(text[place + 1 :], known):
                yield [text[:place], *others]
