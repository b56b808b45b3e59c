"""All the numbers of one run."""

from collections.abc import Iterable, Mapping
from datetime import datetime
from functools import cache
from sys import intern

import msgspec

from outweigh.model.codec import LocatedRecord
from outweigh.model.judgment import Judgment
from outweigh.model.pricing import PriceTables
from outweigh.model.run_record import EXCLUDED_STATUSES, AgentKind, RunRecord, Status, was_paid_here
from outweigh.model.usage import CostProvenance
from outweigh.score.composite import COST_SIGNALS, Dimension
from outweigh.score.judge_scores import NO_JUDGE_RULES, NOT_JUDGED, JudgeCount, JudgeRules, panel_score
from outweigh.score.objective import edit_fail_rate, objective, passed, r_prog, skill_used, strategic_drift
from outweigh.score.resource_usage import (
    cache_normalised_cost,
    cache_read_share,
    non_cache_tokens,
    run_cost,
    schema_overhead,
    skill_efficiency,
    token_efficiency_ratio,
    total_tokens,
)
from outweigh.stats.estimate import Quantity, known, unknown


class Score(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """One run as numbers; `reasons` says why a metric is None. A Struct, because a million of them are held."""

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
    vacuous: bool
    seats: frozenset[JudgeCount]
    deciding_seats: frozenset[JudgeCount]
    deciding_judge_score: float | None
    cost_provenance: CostProvenance
    paid_usd: float | None
    passed: float | None
    objective: float | None
    checks_passed: float | None
    judge_score: float | None
    cost_usd: float | None
    cache_normalised_cost_usd: float | None
    duration_seconds: float | None
    total_tokens: float | None
    non_cache_tokens: float | None
    cache_read_tokens: float | None
    cache_write_tokens: float | None
    cache_read_share: float | None
    steps: float | None
    tool_calls: float | None
    check_commands: float | None
    r_prog: float | None
    strategic_drift: float | None
    edit_fail_rate: float | None
    skill_used: float | None
    schema_overhead: float | None
    skill_efficiency: float | None
    token_efficiency_ratio: float | None
    reasons: Mapping[str, str]

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


def score_run(located: LocatedRecord, run: RunRecord, prices: PriceTables) -> Score:
    """Compute every metric that needs nothing but the run itself."""
    cost, cost_reason = run_cost(run, prices)
    checks = objective(run)
    measures = {
        "passed": passed(run),
        "objective": checks.share,
        "checks_passed": checks.passed,
        "judge_score": NOT_JUDGED.score,
        "cost_usd": unknown(cost_reason) if cost.usd is None else known(cost.usd),
        "cache_normalised_cost_usd": cache_normalised_cost(run, prices),
        "duration_seconds": _reported(run.duration_seconds),
        "total_tokens": total_tokens(run.usage),
        "non_cache_tokens": non_cache_tokens(run.usage),
        "cache_read_tokens": _reported(run.usage.cache_read_tokens),
        "cache_write_tokens": _reported(run.usage.cache_write_tokens),
        "cache_read_share": cache_read_share(run.usage),
        "steps": _reported(run.step_count),
        "tool_calls": _reported(run.tool_call_count),
        "check_commands": _reported(run.check_command_count),
        "r_prog": r_prog(run.milestones),
        "strategic_drift": strategic_drift(run.actions),
        "edit_fail_rate": edit_fail_rate(run.steps),
        "skill_used": skill_used(run.loaded),
        "schema_overhead": schema_overhead(run.components),
        "skill_efficiency": skill_efficiency(run.components),
        "token_efficiency_ratio": token_efficiency_ratio(run.components),
    }
    return Score(
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
        vacuous=checks.vacuous,
        seats=NOT_JUDGED.seats,
        deciding_seats=NOT_JUDGED.seats,
        deciding_judge_score=None,
        cost_provenance=cost.provenance,
        paid_usd=cost.usd if was_paid_here(run) else 0.0,
        reasons=_shared_reasons(tuple((name, m.reason) for name, m in measures.items() if m.reason is not None)),
        **{name: measure.value for name, measure in measures.items()},
    )


def with_judgments(score: Score, judgments: Iterable[Judgment], jury: JudgeRules = NO_JUDGE_RULES) -> Score:
    """Add the judges' part, which is stored apart from the run. All judges are shown; those that may, decide."""
    answers = list(judgments)
    panel = panel_score(answers, jury)
    deciding = panel_score((answer for answer in answers if jury.objection(answer.judge) is None), jury)
    reasons = {name: why for name, why in score.reasons.items() if name != "judge_score"}
    if panel.score.reason is not None:
        reasons["judge_score"] = panel.score.reason
    return msgspec.structs.replace(
        score,
        judge_score=panel.score.value,
        seats=panel.seats,
        deciding_judge_score=deciding.score.value,
        deciding_seats=deciding.seats,
        reasons=reasons,
    )


def _reported(value: float | None) -> Quantity:
    return unknown("not reported") if value is None else known(value)


@cache
def _shared_reasons(pairs: tuple[tuple[str, str], ...]) -> Mapping[str, str]:
    """Most runs lack the same things; one mapping serves them all."""
    return dict(pairs)
