"""Every page shows what the store contains."""

from pathlib import Path
from urllib.parse import urlencode

import msgspec
import pytest
from tests.engine.engine_fixtures import shell, write_suite
from tests.trajectories import Runs, a_patch, a_step, a_trajectory, store_of
from tests.web.page_reader import Reader

from outweigh.engine.load_suite import load_suite
from outweigh.model.failure import Status
from outweigh.model.judgment import CriterionScore
from outweigh.model.preflight_result import Preflight, PreflightResult
from outweigh.model.run_record import ObservedServer, ObservedSetup
from outweigh.model.usage import Metering, Usage
from outweigh.store.run_store import FolderRunStore
from outweigh.store.write_experiment import write_experiment
from outweigh.testing.builders import a_check, a_judgment, a_run
from outweigh.verdict.policy import check_policy

LOOK = a_step("bash", {"command": "ls"}, said="I look around.", output="README.md")
LOADED = ObservedSetup(
    skills=("tidy",),
    skills_used=None,
    mcp_servers=(ObservedServer(name="files", state="failed"),),
    tools=(),
    memory_files=None,
    seen_by=("init event",),
    agents=("reviewer",),
    hooks=("SessionStart",),
)
FIRST = a_run("fix", "plain", 1, loaded=LOADED, warnings=("the cache was cold.",))
SECOND = a_run("fix", "better", 1, passed=False)


@pytest.fixture
def reader(tmp_path: Path) -> Reader:
    edit = a_step("edit", {"path": "a.py", "text": "x"})
    other = a_step("edit", {"path": "a.py", "text": "y"})
    runs = [
        (FIRST, {"trajectory.json": a_trajectory(LOOK, edit), "diff.patch": a_patch("a.py", "x = 1")}),
        (SECOND, {"trajectory.json": a_trajectory(LOOK, other), "diff.patch": a_patch("a.py", "y = 2")}),
        (a_run("other", "plain", 1, status=Status.INFRA_ERROR, checks=None), {}),
    ]
    store_of(tmp_path / "runs" / "first", runs)
    with FolderRunStore.open(tmp_path / "runs" / "first") as store:
        seen = CriterionScore(criterion="correct", weight=1.0, score=0.75, evidence="the test says so")
        store.append_judgment(a_judgment(FIRST, criteria=(seen,)))
    return Reader(tmp_path / "runs")


def query(path: str, **values: str) -> str:
    return f"{path}?{urlencode(values)}"


def test_experiments_are_listed_with_how_far_they_are(reader: Reader) -> None:
    answer = reader.ask("/")

    assert answer.status == 200
    assert ">first</a>" in answer.text
    assert "3 runs" in answer.text


def test_a_store_that_begins_later_is_listed_too(reader: Reader, tmp_path: Path) -> None:
    store_of(tmp_path / "runs" / "deeper" / "second", [(FIRST, {})])

    assert ">deeper/second</a>" in reader.ask("/").text


def test_an_experiment_shows_arms_and_tasks(reader: Reader) -> None:
    answer = reader.ask(reader.store())

    assert ">better</a>" in answer.text
    assert ">0/1</a>" in answer.text
    assert ">1/1</a>" in answer.text


def test_live_numbers_follow_the_store(reader: Reader, tmp_path: Path) -> None:
    before = reader.ask(reader.store("/live")).text
    store_of(tmp_path / "runs" / "first", [(a_run("new", "plain", 1), {})])
    after = reader.ask(reader.store("/live")).text

    assert '"runs":"3"' in before
    assert '"runs":"4"' in after


def test_progress_is_told_by_results_of_how_many_were_planned(tmp_path: Path) -> None:
    suite = load_suite(
        write_suite(tmp_path / "suite", {"plain": shell("true"), "better": shell("exit 0")}), check_policy=check_policy
    )
    folder = tmp_path / "runs" / "first"
    failed = a_run("task-1", "plain", 1, status=Status.INFRA_ERROR)
    store_of(
        folder,
        [(failed, {}), (msgspec.structs.replace(failed, run_id="again", attempt=2, status=Status.COMPLETED), {})],
    )

    reader = Reader(tmp_path / "runs")
    unplanned = reader.ask(reader.store("/live")).text
    write_experiment(folder, suite.spec, suite.tasks, suite.arms, planned_runs=12)

    assert '"runs":"2"' in unplanned
    assert '"results":"1"' in unplanned
    assert '"results":"1 of 12"' in reader.ask(reader.store("/live")).text
    assert '<dd data-live="results">1 of 12</dd>' in reader.ask(reader.store()).text


def test_an_attempt_without_a_record_is_named(reader: Reader, tmp_path: Path) -> None:
    with FolderRunStore.open(tmp_path / "runs" / "first") as store:
        store.begin("fix/plain/2#1", FIRST.trial, 1)
        during = reader.ask(reader.store()).text
    afterwards = reader.ask(reader.store()).text

    assert "under way: fix/plain/2#1" in during
    assert "begun and never recorded: fix/plain/2#1" in afterwards


