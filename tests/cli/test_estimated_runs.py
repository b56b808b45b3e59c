"""Runs with an estimated bill are marked as such wherever a person or a program reads about them."""

import csv
from pathlib import Path
from random import Random
from typing import Any

import msgspec
import pytest
from tests.cli.stores import write_store
from tests.web.page_reader import Reader

from outweigh.engine.budget import Budget
from outweigh.model.run_record import RunRecord, amount_paid, most_paid
from outweigh.model.suite import PolicySpec
from outweigh.model.usage import Cost, CostProvenance, Metering, Usage, UsageRange
from outweigh.testing.builders import a_run


def tokens(output: int) -> Usage:
    return Usage(input_tokens=1000, output_tokens=output, cache_read_tokens=0, cache_write_tokens=0)


def a_stopped_run(task: str, arm: str, repeat: int) -> RunRecord:
    metering = Metering(
        requests=4,
        failed_requests=0,
        models={"model": tokens(500)},
        time_to_first_token_seconds=None,
        model_seconds=9.0,
        estimated={"model": UsageRange(requests=1, low=tokens(400), high=tokens(3000))},
    )
    cost = Cost(usd=0.12, provenance=CostProvenance.METERED, price_table="list", low_usd=0.11, high_usd=0.31)
    return a_run(task, arm, repeat, passed=False, usage=tokens(500), cost=cost, metering=metering)


@pytest.fixture
def store(tmp_path: Path) -> str:
    """Eight tasks, three repeats; the candidate's first run of every task was stopped."""
    metered = Cost(usd=0.12, provenance=CostProvenance.METERED, price_table="list")
    runs = [
        a_stopped_run(f"task-{task}", arm, repeat)
        if (arm, repeat) == ("new", 1)
        else a_run(f"task-{task}", arm, repeat, passed=(task + repeat) % 3 > 0, usage=tokens(500), cost=metered)
        for task in range(8)
        for arm in ("old", "new")
        for repeat in (1, 2, 3)
    ]
    return write_store(tmp_path / "store", runs, ["old", "new"])


def test_the_verdict_says_how_many_runs_are_estimated(outweigh: Any, store: str) -> None:
    shown = outweigh("verdict", store, "--format", "json").json()

    assert any("the tokens of 8 of 24 runs of new are estimated" in warning for warning in shown["warnings"])


def test_where_only_an_end_could_turn_the_decision_no_more_tasks_are_asked_for(outweigh: Any, tmp_path: Path) -> None:
    dice = Random(2)
    runs = [
        a_stopped_run(f"task-{task}", arm, repeat)
        if (arm, repeat) == ("new", 1)
        else a_run(
            f"task-{task}",
            arm,
            repeat,
            passed=dice.random() < (0.9 if arm == "new" else 0.4),
            usage=tokens(int(500 * size)),
            duration_seconds=60 * size,
            cost=Cost(usd=0.12 * size, provenance=CostProvenance.METERED, price_table="list"),
        )
        for task in range(12)
        for arm, factor in (("old", 1.0), ("new", 0.7))
        for repeat in range(1, 6)
        for size in [factor * dice.lognormvariate(0, 0.2)]
    ]
    store = write_store(tmp_path / "store", runs, ["old", "new"], policy=PolicySpec(version=2))

    shown = outweigh("verdict", store)

    assert shown.out.startswith("INCONCLUSIVE")
    assert "estimated values could change the decision" in shown.out
    assert "more task" not in shown.out
    assert "decide without non-cache tokens and cost, which some runs only estimate" in shown.out
    assert "--gates pass_rate,duration" in shown.out
    assert outweigh("verdict", store, "--gates", "pass_rate,duration").out.startswith("IMPROVED")


def test_the_comparison_has_the_ends_of_the_total(outweigh: Any, store: str) -> None:
    arms = outweigh("compare", store, "--format", "json").json()["arms"]

    assert (arms["old"]["estimated_costs"], arms["new"]["estimated_costs"]) == (0, 8)
    assert arms["old"]["total_cost_low_usd"] == arms["old"]["total_cost_high_usd"] == pytest.approx(24 * 0.12)
    assert arms["new"]["total_cost_usd"] == pytest.approx(24 * 0.12)
    assert arms["new"]["total_cost_low_usd"] == pytest.approx(16 * 0.12 + 8 * 0.11)
    assert arms["new"]["total_cost_high_usd"] == pytest.approx(16 * 0.12 + 8 * 0.31)


