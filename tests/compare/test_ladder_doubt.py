"""How sure a ladder is: tests of its tiers, chances of ranks and grades, and who cannot be told from the best."""

import numpy as np
import pytest
from scipy import stats

from outweigh.compare.ladder import Ladder, compare_tiers
from outweigh.compare.ladder_layout import TierPlan
from outweigh.model.codec import Record
from outweigh.model.judgment import Judgment
from outweigh.model.run_record import RunRecord
from outweigh.model.usage import UNKNOWN_COST, Component, ComponentTokens, reported_cost
from outweigh.testing.builders import a_judgment, a_run, evidence_of, runs_of_arm

RNG = np.random.default_rng(11)
TASKS = [f"task-{number:02}" for number in range(12)]
EASE = RNG.uniform(0.2, 0.6, 12)


def study(gains: dict[str, float], *, repeats: int = 3, noise: float = 0.05) -> list[Record]:
    """Judged runs of 12 tasks whose scores rise by the gain of their arm; later arms cost more."""
    rng = np.random.default_rng(3)
    records: list[Record] = []
    for number, (arm, gain) in enumerate(gains.items()):
        for task, ease in zip(TASKS, EASE, strict=True):
            for repeat in range(1, repeats + 1):
                cost = reported_cost(float(0.1 * (1 + number) * rng.uniform(0.9, 1.1)))
                run = a_run(task, arm, repeat, cost=cost, passed=bool(rng.uniform() < ease + gain))
                score = float(np.clip(ease + gain + rng.normal(0, noise), 0, 1))
                records += [run, a_judgment(run, score)]
    return records


@pytest.fixture(scope="module")
def clear() -> Ladder:
    """Three tiers; the second is hardly better than the first, the third much."""
    return compare_tiers(evidence_of(study({"T0": 0.0, "T1": 0.01, "T2": 0.35})), None)


def test_the_omnibus_test_is_friedmans_over_the_task_means(clear: Ladder) -> None:
    records = study({"T0": 0.0, "T1": 0.01, "T2": 0.35})
    composites: dict[tuple[str, str], list[float]] = {}
    for run, judgment in zip(records[::2], records[1::2], strict=True):
        assert isinstance(run, RunRecord)
        assert isinstance(judgment, Judgment)
        passed = run.checks is not None and bool(run.checks[0].passed)
        key = run.trial.arm, run.trial.task_id
        composites.setdefault(key, []).append((passed + (judgment.criteria[0].score or 0)) / 2)
    means = [[np.mean(composites[arm, task]) for task in TASKS] for arm in ("T0", "T1", "T2")]
    friedman = clear.tests.omnibus.friedman
    expected = stats.friedmanchisquare(*means)

    assert (friedman.statistic, friedman.p_value) == pytest.approx((expected.statistic, expected.pvalue))
    assert friedman.n == 12
    assert clear.tests.omnibus.kruskal_wallis.n == 108
    assert clear.tests.omnibus.scheirer_ray_hare.second.p_value is not None


def test_steps_and_contrasts_are_one_family_in_which_a_clear_step_is_shown(clear: Ladder) -> None:
    steps, contrasts = clear.tests.steps, clear.tests.against_first

    assert [(step.tier, step.reference) for step in steps] == [(1, 0), (2, 1)]
    assert [(contrast.tier, contrast.reference) for contrast in contrasts] == [(1, 0), (2, 0)]
    assert steps[0] == contrasts[0]
    assert [step.shown for step in steps] == [False, True]
    for each in (*steps, *contrasts):
        alone, together = each.difference.interval, each.difference.simultaneous
        assert alone is not None
        assert together is not None
        assert each.difference.estimate is not None
        assert together.low < alone.low < each.difference.estimate < alone.high < together.high
        assert each.wilcoxon.p_value is not None


def test_the_difference_of_a_step_is_that_of_its_tiers(clear: Ladder) -> None:
    first, second, _ = (level.quality.point for level in clear.levels)

    assert first is not None
    assert second is not None
    assert clear.tests.steps[0].difference.estimate == pytest.approx(second - first)


def test_the_difference_of_arms_that_share_no_task_is_unknown() -> None:
    runs = [a_run(task, arm, passed=passed) for arm in ("T0", "T1") for task, passed in (("a", True), ("b", False))]
    elsewhere = [a_run(task, "T2") for task in ("c", "d")]
    result = compare_tiers(evidence_of(runs, elsewhere), None).tests

    for unknown in (result.steps[1].difference, result.configurations["T2"]):
        assert (unknown.estimate, unknown.interval, unknown.adjusted) == (None, None, None)
        assert unknown.reason == "no task has a known score on both"
    assert result.steps[0].difference.estimate == result.configurations["T1"].estimate == 0.0
    assert not result.steps[1].shown


