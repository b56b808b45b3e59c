"""Designs become ordinary arms: which, under which names, how many, and what is said about them."""

from collections.abc import Iterable
from itertools import combinations

import numpy as np
import pytest

from outweigh.engine.expand_designs import ExpandedSuite, expand_designs
from outweigh.errors import UsageError
from outweigh.model.parse import parse_suite

BASE = '[arms.plain]\nagent = "noop"\n'


def expand(parts: Iterable[str], *designs: str, arms: str = BASE, baseline: str = "plain") -> ExpandedSuite:
    tables = "".join(f'[parts.{part}]\ninstructions = "{part}"\n' for part in parts)
    listed = "".join(f"[[designs]]\n{design}\n" for design in designs)
    text = f'name = "s"\ntasks = ["t"]\nbaseline = "{baseline}"\n{arms}{tables}{listed}'
    return expand_designs(parse_suite(text.encode(), "suite.toml"), "suite.toml")


def made(suite: ExpandedSuite) -> dict[str, str]:
    return {name: " ".join(suite.spec.arms[name].parts) for name in suite.made}


def complaint(parts: Iterable[str], design: str, **more: str) -> str:
    with pytest.raises(UsageError) as raised:
        expand(parts, design, **more)
    return str(raised.value).removeprefix("suite.toml: ")


LEAVE_ONE_OUT, ADD_ONE, FACTORIAL = (f'kind = "{kind}"' for kind in ("leave-one-out", "add-one", "factorial"))


class TestLeaveOneOut:
    """All parts, and all but one."""

    def test_is_compared_with_the_arm_that_has_all_parts(self) -> None:
        suite = expand("abc", LEAVE_ONE_OUT)
        assert made(suite) == {"all-parts": "a b c", "without-a": "b c", "without-b": "a c", "without-c": "a b"}
        assert suite.spec.baseline == "all-parts"
        assert suite.notes == (
            "the baseline is all-parts, the arm with all parts, because a leave-one-out design compares with it; "
            "plain, which the suite names, is a candidate.",
        )
        design = suite.designs[0]
        assert (design.full, design.bare, design.arm) == ("all-parts", "plain", "plain")
        assert design.arms == ("all-parts", "without-a", "without-b", "without-c")

    def test_leaves_parts_out_of_the_arm_that_has_them_all(self) -> None:
        suite = expand("abc", LEAVE_ONE_OUT, arms=BASE + 'parts = ["c", "b", "a"]\n')
        assert made(suite) == {"without-a": "b c", "without-b": "a c", "without-c": "a b"}
        assert (suite.spec.baseline, suite.notes, suite.designs[0].full) == ("plain", (), "plain")
        assert suite.designs[0].bare is None

    def test_may_be_named_as_the_baseline(self) -> None:
        suite = expand("ab", LEAVE_ONE_OUT, baseline="all-parts")
        assert (suite.spec.baseline, suite.notes) == ("all-parts", ())

    def test_keeps_the_baseline_that_an_add_one_design_compares_with(self) -> None:
        suite = expand("ab", LEAVE_ONE_OUT, ADD_ONE)
        assert (suite.spec.baseline, list(made(suite))) == (
            "plain",
            ["all-parts", "without-a", "without-b"],  # with two parts, each arm without one is the one with the other
        )
        assert suite.designs[1].arms == ("plain", "without-b", "without-a")

    def test_keeps_parts_of_its_arm_that_it_does_not_vary(self) -> None:
        suite = expand("abc", LEAVE_ONE_OUT + '\nparts = ["c", "a"]', arms=BASE + 'parts = ["b"]\n')
        assert made(suite) == {"all-parts": "a b c", "without-a": "b c", "without-c": "a b"}


def test_add_one_adds_each_part_to_the_arm_it_names() -> None:
    suite = expand("ab", ADD_ONE + '\narm = "other"', arms=BASE + '[arms.other]\nagent = "noop"\nmodel = "m"\n')
    assert made(suite) == {"with-a": "a", "with-b": "b"}
    assert suite.spec.arms["with-a"].model == "m"
    assert suite.spec.baseline == "plain"


