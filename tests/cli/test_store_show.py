"""`outweigh store show`: one store at a glance, arm by arm."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from tests.cli.stores import write_store
from tests.conftest import Outweigh

from outweigh.model.codec import Record, encode
from outweigh.model.failure import Status
from outweigh.model.run_record import AgentIdentity, AgentKind
from outweigh.model.usage import Cost, CostProvenance
from outweigh.store.arm_versions import ArmVersion
from outweigh.store.store_lock import StoreLock
from outweigh.testing.builders import a_judgment, a_preference, a_run

RECORDED = Path(__file__).resolve().parents[2] / "examples" / "recorded" / "runs.jsonl"
TABLE = Path(__file__).resolve().parents[2] / "examples" / "table"
UNKNOWN = Cost(usd=None, provenance=CostProvenance.UNKNOWN, price_table=None)
JUDGING_COST = Cost(usd=0.25, provenance=CostProvenance.REPORTED, price_table=None)


def costing(usd: float, provenance: CostProvenance = CostProvenance.METERED) -> Cost:
    return Cost(usd=usd, provenance=provenance, price_table=None)


RUNS = [
    a_run("t1", "plain", 1, cost=costing(0.5), started_at=datetime(2026, 11, 1, 10, 0, tzinfo=UTC)),
    a_run("t1", "plain", 2, cost=costing(0.25, CostProvenance.REPORTED), passed=False),
    a_run("t2", "plain", 1, cost=UNKNOWN),
    a_run("t1", "better", 1, cost=costing(1.0), status=Status.INFRA_ERROR, checks=None),
    a_run("t1", "better", 1, cost=costing(2.0), attempt=2, started_at=datetime(2026, 11, 2, 11, 30, tzinfo=UTC)),
    a_run("t2", "better", 1, cost=costing(4.0), status=Status.INFRA_ERROR, checks=None),
]
"""Of eight planned trials: `plain` has three results, `better` one after a retry and a trial that failed to run."""


@pytest.fixture
def store(tmp_path: Path) -> str:
    folder = write_store(tmp_path / "store", RUNS, ("plain", "better"), tasks={"t1": "0", "t2": "0"}, planned_runs=8)
    judged: list[Record] = [
        a_judgment(RUNS[0], cost=JUDGING_COST),
        a_judgment(RUNS[0], cost=JUDGING_COST, pass_index=2),
        a_judgment(RUNS[1], cost=UNKNOWN, invalid_reason="no JSON", criteria=()),
        a_preference(RUNS[0], RUNS[4], first_score=1.0, second_score=2.0, cost=JUDGING_COST),
    ]
    (Path(folder) / "judgments.jsonl").write_bytes(b"".join(encode(each) + b"\n" for each in judged))
    return folder


def arms_of(outweigh: Outweigh, store: str) -> dict[str, Any]:
    arms: dict[str, Any] = outweigh("store", "show", store, "--format", "json").json()["arms"]
    return arms


def test_trials_are_counted_by_arm_and_an_attempt_that_was_made_again_once(outweigh: Outweigh, store: str) -> None:
    arms = arms_of(outweigh, store)

    counted = {name: (arm["done"], arm["missing"], arm["failed"], arm["attempts"]) for name, arm in arms.items()}
    assert counted == {"plain": (3, 1, 0, 3), "better": (1, 2, 1, 3)}


def test_costs_stay_apart_by_source_and_an_unknown_one_is_not_zero(outweigh: Outweigh, store: str) -> None:
    arms, page = arms_of(outweigh, store), outweigh("store", "show", store).out

    assert arms["plain"]["cost_usd"] == {"metered": 0.5, "reported": 0.25}
    assert arms["plain"]["attempts_with_unknown_cost"] == 1
    assert arms["better"]["cost_usd"] == {"metered": 7.0}, "every attempt was paid for"
    assert "$0.50 metered, $0.25 reported, 1 of 3 attempts unknown" in page


def test_judgments_are_counted_by_run_and_an_invalid_one_judges_nothing(outweigh: Outweigh, store: str) -> None:
    plain = arms_of(outweigh, store)["plain"]

    assert (plain["judged"], plain["invalid_judgments"]) == (1, 1)
    assert (plain["judging_usd"], plain["judgments_with_unknown_cost"]) == (0.5, 1)
    assert "1 of 3, 1 invalid" in outweigh("store", "show", store).out


def test_judgments_of_pairs_belong_to_no_arm(outweigh: Outweigh, store: str) -> None:
    answer = outweigh("store", "show", store, "--format", "json").json()

    assert (answer["pair_judgments"], answer["pair_judging_usd"]) == (1, 0.25)
    assert arms_of(outweigh, store)["better"]["judging_usd"] == 0


def test_the_page_says_what_the_store_is_for_and_how_far_it_is(outweigh: Outweigh, store: str) -> None:
    answer = outweigh("store", "show", store)

    assert (answer.code, answer.err) == (0, "")
    assert answer.out.startswith(f"{store}: 4 of 8 trials have a result\n")
    for words in (
        "trial suite (baseline: plain)",
        "2 tasks × 2 arms × 2 repeats",
        "2026-11-01 10:00 to 2026-11-02 11:30 UTC",
        "not running",
        "plain (baseline)",
    ):
        assert words in answer.out


def test_the_size_is_that_of_all_files(outweigh: Outweigh, store: str) -> None:
    (Path(store) / "artifacts").mkdir()
    (Path(store) / "artifacts" / "transcript").write_bytes(b"x" * 5_000)

    size = outweigh("store", "show", store, "--format", "json").json()["size_bytes"]

    assert size == sum(file.stat().st_size for file in Path(store).rglob("*") if file.is_file())
    assert size > 5_000


def test_damaged_lines_are_listed_and_do_not_stop_the_counting(outweigh: Outweigh, store: str) -> None:
    runs = Path(store) / "runs-engine.jsonl"
    lines = runs.read_bytes().splitlines(keepends=True)
    runs.write_bytes(b"".join([lines[0], b"{broken\n", *lines[2:]]))

    answer = outweigh("store", "show", store)

    assert answer.code == 0
    assert "1 damaged line" in answer.out
    assert "runs-engine.jsonl:2: not valid JSON" in answer.out
    assert arms_of(outweigh, store)["plain"]["done"] == 2


def test_of_many_damaged_lines_the_page_shows_a_few_and_the_json_all(outweigh: Outweigh, store: str) -> None:
    with (Path(store) / "runs-engine.jsonl").open("ab") as stream:
        stream.write(b"{broken\n" * 9)

    assert "and 4 more" in outweigh("store", "show", store).out
    assert len(outweigh("store", "show", store, "--format", "json").json()["damaged_lines"]) == 9


def test_a_store_without_results_yet_is_shown(outweigh: Outweigh, tmp_path: Path) -> None:
    store = write_store(tmp_path / "begun", [], ("plain", "better"), tasks={"t1": "0"}, planned_runs=4)

    answer = outweigh("store", "show", store)

    assert answer.code == 0
    assert "0 of 4 trials have a result" in answer.out
    assert "dates   unknown" in answer.out


def test_a_scripted_agent_spends_no_dollars(outweigh: Outweigh, tmp_path: Path) -> None:
    scripted = AgentIdentity(kind=AgentKind.SCRIPTED, name="demo", version=None, model=None)
    store = write_store(tmp_path / "store", [a_run("t", "plain", agent=scripted, cost=costing(9.0))], ("plain",))

    page = outweigh("store", "show", store).out

    assert "simulated" in page
    assert "$" not in page


def test_records_without_a_suite_have_an_unknown_plan(outweigh: Outweigh) -> None:
    answer = outweigh("store", "show", str(RECORDED))

    assert "90 trials have a result" in answer.out
    assert "suite   unknown" in answer.out
    assert "6 tasks × 3 arms × 5 repeats" in answer.out


def test_an_imported_store_names_its_sources(outweigh: Outweigh, tmp_path: Path) -> None:
    target = str(tmp_path / "nightly")
    outweigh("import", str(TABLE / "nightly.csv"), "-o", target, "--map", str(TABLE / "map.toml"))

    assert "nightly.csv (table)" in outweigh("store", "show", target).out


@pytest.mark.parametrize(("name", "code"), [("absent", 2), ("notes.txt", 3)])
def test_what_is_no_store_is_refused(outweigh: Outweigh, tmp_path: Path, name: str, code: int) -> None:
    (tmp_path / "notes.txt").write_text("not a record\n")

    answer = outweigh("store", "show", str(tmp_path / name))

    assert (answer.code, answer.out) == (code, "")
    assert name in answer.err


def test_while_an_engine_writes_an_unfinished_last_line_is_no_damage(outweigh: Outweigh, store: str) -> None:
    with (Path(store) / "runs-engine.jsonl").open("ab") as stream:
        stream.write(b'{"schema": "outweigh.run/1", ')
    lock = StoreLock.take(Path(store))
    try:
        running = outweigh("store", "show", store, "--format", "json").json()
    finally:
        lock.release()
    ended = outweigh("store", "show", store, "--format", "json").json()

    assert (running["running"], len(running["damaged_lines"])) == (True, 0)
    assert (ended["running"], len(ended["damaged_lines"])) == (False, 1)


def test_nothing_is_missing_of_an_earlier_version_of_an_arm(outweigh: Outweigh, tmp_path: Path) -> None:
    runs = [a_run(f"t{number}", "plain") for number in (1, 2)] + [a_run("t1", "better")]
    version = ArmVersion(arm="better", number=2, begun_at=datetime(2026, 11, 3, tzinfo=UTC))
    store = write_store(
        tmp_path / "store",
        runs,
        ("plain", "better", "better@2"),
        tasks={"t1": "0", "t2": "0"},
        planned_runs=5,
        current={"plain": "plain", "better": "better@2"},
        versions={"better@2": version},
    )

    arms, page = arms_of(outweigh, store), outweigh("store", "show", store).out

    assert {name: (arm["missing"], arm["earlier_version"]) for name, arm in arms.items()} == {
        "plain": (0, False),
        "better": (0, True),
        "better@2": (2, False),
    }
    assert "better (earlier version)" in page
    assert "3 of 5 trials have a result" in page
