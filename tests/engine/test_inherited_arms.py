"""Claims about suites whose arms inherit the best of lower tiers, before anything is run."""

from pathlib import Path
from typing import Any

import pytest
from tests.engine.engine_fixtures import write_suite

from outweigh.engine.inherited_arms import describe_inheritance, join_names, load_inheriting_arm
from outweigh.engine.load_suite import LoadedSuite, load_suite, repeats_by_arm
from outweigh.errors import UsageError
from outweigh.verdict.policy import check_policy

BASE = {"agent": "noop", "tier": 0, "environment": {"A": "0"}}
ONE = {"agent": "noop", "tier": 1, "environment": {"A": "1"}, "flags": ["-x"]}
BEST = {"best_of": [0, 1]}


def load(folder: Path, settings: dict[str, Any] | None = None, **arms: Any) -> LoadedSuite:
    suite = write_suite(folder / "suite", {"base": BASE, "one": ONE, **arms}, **(settings or {}))
    return load_suite(suite, check_policy=check_policy)


def two(**more: Any) -> dict[str, Any]:
    return {"tier": 2, "inherit": BEST, "environment": {"B": "2"}, **more}


def test_an_inheriting_arm_is_not_an_arm_before_the_choice(tmp_path: Path) -> None:
    suite = load(tmp_path, two=two())
    assert list(suite.arms) == ["base", "one"]
    assert suite.inheriting == {"two": 2}


def test_it_is_built_as_if_it_extended_the_chosen_arm(tmp_path: Path) -> None:
    suite = load(tmp_path, two=two(), twin={**ONE, "tier": 3, "environment": {"A": "1", "B": "2"}})
    assert suite.arm_files is not None
    spec, arm = load_inheriting_arm("two", "one", suite.spec, suite.arm_files)
    assert (arm.name, arm.tier, arm.agent) == ("two", 2, "noop")
    assert arm.fingerprint == suite.arms["twin"].fingerprint
    assert spec.arms["two"].inherit == suite.spec.arms["two"].inherit


def test_what_it_extends_itself_goes_over_what_it_inherits(tmp_path: Path) -> None:
    common = {"agent": "noop", "environment": {"A": "common", "C": "3"}}
    suite = load(tmp_path, common=common, two=two(extends="common"))
    assert suite.arm_files is not None
    _, arm = load_inheriting_arm("two", "one", suite.spec, suite.arm_files)
    assert arm.environment == {"A": "common", "B": "2", "C": "3"}
    assert arm.flags == ("-x",)


def test_a_chain_is_built_link_by_link(tmp_path: Path) -> None:
    three = {"tier": 3, "inherit": {"best_of": [2]}, "environment": {"C": "3"}}
    suite = load(tmp_path, two=two(), three=three)
    assert suite.arm_files is not None
    spec, _ = load_inheriting_arm("two", "one", suite.spec, suite.arm_files)
    _, arm = load_inheriting_arm("three", "two", spec, suite.arm_files)
    assert arm.environment == {"A": "1", "B": "2", "C": "3"}


def test_the_fingerprints_of_other_arms_are_what_they_are_without_inheritance(tmp_path: Path) -> None:
    alone = load(tmp_path / "alone")
    beside = load(tmp_path / "beside", two=two())
    assert {name: arm.fingerprint for name, arm in alone.arms.items()} == {
        name: arm.fingerprint for name, arm in beside.arms.items()
    }


def refusal(folder: Path, settings: dict[str, Any] | None = None, **arms: Any) -> str:
    with pytest.raises(UsageError) as refused:
        load(folder, settings, **arms)
    return str(refused.value)


@pytest.mark.parametrize(
    ("arm", "words"),
    [
        (two(inherit={"best_of": [0, 2]}), "arms.two.inherit.best_of names tier 2, and the arm itself is of tier 2"),
        (two(inherit={"best_of": [7]}), "arms.two.inherit.best_of names tier 7, and the arm itself is of tier 2"),
        (two(tier=9, inherit={"best_of": [7]}), "names tier 7, which no arm has; the tiers are 0, 1, 9"),
        (two(tier=None), "arms.two.inherit needs a tier: write tier = 2"),
        (two(agent="oracle"), "arms.two.inherit: the arm has the agent oracle, and 'base'"),
        (two(inherit={**BEST, "by": "median-judge"}), 'inherit.by is "median-judge", and the suite has no [[judges]]'),
        (two(same_as="one"), "arms.two.inherit: an arm with same_as"),
        (two(skills=["no-such-skill"]), "skills"),
    ],
)
def test_what_could_not_be_chosen_or_built_is_refused_before_the_first_run(
    tmp_path: Path, arm: dict[str, Any], words: str
) -> None:
    said = refusal(tmp_path, two={key: value for key, value in arm.items() if value is not None})
    assert words in said
    assert "suite.toml" in said


def test_an_arm_that_extends_one_with_another_agent_than_the_arms_it_inherits_from_is_refused(tmp_path: Path) -> None:
    said = refusal(tmp_path, other={"agent": "oracle"}, two=two(extends="other"))
    assert "the arm has the agent oracle, and 'base', which it may be built on, has noop" in said


def test_the_baseline_cannot_inherit(tmp_path: Path) -> None:
    assert "baseline is 'two', which inherits" in refusal(tmp_path, {"baseline": "two"}, two=two())


def test_an_inheriting_arm_cannot_be_extended(tmp_path: Path) -> None:
    said = refusal(tmp_path, two=two(), three={"extends": "two", "agent": "noop", "flags": ["-y"]})
    assert "arms.three.extends is 'two', which inherits the best arm of lower tiers" in said


def test_two_arms_that_inherit_the_same_and_add_the_same_are_refused(tmp_path: Path) -> None:
    assert "arms 'two' and 'twin' are the same in everything but their names" in refusal(
        tmp_path, two=two(), twin=two()
    )


def test_an_arm_may_add_nothing_to_what_it_inherits(tmp_path: Path) -> None:
    assert load(tmp_path, two=two(environment={})).inheriting == {"two": 2}


def test_harbor_cannot_run_arms_that_inherit(tmp_path: Path) -> None:
    assert "Harbor runs all arms at once" in refusal(tmp_path, {"executor": "harbor"}, two=two())


def test_arms_that_ask_for_the_same_are_described_together(tmp_path: Path) -> None:
    suite = load(tmp_path, two=two(), other=two(environment={"C": "3"}), three=two(tier=3, inherit={"best_of": [2]}))
    said = list(describe_inheritance(suite.inheriting, suite.spec))
    assert len(said) == 2
    assert said[0].startswith("two and other are built on the best arm of tier 0 and 1 by evidence ('base', 'one').")
    assert said[1].startswith("three is built on the best arm of tier 2")


def test_many_names_are_counted() -> None:
    assert join_names(["a"]) == "a"
    assert join_names(["a", "b"]) == "a and b"
    assert join_names(list("abcdefgh")) == "a, b, c, d, e and 3 more"


class TestRepeats:
    def test_a_tier_has_repeats_of_its_own(self, tmp_path: Path) -> None:
        suite = load(tmp_path, {"repeats": 4, "tiers": {"1": {"repeats": 2}}}, two=two())
        assert repeats_by_arm(suite) == {"base": 4, "one": 2, "two": 4}

    def test_a_request_goes_over_those_of_tiers(self, tmp_path: Path) -> None:
        suite = load(tmp_path, {"repeats": 4, "tiers": {"1": {"repeats": 2}}})
        assert repeats_by_arm(suite, 3) == {"base": 3, "one": 3}
