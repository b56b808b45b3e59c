"""The verdict in one plain sentence."""

import re
from typing import Any

import pytest
from msgspec.structs import replace
from tests.report.test_verdict_summary import decided
from tests.verdict.two_arms import experiment

from outweigh.model.run_record import AgentKind
from outweigh.report.verdict_sentence import break_even_sentence, effect_sentence
from outweigh.verdict.decision import Gate


def sentence(gain: float, speed: float = 1.0, **settings: Any) -> str:
    return effect_sentence(*decided(experiment(gain, speed=speed), **settings))


def with_effects(**effects: tuple[float, float, float] | None) -> str:
    """The sentence about gates with these effects and intervals; cost and time have no total here."""
    verdict, comparison = decided(experiment(0.0))

    def changed(gate: Gate) -> Gate:
        found = effects.get(gate.name)
        if gate.evidence is None or found is None:
            return replace(gate, evidence=None)
        effect, low, high = found
        return replace(gate, evidence=replace(gate.evidence, effect=effect, low=low, high=high, total=None))

    return effect_sentence(replace(verdict, gates=tuple(map(changed, verdict.gates))), comparison)


def test_it_says_how_much_more_often_for_how_much_more_and_what_a_pass_costs() -> None:
    said = sentence(0.4, 1.15)

    assert re.fullmatch(
        r"new passes \d+ points more often \(\d+ to \d+\) for \d+ % more per run; a pass costs \d+ % less\.", said
    )


def test_the_change_of_the_price_of_a_pass_is_that_of_dollars_over_passes() -> None:
    verdict, comparison = decided(experiment(0.4, speed=1.15))
    before, after = (arm.cost_of_pass_usd.value for arm in (comparison.baseline, comparison.candidate))

    assert before is not None
    assert after is not None
    assert f"a pass costs {100 * (1 - after / before):.0f} % less." in effect_sentence(verdict, comparison)


def test_a_price_of_a_pass_that_noise_explains_is_left_out() -> None:
    assert "a pass costs" not in sentence(0.0)


def test_an_effect_of_unknown_sign_is_a_range() -> None:
    assert with_effects(pass_rate=(0.067, -0.082, 0.216), cost=(0.0, -0.056, 0.058)) == (
        "new passes between 8.2 points less and 22 points more often, for between 5.6 % less and 5.8 % more per run."
    )


@pytest.mark.parametrize(
    ("effects", "said"),
    [
        (
            {"pass_rate": (-0.43, -0.59, -0.28), "cost": (-0.34, -0.38, -0.3)},
            "43 points less often (28 to 59) for 34 %",
        ),
        ({"pass_rate": (0.01, 0.002, 0.018)}, "new passes 1 point more often (0.2 to 1.8)."),
        ({"pass_rate": (0.0, 0.0, 0.0), "cost": (0.0, 0.0, 0.0)}, "new passes equally often for the same per run."),
        ({"pass_rate": (0.3, 0.2, 0.4), "duration": (-0.2, -0.25, -0.15)}, "(20 to 40) in 20 % less time."),
        ({"cost": (0.16, 0.12, 0.2)}, "new costs 16 % more per run (12 to 20)."),
        ({}, ""),
    ],
)
def test_every_pair_of_effects_has_its_words(effects: dict[str, tuple[float, float, float]], said: str) -> None:
    assert said in with_effects(**effects)


def test_other_resources_are_told_of_only_where_no_cost_is_known() -> None:
    told = with_effects(pass_rate=(0.3, 0.2, 0.4), duration=(-0.2, -0.25, -0.15), cost=(0.16, 0.1, 0.2))

    assert "time" not in told
    assert "for 16 % more per run" in told


def test_costs_of_an_agent_that_only_pretends_are_called_simulated() -> None:
    verdict, comparison = decided(experiment(0.3, speed=1.4))
    pretended = replace(comparison, agent_kinds=frozenset({AgentKind.SCRIPTED}))

    assert effect_sentence(verdict, pretended).endswith("(costs are simulated).")
    assert "simulated" not in effect_sentence(verdict, comparison)
    assert break_even_sentence(verdict, pretended) is None


def test_a_trade_off_has_the_price_of_one_more_solved_task() -> None:
    price = break_even_sentence(*decided(experiment(0.3, speed=1.4)))

    assert price is not None
    assert re.fullmatch(r"one more solved task costs \$0\.\d\d \(\$0\.\d+ to \$0\.\d+\)", price)


def test_an_arm_that_never_passes_is_named() -> None:
    verdict, comparison = decided(experiment(0.3))
    never = replace(
        comparison,
        candidate=replace(comparison.candidate, pass_rate=replace(comparison.candidate.pass_rate, value=0.0)),
    )

    assert "; new never passes" in effect_sentence(verdict, never)
