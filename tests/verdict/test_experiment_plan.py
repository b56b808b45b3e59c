"""Plans simulate the rule that will decide: what they promise happens, from pilots, public variation or stated one."""

from math import log

import numpy as np
import pytest

from outweigh.stats.power import DesignPrices
from outweigh.verdict.decision import Decision
from outweigh.verdict.evidence_settings import PASS_RATE, evidence_settings
from outweigh.verdict.experiment_plan import ExperimentPlanner
from outweigh.verdict.gate_tests_on_arrays import SimulatedGate
from outweigh.verdict.pilot_gates import gates_without_pilot
from outweigh.verdict.planned_experiment import Chance, OfferedSizes, PlannedDesign, PlannedSize
from outweigh.verdict.possible_populations import PossiblePopulations, populations_of_pilot
from outweigh.verdict.public_variation import public_populations
from outweigh.verdict.rule_on_arrays import CURRENT_RULE, GAIN, SimulatedDecisions, decide_many, rule_of_version
from outweigh.verdict.run_scatter import PilotRuns
from outweigh.verdict.simulated_chances import Tally, corrected_chance, corrected_share
from outweigh.verdict.simulated_experiments import Effects, simulate
from outweigh.verdict.task_population import fit_population

GATES = (PASS_RATE, "duration", "cost")
LIMITS = gates_without_pilot(GATES, evidence_settings()).limits
SMALL_WIN = {PASS_RATE: 0.048, "duration": log(0.9), "cost": log(0.9)}
PRICES = DesignPrices(task_usd=2.0, candidate_run_usd=0.3, baseline_run_usd=0.2)

Runs = list[tuple[np.ndarray, np.ndarray]]


def world(
    experiments: int, tasks: int, repeats: int, seed: int, *, effect: float = 0.3, shift: float = log(0.9)
) -> Runs:
    """Experiments × repeats × tasks of both arms on every gate; a third of the scatter of cost is that of duration."""
    random, shape = np.random.default_rng(seed), (experiments, repeats, tasks)
    logits = random.normal(0.4, 1.6, (experiments, 1, tasks))
    moved = logits + random.normal(effect, 0.4, logits.shape)
    before, after = ((random.random(shape) < 1 / (1 + np.exp(-part))).astype(float) for part in (logits, moved))
    found: Runs = [(before, after)]
    sizes = random.normal(0, 0.5, logits.shape)
    shared = [random.normal(0, 0.3, shape) for _ in range(2)]
    for _ in GATES[1:]:
        ours, theirs = (
            sizes + part + common + random.normal(0, 0.15, logits.shape) + random.normal(0, 0.3, shape)
            for part, common in zip((0.0, shift), shared, strict=True)
        )
        found.append((ours, theirs))
    return found


def pilot_of(runs: Runs, place: int = 0) -> PilotRuns:
    repeats, tasks = runs[0][0].shape[1:]
    owners = np.tile(np.arange(tasks), repeats)
    before, after = (np.stack([gate[arm][place].ravel() for gate in runs], axis=1) for arm in range(2))
    return PilotRuns(gates=GATES, values=(before, after), owners=(owners, owners), tasks=tasks)


def gates_of(runs: Runs) -> list[SimulatedGate]:
    gates = []
    for limits, (before, after) in zip(LIMITS, runs, strict=True):
        means = after.mean(axis=1) - before.mean(axis=1)
        if limits.name == PASS_RATE:
            passes = before.sum(axis=1).astype(np.int64), after.sum(axis=1).astype(np.int64)
            gates.append(SimulatedGate(limits=limits, benefits=means, passes=passes, runs=before.shape[1]))
        else:
            amounts = np.exp(before).mean(axis=1), np.exp(after).mean(axis=1)
            gates.append(SimulatedGate(limits=limits, benefits=-means, amounts=amounts))
    return gates


def fitted(tasks: int, repeats: int, seed: int = 1) -> PossiblePopulations:
    return populations_of_pilot(pilot_of(world(1, tasks, repeats, seed)), np.random.default_rng(0))


def planned(
    populations: PossiblePopulations, tasks: int, repeats: int, effects: dict[str, float] = SMALL_WIN
) -> PlannedSize:
    planner = ExperimentPlanner(populations, LIMITS, effects, CURRENT_RULE, PRICES, 0)
    (size,) = planner.sizes(OfferedSizes(tasks=(tasks,), repeats=(repeats,)))
    return size


def width(chance: Chance) -> float:
    assert chance.low is not None
    assert chance.high is not None
    return chance.high - chance.low


