"""What the page of a search says where it ends without a name."""

import numpy as np
import pytest

from outweigh.report.bisect_page import BisectOutcome, StepTally, bisect_report
from outweigh.stats.change_point import ChangePosterior
from outweigh.verdict.culprit_search import CulpritResult, SearchEnd

SMALL = "a small loss that is spread over all tasks often ends without a name"


def outcome(end: SearchEnd) -> BisectOutcome:
    rates = np.array([0.5])
    chances = ChangePosterior(steps=np.array([0.2]), same=0.7, better=0.1, before=rates, after=rates)
    tallies = [
        StepTally(arm=arm, title=arm, lines=(), followed_by=(), probability=probability, runs=8, passes=4)
        for arm, probability in (("good", None), ("bad", 0.2))
    ]
    return BisectOutcome(
        result=CulpritResult(end=end, posterior=chances, likely=(1,)),
        stopped=None,
        unit="commit",
        error=0.05,
        steps=tuple(tallies),
        tasks=(),
        runs=16,
        every_step_runs=40,
        cost_usd=None,
        unknown_costs=0,
        is_free=True,
        store="runs",
        again=(),
        warnings=(),
    )


@pytest.mark.parametrize(
    ("end", "is_said"),
    [
        (SearchEnd.NO_DIFFERENCE, True),
        (SearchEnd.UNDECIDED, True),
        (SearchEnd.BETTER, False),
        (SearchEnd.FOUND, False),
    ],
)
def test_a_search_without_a_name_says_that_small_losses_often_end_so(end: SearchEnd, is_said: bool) -> None:
    assert (SMALL in str(bisect_report(outcome(end)).blocks)) is is_said
