"""What `outweigh try` shows before it spends anything: the two arms, the runs, their cost and time, and the chances."""

from collections.abc import Iterator

from msgspec import Struct

from outweigh.report.document import KeyPoints, Report, Tone
from outweigh.report.formatting import count_of, format_change, format_dollars, format_percent, format_seconds
from outweigh.verdict.decision_chance import DecisionOutlook
from outweigh.verdict.evidence_settings import MINIMUM_TASKS


class TryForecast(Struct, frozen=True, kw_only=True):
    """Everything that is known before the first run. `runs` are those that are left to make.

    `outlook` is None where the suite's policy does not look early. `pretends` says why no real agent takes part.
    """

    subject: str
    baseline: str
    candidate: str
    agent: str
    agent_version: str | None
    model: str | None
    suite: str
    tasks: int
    suite_tasks: int
    runs: int
    reused: int
    sandbox: str
    run_usd: float
    price_source: str
    budget_usd: float
    seconds: float
    outlook: DecisionOutlook | None
    folder: str
    store: str
    pretends: str | None

    @property
    def expected_usd(self) -> float:
        """What all runs that are left are expected to cost."""
        return self.runs * self.run_usd


def try_report(forecast: TryForecast) -> Report:
    """One screen."""
    return Report(
        headline=f"{forecast.subject}: a first answer",
        tone=Tone.PLAIN,
        lead="",
        blocks=(KeyPoints(rows=tuple(_rows(forecast))),),
        payload={},
    )


def _rows(forecast: TryForecast) -> Iterator[tuple[str, str]]:
    if forecast.pretends is not None:
        yield "Pretends", _describe_pretence(forecast.pretends)
    yield "Baseline", f"{forecast.baseline}."
    yield "Candidate", f"{forecast.candidate}."
    yield "Agent", _describe_agent(forecast)
    yield "Tasks", _describe_tasks(forecast)
    yield "Cost", _describe_cost(forecast)
    if forecast.runs and forecast.pretends is None:
        yield "Time", f"about {format_seconds(forecast.seconds)}, if a run takes 5 minutes; that is an assumption."
    if forecast.outlook is not None:
        yield "Chance", _describe_chance(forecast.outlook)
        if forecast.outlook.is_unlikely:
            yield "For 50 %", _describe_even(forecast, forecast.outlook)
    yield "Kept in", f"suite {forecast.folder}, results {forecast.store}."


def _describe_pretence(why: str) -> str:
    return (
        f"This only pretends: {why}. A scripted agent makes the runs; it passes tasks by chance and reads nothing of "
        "what you try, so the verdict says nothing about it. The tasks and their checks are real."
    )


def _describe_agent(forecast: TryForecast) -> str:
    if forecast.pretends is not None:
        return f"{forecast.agent}."
    version = "" if forecast.agent_version is None else f" {forecast.agent_version}"
    return f"{forecast.agent}{version}, {forecast.model or 'its own model'}."


def _describe_tasks(forecast: TryForecast) -> str:
    share = (
        f"{forecast.tasks} of the {forecast.suite_tasks} tasks"
        if forecast.suite_tasks > forecast.tasks
        else (f"all {count_of(forecast.tasks, 'task')}")
    )
    reused = f"; {count_of(forecast.reused, 'run')} of an earlier try are used again" if forecast.reused else ""
    return (
        f"{share} of {forecast.suite}, once in each arm: {count_of(forecast.runs, 'run')} in {forecast.sandbox} "
        f"sandboxes{reused}."
    )


def _describe_cost(forecast: TryForecast) -> str:
    if forecast.pretends is not None:
        return "nothing; the dollars of a scripted agent are simulated."
    return (
        f"about {format_dollars(forecast.expected_usd)} ({format_dollars(forecast.run_usd)} a run: "
        f"{forecast.price_source}), never more than {format_dollars(forecast.budget_usd)}."
    )


def _describe_chance(outlook: DecisionOutlook) -> str:
    points = f"{format_change(outlook.gain, signed=False)} points"
    if outlook.tasks < MINIMUM_TASKS:
        return f"none: a decision takes at least {MINIMUM_TASKS} tasks. The result can show no more than a direction."
    low, high = outlook.chance.low, outlook.chance.high
    reach = "" if low is None or high is None or low == high else f" ({format_percent(low)} to {format_percent(high)})"
    return (
        f"{format_percent(outlook.chance.value)} of a decision{reach} if the candidate passes {points} more, "
        f"{format_percent(outlook.if_same)} if nothing changes; simulated with the variation of public records."
    )


def _describe_even(forecast: TryForecast, outlook: DecisionOutlook) -> str:
    ways = []
    if outlook.even_tasks is not None:
        usd = 2 * outlook.even_tasks * forecast.run_usd
        there = "" if outlook.even_tasks <= forecast.suite_tasks else f" (the suite has {forecast.suite_tasks})"
        cost = "" if forecast.pretends is not None else f", about {format_dollars(usd)}"
        ways.append(f"{outlook.even_tasks} tasks{there}{cost}")
    if outlook.even_gain is not None:
        ways.append(f"a gain of {format_change(outlook.even_gain, signed=False)} points with these tasks")
    if not ways:
        return "no number of tasks up to 2,000 is enough; try a larger change."
    return f"{', or '.join(ways)}."
