"""Counts of one arm's runs while they are read: what counts, what is left out and why, passes, cost and tokens.

Nothing is kept of a run that counts, so that a million of them take no memory.
"""

from collections.abc import Iterable, Sequence
from functools import reduce
from operator import add, itemgetter
from typing import Any, cast

from outweigh.model.failure import EXCLUDED_STATUSES, Status
from outweigh.model.run_columns import RunColumns
from outweigh.model.run_record import REUSED_LABEL, AgentKind, RunRecord, amount_paid
from outweigh.score.objective import passed

MOST_MODELS = 50
"""More models than that in one arm are not told apart."""


class KnownSum:
    """A sum of what is known, and how many parts of it are unknown."""

    __slots__ = ("known", "total", "unknown")

    def __init__(self) -> None:
        self.total = 0.0
        self.known = 0
        self.unknown = 0

    def add(self, value: float | None) -> None:
        """One more part."""
        if value is None:
            self.unknown += 1
        else:
            self.known += 1
            self.total += value

    def add_all(self, values: Sequence[float | None]) -> None:
        """Several more parts, in their order: a sum of floats depends on it."""
        known = [value for value in values if value is not None] if None in values else values
        self.known += len(known)
        self.unknown += len(values) - len(known)
        self.total = reduce(add, cast("Sequence[float]", known), self.total)

    def joined(self, other: "KnownSum") -> "KnownSum":
        """The sum of both."""
        both = KnownSum()
        both.total = self.total + other.total
        both.known, both.unknown = self.known + other.known, self.unknown + other.unknown
        return both

    @property
    def value(self) -> float | None:
        """The sum; None where no part of it is known."""
        return self.total if self.known else None


class ArmTally:
    """What has been counted of one arm. A trial counts once, by the attempt that stands for it.

    `usd`, `tokens`, `all_tokens` and `seconds` are sums over all attempts; `tokens` are those without the cache.
    `results` adds up the passes of runs that count.
    """

    __slots__ = (
        "all_tokens",
        "counted",
        "excluded",
        "kinds",
        "models",
        "results",
        "retried",
        "seconds",
        "tasks",
        "tokens",
        "usd",
    )

    def __init__(self) -> None:
        self.counted = 0
        self.results = KnownSum()
        self.usd, self.tokens, self.all_tokens, self.seconds = KnownSum(), KnownSum(), KnownSum(), KnownSum()
        self.tasks: set[str] = set()
        self.models: set[str | None] = set()
        self.kinds: set[AgentKind] = set()
        self.excluded: dict[tuple[str, int], Status] = {}
        self.retried: set[tuple[str, int]] = set()

    def add(self, run: RunRecord) -> None:
        """One more attempt."""
        trial, usage = run.trial, run.usage
        if run.status in EXCLUDED_STATUSES:
            key = trial.task_id, trial.repeat
            if key not in self.retried:
                self.excluded[key] = run.status
        else:
            self.counted += 1
            self.results.add(_result(run))
            if run.attempt > 1:
                self.retried.add((trial.task_id, trial.repeat))
                self.excluded.pop((trial.task_id, trial.repeat), None)
        self.tasks.add(trial.task_id)
        if len(self.models) < MOST_MODELS:
            self.models.add(run.agent.model)
        self.kinds.add(run.agent.kind)
        self.usd.add(_paid(run))
        self.seconds.add(run.duration_seconds)
        if usage.input_tokens is None or usage.output_tokens is None:
            self.tokens.unknown += 1
            self.all_tokens.unknown += 1
            return
        plain = usage.input_tokens + usage.output_tokens
        self.tokens.add(plain)
        if usage.cache_read_tokens is None or usage.cache_write_tokens is None:
            self.all_tokens.unknown += 1
        else:
            self.all_tokens.add(plain + usage.cache_read_tokens + usage.cache_write_tokens)

    def add_columns(self, runs: RunColumns, rows: Sequence[int]) -> None:
        """Some of these runs, which are completed first attempts of real agents."""

        pick = itemgetter(slice(rows[0], rows[0] + 1)) if len(rows) == 1 else itemgetter(*rows)

        def column(place: str) -> Sequence[Any]:
            found = runs.columns.get(place)
            return (None,) * len(rows) if found is None else cast("Sequence[Any]", pick(found))

        self.counted += len(rows)
        self.results.add_all(column("checks.passed"))
        self.tasks.update(column("trial.task_id"))
        agents = column("agent") if "agent" in runs.columns else (runs.alike.agent,)
        for agent in {id(agent): agent for agent in agents}.values():
            self.kinds.add(agent.kind)
            if len(self.models) < MOST_MODELS:
                self.models.add(agent.model)
        self.usd.add_all([cost.usd for cost in column("cost")] if "cost" in runs.columns else column("cost.usd"))
        self.seconds.add_all(column("duration_seconds"))
        plain = _sum_rows(column("usage.input_tokens"), column("usage.output_tokens"))
        self.tokens.add_all(plain)
        self.all_tokens.add_all(_sum_rows(plain, column("usage.cache_read_tokens"), column("usage.cache_write_tokens")))

    def joined(self, other: "ArmTally | None") -> "ArmTally":
        """What was counted of an arm in two places."""
        if other is None:
            return self
        both = ArmTally()
        both.counted = self.counted + other.counted
        for name in ("results", "usd", "tokens", "all_tokens", "seconds"):
            setattr(both, name, getattr(self, name).joined(getattr(other, name)))
        for name in ("tasks", "models", "kinds", "excluded", "retried"):
            setattr(both, name, getattr(self, name) | getattr(other, name))
        return both

    @property
    def runs(self) -> int:
        """Trials, whether they count or not."""
        return self.counted + len(self.excluded)

    @property
    def is_simulated(self) -> bool:
        """Whether all agents only pretend, so that no dollar was spent."""
        return self.kinds == {AgentKind.SCRIPTED}


def _sum_rows(*columns: Sequence[int | None]) -> list[int | None]:
    """The sum of each row; None where a part of it is unknown."""
    if any(column.count(None) == len(column) for column in columns):
        return [None] * len(columns[0])
    rows = zip(*columns, strict=True)
    if not any(None in column for column in columns):
        return [*map(sum, cast("Iterable[Sequence[int]]", rows))]
    return [None if None in row else sum(cast("Sequence[int]", row)) for row in rows]


def _result(run: RunRecord) -> float | None:
    """Whether a run passed. The usual run of another harness, which is over and has one check, is read directly."""
    if run.status is _COMPLETED and run.checks is not None and len(run.checks) == 1 and run.checks[0].required:
        return run.checks[0].passed
    return passed(run).value


def _paid(run: RunRecord) -> float | None:
    """What an attempt cost; most runs state it, and only the others are asked who paid."""
    usd = run.cost.usd
    return amount_paid(run) if usd is None or run.simulated_user is not None or REUSED_LABEL in run.extra else usd


_COMPLETED = Status.COMPLETED
