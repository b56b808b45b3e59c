from dataclasses import replace
from pathlib import Path

from calibration.claims import claims
from calibration.coverage import STATISTICS, Coverage
from calibration.looks import Looks
from calibration.page import render
from calibration.pitfalls import Rejections, RuleRates
from calibration.power import PUBLISHED, Power
from calibration.rates import Rates
from calibration.study import Study
from calibration.wider import QUESTIONS, Answer
from calibration.worlds import NULLS, ON_THE_MARGIN, WIN

from outweigh.verdict.decision import Decision

PAGE = Path(__file__).resolve().parents[2] / "docs" / "calibration.md"


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


def good_study() -> Study:
    line = PUBLISHED[5]
    rules = ("sequential", "ordinary", "once")
    return Study(
        nulls=(rates_of(NULLS[0].name, 0.011, 0.061),),
        margins=(rates_of(ON_THE_MARGIN[0].name, 0.041, 0.3),),
        power=(
            Power(published=line, draws=1000, improved=0.5, improved_at_published_level=line.improved, regressed=0.0),
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
    )


def test_the_page_shows_every_measurement() -> None:
    page = render(good_study())

    assert "1.1 / 6.1" in page
    assert "| 95.1 |" in page
    assert "| 13.1 | 12.9 | 26.0 |" in page
    assert "| 1.2 / 5.5 |" in page


def test_a_study_that_keeps_its_promises_says_so() -> None:
    assert all(claim.holds for claim in claims(good_study()))
    assert "broken" not in outcomes(render(good_study()))


def test_a_broken_promise_is_shown_as_broken() -> None:
    study = replace(good_study(), nulls=(rates_of(NULLS[0].name, 0.05, 0.06),))

    assert [claim.holds for claim in claims(study)].count(False) == 1
    assert "**broken**" in outcomes(render(study))


def test_a_promise_about_company_that_is_broken_is_shown_as_broken() -> None:
    study = replace(good_study(), wider=(answer_of(0.05),))

    assert [claim.holds for claim in claims(study)].count(False) == 1


def test_the_known_limit_of_the_rule_is_shown_and_promises_nothing() -> None:
    limit = replace(answer_of(0.12), question=QUESTIONS[-1])
    study = replace(good_study(), wider=(answer_of(0.012), limit))

    assert all(claim.holds for claim in claims(study))
    assert "| 12.0 / 5.5 |" in render(study)


def test_a_promise_that_chance_may_have_missed_says_by_how_much() -> None:
    study = replace(good_study(), nulls=(rates_of(NULLS[0].name, 0.025, 0.06),))

    assert "holds (1.0 standard errors)" in outcomes(render(study))


def test_the_committed_page_breaks_no_promise() -> None:
    assert "**broken**" not in outcomes(PAGE.read_text())


def outcomes(page: str) -> str:
    """The table of promises."""
    return page.split("## What is promised")[1].split("\n## ", maxsplit=1)[0].split("| promise")[1]