def test_the_price_of_one_more_solved_task_is_dollars_over_passes(clear: Ladder) -> None:
    lower, upper = (clear.levels[number].figures for number in (1, 2))
    dollars = (upper["cost_usd"].point or 0) - (lower["cost_usd"].point or 0)
    passes = (upper["pass_rate"].point or 0) - (lower["pass_rate"].point or 0)
    price = clear.tests.steps[1].price_of_one_more_pass

    assert price.point == pytest.approx(dollars / passes)
    assert price.interval is not None


def test_prices_and_wilcoxons_test_count_families_where_the_records_name_them() -> None:
    rng = np.random.default_rng(12)
    families = {task: f"family-{place % 4}" for place, task in enumerate(TASKS)}
    runs = [
        a_run(task, arm, repeat, family=family, passed=bool(rng.uniform() < rate), cost=reported_cost(rng.uniform()))
        for arm, rate in (("T0", 0.3), ("T1", 0.8))
        for task, family in families.items()
        for repeat in (1, 2, 3)
    ]
    step = compare_tiers(evidence_of(runs), None).tests.steps[0]
    passes = {
        family: sum((1 if run.trial.arm == "T1" else -1) * bool(run.checks and run.checks[0].passed) for run in members)
        for family in dict.fromkeys(families.values())
        if (members := [run for run in runs if run.family == family])
    }

    assert (step.price_of_one_more_pass.n, step.price_of_one_more_pass.unit.value) == (4, "cluster")
    assert (step.wilcoxon.n, step.wilcoxon.unit.value) == (4, "cluster")
    assert step.wilcoxon.p_value == pytest.approx(stats.wilcoxon(list(passes.values())).pvalue)


def test_a_step_that_solves_no_more_has_no_price() -> None:
    same = [*runs_of_arm("T0", [[True], [False]]), *runs_of_arm("T1", [[True], [False]])]
    price = compare_tiers(evidence_of(same), None).tests.steps[0].price_of_one_more_pass

    assert price.point is None
    assert price.warnings == ("the step solves no more tasks, so there is no price",)


def test_the_best_tier_is_nearly_always_the_best_and_ranks_say_how_sure_that_is(clear: Ladder) -> None:
    standing = clear.tier_standings

    assert [standing[number].rank for number in (0, 1, 2)][2] == 1
    assert standing[2].ranks == (1, 1)
    assert standing[0].ranks == (2, 3)
    assert standing[2].chance_best == pytest.approx(1.0, abs=0.01)
    chances = [each.chance_best for each in standing.values()]
    assert sum(chance for chance in chances if chance is not None) == pytest.approx(1.0)
    assert standing[0].chance_on_frontier == pytest.approx(1.0, abs=0.01)  # it is the cheapest by far
    assert all(sum(each.grades.values()) == pytest.approx(1.0) for each in standing.values())


def test_medians_and_their_uplifts_have_intervals_around_them(clear: Ladder) -> None:
    for level in clear.levels[1:]:
        standing = clear.tier_standings[level.number]
        assert standing.median.point == pytest.approx(level.pooled.metrics["composite"].median)
        assert standing.uplift.point == pytest.approx(level.uplift.value)
        for estimate in (standing.median, standing.uplift):
            assert estimate.interval is not None
            assert estimate.interval.low <= (estimate.point or 0) <= estimate.interval.high


def test_an_arm_called_0_is_not_taken_for_the_first_tier() -> None:
    records = study({"base": 0.0, "0": 0.35})
    result = compare_tiers(evidence_of(records), ["base", "0"])

    assert result.standings["0"].uplift.point == pytest.approx(result.tier_standings[1].uplift.point)
    assert result.standings["0"].uplift.interval == result.tier_standings[1].uplift.interval is not None
    assert result.tier_standings[0].uplift.warnings == ("it is what the others are compared with",)


def test_a_tie_names_everyone() -> None:
    runs = [run for arm in ("a", "b", "c") for run in runs_of_arm(arm, [[True, False], [True, True], [False, False]])]
    contenders = compare_tiers(evidence_of(runs), None).contenders

    assert set(contenders.best_values) == {"a", "b", "c"}
    assert set(contenders.possible_frontier) == {"a", "b", "c"}


