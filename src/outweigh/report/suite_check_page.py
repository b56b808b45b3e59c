"""The page and the JSON of `outweigh suite check`: what each task tells, and what the money went to."""

from collections.abc import Iterator, Sequence

from msgspec import Struct

from outweigh.compare.task_outcomes import CONTRARY_LEVEL, OUTLYING, TaskFigures, TaskFlag, TaskOutcomes
from outweigh.errors import quote_names
from outweigh.report.document import Block, BulletList, Report, Table, Tone, optional_bullets
from outweigh.report.formatting import (
    UNKNOWN,
    format_dollars,
    format_percent,
    format_seconds,
    pluralize,
    shorten_name,
)
from outweigh.report.json_output import Payload

MOST_ARM_COLUMNS = 4
SHOWN_TASKS = 8


class SuiteMoney(Struct, frozen=True, kw_only=True):
    """Dollars of all attempts, and of those at tasks that could not tell the arms apart; None where none is known."""

    spent_usd: float | None
    without_telling_usd: float | None

    @property
    def share(self) -> float | None:
        """The part of the money that went to tasks that could not tell."""
        if not self.spent_usd or self.without_telling_usd is None:
            return None
        return self.without_telling_usd / self.spent_usd


def add_up_money(tasks: Sequence[TaskFigures]) -> SuiteMoney:
    """What the tasks cost, as far as that is known."""
    known = [task for task in tasks if task.spent_usd is not None]
    if not known:
        return SuiteMoney(spent_usd=None, without_telling_usd=None)
    return SuiteMoney(
        spent_usd=sum(task.spent_usd or 0.0 for task in known),
        without_telling_usd=sum(task.spent_usd or 0.0 for task in known if not task.can_tell),
    )


def suite_check_report(tasks: Sequence[TaskFigures], outcomes: TaskOutcomes, warnings: Sequence[str]) -> Report:
    """The page of `outweigh suite check`; tasks that tell most for their price come first."""
    ordered = sorted(tasks, key=lambda task: (not task.can_tell, -(task.information_per_usd or task.information)))
    money = add_up_money(tasks)
    notes = (*warnings, *_notes(tasks, outcomes))
    silent = [task for task in tasks if not task.can_tell]
    tone = Tone.UNSURE if silent else Tone.GOOD
    blocks: list[Block] = [
        _table(ordered, outcomes),
        BulletList(title="What to conclude", items=tuple(_conclusions(tasks, money, outcomes)), tone=tone),
        *optional_bullets("Warnings", notes),
    ]
    return Report(
        headline=_headline(tasks, silent, outcomes),
        tone=tone,
        blocks=tuple(blocks),
        payload=_payload(ordered, money, outcomes, notes),
    )


def _headline(tasks: Sequence[TaskFigures], silent: Sequence[TaskFigures], outcomes: TaskOutcomes) -> str:
    told = f"{len(tasks) - len(silent)} of {pluralize(len(tasks), 'task')} tell"
    return f"{told} {pluralize(len(outcomes.arms), 'arm')} apart ({outcomes.runs.sum():,} runs)"


def _conclusions(tasks: Sequence[TaskFigures], money: SuiteMoney, outcomes: TaskOutcomes) -> Iterator[str]:
    if money.share is None:
        yield "what the tasks cost is unknown, so what they tell for their price is unknown too."
    else:
        amounts = f" ({format_dollars(money.without_telling_usd)} of {format_dollars(money.spent_usd)})"
        shown = " of the simulated cost" if outcomes.simulated else " of the money"
        spent = "" if outcomes.simulated else amounts
        yield f"{format_percent(money.share)}{shown} went to tasks that could not tell{spent}."
    for flag, words in _MEANINGS.items():
        named = [task.task for task in tasks if flag in task.flags]
        if named:
            yield f"{flag.value} ({pluralize(len(named), 'task')}): {quote_names(named, SHOWN_TASKS)}. {words}"


