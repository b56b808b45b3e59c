"""The demo is the whole flow, for real, and it decides as it says it does."""

import re
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from msgspec.structs import asdict, replace
from tests.cli.engines import records
from tests.cli.stores import write_store

from outweigh.cli.demo import DEMO_SUITE
from outweigh.cli.main import main
from outweigh.model.codec import encode
from outweigh.model.run_record import RunRecord
from outweigh.model.usage import NO_USAGE, UNKNOWN_COST, Metering, Usage, UsageRange
from outweigh.store.experiment_file import read_experiment
from outweigh.testing.builders import a_run


class Shown(NamedTuple):
    store: Path
    code: int


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Shown:
    """Run once for all claims: it takes some seconds."""
    store = tmp_path_factory.mktemp("demo") / "store"
    return Shown(store, main(["demo", "-o", str(store)]))


def test_it_works_and_leaves_a_store(demo: Shown) -> None:
    assert demo.code == 0
    experiment = read_experiment(demo.store)
    assert experiment is not None
    assert (experiment.suite, experiment.baseline) == ("demo", "plain")
    assert len((demo.store / "runs-engine.jsonl").read_bytes().splitlines()) == 240


def test_its_report_is_one_page_with_pictures(demo: Shown) -> None:
    page = (demo.store / "report.html").read_text()

    assert "<svg" in page
    assert "1 of 3 candidates improved on plain" in page


def test_the_improvement_is_seen_the_twin_is_not_and_the_trap_is_caught(outweigh: Any, demo: Shown) -> None:
    verdicts = outweigh("verdict", str(demo.store), "--format", "json").json()["verdicts"]

    decisions = {verdict["candidate"]: verdict["decision"] for verdict in verdicts}
    assert decisions.keys() == {"same", "better", "trap"}
    assert (decisions["better"], decisions["trap"]) == ("improved", "regressed")
    assert decisions["same"] not in ("improved", "regressed")


def stopped(run: RunRecord, ends: tuple[float, float] | None) -> RunRecord:
    """The same run as if its last answer had been stopped: its bill unknown, or between multiples of the truth."""
    if ends is None:
        return replace(run, usage=NO_USAGE, cost=UNKNOWN_COST)
    usd = run.cost.usd or 0.0
    low, high = (Usage(**{kind: round(count * end) for kind, count in asdict(run.usage).items()}) for end in ends)
    metering = Metering(
        requests=1,
        failed_requests=0,
        models={"model": run.usage},
        time_to_first_token_seconds=None,
        model_seconds=1.0,
        estimated={"model": UsageRange(requests=1, low=low, high=high)},
    )
    return replace(run, metering=metering, cost=replace(run.cost, low_usd=usd * ends[0], high_usd=usd * ends[1]))


@pytest.mark.parametrize(
    ("ends", "decision"), [(None, "inconclusive"), ((0.9, 2.0), "improved"), ((0.9, 4.0), "inconclusive")]
)
def test_its_winner_is_decided_with_a_fifth_of_the_runs_stopped_if_their_bill_is_bounded(
    outweigh: Any, demo: Shown, tmp_path: Path, ends: tuple[float, float] | None, decision: str
) -> None:
    # Each arm has 12 stopped runs of 60: the last repeat of every task.
    runs = [stopped(run, ends) if run.trial.repeat == 5 else run for run in records(demo.store)]
    (tmp_path / "runs.jsonl").write_bytes(b"".join(encode(run) + b"\n" for run in runs))
    arms = ("--baseline", "plain", "--candidate", "better")

    verdict = outweigh("verdict", str(tmp_path / "runs.jsonl"), *arms, "--format", "json").json()

    assert verdict["decision"] == decision
    assert ("estimated values" in verdict["reasons"][0]) == (ends == (0.9, 4.0))


def test_a_pretended_agent_earns_no_promotion(outweigh: Any, demo: Shown) -> None:
    verdicts = outweigh("verdict", str(demo.store), "--format", "json").json()["verdicts"]

    assert not any(verdict["may_promote"] for verdict in verdicts)


def test_a_second_demo_repeats_nothing_and_shows_every_command(outweigh: Any, demo: Shown) -> None:
    answer = outweigh("demo", "-o", str(demo.store))

    assert answer.code == 0
    assert "240 of 240 trials have a result already" in answer.err
    assert f"$ outweigh run -c {DEMO_SUITE} -o {demo.store}\n" in answer.out
    assert f"$ outweigh verdict {demo.store}\n1 of 3 candidates improved on plain" in answer.out


def test_all_of_it_is_one_screen_without_dollars_that_nobody_spent(outweigh: Any, demo: Shown) -> None:
    answer = outweigh("demo", "-o", str(demo.store))

    screen = [*answer.out.splitlines(), *answer.err.splitlines()]
    assert len(screen) <= 24
    assert not [line for line in screen if re.search(r"\$\d", line)]
    assert "simulated agent" in answer.out


def test_the_next_command_of_its_verdict_works_when_pasted(outweigh: Any, demo: Shown) -> None:
    shown = outweigh("verdict", str(demo.store)).out.replace("\\\n", "")
    (command,) = [line.split() for line in shown.splitlines() if line.strip().startswith("outweigh ")]

    assert outweigh(*command[1:]).code == 0


def test_it_says_where_its_report_is_instead_of_writing_it_again(outweigh: Any, demo: Shown) -> None:
    shown = "".join(outweigh("demo", "-o", str(demo.store)).out.split())

    assert f"better:open{demo.store}/report.html" in shown
    assert "outweighreport" not in shown


def test_a_plan_from_its_records_has_no_dollars_that_nobody_spent(outweigh: Any, demo: Shown) -> None:
    asked = ("plan", str(demo.store), "--candidate", "better", "--tasks", "10,20", "--repeats", "1,5")

    shown, stated = outweigh(*asked).out, outweigh(*asked, "--run-cost", "2").out

    assert "simulated" in shown
    assert not re.search(r"\$\d", shown)
    assert "$40.00" in stated, "10 tasks × 1 repeat × 2 arms, at a price that the user states"


def test_a_store_of_another_experiment_ends_the_demo_before_it_shows_anything(outweigh: Any, tmp_path: Path) -> None:
    store = write_store(tmp_path / "store", [a_run("task", "other", 1)], ["other"])

    answer = outweigh("demo", "-o", store)

    assert answer.code == 2
    assert "holds another experiment" in answer.err
    assert "$ outweigh verdict" not in answer.out


def test_the_suite_ships_inside_the_package() -> None:
    import outweigh  # noqa: PLC0415 - the name is also a fixture's

    assert (DEMO_SUITE / "suite.toml").is_file()
    assert DEMO_SUITE.is_relative_to(Path(outweigh.__file__).parent)