def test_copies_of_one_configuration_are_not_told_from_the_best() -> None:
    rng = np.random.default_rng(8)
    runs = [
        a_run(
            task, f"copy-{copy}", repeat, passed=bool(rng.uniform() < 0.7), cost=reported_cost(rng.lognormal(-2, 0.5))
        )
        for copy in range(6)
        for task in TASKS
        for repeat in (1, 2, 3)
    ]
    contenders = compare_tiers(evidence_of(runs), None).contenders

    assert len(contenders.best_values) == 6


def test_whoever_is_much_more_expensive_and_no_better_is_told_from_the_best() -> None:
    rng = np.random.default_rng(9)
    outcomes = [[bool(rng.uniform() < 0.6) for _ in range(3)] for _ in TASKS]
    costs = {"cheap": 0.1, "dear": 0.5}
    runs = [
        a_run(task, arm, repeat + 1, passed=outcomes[place][repeat], cost=reported_cost(cost * rng.uniform(0.8, 1.2)))
        for arm, cost in costs.items()
        for place, task in enumerate(TASKS)
        for repeat in range(3)
    ]
    contenders = compare_tiers(evidence_of(runs), None).contenders

    assert contenders.best_values == ("cheap",)
    assert contenders.possible_frontier == ("cheap",)


@pytest.mark.parametrize("known_on_both", [0, 1])
def test_whoever_is_compared_by_cost_on_next_to_no_task_may_be_on_the_frontier(known_on_both: int) -> None:
    half = len(TASKS) // 2
    costs = {"good": TASKS[: half + known_on_both], "bad": TASKS[half:]}
    runs = [
        a_run(
            task,
            arm,
            passed=arm == "good" or place == 0,
            cost=reported_cost(price) if task in costs[arm] else UNKNOWN_COST,
        )
        for arm, price in (("good", 0.1), ("bad", 0.2))
        for place, task in enumerate(TASKS)
    ]
    contenders = compare_tiers(evidence_of(runs), None).contenders

    assert contenders.frontier == ("good",)
    assert contenders.possible_frontier == ("good", "bad")


def test_replicates_are_the_studys_own_noise() -> None:
    rng = np.random.default_rng(10)
    runs = [
        a_run(task, arm, repeat, passed=bool(rng.uniform() < 0.5), arm_fingerprint="one")
        for arm in ("a", "b", "c", "d")
        for task in TASKS
        for repeat in (1, 2)
    ]
    (noise,) = compare_tiers(
        evidence_of(runs), None, plan=TierPlan(tiers=dict.fromkeys(("a", "b", "c", "d"), 0))
    ).replicates

    assert (noise.name, noise.arms, noise.pairs) == ("a", ("a", "b", "c", "d"), 6)
    assert noise.pass_rate is not None
    assert noise.pass_rate[0] < noise.pass_rate[1]
    assert noise.called <= 1


def test_one_task_has_figures_and_no_doubt_to_show() -> None:
    result = compare_tiers(evidence_of(a_run(arm="T0"), a_run(arm="T1", passed=False)), None)

    assert result.tests.omnibus.friedman.p_value is None
    assert result.tests.steps[0].difference.reason == "an interval needs at least 2 units, not 1"
    assert result.tier_standings[0].chance_best is None


def test_phases_and_tokens_by_component_are_figures_too() -> None:
    ledger = (
        ComponentTokens(component=Component.TOOL_SCHEMA, input_tokens=900, output_tokens=0),
        ComponentTokens(component=Component.ORCHESTRATOR, input_tokens=100, output_tokens=50),
    )
    runs: list[RunRecord] = []
    for task in ("a", "b"):
        runs.append(a_run(task, "T0", setup_seconds=2.0, checks_seconds=4.0, components=ledger[1:]))
        runs.append(a_run(task, "T1", setup_seconds=3.0, checks_seconds=5.0, components=ledger))
    judged = [a_judgment(run, 0.5, duration_seconds=7.0) for run in runs]
    plain, tools = (level.figures for level in compare_tiers(evidence_of(runs, judged), None).levels)

    assert (plain["setup_seconds"].point, plain["checks_seconds"].point) == (2.0, 4.0)
    assert plain["judging_seconds"].point == 7.0
    assert tools["tokens_of_tool_schema"].point == 900
    assert plain["tokens_of_tool_schema"].point == 0  # its ledger is known, and has none
    assert plain["tokens_of_orchestrator"].point == tools["tokens_of_orchestrator"].point == 150


def test_the_same_seed_gives_the_same_ladder() -> None:
    evidence = evidence_of(study({"T0": 0.0, "T1": 0.1}))
    one, same, other = (compare_tiers(evidence, None, seed=seed) for seed in (5, 5, 6))

    assert one.tier_standings == same.tier_standings
    assert one.tier_standings != other.tier_standings
