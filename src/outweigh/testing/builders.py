"""Builders of records for tests: every field that a test does not name has a plausible, known value."""

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from typing import Any

import msgspec

from outweigh.compare.evidence import Evidence, gather
from outweigh.model.choice import ChoiceCandidate, ChoiceRecord
from outweigh.model.codec import LocatedRecord, Record
from outweigh.model.failure import Status
from outweigh.model.judgment import CriterionScore, JudgeIdentity, Judgment, Preference, ShownRun
from outweigh.model.pricing import PriceTables
from outweigh.model.run_record import AgentIdentity, AgentKind, CheckResult, RunRecord, Trial
from outweigh.model.tiers import InheritSpec
from outweigh.model.usage import NO_USAGE, UNKNOWN_COST, Usage, reported_cost
from outweigh.score.judge_scores import NO_JUDGE_RULES, JudgeRules
from outweigh.score.metrics import METRICS, Metric


def a_check(name: str = "tests", *, passed: bool | None = True, required: bool = True, **fields: Any) -> CheckResult:
    """The result of one check; give `cases_passed` and `cases_total` for one that counts cases."""
    defaults = {"cases_passed": None, "cases_total": None, "exit_code": None, "detail": None}
    return CheckResult(name=name, required=required, passed=passed, **(defaults | fields))


def a_run(
    task: str = "task-1", arm: str = "baseline", repeat: int = 1, *, passed: bool | None = True, **fields: Any
) -> RunRecord:
    """A completed run of a real agent with one required check; any field can be given by name."""
    run = RunRecord(
        run_id=f"{task}/{arm}/{repeat}",
        trial=Trial(task_id=task, arm=arm, repeat=repeat, seed=None),
        attempt=1,
        status=Status.COMPLETED,
        status_detail=None,
        agent=AgentIdentity(kind=AgentKind.REAL, name="agent", version="1.0", model=None),
        arm_fingerprint=None,
        task_checksum=None,
        family=None,
        position=None,
        started_at=None,
        duration_seconds=60.0,
        setup_seconds=None,
        checks_seconds=None,
        usage=Usage(input_tokens=1000, output_tokens=500, cache_read_tokens=8000, cache_write_tokens=400),
        cost=reported_cost(0.10),
        step_count=10,
        tool_call_count=8,
        check_command_count=1,
        checks=(a_check(passed=passed),),
        steps=None,
        components=None,
        milestones=None,
        actions=None,
        metering=None,
        reported=None,
        loaded=None,
        warnings=(),
        artifacts={},
        extra={},
    )
    return msgspec.structs.replace(run, **fields)


def a_judgment(
    run: RunRecord, score: float | None = 0.8, *, judge: str = "judge", weight: float = 1.0, **fields: Any
) -> Judgment:
    """A valid judgment with one criterion; give `criteria=` for others."""
    answer = Judgment(
        run_id=run.run_id,
        run_sha256=None,
        judge=JudgeIdentity(name=judge, model=None, version=None, rubric_sha256=None, prompt_sha256=None),
        pass_index=1,
        invalid_reason=None,
        criteria=(CriterionScore(criterion="quality", weight=weight, score=score, evidence=None),),
        grading=None,
        stated_total=None,
        confidence=None,
        attempts=None,
        warnings=(),
        usage=NO_USAGE,
        cost=UNKNOWN_COST,
        judged_at=None,
        duration_seconds=None,
    )
    return msgspec.structs.replace(answer, **fields)


def a_preference(first: RunRecord, second: RunRecord, **fields: Any) -> Preference:
    """A valid judgment of two runs in this order; `first_score=` and `second_score=`, or `criteria=`, decide it."""
    answer = Preference(
        task_id=first.trial.task_id,
        repeat=first.trial.repeat,
        first=ShownRun(run_id=first.run_id, run_sha256=None, arm=first.trial.arm),
        second=ShownRun(run_id=second.run_id, run_sha256=None, arm=second.trial.arm),
        judge=JudgeIdentity(name="judge", model=None, version=None, rubric_sha256=None, prompt_sha256=None),
        pass_index=1,
        invalid_reason=None,
        criteria=(),
        first_score=None,
        second_score=None,
        stated=None,
        confidence=None,
        attempts=None,
        warnings=(),
        usage=NO_USAGE,
        cost=UNKNOWN_COST,
        judged_at=None,
        duration_seconds=None,
    )
    return msgspec.structs.replace(answer, **fields)


def a_choice(arm: str = "inheriting", chosen: str | None = "baseline", **fields: Any) -> ChoiceRecord:
    """A choice of one arm of tier 0 among two."""
    candidates = tuple(
        ChoiceCandidate(
            arm=name,
            tier=0,
            fingerprint="0" * 64,
            runs=4,
            value=value,
            problem=None,
            is_close=name == chosen,
            tokens=1000.0,
            cost_usd=0.1,
            evidence_sha256="1" * 64,
        )
        for name, value in (("baseline", 0.75), ("variant", 0.5))
    )
    choice = ChoiceRecord(
        arm=arm,
        inherit=InheritSpec(best_of=[0]),
        chosen=chosen,
        reason="it is the best",
        fingerprint=None if chosen is None else "2" * 64,
        candidates=candidates,
        choosing_repeats={"baseline": 2, "variant": 2},
        lines={"runs-engine.jsonl": 8},
        chosen_at=datetime(2026, 11, 16, tzinfo=UTC),
    )
    return msgspec.structs.replace(choice, **fields)


def runs_of_arm(arm: str, outcomes: Sequence[Sequence[bool]], **fields: Any) -> list[RunRecord]:
    """The runs of one arm: `outcomes[t][r]` is whether repeat r + 1 of task t + 1 passed."""
    return [
        a_run(f"task-{task}", arm, repeat, passed=passed, **fields)
        for task, repeats in enumerate(outcomes, start=1)
        for repeat, passed in enumerate(repeats, start=1)
    ]


def evidence_of(
    *records: Record | Iterable[Record], judge_rules: JudgeRules = NO_JUDGE_RULES, metrics: tuple[Metric, ...] = METRICS
) -> Evidence:
    """Gather records, or lists of them, as if they had been read from a file."""
    flat: list[Record] = []
    for item in records:
        flat.extend([item] if isinstance(item, RunRecord | Judgment | Preference | ChoiceRecord) else item)
    located = (LocatedRecord(record, "records", number) for number, record in enumerate(flat, start=1))
    return gather(located, prices=PriceTables(), judge_rules=judge_rules, metrics=metrics)
