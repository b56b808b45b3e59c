"""All the numbers of one run."""

from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from functools import cache
from sys import intern
from typing import TYPE_CHECKING, cast

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
from outweigh.score.metrics import METRICS, FormulaInput, Metric
from outweigh.score.objective import objective
from outweigh.score.resource_usage import NO_RANGES, estimated_ranges, run_cost
from outweigh.stats.estimate import known, unknown


class Score(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """One run as numbers: what identifies it, and a field for every metric of the table that it was scored by.

    `reasons` says why a metric is None, and `ranges` has the least and the most of one that is estimated. `stated` is
    what the source of an imported run says about it. `should_fire` is what a trigger case expects, None for any other
    task, and `fired` is 1 or 0 where the run tells. A Struct, because a million of them are held.
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
    ranges: Mapping[str, tuple[float, float]] = NO_RANGES
    stated: StatedResult | None = None
    should_fire: bool | None = None
    fired: float | None = None

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
    """Computes every metric of a table that needs nothing but the run itself."""

    def __init__(self, prices: PriceTables, metrics: tuple[Metric, ...] = METRICS) -> None:
        self._prices = prices
        computed = [(metric.name, metric.formula) for metric in metrics if metric.formula is not None]
        self._names = tuple(name for name, _ in computed)
        self._formulas = tuple(formula for _, formula in computed)
        self._make = score_class(self._names)

    def score(self, located: LocatedRecord, run: RunRecord) -> Score:
        """One run as numbers, before it is judged."""
        cost, cost_reason = run_cost(run, self._prices)
        checks = objective(run)
        case = trigger_of(run)
        given = FormulaInput(run, self._prices, unknown(cost_reason) if cost.usd is None else known(cost.usd), checks)
        measured = [formula(given) for formula in self._formulas]
        return self._make(
            run_id=run.run_id,
            # One string object per task and arm, not per run.
            task_id=intern(run.trial.task_id),
            arm=intern(run.trial.arm),
            repeat=run.trial.repeat,
            attempt=run.attempt,
            status=run.status,
            source=located.source,
            line=located.line,
            agent_kind=run.agent.kind,
            arm_fingerprint=run.arm_fingerprint,
            task_checksum=run.task_checksum,
            family=run.family,
            position=run.position,
            started_at=run.started_at,
            reused=REUSED_LABEL in run.extra,
            vacuous=checks.vacuous,
            judge_opinions=NOT_JUDGED.opinions,
            judge_counts=NOT_JUDGED.judge_counts,
            deciding_judge_counts=NOT_JUDGED.judge_counts,
            deciding_judge_score=None,
            cost_provenance=cost.provenance,
            paid_usd=cost.usd if was_paid_here(run) else 0.0,
            ranges=estimated_ranges(run, cost),
            stated=stated_result(run),
            should_fire=None if case is None else case.should_fire,
            fired=None if case is None else _fired(run, case),
            reasons=_shared_reasons(self._names, tuple([quantity.reason for quantity in measured])),
            **dict(zip(self._names, [quantity.value for quantity in measured], strict=True)),
        )


def _fired(run: RunRecord, case: TriggerCase) -> float | None:
    """Whether the model asked for the skill; None where the run does not tell, or the model did not know the skill."""
    used = was_used(run.loaded, case.skill)
    return None if used is None or was_listed(run.loaded, case.skill) is False else float(used)


@cache
def score_class(names: tuple[str, ...]) -> Callable[..., Score]:
    """Score with a field for each of these metrics: as small and as fast as if they were written out."""
    fields = [(name, float | None) for name in names]
    made = msgspec.defstruct("Score", fields, bases=(Score,), module=__name__, frozen=True, kw_only=True, gc=False)
    return cast(Callable[..., Score], made)


def with_judgments(score: Score, judgments: Iterable[Judgment], judge_rules: JudgeRules = NO_JUDGE_RULES) -> Score:
    """Add the judges' part, which is stored apart from the run. All judges are shown; those that may, decide."""
    answers = list(judgments)
    panel = panel_score(answers, judge_rules)
    deciding = panel_score((answer for answer in answers if judge_rules.objection(answer.judge) is None), judge_rules)
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


@cache
def _shared_reasons(names: tuple[str, ...], reasons: tuple[str | None, ...]) -> Mapping[str, str]:
    """Most runs lack the same things; one mapping serves them all."""
    return {name: reason for name, reason in zip(names, reasons, strict=True) if reason is not None}
