"""What a try spends where nobody says how much, and how many tasks that buys."""

import pytest

from outweigh.app.try_budget import DEFAULT_BUDGET_USD, RunPrice, default_budget
from outweigh.verdict.evidence_settings import MINIMUM_TASKS


@pytest.mark.parametrize(("run_usd", "budget_usd"), [(0.05, 5.0), (0.36, 5.04), (0.42, 5.88), (2.0, 28.0)])
def test_the_default_buys_at_least_as_many_tasks_as_a_verdict_takes(run_usd: float, budget_usd: float) -> None:
    price = RunPrice(run_usd=run_usd, cap_usd=3 * run_usd, source="")

    assert default_budget(price) == budget_usd >= DEFAULT_BUDGET_USD
    assert price.tasks_within(budget_usd) >= MINIMUM_TASKS


def test_the_least_budget_for_some_tasks_buys_them_and_a_cent_less_does_not() -> None:
    price = RunPrice(run_usd=0.37, cap_usd=1.11, source="")

    for tasks in range(2, 60):
        assert price.tasks_within(price.usd_for(tasks)) == tasks
        assert price.tasks_within(price.usd_for(tasks) - 0.01) == tasks - 1
