"""Identical arms with the pass rate as the only gate: small suites, families, several candidates, unequal repeats.

With one gate the sum of all gates is that gate, so both ways to an improvement come to one test at 1 %. The cells also
measure what 2 % would do.
"""

from dataclasses import replace

import msgspec
import numpy as np

from calibration.cells import FALSE_DECISIONS, Cell, Promise, Readings, Section, share_of
from calibration.rates import collapse_alarm
from calibration.worlds import FAMILIES, NULLS, Draw, World, draw_company, world
from outweigh.verdict.decision import Decision
from outweigh.verdict.evidence_rule import CandidateTests, apply_rule, examine_candidate
from outweigh.verdict.evidence_settings import ERROR_RATES

AT_TWO_PER_CENT = "improved if tested at 2 %"
BOTH_WAYS = msgspec.structs.replace(ERROR_RATES, superiority=2 * ERROR_RATES.superiority)

HALF_PASS = world("identical arms, every run passes by the toss of a coin", logit_mean=0.0, logit_deviation=0.0)
_IDENTICAL, _EASY, _HARD = NULLS[1], NULLS[3], NULLS[5]


def single_gate_readings(
    world: World, tasks: int, repeats: int, old_repeats: int, candidates: int, draws: int, seed: int
) -> Readings:
    """Decisions about identical arms, the baseline of which has `old_repeats` runs of every task.

    Any of several candidates counts as improved, and each of them as regressed.
    """
    dice = np.random.default_rng(seed)
    improved = regressed = more = 0
    for _ in range(draws):
        company = [
            _with_fewer_old_runs(each, old_repeats) for each in draw_company(world, tasks, repeats, candidates, dice)
        ]
        tests = [examine_candidate(each.gates()[:1]) for each in company]
        decisions = [
            Decision.REGRESSED if collapse_alarm(each) else finding.decision
            for each, finding in zip(company, apply_rule(tests), strict=True)
        ]
        improved += Decision.IMPROVED in decisions
        regressed += decisions.count(Decision.REGRESSED)
        alone = [CandidateTests(gates=each.gates, gain=None) for each in tests]
        more += any(finding.decision is Decision.IMPROVED for finding in apply_rule(alone, BOTH_WAYS))
    return {
        "improved": share_of(improved, draws),
        "regressed": share_of(regressed, draws * candidates),
        AT_TWO_PER_CENT: share_of(more, draws),
    }


def _with_fewer_old_runs(experiment: Draw, repeats: int) -> Draw:
    before, after = experiment.passes
    return replace(experiment, passes=(before[:repeats], after))


def _cell(
    world: World,
    tasks: int,
    repeats: int,
    *,
    old_repeats: int | None = None,
    candidates: int = 1,
    promises: tuple[Promise, ...] = FALSE_DECISIONS,
) -> Cell:
    unequal = "" if old_repeats is None else f", {old_repeats} run{'s' if old_repeats > 1 else ''} of the baseline"
    company = "" if candidates == 1 else f", {candidates} candidates"
    return Cell(
        name=f"{world.name}, {tasks} × {repeats}{unequal}{company}",
        measure=single_gate_readings,
        arguments=(world, tasks, repeats, repeats if old_repeats is None else old_repeats, candidates),
        draws=4_000,
        promises=promises,
    )


SINGLE_GATE_SECTIONS = (
    Section(
        title="A single gate",
        words="Identical arms, and the pass rate is the only gate. The sum of all gates is then the same test as that "
        f"of the pass rate, at 1 %. *{AT_TWO_PER_CENT[0].upper()}{AT_TWO_PER_CENT[1:]}* is what the pass rate alone at "
        "2 % would give, the whole of what is allowed to both ways; nothing is promised about it. Fewer runs of the "
        "baseline are what is left where its stale runs are set aside. Where nearly all runs pass and the baseline "
        "has one run against five, it often meets none of the rare failures, so nothing is promised about regressed "
        "there.",
        cells=(
            *(_cell(_IDENTICAL, tasks, repeats) for tasks, repeats in ((6, 1), (6, 5), (8, 3), (20, 3), (100, 5))),
            *(_cell(HALF_PASS, tasks, repeats) for tasks, repeats in ((6, 5), (20, 1), (20, 3), (50, 1))),
            *(_cell(FAMILIES, tasks, 5) for tasks in (30, 60)),
            *(_cell(_IDENTICAL, tasks, 5, candidates=3) for tasks in (12, 50)),
            *(_cell(_HARD, 50, 5, old_repeats=old) for old in (3, 2)),
            _cell(_EASY, 100, 5, old_repeats=3),
            _cell(_EASY, 100, 5, old_repeats=1, promises=FALSE_DECISIONS[:1]),
        ),
    ),
)
