"""All the numbers of one run."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from functools import cache
from itertools import chain, repeat
from operator import attrgetter
from sys import intern
from typing import TYPE_CHECKING, Any, NamedTuple, Self, cast, get_args

import msgspec

from outweigh.model.codec import LocatedRecord
from outweigh.model.failure import EXCLUDED_STATUSES, Status
from outweigh.model.judgment import Judgment
from outweigh.model.pricing import PriceTables
from outweigh.model.run_record import (
    REUSED_LABEL,
    STATED_LABEL,
    AgentKind,
    RunRecord,
    StatedResult,
    stated_result,
    was_paid_here,
)
from outweigh.model.trigger_case import TRIGGER_LABEL, TriggerCase, trigger_of, was_listed, was_used
from outweigh.model.usage import Cost, CostProvenance
from outweigh.score.composite import COST_SIGNALS, Dimension
from outweigh.score.judge_scores import NO_JUDGE_RULES, NOT_JUDGED, JudgeCount, JudgeOpinion, JudgeRules, panel_score
from outweigh.score.metrics import METRICS, NOT_REPORTED, FieldFormula, FormulaInput, Metric, PartFormula
from outweigh.score.objective import Objective, objective
from outweigh.score.resource_usage import estimated_ranges, run_cost
from outweigh.stats.estimate import Quantity, known, unknown


class Score(msgspec.Struct, frozen=True, gc=False):
    """One run as numbers: what identifies it, and a field for every metric of the table that it was scored by.

    `reasons` says why a metric is None, and `ranges` has the least and the most of one that is estimated. `stated` is
    what the source of an imported run says about it. `should_fire` is what a trigger case expects, None for any other
    task, and `fired` is 1 or 0 where the run tells. A Struct, because a million of them are held; its fields are given
    in their order, because that takes a fifth of the time that their names take.
    """

    run_id: str
    task_id: str
    arm: str
    repeat: int
    attempt: int
    status: Status
    source: str
    line: int
    agent_kind: AgentKind
    arm_fingerprint: str | None
    task_checksum: str | None
    family: str | None
    position: int | None
    started_at: datetime | None
    reused: bool
    vacuous: bool
    judge_opinions: tuple[JudgeOpinion, ...]
    judge_counts: frozenset[JudgeCount]
    deciding_judge_counts: frozenset[JudgeCount]
    deciding_judge_score: float | None
    cost_provenance: CostProvenance
    paid_usd: float | None
    reasons: Mapping[str, str]
    ranges: Mapping[str, tuple[float, float]]
    stated: StatedResult | None
    should_fire: bool | None
    fired: float | None

    if TYPE_CHECKING:
        # The metrics that code reads by name; the table of metrics adds them and all others as fields.
        passed: float | None
        objective: float | None
        judge_score: float | None
        cost_usd: float | None
        duration_seconds: float | None
        non_cache_tokens: float | None
        total_tokens: float | None

    @property
    def counted(self) -> bool:
        """Whether the run says anything about its arm."""
        return self.status not in EXCLUDED_STATUSES

    @property
    def place(self) -> str:
        """Where the record stands, for error messages."""
        return f"{self.source}:{self.line}"

    def dimensions(self, *, judged: bool) -> dict[Dimension, float | None]:
        """What a composite weighs; without the judges' part where the arms' judges differ, or none may decide."""
        return {
            Dimension.OBJECTIVE: self.objective,
            Dimension.PASSED: self.passed,
            Dimension.JUDGE_SCORE: self.deciding_judge_score if judged else None,
        }

    def signals(self) -> dict[str, float | None]:
        """What the cost adjustment compares."""
        return {name: getattr(self, name) for name in COST_SIGNALS}


class RunScorer:
    """Computes every metric of a table that needs nothing but the run itself.

    Formulas that need more than one part of a record are called for every run. What a record states is taken as it is,
    and formulas of one part are called where the run has that part.
    """

    def __init__(self, prices: PriceTables, metrics: tuple[Metric, ...] = METRICS) -> None:
        self._prices = prices
        computed = {metric.name: metric.formula for metric in metrics if metric.formula is not None}
        stated = {name: formula for name, formula in computed.items() if isinstance(formula, FieldFormula)}
        parts: dict[str, dict[str, PartFormula]] = {}
        for name, formula in computed.items():
            if isinstance(formula, PartFormula):
                parts.setdefault(formula.part, {})[name] = formula
        whole = {
            name: formula for name, formula in computed.items() if not isinstance(formula, FieldFormula | PartFormula)
        }
        self._formulas = tuple(whole.values())
        self._parts = tuple(_PartMetrics.of(tuple(formulas.values())) for formulas in parts.values())
        self._fields = tuple(attrgetter(formula.field) for formula in stated.values())
        names = (*whole, *chain.from_iterable(parts.values()), *stated)
        self._make = score_class(names)
        self._reasons = _SharedReasons(tuple(computed), names)
        self._shared: dict[str | None, str | None] = {}

    def score(self, located: LocatedRecord, run: RunRecord) -> Score:
        """One run as numbers, before it is judged."""
        (score,) = self.score_all([located], [run])
        return score

    def score_all(self, located: Sequence[LocatedRecord], runs: Sequence[RunRecord]) -> list[Score]:
        """The same for several runs: every metric of all of them before the next, which saves a third of the time."""
        costs = [run_cost(run, self._prices) for run in runs]
        checks = [objective(run) for run in runs]
        values, reasons = self._measure(runs, costs, checks)
        share = self._shared.setdefault
        fingerprints, checksums, families = (
            [*map(attrgetter(name), runs)] for name in ("arm_fingerprint", "task_checksum", "family")
        )
        # Labels are rare, so that whether there is one is asked first.
        cases = [trigger_of(run) if TRIGGER_LABEL in run.extra else None for run in runs]
        return [
            *map(
                self._make,
                [run.run_id for run in runs],
                # One string object for what many runs have in common.
                [intern(run.trial.task_id) for run in runs],
                [intern(run.trial.arm) for run in runs],
                [run.trial.repeat for run in runs],
                [run.attempt for run in runs],
                [run.status for run in runs],
                [each.source for each in located],
                [each.line for each in located],
                [run.agent.kind for run in runs],
                map(share, fingerprints, fingerprints),
                map(share, checksums, checksums),
                map(share, families, families),
                [run.position for run in runs],
                [run.started_at for run in runs],
                [REUSED_LABEL in run.extra for run in runs],
                [found.vacuous for found in checks],
                repeat(NOT_JUDGED.opinions),
                repeat(_NO_JUDGES),
                repeat(_NO_JUDGES),
                repeat(None),  # deciding_judge_score
                [cost.provenance for cost, _ in costs],
                [
                    cost.usd if (not run.extra and run.cost.usd is not None) or was_paid_here(run) else 0.0
                    for run, (cost, _) in zip(runs, costs, strict=True)
                ],
                reasons,
                [estimated_ranges(run, cost) for run, (cost, _) in zip(runs, costs, strict=True)],
                [stated_result(run) if STATED_LABEL in run.extra else None for run in runs],
                [None if case is None else case.should_fire for case in cases],
                [None if case is None else _fired(run, case) for run, case in zip(runs, cases, strict=True)],
                *values,
            )
        ]

    def _measure(
        self, runs: Sequence[RunRecord], costs: Sequence[tuple[Cost, str]], checks: Sequence[Objective]
    ) -> tuple[list[Sequence[float | None]], list[Mapping[str, str]]]:
        """The values of every metric, and for every run why it lacks some."""
        given = [
            FormulaInput(run, self._prices, unknown(reason) if cost.usd is None else known(cost.usd), found)
            for run, (cost, reason), found in zip(runs, costs, checks, strict=True)
        ]
        values: list[Sequence[float | None]] = []
        reasons: list[Sequence[str | None]] = []
        for formula in self._formulas:
            _take(map(formula, given), values, reasons)
        nothing = [None] * len(runs)
        for part in self._parts:
            found = [*map(part.get, runs)]
            if found == nothing:
                values += [[each.value] * len(runs) for each in part.of_none]
                reasons += [[each.reason] * len(runs) for each in part.of_none]
            else:
                for formula in part.formulas:
                    _take(map(formula, found), values, reasons)
        for get in self._fields:
            stated = [*map(get, runs)]
            values.append(stated)
            unstated = None in stated
            reasons.append([NOT_REPORTED.reason if each is None else None for each in stated] if unstated else nothing)
        return values, self._reasons.of(reasons)


_NO_JUDGES = NOT_JUDGED.judge_counts


def _take(found: Iterable[Quantity], values: list[Sequence[float | None]], reasons: list[Sequence[str | None]]) -> None:
    """Add one more metric of all runs."""
    quantities = [*found]
    values.append([each.value for each in quantities])
    reasons.append([each.reason for each in quantities])


class _PartMetrics(NamedTuple):
    """The formulas of one part of a record, and what they say where a record lacks it."""

    get: Callable[[RunRecord], Any]
    formulas: tuple[Callable[[Any], Quantity], ...]
    of_none: tuple[Quantity, ...]

    @classmethod
    def of(cls, formulas: Sequence[PartFormula]) -> Self:
        """A part that every record has is never missing."""
        part = formulas[0].part
        return cls(
            attrgetter(part),
            tuple(each.formula for each in formulas),
            () if part in _ALWAYS_THERE else tuple(each.formula(None) for each in formulas),
        )


_ALWAYS_THERE = frozenset(
    each.name for each in msgspec.structs.fields(RunRecord) if type(None) not in get_args(each.type)
)


class _SharedReasons:
    """Why metrics are unknown, by name in the order of the table. Most runs lack the same; one mapping serves them."""

    def __init__(self, table: Sequence[str], names: Sequence[str]) -> None:
        self._table = table
        self._names = names
        self._found: dict[tuple[str | None, ...], Mapping[str, str]] = {}

    def of(self, reasons: Sequence[Sequence[str | None]]) -> list[Mapping[str, str]]:
        """The mappings of runs, of which each metric's reasons are given."""
        known = self._found
        return [known[key] if key in known else self._add(key) for key in zip(*reasons, strict=True)]

    def _add(self, key: tuple[str | None, ...]) -> Mapping[str, str]:
        known = dict(zip(self._names, key, strict=True))
        found = {name: reason for name in self._table if (reason := known[name]) is not None}
        return self._found.setdefault(key, found)