@pytest.mark.parametrize(("pilot", "design"), [((20, 5), (50, 5)), ((40, 3), (100, 1))])
def test_what_is_promised_from_small_pilots_is_what_happens_on_average(
    pilot: tuple[int, int], design: tuple[int, int]
) -> None:
    realised = decide_many(gates_of(world(1_500, *design, seed=3))).decided[Decision.IMPROVED].mean()

    pilots = world(16, *pilot, seed=4)
    promised = [
        planned(populations_of_pilot(pilot_of(pilots, place), np.random.default_rng(place)), *design).improved.value
        for place in range(16)
    ]

    assert 0.2 < realised < 0.9
    assert np.mean(promised) == pytest.approx(realised, abs=0.08)


def test_a_small_pilot_leaves_a_wider_range_than_a_large_one() -> None:
    small, large = (planned(fitted(tasks, 5), 50, 5).improved for tasks in (10, 150))

    assert width(small) > 1.3 * width(large)
    assert (large.low or 0) <= large.value <= (large.high or 0)


def test_simulated_tasks_and_runs_vary_as_those_of_the_pilot() -> None:
    population = fit_population(pilot_of(world(1, 800, 5, seed=1)))

    (size,) = simulate(population, LIMITS, Effects(stated=SMALL_WIN), ((400,), (2,)), 40, np.random.default_rng(1))

    again = gates_of(world(40, 400, 2, seed=8))
    for simulated, real in zip(size.gates, again, strict=True):
        assert simulated.benefits.mean() == pytest.approx(real.benefits.mean(), abs=0.012)
        assert simulated.benefits.std() == pytest.approx(real.benefits.std(), rel=0.05)
        if simulated.amounts is not None and real.amounts is not None:
            ratios = [arms[1].mean() / arms[0].mean() for arms in (simulated.amounts, real.amounts)]
            assert ratios[0] == pytest.approx(ratios[1], rel=0.03)
    resources = np.corrcoef(size.gates[1].benefits.ravel(), size.gates[2].benefits.ravel())[0, 1]
    assert resources == pytest.approx(np.corrcoef(again[1].benefits.ravel(), again[2].benefits.ravel())[0, 1], abs=0.08)


def test_more_tasks_more_repeats_and_larger_effects_are_seen_more_often() -> None:
    population = fitted(40, 5)
    planner = ExperimentPlanner(population, LIMITS, SMALL_WIN, CURRENT_RULE, PRICES, 0)

    sizes = {
        (size.tasks, size.repeats): size.improved.value
        for size in planner.sizes(OfferedSizes(tasks=(20, 100), repeats=(1, 5)))
    }

    assert sizes[20, 1] < sizes[20, 5] < sizes[100, 5]
    assert sizes[20, 1] < sizes[100, 1] < sizes[100, 5]
    assert planned(population, 50, 5, {PASS_RATE: 0.15}).improved.value > planned(population, 50, 5).improved.value


def test_arms_that_are_alike_are_rarely_called_different_and_large_experiments_call_them_the_same() -> None:
    size = planned(fitted(60, 5), 1_500, 3, {})

    assert size.same > 0.6
    assert size.false < 0.1
    assert size.improved.value < 0.05


def test_an_experiment_without_a_decision_names_what_is_in_the_way() -> None:
    gain_unseen = planned(fitted(40, 5), 20, 1)
    saving = planned(fitted(40, 5), 20, 3, {PASS_RATE: 0.25})

    assert max(gain_unseen.in_the_way, key=lambda name: gain_unseen.in_the_way[name]) == GAIN
    assert saving.in_the_way.keys() & {"duration", "cost"}


def test_the_cheapest_design_reaches_the_chance_that_was_asked_for() -> None:
    population = fitted(60, 5)
    planner = ExperimentPlanner(population, LIMITS, SMALL_WIN, CURRENT_RULE, PRICES, 0)
    sizes = planner.sizes(OfferedSizes(tasks=(20, 50), repeats=(5,)))

    (design,) = planner.designs(sizes, 0.8)

    assert 50 < design.tasks < 200
    assert design.cost_usd == pytest.approx(design.tasks * (2.0 + 5 * 0.5))
    assert planned(population, design.tasks, 5).improved.value == pytest.approx(0.8, abs=0.1)


def test_a_pilot_without_repeats_foresees_experiments_without_repeats_and_no_others() -> None:
    population = fitted(40, 1)
    planner = ExperimentPlanner(population, LIMITS, SMALL_WIN, CURRENT_RULE, PRICES, 0)

    sizes = planner.sizes(OfferedSizes(tasks=(100,), repeats=(1, 5)))

    realised = decide_many(gates_of(world(1_500, 100, 1, seed=3))).decided[Decision.IMPROVED].mean()
    assert [size.repeats for size in sizes] == [1]
    assert sizes[0].improved.value == pytest.approx(realised, abs=0.2)
    assert planner.doubling(40, 1).twice_the_repeats is None


