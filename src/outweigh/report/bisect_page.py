"""The pages of `outweigh bisect`: what a search would do and cost, and what it found."""

from collections.abc import Iterator, Sequence
from shlex import join

import msgspec
from msgspec import Struct

from outweigh.errors import quote_names
from outweigh.report.document import Block, BulletList, CodeBlock, KeyPoints, Report, Table, Tone, optional_bullets
from outweigh.report.formatting import count_of, format_dollars, format_percent, shorten_name
from outweigh.report.json_output import Payload
from outweigh.verdict.culprit_search import CulpritResult, SearchEnd

SHOWN_TASKS = 10
SHOWN_LINES = 20


class BisectForecast(Struct, frozen=True, kw_only=True):
    """Everything that is known before the first run. `between` are all steps, `steps` those that change the set-up.

    `every_step_runs` is what testing every set-up at all repeats would take.
    """

    good: str
    bad: str
    unit: str
    between: int
    steps: int
    agent: str
    model: str | None
    tasks: int
    made: int
    most_runs: int
    every_step_runs: int
    run_usd: float | None
    price_notes: tuple[str, ...]
    budget_usd: float | None
    error: float
    is_free: bool
    store: str
    notes: tuple[str, ...]

    @property
    def runs_left(self) -> int:
        """How many runs the search may still make."""
        return max(0, self.most_runs - self.made)


def forecast_report(forecast: BisectForecast) -> Report:
    """One screen before anything is spent."""
    return Report(
        headline=f"Which {forecast.unit} made it worse: {forecast.good} to {forecast.bad}",
        tone=Tone.PLAIN,
        blocks=(KeyPoints(rows=tuple(_forecast_rows(forecast))), *optional_bullets("Notes", forecast.notes)),
        payload={"schema": "outweigh.bisect_plan/1", **msgspec.to_builtins(forecast)},
    )


def _forecast_rows(forecast: BisectForecast) -> Iterator[tuple[str, str]]:
    same = forecast.between - forecast.steps
    skipped = f"; {same} leave the set-up as it is and cost nothing" if same > 0 else ""
    yield "Steps", f"{count_of(forecast.between, forecast.unit)}, {forecast.steps} of which change the set-up{skipped}."
    yield "Agent", f"{forecast.agent}, {forecast.model or 'its own model'}."
    made = f"; {forecast.made} are in the store already" if forecast.made else ""
    yield (
        "Runs",
        f"at most {forecast.most_runs} over {count_of(forecast.tasks, 'task')} (every set-up at all repeats: "
        f"{forecast.every_step_runs}){made}.",
    )
    yield "Cost", describe_cost(forecast)
    yield (
        "Method",
        f"a noisy binary search that names a step when it is the one with {format_percent(1 - forecast.error)} "
        "probability. It assumes that one step made it worse, and says so where the runs contradict that.",
    )
    yield "Kept in", f"{forecast.store}. Run the same command again to go on after an interruption."


def describe_cost(forecast: BisectForecast) -> str:
    """What the runs that are left may cost."""
    if forecast.is_free:
        return "nothing; the agent asks no model."
    budget = "" if forecast.budget_usd is None else f", never more than {format_dollars(forecast.budget_usd)}"
    if forecast.run_usd is None:
        return f"unknown{budget}. State what a run costs with --run-cost USD, or set a --budget."
    notes = "".join(f" {note}" for note in forecast.price_notes)
    return f"at most about {format_dollars(forecast.runs_left * forecast.run_usd)}{budget}.{notes}"


class StepTally(Struct, frozen=True, kw_only=True):
    """One set-up with its runs; `probability` is that it made it worse, None for the good end."""

    arm: str
    title: str
    lines: tuple[str, ...]
    followed_by: tuple[str, ...]
    probability: float | None
    runs: int
    passes: int


