"""A store is read once, and after that only what was added."""

from pathlib import Path

from tests.trajectories import store_of

from outweigh.model.codec import encode
from outweigh.testing.builders import a_judgment, a_run
from outweigh.web.run_listing import RunFilter, RunListing
from outweigh.web.store_index import StoreIndex
from outweigh.web.store_summary import StoreSummaryCache


def test_a_line_that_is_being_written_is_taken_when_it_is_whole(tmp_path: Path) -> None:
    store = store_of(tmp_path / "store", [(a_run("one"), {}), (a_run("two"), {})])
    file = store / "runs-engine.jsonl"
    content = file.read_bytes()
    file.write_bytes(content[:-20])
    index = StoreIndex(store)

    index.refresh()
    before = [row.task_id for row in index.rows]
    with file.open("ab") as stream:
        stream.write(content[-20:])
    index.refresh()

    assert before == ["one"]
    assert [row.task_id for row in index.rows] == ["one", "two"]
    assert index.error_count == 0


def test_the_last_line_of_a_finished_file_needs_no_line_feed(tmp_path: Path) -> None:
    (tmp_path / "runs.jsonl").write_bytes(encode(a_run("one")))
    index = StoreIndex(tmp_path / "runs.jsonl")

    index.refresh()

    assert [row.task_id for row in index.rows] == ["one"]


def test_nothing_new_changes_nothing(tmp_path: Path) -> None:
    index = StoreIndex(store_of(tmp_path / "store", [(a_run(), {})]))
    index.refresh()
    version = index.version

    index.refresh()

    assert index.version == version


def test_a_whole_record_and_its_judgments_are_read_again_where_they_lie(tmp_path: Path) -> None:
    run = a_run("one", warnings=("careful",))
    lines = [encode(a_run("zero")), encode(run), encode(a_judgment(run, 0.5)), encode(a_judgment(run, 0.7))]
    (tmp_path / "runs.jsonl").write_bytes(b"\n".join(lines) + b"\n")
    index = StoreIndex(tmp_path)
    index.refresh()

    row = index.row(run.run_id)

    assert row is not None
    assert index.record(row) == run
    assert [judgment.criteria[0].score for judgment in index.judgments(run.run_id)] == [0.5, 0.7]


def test_an_endless_line_is_a_fault_and_what_follows_is_read(tmp_path: Path) -> None:
    (tmp_path / "runs.jsonl").write_bytes(b"x" * 3_000_000 + b"\n" + encode(a_run("one")) + b"\n")
    index = StoreIndex(tmp_path)

    index.refresh()

    assert index.error_count == 1
    assert [row.task_id for row in index.rows] == ["one"]


def test_a_list_and_a_summary_follow_the_store(tmp_path: Path) -> None:
    store = store_of(tmp_path / "store", [(a_run("one"), {})])
    index = StoreIndex(store)
    index.refresh()
    listing, summary = RunListing(index), StoreSummaryCache(index)
    before = len(listing.view(RunFilter(arm="baseline"))), summary.current().total.runs

    store_of(store, [(a_run("two", passed=False), {})])
    index.refresh()

    assert before == (1, 1)
    assert len(listing.view(RunFilter(arm="baseline"))) == 2
    assert (summary.current().total.runs, summary.current().arms["baseline"].pass_rate) == (2, 0.5)


def test_a_summary_of_a_replaced_store_counts_nothing_twice(tmp_path: Path) -> None:
    file = tmp_path / "runs.jsonl"
    file.write_bytes(encode(a_run("one")) + b"\n" + encode(a_run("two")) + b"\n")
    index = StoreIndex(tmp_path)
    index.refresh()
    summary = StoreSummaryCache(index)
    assert summary.current().total.runs == 2

    file.write_bytes(encode(a_run("three")) + b"\n")
    index.refresh()

    assert summary.current().total.runs == 1
    assert list(summary.current().tasks) == ["three"]


def test_unknown_values_come_last_whichever_way(tmp_path: Path) -> None:
    runs = [
        a_run("none", duration_seconds=None),
        a_run("long", duration_seconds=9.0),
        a_run("short", duration_seconds=1.0),
    ]
    (tmp_path / "runs.jsonl").write_bytes(b"".join(encode(run) + b"\n" for run in runs))
    index = StoreIndex(tmp_path)
    index.refresh()
    listing = RunListing(index)

    rising = [row.task_id for row in listing.page(RunFilter(sort="time"), 1)]
    descending = [row.task_id for row in listing.page(RunFilter(sort="time", descending=True), 1)]

    assert rising == ["short", "long", "none"]
    assert descending == ["long", "short", "none"]
