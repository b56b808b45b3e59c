"""What an import writes into a folder: every record once, and those that do not fit are named."""

from pathlib import Path

from msgspec.structs import replace

from outweigh.model.codec import RECORD_LINE_LIMIT, refuse_invalid
from outweigh.model.judgment import Judgment
from outweigh.model.run_record import RunRecord
from outweigh.store.import_folder import ImportFolder
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