class TaskTally(Struct, frozen=True, kw_only=True):
    """Passes and runs of one task before the likeliest step, and from it on."""

    task: str
    passes_before: int
    runs_before: int
    passes_after: int
    runs_after: int

    @property
    def fall(self) -> float | None:
        """By how much the pass rate fell; None where one side has no run."""
        if not self.runs_before or not self.runs_after:
            return None
        return self.passes_before / self.runs_before - self.passes_after / self.runs_after


class BisectOutcome(Struct, frozen=True, kw_only=True, eq=False):
    """How the search ended. `result` is None where a run was stopped before; `stopped` says why.

    `again` are the words of a command that searches further.
    """

    result: CulpritResult | None
    stopped: str | None
    unit: str
    error: float
    steps: tuple[StepTally, ...]
    tasks: tuple[TaskTally, ...]
    runs: int
    every_step_runs: int
    cost_usd: float | None
    unknown_costs: int
    is_free: bool
    store: str
    again: tuple[str, ...]
    warnings: tuple[str, ...]

    @property
    def culprit(self) -> StepTally | None:
        """The step that made it worse; None where none is named."""
        place = None if self.result is None else self.result.step
        return None if place is None else self.steps[place]


def bisect_report(outcome: BisectOutcome) -> Report:
    """The answer, the steps, and the tasks that show it."""
    culprit = outcome.culprit
    blocks: list[Block] = [
        BulletList(title="What this rests on", items=tuple(_reasons(outcome)), tone=Tone.PLAIN),
        _step_table(outcome),
    ]
    if culprit is not None:
        blocks.append(_task_table(outcome))
        if culprit.lines:
            blocks.append(CodeBlock(title="The hunk", lines=_shown_lines(culprit.lines)))
    blocks += optional_bullets("Warnings", outcome.warnings)
    if outcome.again:
        blocks.append(CodeBlock(title="Which part of that commit", lines=(join(outcome.again),)))
    return Report(
        headline=_headline(outcome),
        tone=Tone.BAD if culprit is not None else Tone.UNSURE,
        blocks=tuple(blocks),
        payload=_payload(outcome),
    )


def _headline(outcome: BisectOutcome) -> str:
    result, culprit = outcome.result, outcome.culprit
    if result is None:
        return f"Not decided: the search was stopped ({outcome.stopped})"
    if culprit is not None:
        return f"{_name(culprit)} made it worse ({format_percent(culprit.probability)} probable)"
    likely = [outcome.steps[place].arm for place in result.likely]
    return {
        SearchEnd.SEVERAL: f"More than one {outcome.unit} made it worse: "
        f"{quote_names([outcome.steps[place].arm for place in result.also])}",
        SearchEnd.NO_DIFFERENCE: "Inconclusive: no loss between good and bad was found",
        SearchEnd.BETTER: "Inconclusive: the bad end passes more often than the good one",
        SearchEnd.UNDECIDED: f"Inconclusive: it is one of {quote_names(likely, 8)}",
    }[result.end]


def _name(step: StepTally) -> str:
    return f"{step.arm} ({shorten_name(step.title, 60)})"


def _reasons(outcome: BisectOutcome) -> Iterator[str]:
    result = outcome.result
    share = format_percent(outcome.runs / outcome.every_step_runs)
    runs = count_of(outcome.runs, "run")
    yield f"{runs} were made, {share} of testing every set-up at all repeats; {_cost(outcome)}."
    if result is None:
        yield "run the same command again to go on; nothing that finished is repeated."
        return
    chances = result.posterior
    if result.end in (SearchEnd.FOUND, SearchEnd.SEVERAL, SearchEnd.UNDECIDED):
        yield f"that some step made it worse is {format_percent(chances.worse)} probable."
    else:
        yield (
            f"that some step made it worse is {format_percent(chances.worse)} probable, that it is better "
            f"{format_percent(chances.better)}, that nothing changed {format_percent(chances.same)}."
        )
    if result.end is SearchEnd.FOUND:
        yield (
            f"a step is named when it is the one with at least {format_percent(1 - outcome.error)} probability, on the "
            "assumption that one step alone made it worse. The runs do not contradict that."
        )
    elif result.end is SearchEnd.SEVERAL:
        yield "the search assumes that one step made it worse, and the runs fit two better. Search each part by itself."
    elif result.end is SearchEnd.UNDECIDED:
        yield "the runs that were allowed are used up. Allow more with --most-runs, and run the same command again."
        yield _SMALL_LOSSES
    else:
        if result.end is SearchEnd.NO_DIFFERENCE:
            yield _SMALL_LOSSES
        yield "a loss that you have seen elsewhere may need other tasks, or come from the provider and not the set-up."