def test_a_search_finds_runs_by_every_word(reader: Reader) -> None:
    answer = reader.ask(query(reader.store("/runs"), q="FIX better"))

    assert "1 of 3 runs" in answer.text
    assert ">fix/better/1</a>" in answer.text
    assert ">fix/plain/1</a>" not in answer.text


@pytest.mark.parametrize(
    ("asked", "found"),
    [
        ({"arm": "plain"}, ["fix/plain/1", "other/plain/1"]),
        ({"task": "fix"}, ["fix/plain/1", "fix/better/1"]),
        ({"outcome": "failed"}, ["fix/better/1"]),
        ({"status": "infra_error"}, ["other/plain/1"]),
        ({"sort": "run"}, ["fix/better/1", "fix/plain/1", "other/plain/1"]),
        ({"sort": "run", "falling": "1"}, ["other/plain/1", "fix/plain/1", "fix/better/1"]),
        ({"q": "nothing-like-it"}, []),
    ],
)
def test_filters_and_orders(reader: Reader, asked: dict[str, str], found: list[str]) -> None:
    page = reader.ask(query(reader.store("/runs"), **asked)).text

    names = ("fix/plain/1", "fix/better/1", "other/plain/1")
    there = sorted((page.index(f">{name}</a>"), name) for name in names if f">{name}</a>" in page)
    assert [name for _, name in there] == found


def test_many_runs_come_page_by_page(tmp_path: Path) -> None:
    store_of(tmp_path / "store", [(a_run(f"task-{number}"), {}) for number in range(120)])
    reader = Reader(tmp_path / "store")

    first, last = reader.ask(reader.store("/runs")), reader.ask(query(reader.store("/runs"), page="3"))

    assert ">task-0/baseline/1</a>" in first.text
    assert 'rel="next"' in first.text
    assert ">task-119/baseline/1</a>" in last.text
    assert 'rel="next"' not in last.text


def test_a_run_shows_steps_patch_checks_judgments_and_what_was_loaded(reader: Reader) -> None:
    page = reader.ask(query(reader.store("/run"), run=FIRST.run_id)).text

    for shown in ("I look around.", "README.md", "command: ls", "x = ", "the test says so", "0.75", "files (failed)"):
        assert shown in page
    assert "reviewer" in page
    assert "SessionStart" in page
    assert "the cache was cold." in page
    assert 'id="step-2"' in page
    assert "$0.01" in page


def test_a_run_shows_every_model_that_answered_and_its_share_of_the_tokens(tmp_path: Path) -> None:
    models = {
        name: Usage(input_tokens=sent, output_tokens=0, cache_read_tokens=0, cache_write_tokens=0)
        for name, sent in {"claude-opus-4-6": 900, "claude-haiku-4-5": 100}.items()
    }
    metering = Metering(
        requests=2, failed_requests=0, models=models, time_to_first_token_seconds=None, model_seconds=1.0
    )
    run = a_run("fix", "plain", 1, metering=metering)
    reader = Reader(store_of(tmp_path / "store", [(run, {})]))

    page = reader.ask(query(reader.store("/run"), run=run.run_id)).text

    for shown in ("claude-opus-4-6", "claude-haiku-4-5", "90 %", "10 %"):
        assert shown in page


def test_checks_are_shown_before_and_after(reader: Reader, tmp_path: Path) -> None:
    tried = PreflightResult(
        task_id="fix",
        task_checksum="1" * 64,
        sandbox="local",
        untouched=(a_check("tests", passed=False),),
        noop=None,
        oracle=None,
        case_names={},
        findings=(),
    )
    file = tmp_path / "runs" / "first" / "preflight.json"
    file.write_bytes(msgspec.json.encode(Preflight(suite="suite", tasks=(tried,))))
    store_of(file.parent, [(a_run("fix", "plain", 2, task_checksum="1" * 64), {})])
    then = reader.ask(query(reader.store("/run"), run="fix/plain/2")).text
    changed_since = reader.ask(query(reader.store("/run"), run=FIRST.run_id)).text

    shown = '<td>{}</td><td><span class="badge good">✓ passed</span></td><td>required</td>'
    assert shown.format('<span class="badge bad">✗ failed</span>') in then
    assert shown.format("") in changed_since


def test_an_experiment_draws_how_its_runs_are_spread(reader: Reader) -> None:
    page = reader.ask(reader.store()).text

    assert page.count("<svg") == 2
    assert "Cost of every run" in page
    assert ".ow-chart" in reader.ask("/static/charts.css").text


def test_the_baseline_comes_first_whatever_its_name(tmp_path: Path) -> None:
    suite = load_suite(
        write_suite(tmp_path / "suite", {"zero": shell("true"), "alpha": shell("exit 0")}), check_policy=check_policy
    )
    folder = tmp_path / "runs" / "first"
    store_of(folder, [(a_run("task-1", "alpha", 1), {}), (a_run("task-1", "zero", 1), {})])
    write_experiment(folder, suite.spec, suite.tasks, suite.arms)

    reader = Reader(tmp_path / "runs")
    page = reader.ask(reader.store()).text

    assert page.index("arm=zero") < page.index("arm=alpha")
    assert page.index(">zero</text>") < page.index(">alpha</text>")


