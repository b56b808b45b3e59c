"""Profiles of a suite's own: what is refused, and that their weights are part of the rules of a store."""

import pytest
from msgspec.structs import replace

from outweigh.errors import UsageError
from outweigh.model.parse import parse_suite
from outweigh.model.profile import ProfileSpec
from outweigh.model.suite import PolicySpec
from outweigh.store.experiment_file import ExperimentFile, rules_sha256

SUITE = """name = "zebra"
tasks = ["tasks/*"]
baseline = "old"
profile = "{profile}"
[arms.old]
agent = "claude-code"
[arms.new]
agent = "claude-code"
model = "m"
"""


def test_a_profile_of_the_suites_own_is_read() -> None:
    text = SUITE.format(profile="mine") + "[profiles.mine]\nweights = { passed = 0.7, judge_score = 0.3 }\n"
    suite = parse_suite(text.encode(), "suite.toml")

    assert suite.profile == "mine"
    assert suite.profiles["mine"].weights == {"passed": 0.7, "judge_score": 0.3}


@pytest.mark.parametrize(
    ("profile", "table", "said"),
    [
        ("mine", "", 'profile is "mine"; it must be objective_first or even.'),
        ("even", "[profiles.even]\nweights = { passed = 1 }\n", "the name of a built-in profile"),
        ("even", "[profiles.x]\nweights = { passed = 0 }\n", "weights are all 0"),
        ("even", '[profiles.x]\nweights = { passed = 1 }\nrequires = ["objective"]\n', "which has no weight"),
        ("even", "[profiles.x]\nweights = { speed = 1 }\n", "must be one of"),
        ("even", "[profiles.x]\nweights = { passed = -1 }\n", "profiles.x.weights.passed"),
    ],
)
def test_a_profile_that_cannot_weigh_anything_is_refused(profile: str, table: str, said: str) -> None:
    with pytest.raises(UsageError) as refused:
        parse_suite((SUITE.format(profile=profile) + table).encode(), "suite.toml")

    assert said in str(refused.value)


def test_other_weights_under_the_same_name_are_other_rules() -> None:
    experiment = ExperimentFile(
        schema="outweigh.experiment/1",
        suite="zebra",
        baseline="old",
        seed=0,
        profile="mine",
        policy=PolicySpec(),
        arms={},
        tiers={},
        tasks={},
        looked_at=None,
        profiles={"mine": ProfileSpec(weights={"passed": 1.0, "judge_score": 1.0})},
    )
    edited = replace(experiment, profiles={"mine": ProfileSpec(weights={"passed": 9.0, "judge_score": 1.0})})
    unused = replace(experiment, profiles={**experiment.profiles, "other": ProfileSpec(weights={"passed": 1.0})})

    assert rules_sha256(edited) != rules_sha256(experiment) == rules_sha256(unused)
