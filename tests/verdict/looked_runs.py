"""Runs of a plan with looks, and verdicts at those looks."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from outweigh.compare.comparison import compare_arms
from outweigh.model.look_plan import LookPlan, plan_even_looks
from outweigh.model.run_record import RunRecord
from outweigh.model.usage import reported_cost
from outweigh.testing.builders import a_run, evidence_of
from outweigh.verdict.decision import Verdict
from outweigh.verdict.evidence_policy import decide_by_evidence
from outweigh.verdict.evidence_settings import evidence_settings

TASKS = 40
ORDER = [f"t{number}" for number in np.random.default_rng(9).permutation(TASKS)]
PLAN = plan_even_looks(ORDER, 2)


def runs(
    tasks: Sequence[str], gain: float = 0.0, *, speed: float = 1.0, seed: int = 1, arms: Sequence[str] = ("new",)
) -> list[RunRecord]:
    """Two runs of every task in every arm; each candidate passes more often by the gain."""
    dice = np.random.default_rng(seed)
    records = []
    for task in tasks:
        for arm in ("old", *arms):
            for repeat in (1, 2):
                better = arm != "old"
                scale = float(np.exp(dice.normal(0, 0.1))) * (speed if better else 1.0)
                passed = bool(dice.random() < 0.5 + (gain if better else 0.0))
                changes: dict[str, Any] = {"duration_seconds": 60 * scale, "cost": reported_cost(0.1 * scale)}
                records.append(a_run(task, arm, repeat, passed=passed, **changes))
    return records


def verdicts(
    records: list[RunRecord], plan: LookPlan | None = PLAN, *, arms: Sequence[str] = ("new",)
) -> tuple[Verdict, ...]:
    comparisons = [compare_arms(evidence_of(records), "old", arm) for arm in arms]
    return decide_by_evidence(comparisons, evidence_settings(gates=["pass_rate", "duration"], looks=plan))


def look(found: Verdict) -> Any:
    stored: Any = found.settings["looks"]
    return stored
