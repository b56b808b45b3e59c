"""Ladders of known effects: twenty fixed studies, and the same studies as records."""

import numpy as np
import pytest
from calibration.ladder_cells import (
    CONFIGURATIONS,
    MIXED,
    NO_EFFECT,
    REPEATS,
    RISING,
    TASKS,
    TIERS,
    LadderWorld,
    contrast_tiers,
    draw_ladder,
    ladder_readings,
)

from outweigh.compare.ladder import compare_tiers
from outweigh.compare.ladder_layout import TierPlan
from outweigh.testing.builders import evidence_of, runs_of_arm

STUDIES = 20


@pytest.mark.parametrize(
    ("effects", "expected"),
    [
        (NO_EFFECT, {"all contrasts together": 20, "omnibus": 0, "some tier called": 0, "some tier called better": 0}),
        (RISING, {"all contrasts together": 19, "omnibus": 20, "some tier called": 17, "some tier called better": 17}),
        (MIXED, {"all contrasts together": 20, "omnibus": 20, "some tier called": 19, "some tier called better": 16}),
    ],
    ids=["no effect", "rising", "up and down"],
)
def test_twenty_studies_give_the_recorded_counts(effects: tuple[float, ...], expected: dict[str, int]) -> None:
    found = ladder_readings(LadderWorld(effects=effects, judged=True), STUDIES, 1)

    assert {name: round(STUDIES * found[name].value) for name in expected} == expected
    for name, least in {"quality of tiers": 0.93, "uplift": 0.93, "each contrast": 0.93}.items():
        assert found[name].value >= least


def test_records_and_means_by_task_give_the_same_contrasts() -> None:
    dice = np.random.default_rng(4)
    drawn = draw_ladder(LadderWorld(effects=RISING, judged=False), dice)
    runs = [
        run
        for tier in range(TIERS)
        for own in range(CONFIGURATIONS)
        for run in runs_of_arm(
            f"t{tier}-{own}",
            [[repeat < round(REPEATS * share) for repeat in range(REPEATS)] for share in drawn.passed[tier, own]],
        )
    ]
    plan = TierPlan(tiers={run.trial.arm: int(run.trial.arm[1]) for run in runs})
    ladder = compare_tiers(evidence_of(runs), None, plan=plan, seed=7)

    by_name = sorted(range(TASKS), key=lambda task: f"task-{task + 1}")
    _, contrasts = contrast_tiers(drawn.quality.mean(axis=1)[:, by_name], 7)
    steps = [step.difference for step in ladder.tests.steps]
    assert len(runs) == TIERS * CONFIGURATIONS * TASKS * REPEATS
    assert [step.estimate for step in steps] == pytest.approx([each.estimate for each in contrasts[: TIERS - 1]])
    assert [step.adjusted for step in steps] == pytest.approx([each.adjusted for each in contrasts[: TIERS - 1]])
    assert ladder.tests.against_first[-1].difference.adjusted == pytest.approx(contrasts[-1].adjusted)
