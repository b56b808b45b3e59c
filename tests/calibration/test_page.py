from dataclasses import replace
from pathlib import Path

from calibration.claims import claims
from calibration.page import render
from calibration.wider import QUESTIONS
from calibration.worlds import NULLS
from tests.calibration.studies import answer_of, good_study, rates_of

PAGE = Path(__file__).resolve().parents[2] / "docs" / "calibration.md"


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
