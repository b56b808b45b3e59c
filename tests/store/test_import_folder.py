"""What an import writes into a folder: every record once, and those that do not fit are named."""

from pathlib import Path

from msgspec.structs import replace

from outweigh.interop.imported_run import imported_run
from outweigh.model.codec import RECORD_LINE_LIMIT, encode, refuse_invalid
from outweigh.model.judgment import Judgment
from outweigh.model.run_columns import RunColumns
from outweigh.model.run_record import RunRecord
from outweigh.store.import_folder import LINES_OF_THEIR_OWN, ImportFolder
from outweigh.store.records import RecordReader
from outweigh.testing.builders import a_judgment, a_run

UNFIT = a_run("unfit", status_detail="x" * (2 * RECORD_LINE_LIMIT))


def ids_in(folder: Path) -> list[str]:
    return [located.record.run_id for located in RecordReader(str(folder)).records(refuse_invalid)]  # type: ignore[union-attr]


def test_a_record_that_could_not_be_read_again_is_named_and_the_others_are_kept(tmp_path: Path) -> None:
    unfit: list[str] = []
    with ImportFolder(tmp_path) as folder:
        tally = folder.write("runs-a.jsonl", [a_run("a"), UNFIT, a_run("b")], lambda name, why: unfit.append(name))

    assert unfit == [UNFIT.run_id]
    assert tally.runs == 2
    assert ids_in(tmp_path) == ["a/baseline/1", "b/baseline/1"]


def test_what_was_imported_before_is_known_and_what_changed_is_a_clash(tmp_path: Path) -> None:
    run = a_run("a")
    with ImportFolder(tmp_path) as folder:
        folder.write("runs-a.jsonl", [run, a_judgment(run)], lambda name, why: None)
    with ImportFolder(tmp_path) as folder:
        assert list(folder.arms) == ["baseline"]
        changed, rival = replace(run, duration_seconds=1.0), replace(run, run_id="another")
        again: list[RunRecord | Judgment] = [run, a_judgment(run), a_judgment(run, pass_index=2), changed, rival]
        tally = folder.write("runs-b.jsonl", again, lambda name, why: None)

    assert (tally.known_before, tally.runs, tally.judgments) == (2, 1, 1)
    assert (tally.clashes, tally.rivals) == ([run.run_id], ["another"])


def test_an_import_without_anything_new_leaves_no_file(tmp_path: Path) -> None:
    for name in ("runs-a.jsonl", "runs-b.jsonl"):
        with ImportFolder(tmp_path) as folder:
            folder.write(name, [a_run("a")], lambda name, why: None)

    assert sorted(path.name for path in tmp_path.glob("*.jsonl")) == ["runs-a.jsonl"]


def many_runs(first: int, size: int = 500, **columns: list[object]) -> RunColumns:
    numbers = range(first, first + size)
    names = {
        "run_id": [f"run {number}" for number in numbers],
        "trial.task_id": [f"task {number % 7}" for number in numbers],
        "trial.arm": ["ab"[number % 2] for number in numbers],
        "trial.repeat": [*numbers],
    }
    return RunColumns(imported_run(run_id="", task_id="", arm="", repeat=0), names | columns, {})


BLOCKS = [many_runs(first) for first in range(0, 3 * LINES_OF_THEIR_OWN // 2, 500)]


def test_the_first_runs_have_lines_of_their_own_and_the_others_are_packed(tmp_path: Path) -> None:
    with ImportFolder(tmp_path) as folder:
        tally = folder.write("runs-a.jsonl", [*BLOCKS, a_run("single")], lambda name, why: None)

    lines = (tmp_path / "runs-a.jsonl").read_bytes().splitlines()
    found = [*RecordReader(str(tmp_path)).records(refuse_invalid)]
    runs = [run for block in BLOCKS for run in block] + [a_run("single")]
    assert tally.runs == len(runs)
    assert [*map(encode, runs)] == [encode(located.record) for located in found]
    assert [located.line for located in found] == [*range(1, len(runs) + 1)]
    assert len(lines) == LINES_OF_THEIR_OWN + LINES_OF_THEIR_OWN // 2 // 500 + 1


def test_packed_runs_are_known_again_and_what_changed_is_a_clash(tmp_path: Path) -> None:
    changed = many_runs(LINES_OF_THEIR_OWN, 2, duration_seconds=[None, 1.0])
    with ImportFolder(tmp_path) as folder:
        folder.write("runs-a.jsonl", [*BLOCKS, *BLOCKS[-1:]], lambda name, why: None)
        in_one = folder.write("runs-b.jsonl", [changed], lambda name, why: None)
    with ImportFolder(tmp_path) as folder:
        again = folder.write("runs-c.jsonl", [*BLOCKS, changed], lambda name, why: None)

    clash = f"run {LINES_OF_THEIR_OWN + 1}"
    assert (in_one.known_before, in_one.runs, in_one.clashes) == (1, 0, [clash])
    assert (again.known_before, again.runs, again.clashes) == (3 * LINES_OF_THEIR_OWN // 2 + 1, 0, [clash])


def test_a_block_that_is_too_long_for_a_line_has_a_line_for_each_run(tmp_path: Path) -> None:
    long = many_runs(-9, 9, family=["x" * (RECORD_LINE_LIMIT // 8)] * 9)
    long = long.with_columns({"trial.repeat": [*range(10**6, 10**6 + 9)]})
    with ImportFolder(tmp_path) as folder:
        folder.write("runs-a.jsonl", [*BLOCKS, long], lambda name, why: None)

    assert ids_in(tmp_path)[-9:] == [f"run {number}" for number in range(-9, 0)]