_SMALL_LOSSES = (
    "a small loss that is spread over all tasks often ends without a name: one of 9 points did so in nine of ten "
    "simulated searches. More tasks, or more repeats (-k), find smaller losses; one that breaks a few tasks takes "
    "few runs."
)


def _cost(outcome: BisectOutcome) -> str:
    if outcome.is_free:
        return "no model was asked"
    if outcome.cost_usd is None:
        return "their cost is unknown"
    unknown = f", and {count_of(outcome.unknown_costs, 'attempt')} of unknown cost" if outcome.unknown_costs else ""
    return f"they cost {format_dollars(outcome.cost_usd)}{unknown}"


def _step_table(outcome: BisectOutcome) -> Table:
    return Table(
        title=f"Set-ups, in order ({outcome.unit}s that change nothing are left out)",
        columns=("", "what", "runs", "passed", "made it worse"),
        rows=tuple(
            (
                step.arm,
                shorten_name(step.title, 48),
                str(step.runs),
                f"{step.passes}/{step.runs}" if step.runs else "not run",
                "good" if step.probability is None else format_percent(step.probability),
            )
            for step in outcome.steps
        ),
    )


def _task_table(outcome: BisectOutcome) -> Table:
    fallen = sorted((task for task in outcome.tasks if (task.fall or 0) > 0), key=lambda task: -(task.fall or 0))
    return Table(
        title="Tasks that fell most (counts of one task are small; the probability rests on all of them)",
        columns=("task", "before", "from it on"),
        rows=tuple(
            (
                shorten_name(task.task),
                f"{task.passes_before}/{task.runs_before}",
                f"{task.passes_after}/{task.runs_after}",
            )
            for task in fallen[:SHOWN_TASKS]
        ),
    )


def _shown_lines(lines: Sequence[str]) -> tuple[str, ...]:
    more = len(lines) - SHOWN_LINES
    return (*lines[:SHOWN_LINES], f"… and {more} more lines") if more > 0 else tuple(lines)


def _payload(outcome: BisectOutcome) -> Payload:
    result, culprit = outcome.result, outcome.culprit
    chances = None if result is None else result.posterior
    return {
        "schema": "outweigh.bisect/1",
        "end": outcome.stopped if result is None else result.end.value,
        "culprit": None if culprit is None else culprit.arm,
        "error": outcome.error,
        "worse": None if chances is None else chances.worse,
        "same": None if chances is None else chances.same,
        "better": None if chances is None else chances.better,
        "likely": [] if result is None else [outcome.steps[place].arm for place in result.likely],
        "several": [] if result is None else [outcome.steps[place].arm for place in result.also],
        "unit": outcome.unit,
        "steps": [msgspec.to_builtins(step) for step in outcome.steps],
        "tasks": [{**msgspec.to_builtins(task), "fall": task.fall} for task in outcome.tasks],
        "runs": outcome.runs,
        "every_step_runs": outcome.every_step_runs,
        "cost_usd": outcome.cost_usd,
        "unknown_costs": outcome.unknown_costs,
        "store": outcome.store,
        "warnings": list(outcome.warnings),
    }
