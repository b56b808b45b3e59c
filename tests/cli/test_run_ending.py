"""The last words of `outweigh run`: what there is, what it came to, and a command that can be typed as it stands."""

import shlex
from pathlib import Path
from typing import Any

import pytest
from tests.engine.engine_fixtures import MISSING_PROGRAM, shell, write_suite

ONE_CENT = """printf '{"cost_usd": 0.01}' >"$OUTWEIGH_USAGE"; echo 42 >answer.txt"""
ARMS = {"plain": shell(ONE_CENT), "new": shell(f": new; {ONE_CENT}")}


@pytest.fixture
def suite(tmp_path: Path) -> str:
    return str(write_suite(tmp_path / "suite", ARMS, tasks=2, repeats=2))


@pytest.fixture
def store(tmp_path: Path) -> str:
    return str(tmp_path / "a store")


def commands(said: str) -> list[list[str]]:
    return [shlex.split(line.removeprefix("next: ")) for line in said.splitlines() if line.startswith("next: ")]


def test_what_to_type_next_works_as_it_stands(outweigh: Any, suite: str, store: str) -> None:
    ended = outweigh("run", "-c", suite, "-o", store)

    verdict, report = commands(ended.err)

    assert (verdict[:2], report[:2]) == (["outweigh", "verdict"], ["outweigh", "report"])
    assert "new against plain" in outweigh(*verdict[1:]).out
    assert outweigh(*report[1:]).code == 0
    assert Path(store, "report.html").exists()


def test_an_experiment_that_goes_on_counts_what_was_there(outweigh: Any, suite: str, store: str) -> None:
    outweigh("run", "-c", suite, "-o", store, "-k", "1")
    resumed = outweigh("run", "-c", suite, "-o", store)
    idle = outweigh("run", "-c", suite, "-o", store)

    assert "4 of 8 trials have a result already" in resumed.err
    assert "done: 8 of 8 trials have a result, $0.04 spent now, $0.08 in this store\n" in resumed.err
    assert "8 of 8 trials have a result already" in idle.err
    assert "done: 8 of 8 trials have a result, nothing spent now, $0.08 in this store\n" in idle.err


def test_fewer_repeats_than_the_store_has_are_counted_as_asked(outweigh: Any, suite: str, store: str) -> None:
    outweigh("run", "-c", suite, "-o", store)
    fewer = outweigh("run", "-c", suite, "-o", store, "-k", "1")

    assert "done: 4 of 4 trials have a result, nothing spent now, $0.08 in this store\n" in fewer.err


def test_nothing_to_compare_is_not_offered(outweigh: Any, suite: str, store: str) -> None:
    poor = outweigh("run", "-c", suite, "-o", store, "--budget", "0.01", "-j", "1")

    assert "budget: 1 of 8 trials have a result" in poor.err
    assert commands(poor.err) == []


def test_a_cost_that_nobody_told_is_unknown_and_not_zero_dollars(outweigh: Any, tmp_path: Path, store: str) -> None:
    silent = shell("echo 42 >answer.txt")
    both, one = {"plain": silent, "new": shell(": new")}, {"plain": silent, "new": ARMS["new"]}

    nobody = outweigh("run", "-c", str(write_suite(tmp_path / "s1", both, tasks=2, repeats=1)), "-o", store)
    half = outweigh("run", "-c", str(write_suite(tmp_path / "s2", one, tasks=2, repeats=1)), "-o", f"{store} 2")

    assert "done: 4 of 4 trials have a result, 4 attempts have an unknown cost\n" in nobody.err
    assert "done: 4 of 4 trials have a result, $0.02 spent, and 2 attempts have an unknown cost\n" in half.err


def test_trials_without_a_result_are_told_with_the_arm_and_the_reason(
    outweigh: Any, tmp_path: Path, store: str
) -> None:
    arms = {"plain": ARMS["plain"], "new": MISSING_PROGRAM}
    suite = write_suite(tmp_path / "broken", arms, tasks=2, repeats=1, limits={"retries": 0})

    ended = outweigh("run", "-c", str(suite), "-o", store)

    assert "incomplete: 2 of 4 trials have a result" in ended.err
    assert "no result: new, 2 trials: infra_error, " in ended.err
