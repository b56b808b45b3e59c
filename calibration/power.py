"""How often a real difference is found, beside the operating characteristics that were published beforehand."""

from dataclasses import dataclass

from msgspec.structs import replace

from calibration.rates import rates, rates_v1
from calibration.worlds import NULLS, SMALL_WIN, TRAP, WIN, World
from outweigh.verdict.decision import Decision
from outweigh.verdict.evidence_rule_v1 import ERROR_RATES_V1


@dataclass(frozen=True, slots=True, kw_only=True)
class Published:
    """One line of the published table of version 1: 4,000 draws, superiority tested at .05."""

    world: World
    tasks: int
    repeats: int
    improved: float
    regressed: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Power:
    """One line measured again: with the rule as it is, and with version 1 at the published level."""

    published: Published
    draws: int
    improved: float
    regressed: float
    improved_by_version_1: float
    regressed_by_version_1: float


PUBLISHED_RATES = replace(ERROR_RATES_V1, superiority=0.05)
_SIZES = ((20, 5), (50, 5), (100, 5), (100, 10))
_TABLE = {
    NULLS[0]: ((0.001, 0.068), (0.004, 0.057), (0.013, 0.050), (0.019, 0.051)),
    SMALL_WIN: ((0.123, 0.008), (0.640, 0.002), (0.958, 0.001), (0.997, 0.000)),
    WIN: ((0.822, 0.000), (0.998, 0.000), (1.000, 0.000), (1.000, 0.000)),
    TRAP: ((0.006, 0.490), (0.002, 0.842), (0.000, 0.981), (0.000, 1.000)),
}
PUBLISHED = tuple(
    Published(world=world, tasks=tasks, repeats=repeats, improved=improved, regressed=regressed)
    for world, lines in _TABLE.items()
    for (tasks, repeats), (improved, regressed) in zip(_SIZES, lines, strict=True)
)


def power(published: Published, draws: int, seed: int) -> Power:
    """Measure one line again, on the same experiments for both versions."""
    place = published.world, published.tasks, published.repeats
    now = rates(*place, draws, seed)
    before = rates_v1(*place, draws, seed, PUBLISHED_RATES)
    return Power(
        published=published,
        draws=draws,
        improved=now.of(Decision.IMPROVED),
        regressed=now.of(Decision.REGRESSED),
        improved_by_version_1=before.of(Decision.IMPROVED),
        regressed_by_version_1=before.of(Decision.REGRESSED),
    )
