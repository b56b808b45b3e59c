"""A small study that keeps every promise, for tests to change."""

from calibration.cells import Measurement
from calibration.coverage import STATISTICS, Coverage
from calibration.looks import Looks
from calibration.pitfalls import Rejections, RuleRates
from calibration.power import PUBLISHED, Power
from calibration.rates import Rates
from calibration.study import Study
from calibration.wider import QUESTIONS, Answer
from calibration.worlds import NULLS, ON_THE_MARGIN, WIN

from outweigh.verdict.decision import Decision


def rates_of(world: str, improved: float, regressed: float) -> Rates:
    shares = {Decision.IMPROVED: improved, Decision.REGRESSED: regressed}
    return Rates(world=world, tasks=20, repeats=5, draws=1000, shares=shares)


def looks_of(world: str, rule: str, improved: float) -> Looks:
    return Looks(
        world=world, rule=rule, repeats=5, looks=20, draws=1000, improved=improved, regressed=0, stopped_after=50
    )


def coverage_of(statistic: str) -> Coverage:
    return Coverage(
        statistic=statistic,
        method="t",
        world=WIN.name,
        tasks=20,
        repeats=5,
        intervals=1000,
        covered=0.951,
        unknown=0.0,
    )


def answer_of(any_improved: float) -> Answer:
    return Answer(question=QUESTIONS[0], tasks=30, repeats=5, draws=1000, any_improved=any_improved, regressed=0.055)


def good_study(cells: tuple[Measurement, ...] = ()) -> Study:
    line = PUBLISHED[5]
    rules = ("sequential", "ordinary", "once")
    return Study(
        nulls=(rates_of(NULLS[0].name, 0.011, 0.061),),
        margins=(rates_of(ON_THE_MARGIN[0].name, 0.041, 0.3),),
        power=(
            Power(
                published=line,
                draws=1000,
                improved=0.5,
                regressed=0.0,
                improved_by_version_1=line.improved,
                regressed_by_version_1=line.regressed,
            ),
        ),
        coverage=tuple(coverage_of(statistic.name) for statistic in STATISTICS),
        bootstrap=(coverage_of(STATISTICS[0].name),),
        looks=tuple(looks_of(world.name, rule, 0.031) for world in (NULLS[0], WIN) for rule in rules),
        rules=(
            RuleRates(
                rule="averages", world=NULLS[0].name, tasks=20, repeats=5, draws=1000, improved=0.131, regressed=0.129
            ),
        ),
        units=(
            Rejections(
                world="mixed", tasks=20, repeats=5, draws=1000, mcnemar_on_runs=0.2, t_on_runs=0.2, t_on_tasks=0.05
            ),
        ),
        wider=(answer_of(0.012),),
        cells=cells,
    )
