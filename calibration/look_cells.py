"""Planned looks: how many tasks they save, how often they err over all looks, and what power they cost."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from calibration.cells import (
    FALSE_DECISIONS,
    Cell,
    Promise,
    Reading,
    Readings,
    Section,
    at_most,
    mean_of,
    share_of,
)
from calibration.rates import collapse_alarm
from calibration.worlds import (
    FAMILIES,
    NULLS,
    ON_THE_MARGIN,
    PURE_GAIN,
    SMALL_WIN,
    TRAP,
    WIN,
    Draw,
    World,
    draw_company,
)
from outweigh.model.look_plan import LookPlan, plan_even_looks
from outweigh.verdict.decision import Decision
from outweigh.verdict.evidence_rule import CandidateTests, apply_rule, examine_candidate
from outweigh.verdict.evidence_settings import ERROR_RATES, ErrorRates
from outweigh.verdict.planned_looks import look_rates, prospects
from outweigh.verdict.weigh_evidence import NOT_TESTED

TASKS_USED = "tasks used"
POWER_LOST = "power lost"
MANY_CANDIDATES = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Ending:
    """How an experiment with planned looks ends for one candidate, and what all its tasks together would have said."""

    decision: Decision
    tasks: int
    at_the_end: Decision


def run_with_looks(candidates: Sequence[Draw], plan: LookPlan, *, stop_when_futile: bool = True) -> list[Ending]:
    """Take the planned looks at all candidates of one baseline, each until it is settled."""
    settled: dict[int, tuple[Decision, int]] = {}
    for look, size in enumerate(plan.sizes):
        open_places = [place for place in range(len(candidates)) if place not in settled]
        if not open_places:
            break
        seen = {place: candidates[place].of_tasks(range(size)) for place in open_places}
        tests = [_tests(seen[place]) if place in seen else NOT_TESTED for place in range(len(candidates))]
        levels = look_rates(plan, look, ERROR_RATES)
        decisions = _decide(tests, seen, levels)
        chances = prospects(tests, plan, look, ERROR_RATES, apply_rule)
        for place in open_places:
            lost = not chances[place].improved and len(candidates) >= MANY_CANDIDATES
            hopeless = stop_when_futile and (chances[place].futile or lost)
            if decisions[place] is not Decision.INCONCLUSIVE or hopeless or size == plan.sizes[-1]:
                settled[place] = decisions[place], size
    whole = dict(enumerate(candidates))
    at_the_end = _decide([_tests(each) for each in candidates], whole, ERROR_RATES)
    return [
        Ending(decision=settled[place][0], tasks=settled[place][1], at_the_end=at_the_end[place])
        for place in range(len(candidates))
    ]


def _tests(experiment: Draw) -> CandidateTests:
    return examine_candidate(experiment.gates())


def _decide(tests: Sequence[CandidateTests], seen: dict[int, Draw], levels: ErrorRates) -> dict[int, Decision]:
    findings = apply_rule(tests, levels)
    return {
        place: Decision.REGRESSED if collapse_alarm(experiment, levels.task_alarm) else findings[place].decision
        for place, experiment in seen.items()
    }


def look_readings(world: World, tasks: int, repeats: int, candidates: int, draws: int, seed: int) -> Readings:
    """Decisions over all planned looks, the tasks that they used, and how much less was found than with all tasks."""
    dice = np.random.default_rng(seed)
    plan = plan_even_looks([str(task) for task in range(tasks)], repeats)
    endings = []
    for _ in range(draws):
        order = dice.permutation(tasks)
        company = [each.of_tasks(order) for each in draw_company(world, tasks, repeats, candidates, dice)]
        endings.append(run_with_looks(company, plan))
    found: Counter[Decision] = Counter()
    for company_endings in endings:
        found.update({ending.decision for ending in company_endings})
    wanted = Decision.REGRESSED if world.effect < 0 else Decision.IMPROVED
    lost = [float(one.at_the_end is wanted) - float(one.decision is wanted) for each in endings for one in each]
    return {
        **{decision.value: share_of(found[decision], draws) for decision in Decision},
        TASKS_USED: mean_of([float(np.mean([one.tasks for one in each])) for each in endings]),
        POWER_LOST: _with_least_error(mean_of(lost, share=True), draws),
    }


def _with_least_error(reading: Reading, draws: int) -> Reading:
    """A difference that never happened in so many draws is not known exactly."""
    return replace(reading, error=max(reading.error, 1 / draws))


def _cell(
    world: World, promises: Sequence[Promise], *, tasks: int = 100, repeats: int = 5, candidates: int = 1
) -> Cell:
    beside = "" if candidates == 1 else f", {candidates} candidates"
    return Cell(
        name=f"{world.name}, {tasks} × {repeats}{beside}",
        measure=look_readings,
        arguments=(world, tasks, repeats, candidates),
        draws=1_000 if candidates == 1 else 400,
        promises=tuple(promises),
    )


_POWER = at_most(POWER_LOST, 0.08)
LOOK_SECTIONS = (
    Section(
        title="Planned looks",
        words="`run --until-decided` with three gates: at most 20 looks, each error rate spent as the square of the "
        "share of tasks, and an early end where a decision has become unlikely. Decisions are counted over all looks. "
        "Power lost is against one look at all tasks.",
        cells=(
            _cell(NULLS[0], [*FALSE_DECISIONS, at_most(TASKS_USED, 60)]),
            _cell(TRAP, [at_most(TASKS_USED, 55), _POWER]),
            _cell(WIN, [at_most(TASKS_USED, 35), _POWER]),
            _cell(SMALL_WIN, [at_most(TASKS_USED, 75), _POWER]),
            _cell(PURE_GAIN, [_POWER]),
            *(_cell(each, [at_most("improved", 0.05)]) for each in ON_THE_MARGIN),
        ),
    ),
    Section(
        title="Planned looks at identical arms",
        words="The same where nothing differs, with other sizes, near the edges of the pass rate, in families, and "
        "with several candidates, of which those are dropped that can no longer win. Improved and regressed count when "
        "they happen to any candidate; with several, regressed adds up and nothing is promised about it.",
        cells=(
            *(_cell(each, FALSE_DECISIONS) for each in (*NULLS[1:], FAMILIES)),
            *(_cell(NULLS[0], FALSE_DECISIONS, tasks=tasks, repeats=5) for tasks in (12, 20, 50)),
            *(_cell(NULLS[0], FALSE_DECISIONS, tasks=tasks, repeats=1) for tasks in (20, 100)),
            *(_cell(NULLS[0], [at_most("improved", 0.02)], candidates=candidates) for candidates in (3, 5)),
        ),
    ),
)
