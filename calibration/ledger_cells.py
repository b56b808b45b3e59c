"""The pull requests of a repository, one verdict after the other: how often useless and real changes are promoted."""

from collections.abc import Iterator

import numpy as np
from numpy.random import Generator

from calibration.cells import Cell, Readings, Section, at_least, at_most, share_of
from calibration.worlds import NULLS, SMALL_WIN, WIN, Draw, World, draw, draw_company
from outweigh.verdict.decision import Decision
from outweigh.verdict.evidence_rule import apply_rule, examine_candidate
from outweigh.verdict.promotion_ledger import FAMILY_ERROR, SHOWN_VERDICTS, promotion_level

PULL_REQUESTS = 100


def repository_readings(
    world: World, size: tuple[int, int], shared: bool, wins: int, draws: int, seed: int
) -> Readings:
    """A hundred pull requests, against the same runs of a baseline where it is shared, with a win every so often."""
    dice = np.random.default_rng(seed)
    lives = [_Life(_pull_requests(world, size, wins, dice, shared=shared)) for _ in range(draws)]
    found = {
        "any false promotion": share_of(sum(life.false_promotions > 0 for life in lives), draws),
        "any false improved": share_of(sum(life.false_improved > 0 for life in lives), draws),
    }
    if not wins:
        return found
    real = sum(life.real for life in lives)
    return found | {
        "wins improved": share_of(sum(life.real_improved for life in lives), real),
        "wins promoted": share_of(sum(life.real_promotions for life in lives), real),
    }


def power_readings(world: World, tasks: int, repeats: int, draws: int, seed: int) -> Readings:
    """How often a change is promoted as the n-th pull request without a promotion before."""
    dice = np.random.default_rng(seed)
    p_values = [gain_p(draw(world, tasks, repeats, dice)) for _ in range(draws)]
    promoted = {
        f"promoted as number {number}": share_of(
            sum(p is not None and p <= promotion_level(number - 1) for p in p_values), draws
        )
        for number in SHOWN_VERDICTS
    }
    return {"improved": share_of(sum(p is not None for p in p_values), draws), **promoted}


def gain_p(experiment: Draw) -> float | None:
    """The p-value of an improvement; None where nothing improved."""
    (finding,) = apply_rule([examine_candidate(experiment.gates(with_cost=True))])
    return finding.superiority_p if finding.decision is Decision.IMPROVED else None


def _pull_requests(
    world: World, size: tuple[int, int], wins: int, dice: Generator, *, shared: bool
) -> Iterator[tuple[bool, float | None]]:
    """Whether each pull request is a win, and its p-value."""
    useless = draw_company(world, *size, PULL_REQUESTS, dice) if shared else ()
    for number in range(PULL_REQUESTS):
        if wins and number % wins == wins - 1:
            yield True, gain_p(draw(WIN, *size, dice))
        else:
            yield False, gain_p(useless[number] if shared else draw(world, *size, dice))


class _Life:
    """What became of one repository's pull requests, in their order."""

    def __init__(self, verdicts: Iterator[tuple[bool, float | None]]) -> None:
        self.false_improved = self.false_promotions = self.real = self.real_improved = self.real_promotions = 0
        unpromoted = 0
        for is_win, p_value in verdicts:
            improved = p_value is not None
            promoted = p_value is not None and p_value <= promotion_level(unpromoted)
            unpromoted += not promoted
            self.real += is_win
            self.real_improved += is_win and improved
            self.real_promotions += is_win and promoted
            self.false_improved += not is_win and improved
            self.false_promotions += not is_win and promoted


def _repository(world: World, size: tuple[int, int], draws: int = 150, *, shared: bool = False, wins: int = 0) -> Cell:
    baseline = "one baseline for all" if shared else "a baseline each"
    return Cell(
        name=f"{world.name}, {size[0]} × {size[1]}, {baseline}" + (f", every {wins}th is a win" if wins else ""),
        measure=repository_readings,
        arguments=(world, size, shared, wins),
        draws=draws,
        promises=(at_most("any false promotion", FAMILY_ERROR),),
    )


def _power(world: World, size: tuple[int, int], *least: float) -> Cell:
    return Cell(
        name=f"{world.name}, {size[0]} × {size[1]}",
        measure=power_readings,
        arguments=(world, *size),
        draws=1_000,
        promises=tuple(
            at_least(f"promoted as number {number}", limit)
            for number, limit in zip(SHOWN_VERDICTS, least, strict=False)
        ),
    )


FAMILY = Section(
    title="A hundred pull requests of one repository",
    words="Each has a verdict with four gates, entered in the ledger of verdicts. How likely it is that any change "
    "without effect is promoted, and that any is called improved, which is what would be promoted without a ledger. "
    "Where all are compared with the same runs of a baseline, luck of these runs is luck of all pull requests.",
    cells=(
        _repository(NULLS[0], (50, 5)),
        _repository(NULLS[1], (30, 5)),
        _repository(NULLS[2], (100, 5), 100),
        _repository(NULLS[2], (300, 10), 40),
        _repository(NULLS[0], (50, 5), shared=True),
        _repository(NULLS[0], (50, 5), 100, shared=True, wins=5),
    ),
)
LEDGER_POWER = Section(
    title="What the ledger leaves of the power",
    words="How often a real gain is promoted as the 10th, 50th or 100th verdict of a repository in which nothing was "
    "promoted before. A promotion spends nothing, so where there are real gains, more is left than here.",
    cells=(_power(SMALL_WIN, (50, 5)), _power(SMALL_WIN, (100, 5)), _power(WIN, (50, 5), 0.95, 0.95, 0.9)),
)
LEDGER_SECTIONS = (FAMILY, LEDGER_POWER)