def _fired(run: RunRecord, case: TriggerCase) -> float | None:
    """Whether the model asked for the skill; None where the run does not tell, or the model did not know the skill."""
    used = was_used(run.loaded, case.skill)
    return None if used is None or was_listed(run.loaded, case.skill) is False else float(used)


@cache
def score_class(names: tuple[str, ...]) -> Callable[..., Score]:
    """Score with a field for each of these metrics: as small and as fast as if they were written out."""
    fields = [(name, float | None) for name in names]
    made = msgspec.defstruct("Score", fields, bases=(Score,), module=__name__, frozen=True, gc=False)
    return cast(Callable[..., Score], made)


def with_judgments(score: Score, judgments: Iterable[Judgment], judge_rules: JudgeRules = NO_JUDGE_RULES) -> Score:
    """Add the judges' part, which is stored apart from the run. All judges are shown; those that may, decide."""
    answers = list(judgments)
    panel = panel_score(answers, judge_rules)
    accepted = [answer for answer in answers if judge_rules.objection(answer.judge) is None]
    deciding = panel if len(accepted) == len(answers) else panel_score(accepted, judge_rules)
    reasons = {name: why for name, why in score.reasons.items() if name != "judge_score"}
    if panel.score.reason is not None:
        reasons["judge_score"] = panel.score.reason
    return msgspec.structs.replace(
        score,
        judge_score=panel.score.value,
        judge_opinions=panel.opinions,
        judge_counts=panel.judge_counts,
        deciding_judge_score=deciding.score.value,
        deciding_judge_counts=deciding.judge_counts,
        reasons=reasons,
    )
