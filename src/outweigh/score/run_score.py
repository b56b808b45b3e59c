"""All the numbers of one run."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from functools import cache
from itertools import chain
from operator import attrgetter
from sys import intern
from typing import TYPE_CHECKING, Any, NamedTuple, Self, cast, get_args

import msgspec

from outweigh.model.codec import LocatedRecord
from outweigh.model.failure import EXCLUDED_STATUSES, Status
from outweigh.model.judgment import Judgment
from outweigh.model.pricing import PriceTables
from outweigh.model.run_record import REUSED_LABEL, AgentKind, RunRecord, StatedResult, stated_result, was_paid_here
from outweigh.model.trigger_case import TriggerCase, trigger_of, was_listed, was_used
from outweigh.model.usage import CostProvenance
from outweigh.score.composite import COST_SIGNALS, Dimension
from outweigh.score.judge_scores import NO_JUDGE_RULES, NOT_JUDGED, JudgeCount, JudgeOpinion, JudgeRules, panel_score
from outweigh.score.metrics import METRICS, NOT_REPORTED, FieldFormula, FormulaInput, Metric, PartFormula
from outweigh.score.objective import objective
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
        self._parts = _getter(tuple(parts))
        self._of_parts = tuple(_PartMetrics.of(tuple(formulas.values())) for formulas in parts.values())
        self._fields = _getter([formula.field for formula in stated.values()])
        names = (*whole, *chain.from_iterable(parts.values()), *stated)
        self._make = score_class(names)
        self._reasons = _SharedReasons(tuple(computed), names, len(stated))
        self._shared: dict[str | None, str | None] = {}

    def score(self, located: LocatedRecord, run: RunRecord) -> Score:
        """One run as numbers, before it is judged."""
        cost, cost_reason = run_cost(run, self._prices)
        checks = objective(run)
        given = FormulaInput(run, self._prices, unknown(cost_reason) if cost.usd is None else known(cost.usd), checks)
        measured = [formula(given) for formula in self._formulas]
        values = [quantity.value for quantity in measured]
        reasons = [quantity.reason for quantity in measured]
        for part, metrics in zip(self._parts(run), self._of_parts, strict=True):
            if part is None:
                values += metrics.values_of_none
                reasons += metrics.reasons_of_none
            else:
                for formula in metrics.formulas:
                    quantity = formula(part)
                    values.append(quantity.value)
                    reasons.append(quantity.reason)
        fields = self._fields(run)
        # Labels are rare, so that whether there is any is asked first.
        extra, usd = run.extra, cost.usd
        case = trigger_of(run) if extra else None
        was_paid = (not extra and run.cost.usd is not None) or was_paid_here(run)
        trial, share = run.trial, self._shared.setdefault
        return self._make(
            run.run_id,
            # One string object for what many runs have in common.
            intern(trial.task_id),
            intern(trial.arm),
            trial.repeat,
            run.attempt,
            run.status,
            located.source,
            located.line,
            run.agent.kind,
            share(run.arm_fingerprint, run.arm_fingerprint),
            share(run.task_checksum, run.task_checksum),
            share(run.family, run.family),
            run.position,
            run.started_at,
            REUSED_LABEL in extra,
            checks.vacuous,
            NOT_JUDGED.opinions,
            _NO_JUDGES,
            _NO_JUDGES,
            None,  # deciding_judge_score
            cost.provenance,
            usd if was_paid else 0.0,
            self._reasons.of(reasons, fields),
            estimated_ranges(run, cost),
            stated_result(run) if extra else None,
            None if case is None else case.should_fire,
            None if case is None else _fired(run, case),
            *values,
            *fields,
        )


_NO_JUDGES = NOT_JUDGED.judge_counts


class _PartMetrics(NamedTuple):
    """The formulas of one part of a record, and what they say where a record lacks it."""

    formulas: tuple[Callable[[Any], Quantity], ...]
    values_of_none: tuple[float | None, ...]
    reasons_of_none: tuple[str | None, ...]

    @classmethod
    def of(cls, formulas: Sequence[PartFormula]) -> Self:
        """A part that every record has is never missing."""
        of_none = [] if formulas[0].part in _ALWAYS_THERE else [each.formula(None) for each in formulas]
        return cls(
            tuple(each.formula for each in formulas),
            tuple(each.value for each in of_none),
            tuple(each.reason for each in of_none),
        )


def _getter(names: Sequence[str]) -> Callable[[RunRecord], tuple[Any, ...]]:
    """Gets several attributes of a record at once."""
    if len(names) > 1:
        return attrgetter(*names)
    return lambda run: tuple(attrgetter(name)(run) for name in names)


_ALWAYS_THERE = frozenset(
    each.name for each in msgspec.structs.fields(RunRecord) if type(None) not in get_args(each.type)
)


class _SharedReasons:
    """Why metrics are unknown, by name in the order of the table. Most runs lack the same; one mapping serves them.

    The last of the names are of numbers that a record states.
    """

    def __init__(self, table: Sequence[str], names: Sequence[str], stated: int) -> None:
        self._table = table
        self._names = names
        self._all_stated = (None,) * stated
        self._found: dict[tuple[str | None, ...], Mapping[str, str]] = {}

    def of(self, reasons: Sequence[str | None], fields: Sequence[object]) -> Mapping[str, str]:
        """The mapping of a run with these reasons, whose record states these numbers."""
        unstated: tuple[str | None, ...] = self._all_stated
        if None in fields:
            unstated = tuple([NOT_REPORTED.reason if value is None else None for value in fields])
        key = (*reasons, *unstated)
        if (found := self._found.get(key)) is None:
            known = dict(zip(self._names, key, strict=True))
            found = {name: reason for name in self._table if (reason := known[name]) is not None}
            self._found[key] = found
        return found


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
