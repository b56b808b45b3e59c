"""Runs of two arms with a known difference, and the verdict about them by policy `evidence`."""

from typing import Any

import numpy as np

from outweigh.compare.comparison import Comparison, compare_arms
from outweigh.model.run_record import RunRecord
from outweigh.model.usage import Usage, reported_cost
from outweigh.testing.builders import a_run, evidence_of
from outweigh.verdict.decision import Verdict
from outweigh.verdict.evidence_policy import decide_by_evidence
from outweigh.verdict.evidence_settings import evidence_settings


def experiment(
    gain: float = 0.0,
    *,
    speed: float = 1.0,
    cost_factor: float = 1.0,
    runaways: float = 0.0,
    tasks: int = 40,
    repeats: int = 5,
    seed: int = 1,
    **fields: Any,
) -> list[RunRecord]:
    """Two arms that pass 60 % and 60 % + gain of their runs and differ in time, tokens and cost by one factor.

    The candidate's cost differs by another factor, and some of its runs cost twenty times as much. `fields` are the
    same in all records.
    """
    dice = np.random.default_rng(seed)
    records: list[RunRecord] = []
    for task in range(tasks):
        ease, size = dice.normal(0, 0.15), dice.normal(0, 0.5)
        for repeat in range(1, repeats + 1):
            for arm, chance, factor, price in (("old", 0.6, 1.0, 0.1), ("new", 0.6 + gain, speed, 0.1 * cost_factor)):
                scale = float(np.exp(size + dice.normal(0, 0.1))) * factor
                passed = bool(dice.random() < chance + ease)
                runaway = 20.0 if runaways and arm == "new" and dice.random() < runaways else 1.0
                measured: dict[str, Any] = {
                    "duration_seconds": 60 * scale,
                    "usage": Usage(
                        input_tokens=round(1000 * scale),
                        output_tokens=round(500 * scale),
                        cache_read_tokens=8000,
                        cache_write_tokens=400,
                    ),
                    "cost": reported_cost(price * scale * runaway),
                }
                records.append(a_run(f"task-{task}", arm, repeat, passed=passed, **(measured | fields)))
    return records


def comparison(records: list[RunRecord]) -> Comparison:
    return compare_arms(evidence_of(records), "old", "new")


def decide(records: list[RunRecord], **settings: Any) -> Verdict:
    return decide_by_evidence([comparison(records)], evidence_settings(**settings))[0]