def test_a_factorial_design_has_every_combination_once() -> None:
    suite = expand("abc", FACTORIAL)
    assert sorted(made(suite).values()) == ["a", "a b", "a b c", "a c", "b", "b c", "c"]
    assert made(suite)["all-parts"] == "a b c"
    assert list(made(suite))[:2] == ["part-set-02", "part-set-03"]
    assert suite.designs[0].arms[0] == "plain"


def test_a_fractional_design_states_its_generators_relation_resolution_and_aliases() -> None:
    suite = expand("abcde", 'kind = "fractional"\narms = 8')
    assert suite.notes == (
        "the fractional design has 8 of 32 combinations of 5 parts, resolution III. Generators: d = a×b, e = a×c. "
        "Defining relation: I = a×b×d = a×c×e = b×c×d×e. Effects that no arm tells apart: a = b×d = c×e; b = a×d; "
        "c = a×e; d = a×b; e = a×c; b×c = d×e; b×e = c×d. Interactions of three or more parts are not listed.",
    )
    assert suite.designs[0].generators == {"d": ("a", "b"), "e": ("a", "c")}
    assert len(suite.designs[0].arms) == 8


def test_a_fractional_design_without_a_number_keeps_main_effects_clear() -> None:
    suite = expand("abcde", 'kind = "fractional"')
    assert len(suite.designs[0].arms) == 16
    assert "resolution V." in suite.notes[0]
    assert "No main effect and no two-way interaction is mixed with another." in suite.notes[0]


def screen_matrix(suite: ExpandedSuite, parts: str) -> np.ndarray:
    arms = [set(suite.spec.arms[name].parts) for name in suite.designs[0].arms]
    return np.array([[1 if part in held else -1 for part in parts] for held in arms])


def test_a_screen_is_a_plackett_burman_design_on_its_own_model_with_its_own_repeats() -> None:
    suite = expand("abcdefgh", 'kind = "screen"\nmodel = "cheap"\nrepeats = 2\nshortlist = 3')
    matrix = screen_matrix(suite, "abcdefgh")
    assert np.array_equal(matrix.T @ matrix, 12 * np.eye(8, dtype=int))
    assert list(suite.made) == [f"screen-{number:02}" for number in range(1, 13)]
    assert {suite.spec.arms[name].model for name in suite.made} == {"cheap"}
    assert suite.repeats == dict.fromkeys(suite.made, 2)
    assert (suite.designs[0].bare, suite.designs[0].shortlist) == ("screen-12", 3)
    assert suite.notes[0].startswith("the screen of 8 parts is a Plackett–Burman design: ")


def test_a_screen_shares_no_arm_because_what_chooses_parts_does_not_judge_them() -> None:
    suite = expand("abc", 'kind = "screen"\nrepeats = 2', LEAVE_ONE_OUT)
    screen, confirmed = suite.designs
    assert screen.arms == ("screen-01", "screen-02", "screen-03", "screen-04")
    assert (screen.full, screen.bare, confirmed.bare) == (None, "screen-04", "plain")
    assert confirmed.arms == ("all-parts", "without-a", "without-b", "without-c")
    assert suite.spec.arms["screen-04"].same_as == "plain"
    twins = {suite.spec.arms[name].same_as for name in confirmed.arms[1:]}
    assert twins == {"screen-01", "screen-02", "screen-03"}
    assert suite.repeats == dict.fromkeys(screen.arms, 2)
    assert suite.spec.baseline == "plain"  # as when the screen was run


def test_a_screen_is_folded_over_or_supersaturated_as_its_arms_allow() -> None:
    folded = expand("abcde", 'kind = "screen"\narms = 17')
    matrix = screen_matrix(folded, "abcde")
    assert len(matrix) == 16
    assert not any(matrix[:, a] @ (matrix[:, b] * matrix[:, c]) for a, b, c in combinations(range(5), 3))
    assert "folded over" in folded.notes[0]
    parts = "abcdefghij"
    few = expand(parts, 'kind = "screen"\narms = 9\nmodel = "m"')
    assert screen_matrix(few, parts).shape == (8, 10)
    assert "supersaturated design: 8 arms are fewer than it takes to estimate 10 parts" in few.notes[0]