_MEANINGS = {
    TaskFlag.DEAD: "All runs of all arms passed, or none did: replace these tasks, or set them aside.",
    TaskFlag.CONTRARY: (
        "Better arms do worse on them: read what their checks ask for. Of tasks on which arms do not differ, "
        f"{100 * CONTRARY_LEVEL:g} % look contrary by chance."
    ),
    TaskFlag.FLAKY: "Runs of one arm differ as much as those of different arms: look for checks that depend on chance.",
    TaskFlag.SLOW: f"They last {OUTLYING:g} times the median task or longer.",
    TaskFlag.DEAR: f"They cost {OUTLYING:g} times the median task or more.",
}


def _table(tasks: Sequence[TaskFigures], outcomes: TaskOutcomes) -> Table:
    arms = outcomes.arms if len(outcomes.arms) <= MOST_ARM_COLUMNS else ()
    heads = tuple(shorten_name(arm, 14) for arm in arms) or ("lowest arm", "highest arm")
    return Table(
        title="Tasks, those that tell most for their price first (pass rates by arm)",
        columns=("task", *heads, "discrimination", "information", "per dollar", "flakiness", "cost", "time", "is"),
        rows=tuple(
            (
                shorten_name(task.task),
                *_rates(task, arms),
                UNKNOWN if task.discrimination is None else f"{task.discrimination:.1f}",
                format_percent(task.information),
                _per_dollar(task, tasks),
                format_percent(task.flakiness),
                "simulated" if outcomes.simulated else format_dollars(task.cost_usd),
                format_seconds(task.seconds),
                ", ".join(flag.value for flag in task.flags) or "–",
            )
            for task in tasks
        ),
    )


def _rates(task: TaskFigures, arms: Sequence[str]) -> tuple[str, ...]:
    if arms:
        return tuple(format_percent(task.rates[arm]) for arm in arms)
    known = [rate for rate in task.rates.values() if rate is not None]
    return format_percent(min(known)), format_percent(max(known))


def _per_dollar(task: TaskFigures, tasks: Sequence[TaskFigures]) -> str:
    """How much the task tells for its price, in multiples of the whole suite."""
    whole = sum(each.cost_usd or 0.0 for each in tasks)
    return UNKNOWN if task.information_per_usd is None else f"{task.information_per_usd * whole:.1f}×"


def _notes(tasks: Sequence[TaskFigures], outcomes: TaskOutcomes) -> Iterator[str]:
    if outcomes.without_outcome:
        names = quote_names(outcomes.without_outcome, SHOWN_TASKS)
        yield f"no run says whether these tasks passed, so they are left out: {names}."
    if not any(task.discrimination is not None for task in tasks):
        yield "the arms pass about equally often, so which of them is better is not known, nor what discriminates."
    if (outcomes.runs.sum(axis=1) <= len(outcomes.arms)).all():
        yield "every arm ran every task once at most: flakiness is unknown, and dead tasks may only look dead."
    if outcomes.unpriced > 0:
        yield f"the cost of {pluralize(outcomes.unpriced, 'attempt')} is unknown; the money is that of the others."


def _payload(tasks: Sequence[TaskFigures], money: SuiteMoney, outcomes: TaskOutcomes, notes: Sequence[str]) -> Payload:
    return {
        "schema": "outweigh.suite_check/1",
        "arms": list(outcomes.arms),
        "runs": int(outcomes.runs.sum()),
        "tasks": [
            {
                "task": task.task,
                "family": task.family,
                "pass_rates": dict(task.rates),
                "runs": task.runs,
                "discrimination": task.discrimination,
                "discrimination_error": task.discrimination_error,
                "information": task.information,
                "information_per_usd": task.information_per_usd,
                "flakiness": task.flakiness,
                "disagreement": task.disagreement,
                "cost_usd": task.cost_usd,
                "spent_usd": task.spent_usd,
                "duration_seconds": task.seconds,
                "flags": [flag.value for flag in task.flags],
                "can_tell": task.can_tell,
            }
            for task in tasks
        ],
        "spent_usd": money.spent_usd,
        "spent_without_telling_usd": money.without_telling_usd,
        "share_without_telling": money.share,
        "simulated": outcomes.simulated,
        "warnings": list(notes),
    }
