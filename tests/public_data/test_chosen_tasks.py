"""Four public agents on a hundred issues: half the issues, chosen by two of the agents, on the other two.

They resolve 70 to 73 issues, so their t statistics are small, and two agents that ran every issue once leave many ties,
which are broken at random. So the figures are means over many ways of breaking them.
"""

from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from outweigh.stats.task_information import estimate_information, kept_share
from outweigh.stats.task_selection import HeldOutRuns, folds_of_arms, order_tasks, task_t

WAYS = 30


def test_half_the_issues_keep_most_of_the_t_statistic_of_agents_that_did_not_choose(vexp: list[dict[str, Any]]) -> None:
    tasks = sorted({row["task_id"] for row in vexp})
    arms = sorted({row["arm"] for row in vexp})
    resolved = {(row["task_id"], row["arm"]): int(row["success"]) for row in vexp}
    passes = np.array([[resolved[task, arm] for arm in arms] for task in tasks], dtype=np.intp)
    runs = np.ones_like(passes)
    measured, pairs = [], set()
    for seed in range(WAYS):
        mixed = np.random.default_rng(seed).permutation(len(tasks))
        folds = list(folds_of_arms(passes[mixed], runs[mixed]))
        found = HeldOutRuns(folds, np.ones(len(tasks)), [None] * len(tasks)).measure(len(tasks) // 2)
        assert found is not None
        measured.append(found.share)
        pairs.add(found.pairs)

    assert passes.shape == (100, 4)
    assert pairs == {6}
    assert np.mean(measured) >= 0.85


def test_most_of_the_information_is_in_a_quarter_of_the_issues(vexp: list[dict[str, Any]]) -> None:
    """77 issues are dead: all four agents resolve them, or none does."""
    tasks = sorted({row["task_id"] for row in vexp})
    arms = sorted({row["arm"] for row in vexp})
    resolved = {(row["task_id"], row["arm"]): int(row["success"]) for row in vexp}
    passes = np.array([[resolved[task, arm] for arm in arms] for task in tasks], dtype=np.intp)
    found = estimate_information(passes, np.ones_like(passes))

    chosen = order_tasks(found, np.ones(100), [None] * 100).keep(50)

    assert int(np.isin(passes.sum(axis=1), (0, 4)).sum()) == 77
    assert found.shares[~np.isin(passes.sum(axis=1), (0, 4))].sum() > 0.55
    assert kept_share(found, chosen) > 0.85


def test_half_the_issues_keep_more_of_a_certain_difference_than_a_random_half(
    verified: tuple[NDArray[np.intp], list[str | None]],
) -> None:
    """Of three agents on 500 issues one chooses, by a single run and by the repositories. Of the others two arms are
    made that certainly differ: one resolves what either resolves, the other what both do.
    """
    passes, repositories = verified
    one_run = np.ones((500, 1), dtype=np.intp)
    products, squares = 0.0, 0.0
    for seed in range(8):
        mixed = np.random.default_rng(seed).permutation(500)
        issues, families = passes[mixed], [repositories[row] for row in mixed]
        for pair in combinations(range(3), 2):
            (chooses,) = {0, 1, 2} - set(pair)
            deltas = (issues[:, pair].max(axis=1) - issues[:, pair].min(axis=1)).astype(float)
            found = estimate_information(issues[:, [chooses]], one_run, families)
            chosen = order_tasks(found, np.ones(500), [None] * 500).keep(250)
            products += task_t(deltas) * task_t(deltas[chosen])
            squares += task_t(deltas) ** 2

    assert passes.sum(axis=0).tolist() == [396, 388, 396]
    assert products / squares >= 0.79
