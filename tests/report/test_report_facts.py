"""The facts under the headline: agent, model, tasks and repeats, dates and cost, each known or said to be unknown."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from outweigh.compare.comparison import compare_arms
from outweigh.model.failure import Status
from outweigh.model.run_record import AgentIdentity, AgentKind, RunRecord
from outweigh.model.usage import UNKNOWN_COST, reported_cost
from outweigh.report.report_facts import fact_block
from outweigh.testing.builders import a_run, evidence_of


def runs(arm: str, repeats: int = 3, **fields: Any) -> list[RunRecord]:
    return [a_run(f"task-{task}", arm, repeat, **fields) for task in range(4) for repeat in range(1, repeats + 1)]


def facts(*everything: list[RunRecord] | RunRecord) -> dict[str, str]:
    comparison = compare_arms(evidence_of(*everything), "base", "new")
    return dict(fact_block([comparison], "policy evidence (default)").rows)


def agent(**fields: Any) -> AgentIdentity:
    return AgentIdentity(
        **{"kind": AgentKind.REAL, "name": "claude-code", "version": "2.1", "model": "opus-5", **fields}
    )


def test_agent_and_model_are_named_once_where_both_arms_have_the_same() -> None:
    found = facts(runs("base", agent=agent()), runs("new", agent=agent()))

    assert (found["Agent"], found["Model"]) == ("claude-code 2.1", "opus-5")


def test_different_models_are_all_named_and_no_model_is_unknown() -> None:
    found = facts(runs("base", agent=agent()), runs("new", agent=agent(model="haiku-5")))
    silent = facts(runs("base", agent=agent(model=None)), runs("new", agent=agent(model=None)))

    assert found["Model"] == "opus-5, haiku-5"
    assert silent["Model"] == "unknown"


def test_tasks_repeats_and_runs_are_counted_with_what_was_excluded() -> None:
    broken = a_run("task-0", "new", 3, status=Status.INFRA_ERROR)

    one = facts(a_run("task", "base", 1), a_run("task", "new", 1))
    assert one["Runs"] == "1 task × 1 repeat × 2 arms = 2 runs"
    assert facts(runs("base"), runs("new"))["Runs"] == "4 tasks × 3 repeats × 2 arms = 24 runs"
    assert (
        facts(runs("base"), [run for run in runs("new") if run.run_id != broken.run_id], broken)["Runs"]
        == "4 tasks × 2 to 3 repeats × 2 arms = 23 runs, 1 excluded"
    )


@pytest.mark.parametrize(
    ("days", "shown"),
    [(0, "30 Jan 2026"), (1, "30 to 31 Jan 2026"), (2, "30 Jan 2026 to 1 Feb 2026")],
)
def test_dates_are_days_in_utc(days: int, shown: str) -> None:
    first = datetime(2026, 1, 30, 23, tzinfo=UTC)
    found = facts(runs("base", started_at=first), runs("new", started_at=first + timedelta(days=days)))

    assert found["Dates"] == shown


def test_dates_that_no_run_knows_are_unknown() -> None:
    assert facts(runs("base"), runs("new"))["Dates"] == "unknown"


def test_the_cost_is_what_all_attempts_cost_and_says_what_is_not_known() -> None:
    known, silent = runs("base", cost=reported_cost(0.25)), runs("new", cost=UNKNOWN_COST)

    assert facts(known, runs("new", cost=reported_cost(0.5)))["Cost"] == "$9.00"
    assert facts(known, silent)["Cost"] == "$3.00, and 12 attempts of unknown cost"
    assert facts(runs("base", cost=UNKNOWN_COST), silent)["Cost"] == "unknown"


def test_an_agent_that_only_pretends_has_a_simulated_cost() -> None:
    scripted = agent(kind=AgentKind.SCRIPTED)

    assert facts(runs("base", agent=scripted), runs("new", agent=scripted))["Cost"] == "simulated"
    assert facts(runs("base", agent=scripted), runs("new", agent=agent()))["Cost"] != "simulated"