def test_tables_for_people_say_how_many_runs_are_estimated(outweigh: Any, store: str) -> None:
    compared, overview = outweigh("compare", store, "--verbose").out, outweigh("store", "show", store)

    assert "24, 8 estimated" in compared
    assert "$2.88 metered, 8 of 24 attempts estimated" in overview.out
    arms = outweigh("store", "show", store, "--format", "json").json()["arms"]
    assert [arms[name]["attempts_with_estimated_cost"] for name in ("old", "new")] == [0, 8]


def test_the_report_shows_about_how_much_and_its_range(outweigh: Any, store: str, tmp_path: Path) -> None:
    page = tmp_path / "report.html"
    outweigh("report", store, "-o", str(page))
    shown = page.read_text()

    assert "about $0.12 ($0.11 to $0.31)" in shown
    assert "about 1,500 (1,400 to 4,000)" in shown
    assert "about $2.88 ($2.80 to $4.40)" in shown


def test_the_table_of_runs_has_the_ends(outweigh: Any, store: str, tmp_path: Path) -> None:
    table = tmp_path / "runs.csv"
    outweigh("store", "export", store, "-o", str(table))
    rows = list(csv.DictReader(table.read_text().splitlines()))

    ends = {(row["cost_low_usd"], row["cost_high_usd"]) for row in rows if row["arm"] == "new" and row["repeat"] == "1"}
    assert ends == {("0.11", "0.31")}
    assert {row["cost_low_usd"] for row in rows if row["arm"] == "old"} == {""}


def test_the_viewer_marks_an_estimated_run(store: str) -> None:
    reader = Reader(Path(store))

    listed = reader.ask(reader.store("/runs")).text
    page = reader.ask(reader.store("/run") + "?run=task-0/new/1").text

    assert "about $0.12" in listed
    assert "about 1,500" in listed
    assert "about $0.12 ($0.11 to $0.31), metered and in part estimated" in page
    assert "about 1,500 (1,400 to 4,000)" in page


def test_two_runs_side_by_side_show_what_is_estimated(outweigh: Any, store: str) -> None:
    shown = outweigh("diff", store, "task-0/old/1", "task-0/new/1").out

    assert "about $0.12 ($0.11 to $0.31)" in shown
    assert "about 1,500 (1,400 to 4,000)" in shown


def test_a_budget_counts_the_most_that_an_estimated_run_may_have_cost() -> None:
    stopped, plain = a_stopped_run("task", "new", 1), a_run()

    assert (amount_paid(stopped), most_paid(stopped)) == (0.12, 0.31)
    assert most_paid(plain) == amount_paid(plain)
    assert Budget(0.5, 0.2, [amount_paid(stopped)]).reserve()
    assert not Budget(0.5, 0.2, [most_paid(stopped)]).reserve()


def test_the_viewer_says_about_how_much_was_spent(store: str) -> None:
    reader = Reader(Path(store).parent)

    live = msgspec.json.decode(reader.ask(reader.store("/live")).text)
    page = reader.decided(reader.store("")).text

    assert live["spent"] == "about $5.76"
    assert ">about $2.88<" in page
    assert ">$2.88<" in page, "nothing of the other arm is estimated"


def test_the_ladder_says_about_how_much_a_tier_costs(outweigh: Any, store: str) -> None:
    shown = outweigh("ladder", store, "--order", "old,new")
    tiers = outweigh("ladder", store, "--order", "old,new", "--format", "json").json()["tiers"]

    whole = outweigh("ladder", store, "--order", "old,new", "--verbose").out.partition("Arms (uplift")[2]

    for printed, cost in ((shown.out, "about $0.29"), (whole, "about $0.12")):
        old, new = (next(line for line in printed.splitlines() if name in line) for name in ("0. old", "1. new"))
        assert cost in new
        assert "about" not in old
    assert [tier["estimated_costs"] for tier in tiers] == [0, 8]