def test_which_part_is_where_in_a_screen_depends_on_the_seed_alone() -> None:
    one, other = (made(expand("abcdefg", 'kind = "screen"\nmodel = "m"')) for _ in range(2))
    assert one == other
    parts = "".join(f'[parts.{part}]\ninstructions = "{part}"\n' for part in "abcdefg")
    head = 'name = "s"\ntasks = ["t"]\nbaseline = "plain"\nseed = 5\n'
    text = f'{head}{BASE}{parts}[[designs]]\nkind = "screen"\nmodel = "m"'
    assert made(expand_designs(parse_suite(text.encode(), "s"), "s")) != one


def test_designs_share_arms_and_the_larger_repeats() -> None:
    suite = expand("abc", LEAVE_ONE_OUT + "\nrepeats = 2", FACTORIAL + "\nrepeats = 4")
    assert len(suite.made) == 7
    assert suite.repeats == dict.fromkeys(suite.made, 4)
    usual = expand("abc", LEAVE_ONE_OUT + "\nrepeats = 2", FACTORIAL)
    assert usual.repeats == {}


def test_an_arm_of_another_design_gets_a_name_of_its_own() -> None:
    arms = BASE + '[arms.other]\nagent = "noop"\nmodel = "m"\n'
    suite = expand("ab", ADD_ONE, ADD_ONE + '\narm = "other"', arms=arms)
    assert list(suite.made) == ["with-a", "with-b", "with-a-2", "with-b-2"]
    assert [design.arms for design in suite.designs] == [
        ("plain", "with-a", "with-b"),
        ("other", "with-a-2", "with-b-2"),
    ]


def test_a_suite_without_designs_is_left_as_it_is() -> None:
    spec = parse_suite(
        f'name = "s"\ntasks = ["t"]\nbaseline = "plain"\n{BASE}[arms.b]\nextends = "plain"'.encode(), "s"
    )
    assert expand_designs(spec, "s") == ExpandedSuite(spec=spec)


@pytest.mark.parametrize(
    ("count", "design", "told"),
    [
        (
            12,
            FACTORIAL,
            "designs: the factorial design of 12 parts has 4,096 arms, and at most 64 are made unless `arms` allows "
            "more. Use a fractional design or a screen; the smallest screen has 16 arms.",
        ),
        (3, FACTORIAL + "\narms = 7", "designs: the factorial design of 3 parts has 8 arms, and at most 7 are made. "),
        (70, LEAVE_ONE_OUT, "has 71 arms, and at most 64 are made unless `arms` allows more. Use a screen"),
        (2, 'kind = "fractional"', "a fractional design needs at least 3 parts, not 2; use a factorial design."),
        (3, 'kind = "fractional"\narms = 8', "designs.arms: 3 parts have 8 arms in all; use a factorial design."),
        (9, 'kind = "fractional"\narms = 8', "a fractional design of 9 parts needs at least 16 arms"),
        (1, 'kind = "screen"', "a screen needs at least 2 parts; use leave-one-out."),
        (9, 'kind = "screen"\narms = 4', "designs.arms: a supersaturated design needs an even number of arms"),
        (2, ADD_ONE + '\nparts = ["p0", "q"]', "designs.parts names 'q', which is not under [parts]; the parts"),
        (0, ADD_ONE, "designs: a design makes arms of parts, and the suite has none; add tables [parts.NAME]."),
        (2, ADD_ONE + '\narm = "x"', "designs.arm: name the arm that the parts are added to, one of 'plain'; 'x' is"),
    ],
)
def test_a_design_that_cannot_be_made_says_what_to_do(count: int, design: str, told: str) -> None:
    assert told in complaint([f"p{number}" for number in range(count)], design)


def test_a_baseline_that_no_design_makes_is_refused() -> None:
    told = complaint("ab", ADD_ONE, baseline="nothing")
    assert told == "baseline is 'nothing', which is not an arm; the arms are 'plain', 'with-a', 'with-b'."


def test_a_design_on_an_arm_that_is_not_known_before_the_run_is_refused() -> None:
    arms = BASE + '[arms.up]\nagent = "noop"\ninherit = { best_of = [0] }\n'
    assert "'up' is built on the best arm of a tier" in complaint("ab", ADD_ONE + '\narm = "up"', arms=arms)