def test_effects_of_the_pilot_itself_are_taken_as_uncertain() -> None:
    size = planned(fitted(10, 5), 200, 5)

    assert size.as_pilot is not None
    assert width(size.as_pilot) > width(size.improved)


def test_without_a_pilot_the_range_goes_from_little_to_much_variation() -> None:
    size = planned(public_populations(GATES), 100, 5)

    assert size.as_pilot is None
    assert width(size.improved) > 0.3


def test_the_same_pilot_and_seed_give_the_same_plan() -> None:
    assert planned(fitted(12, 3), 50, 3) == planned(fitted(12, 3), 50, 3)


def test_a_pilot_whose_tasks_all_pass_can_be_planned_from() -> None:
    runs = world(1, 12, 3, seed=2, effect=0.0)
    runs[0] = (np.ones((1, 3, 12)), np.ones((1, 3, 12)))

    size = planned(populations_of_pilot(pilot_of(runs), np.random.default_rng(0)), 30, 3, {})

    assert size.improved.value < 0.2


def test_what_passing_saves_keeps_passes_and_time_together() -> None:
    """Half a unit of log time less where a run passes: the deltas of both gates go together as in the world."""
    runs = [world(count, tasks, repeats, seed) for count, tasks, repeats, seed in ((1, 800, 5, 1), (40, 100, 3, 2))]
    for passes, *resources in runs:
        for arm in range(2):
            resources[0][arm][:] -= 0.5 * passes[arm]

    population = fit_population(pilot_of(runs[0]))
    (size,) = simulate(population, LIMITS, Effects(stated=SMALL_WIN), ((100,), (3,)), 40, np.random.default_rng(1))

    found, real = (
        np.corrcoef(gates[0].benefits.ravel(), gates[1].benefits.ravel())[0, 1]
        for gates in (size.gates, gates_of(runs[1]))
    )
    assert population.scatter.passing[1] == pytest.approx(-0.5, abs=0.05)
    assert real > 0.25
    assert found == pytest.approx(real, abs=0.05)


@pytest.mark.parametrize("uneven", [0.0, 0.6])
def test_tasks_that_scatter_unevenly_are_told_from_runs_with_heavy_tails(uneven: float) -> None:
    random, runs = np.random.default_rng(5), world(1, 600, 5, seed=1)
    factors = np.exp(uneven * random.standard_normal((1, 1, 600)))
    for arms in runs[1:]:
        for arm in arms:
            arm[:] += 0.6 * factors * random.standard_t(4, arm.shape)

    scatter = fit_population(pilot_of(runs)).scatter

    assert scatter.uneven[1] == pytest.approx(0.8 * uneven, abs=0.15)
    assert scatter.uneven[0] == 0.0


def test_the_mean_error_of_plans_from_simulated_pilots_is_taken_out() -> None:
    estimate, low, high = Tally(), Tally(), Tally()
    for tally, improved in ((estimate, 6), (low, 3), (high, 5)):
        flags = np.arange(10) < improved
        tally.add(
            SimulatedDecisions(
                decided={Decision.IMPROVED: flags, Decision.INCONCLUSIVE: ~flags}, lacking={}, unequal={}
            )
        )

    chance = corrected_chance(estimate, [low, high], 10, Decision.IMPROVED)

    assert chance.value == pytest.approx(2 * 0.6 - 0.4)
    assert corrected_share(0.9, [0.6]) == pytest.approx(0.95), "never certain"
    assert (chance.low or 0) < chance.value <= (chance.high or 0)


def test_planned_looks_end_early_and_cost_less() -> None:
    planner = ExperimentPlanner(fitted(40, 5), LIMITS, SMALL_WIN, CURRENT_RULE, PRICES, 0)

    forecast = planner.looks(PlannedDesign(tasks=80, repeats=5, cost_usd=80 * 4.5, improved=0.8))

    for endings in (forecast.stated, forecast.alike):
        assert 6 <= endings.tasks < 80
        assert endings.ends_early > 0.5
        assert endings.cost_usd == pytest.approx(80 * 2.0 + endings.tasks * 5 * 0.5)
    assert forecast.looks == 19
    assert forecast.stated.improved > 0.5
    assert forecast.alike.improved < 0.05


def test_version_1_is_planned_by_its_own_rule() -> None:
    """It asks for every resource within its margin of 5 %, so it rarely sees a gain in quality alone."""
    populations, effects = fitted(40, 5), {PASS_RATE: 0.12}
    first, second = (
        ExperimentPlanner(populations, LIMITS, effects, rule_of_version(version), PRICES, 0).sizes(
            OfferedSizes(tasks=(60,), repeats=(5,))
        )[0]
        for version in (1, 2)
    )

    assert first.improved.value < 0.3 < second.improved.value
