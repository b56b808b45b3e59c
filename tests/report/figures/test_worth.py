"""The picture of worth: drawn for a gain that costs money, with the break-even value and a text form."""

import pytest
from tests.report.test_verdict_summary import decided
from tests.verdict.two_arms import experiment

from outweigh.report.document import Figure
from outweigh.report.figures.worth import worth_figures


def test_a_gain_that_costs_money_is_drawn_over_the_value_of_a_solved_task() -> None:
    verdict, comparison = decided(experiment(0.3, speed=1.4))

    (figure,) = worth_figures(verdict, comparison)

    assert isinstance(figure, Figure)
    assert figure.text_lines[0] == verdict.break_even.detail
    assert figure.draw().count("<svg") >= 1
    assert "breaks even" in figure.draw()


def test_worth_is_a_loss_before_the_break_even_value_and_a_gain_beyond_it() -> None:
    verdict, comparison = decided(experiment(0.3, speed=1.4))

    (figure,) = worth_figures(verdict, comparison)

    assert isinstance(figure, Figure)
    lines = figure.text_lines[1:]
    assert ": -$" in lines[0]
    assert ": +$" in lines[-1]


@pytest.mark.parametrize(("gain", "speed"), [(0.3, 0.7), (-0.3, 1.4)])
def test_there_is_no_picture_without_a_price_to_pay_for_a_gain(gain: float, speed: float) -> None:
    assert worth_figures(*decided(experiment(gain, speed=speed))) == []
