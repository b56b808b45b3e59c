"""A policy is added in one place: every reader of the registry shows a fourth one that is passed to it."""

import shutil
from functools import partial
from pathlib import Path

import msgspec
import numpy as np
import pytest
from scripts.schemas import schema_files

from outweigh.app.choose_policy import PolicyRequest, choose_policy
from outweigh.cli.arguments import Parser
from outweigh.cli.reading_options import add_policy_options
from outweigh.compare.comparison import Comparison
from outweigh.engine.load_suite import load_suite
from outweigh.errors import UsageError
from outweigh.report.render_text import TextReporter
from outweigh.report.self_check_page import self_check_report
from outweigh.store.store_set import StoreSet
from outweigh.testing.builders import evidence_of, runs_of_arm
from outweigh.verdict.configured_policy import ConfiguredPolicy, Policy, PolicyArguments, PolicyOpinion
from outweigh.verdict.decision import Decision, PolicySource
from outweigh.verdict.gates_policy import decide_by_gates
from outweigh.verdict.policy import POLICIES, check_policy
from outweigh.verdict.self_check import configure_all, self_check

DEMO = Path(__file__).resolve().parents[2] / "examples" / "demo"


def cautious(arguments: PolicyArguments) -> ConfiguredPolicy:
    if arguments.margins:
        raise UsageError("policy cautious has no margins.")
    return ConfiguredPolicy(
        name="cautious",
        decide=lambda comparisons: tuple(map(decide_by_gates, comparisons)),
        opinion=neutral,
    )


def neutral(_: Comparison) -> PolicyOpinion:
    return PolicyOpinion(decision=Decision.NEUTRAL, obstacle=None)


FOUR = {**POLICIES, "cautious": Policy(name="cautious", infers=False, configure=cautious)}


def test_a_suite_may_name_every_policy_of_the_registry_and_no_other(tmp_path: Path) -> None:
    shutil.copytree(DEMO, tmp_path, dirs_exist_ok=True)
    with (tmp_path / "suite.toml").open("a") as suite:
        suite.write('\n[policy]\nname = "cautious"\n')

    assert load_suite(tmp_path, check_policy=partial(check_policy, policies=FOUR)).spec.policy.name == "cautious"
    with pytest.raises(
        UsageError, match=r"\[policy\] there is no policy 'cautious'; choose one of evidence, gates, comp"
    ):
        load_suite(tmp_path, check_policy=check_policy)


def test_the_arguments_of_a_suite_are_checked_by_the_policy_it_names(tmp_path: Path) -> None:
    shutil.copytree(DEMO, tmp_path, dirs_exist_ok=True)
    with (tmp_path / "suite.toml").open("a") as suite:
        suite.write('\n[policy]\nname = "cautious"\nmargins = { cost = 0.1 }\n')

    with pytest.raises(UsageError, match=r"suite\.toml:\d+:1: \[policy\] policy cautious has no margins"):
        load_suite(tmp_path, check_policy=partial(check_policy, policies=FOUR))


def test_the_command_line_offers_every_policy_of_the_registry() -> None:
    parser = Parser(prog="outweigh verdict", description="Decide.", examples=())
    add_policy_options(parser, FOUR)

    assert parser.parse_args(["--policy", "cautious"]).policy == "cautious"
    assert f"{{{','.join(FOUR)}}}" in parser.format_help()


def test_what_the_command_line_names_is_what_decides() -> None:
    chosen = choose_policy(StoreSet.open([]), PolicyRequest(policy="cautious"), FOUR)

    assert chosen.name == "cautious"


def test_the_self_check_asks_every_policy_and_shows_its_row_and_its_conclusion() -> None:
    evidence = evidence_of(runs_of_arm("a", [[True, False, True, False]] * 6))

    check = self_check(evidence, ["a"], 10, np.random.default_rng(0), configure_all(policies=FOUR))
    page = TextReporter(colour=False).render(self_check_report(check, 0, "evidence", PolicySource.DEFAULT))

    assert list(check.tallies) == [*POLICIES, "cautious"]
    assert check.tallies["cautious"].share(Decision.NEUTRAL) == 1.0
    assert "cautious raises a false alarm in 0 % of the splits" in page


@pytest.mark.parametrize("name", ["suite", "experiment"])
def test_the_schemas_allow_every_policy_of_the_registry_and_no_other(name: str) -> None:
    for policies in (POLICIES, FOUR):
        content = schema_files(Path(), policies)[Path("schemas") / f"{name}.schema.json"]
        schema = msgspec.json.decode(content)
        assert schema["$defs"]["PolicySpec"]["properties"]["name"]["enum"] == sorted(policies)