def test_a_run_leads_to_its_twins(reader: Reader) -> None:
    page = reader.ask(query(reader.store("/run"), run=FIRST.run_id)).text

    assert ">better, repeat 1</a>" in page


def test_two_runs_stand_side_by_side(reader: Reader) -> None:
    page = reader.ask(query(reader.store("/diff"), a=FIRST.run_id, b=SECOND.run_id)).text

    assert "After 1 step alike they part, at A&#x27;s step 2" in page
    assert 'id="parting"' in page
    assert "A +1 -0, B +1 -0" in page


def test_a_long_run_opens_where_it_parts_and_its_steps_come_page_by_page(tmp_path: Path) -> None:
    steps = [a_step("bash", {"command": f"step {number}"}) for number in range(130)]
    other = [*steps[:100], a_step("edit", {"path": "elsewhere"}), *steps[101:]]
    runs = [
        (a_run("fix", "plain", 1), {"trajectory.json": a_trajectory(*steps)}),
        (a_run("fix", "better", 1), {"trajectory.json": a_trajectory(*other)}),
    ]
    reader = Reader(store_of(tmp_path / "store", runs))

    diff = reader.ask(query(reader.store("/diff"), a="fix/plain/1", b="fix/better/1")).text
    run = reader.ask(query(reader.store("/run"), run="fix/plain/1", page="3")).text

    assert 'id="parting"' in diff
    assert "command: step 1<" not in diff
    assert "command: step 129<" in run
    assert "command: step 99<" not in run


def test_a_long_text_is_cut_and_has_a_page_of_its_own(tmp_path: Path) -> None:
    step = a_step("bash", {"command": "cat"}, output="x" * 250_000 + "the end")
    reader = Reader(store_of(tmp_path / "store", [(a_run(), {"trajectory.json": a_trajectory(step)})]))

    page = reader.ask(query(reader.store("/run"), run=a_run().run_id)).text
    last = reader.ask(query(reader.store("/text"), run=a_run().run_id, text="1.call-1-output", page="3")).text

    assert "All 250,007 characters" in page
    assert "the end" not in page
    assert "the end" in last


def test_of_several_attempts_each_has_an_address(tmp_path: Path) -> None:
    runs: Runs = [(a_run(attempt=number, status_detail=f"try {number}"), {}) for number in (1, 2)]
    reader = Reader(store_of(tmp_path / "store", runs))

    assert "try 1" in reader.ask(query(reader.store("/run"), run=a_run().run_id, attempt="1")).text
    assert "try 2" in reader.ask(query(reader.store("/run"), run=a_run().run_id)).text


@pytest.mark.parametrize(
    "path", ["/run?run=nobody", "/text?run=fix/plain/1&text=9.message", "/diff?a=fix/plain/1", "/x"]
)
def test_what_is_not_there_is_said_with_a_way_on(reader: Reader, path: str) -> None:
    answer = reader.ask(reader.store(path))

    assert answer.status == 404
    assert "All experiments" in answer.text


def test_a_file_of_records_is_a_store_too(tmp_path: Path) -> None:
    store = store_of(tmp_path / "store", [(FIRST, {})])
    reader = Reader(store / "runs-engine.jsonl")

    assert ">fix/plain/1</a>" in reader.ask(reader.store("/runs")).text


def test_lines_that_cannot_be_read_are_counted_and_shown(tmp_path: Path) -> None:
    store = store_of(tmp_path / "store", [(FIRST, {})])
    with (store / "runs-engine.jsonl").open("ab") as stream:
        stream.write(b'{"schema": "nonsense"}\n\xff\xfe\n')
    reader = Reader(store)

    page = reader.ask(reader.store()).text

    assert "Lines that cannot be read" in page
    assert page.count("runs-engine.jsonl, byte") == 2


def test_a_store_that_was_replaced_is_read_anew(tmp_path: Path) -> None:
    store = store_of(tmp_path / "store", [(FIRST, {}), (SECOND, {})])
    reader = Reader(store)
    assert "2 runs" in reader.ask(reader.store("/runs")).text
    lines = (store / "runs-engine.jsonl").read_bytes().splitlines(keepends=True)

    (store / "runs-engine.jsonl").write_bytes(lines[1])

    assert "1 runs" in reader.ask(reader.store("/runs")).text


def test_signs_of_cheating_stand_on_the_page_of_a_run_that_nobody_scanned_before(tmp_path: Path) -> None:
    look = a_step("bash", {"command": "git log --all --oneline"})
    runs = [
        (a_run("fix", "plain", 1), {"trajectory.json": a_trajectory(LOOK, look)}),
        (a_run("fix", "better", 1), {"trajectory.json": a_trajectory(LOOK)}),
    ]
    reader = Reader(store_of(tmp_path / "store", runs))

    flagged = reader.ask(reader.store("/run?run=fix/plain/1")).text
    clean = reader.ask(reader.store("/run?run=fix/better/1")).text

    assert "looked at commits beyond the one it was given (medium), step 2: git log --all --oneline" in flagged
    assert "Signs of cheating" not in clean
