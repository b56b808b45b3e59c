"""Ten edits of a candidate that change nothing, one verdict after the other: how often any is called improved."""

import numpy as np

from calibration.cells import Cell, Promise, Readings, Section, at_most, share_of
from calibration.rates import collapse_alarm
from calibration.worlds import NULLS, WIN, World, draw_company
from outweigh.verdict.decision import Decision
from outweigh.verdict.evidence_rule import CandidateTests, apply_rule, examine_candidate
from outweigh.verdict.tried_versions import candidates_to_count
from outweigh.verdict.weigh_evidence import NOT_TESTED

VERSIONS = 10
ALONE, COUNTED = "each by itself", "corrected for as many as were tried"


def version_readings(world: World, tasks: int, repeats: int, draws: int, seed: int) -> Readings:
    """Versions of one kind against the same runs of a baseline, each looked at when it is the newest.

    `improved` is the share of loops in which any was called improved. The other readings are the same loops with each
    version decided as if it were the only one, and with the n-th corrected for n.
    """
    dice = np.random.default_rng(seed)
    found = dict.fromkeys(("improved", ALONE, COUNTED, "first", "last"), 0)
    for _ in range(draws):
        versions = draw_company(world, tasks, repeats, VERSIONS, dice)
        tests = [examine_candidate(each.gates()) for each in versions]
        rings = [collapse_alarm(each) for each in versions]

        def wins(place: int, counted: int, tests: list[CandidateTests] = tests, rings: list[bool] = rings) -> bool:
            (finding, *_) = apply_rule([tests[place], *(NOT_TESTED,) * (counted - 1)])
            return finding.decision is Decision.IMPROVED and not rings[place]

        # Only what wins by itself can win when it is corrected.
        alone = [place for place in range(VERSIONS) if wins(place, 1)]
        found[ALONE] += bool(alone)
        found[COUNTED] += any(wins(place, place + 1) for place in alone)
        found["improved"] += any(wins(place, candidates_to_count(place + 1)) for place in alone)
        found["first"] += 0 in alone
        found["last"] += VERSIONS - 1 in alone and wins(VERSIONS - 1, candidates_to_count(VERSIONS))
    return {name: share_of(hits, draws) for name, hits in found.items()}


def _cell(world: World, tasks: int, draws: int, *promises: Promise) -> Cell:
    return Cell(
        name=f"{world.name}, {tasks} × 5",
        measure=version_readings,
        arguments=(world, tasks, 5),
        draws=draws,
        promises=promises,
    )


VERSION_SECTIONS = (
    Section(
        title="Ten versions of a candidate",
        words="A candidate is edited nine times and compared again after every edit, with the same runs of the "
        "baseline. *Improved* counts loops in which any version was called improved while it was the newest; the n-th "
        f"is corrected for n² candidates. *{ALONE[0].upper()}{ALONE[1:]}* is what the loops come to without any "
        f"correction, *{COUNTED}* with the n-th corrected for n: nothing is promised about these. *First* and *last* "
        "are how often the first and the tenth version alone is called improved; the last row is what the correction "
        "leaves of the power.",
        cells=(
            *(_cell(world, 20, 1_500, at_most("improved", 0.02)) for world in (NULLS[0], NULLS[2], NULLS[3])),
            _cell(NULLS[1], 50, 1_500, at_most("improved", 0.02)),
            _cell(WIN, 50, 200),
        ),
    ),
)
