import os
from collections.abc import Sequence
from pathlib import Path

import pytest

from outweigh.app.evidence import read_changes
from outweigh.errors import EvidenceError, UsageError
from outweigh.model.codec import RECORD_LINE_LIMIT, InvalidLine, encode, refuse_invalid
from outweigh.ports.stores import RecordSource
from outweigh.store.durable_files import write_atomic
from outweigh.store.records import RecordReader
from outweigh.store.store import Store
from outweigh.testing.builders import a_judgment, a_run
from outweigh.testing.contracts import StoreContract


class TestJsonLines(StoreContract):
    @pytest.fixture(autouse=True)
    def _folder(self, tmp_path: Path) -> None:
        self.folder = tmp_path

    def store_with(self, lines: Sequence[bytes]) -> RecordSource:
        path = self.folder / "runs.jsonl"
        path.write_bytes(b"".join(lines))
        return RecordReader(str(path))


def test_a_folder_stands_for_its_files_in_name_order(tmp_path: Path) -> None:
    for name, repeat in (("b.jsonl", 2), ("a.jsonl", 1), ("notes.txt", 9)):
        (tmp_path / name).write_bytes(encode(a_run(repeat=repeat)) + b"\n")

    sources = [Path(located.source).name for located in RecordReader(str(tmp_path)).records(refuse_invalid)]

    assert sources == ["a.jsonl", "b.jsonl"]


def test_a_line_without_end_costs_no_more_memory_than_its_refusal(tmp_path: Path) -> None:
    path = tmp_path / "runs.jsonl"
    path.write_bytes(b"x" * (3 * RECORD_LINE_LIMIT + 5) + b"\n" + encode(a_run()) + b"\n")
    invalid: list[InvalidLine] = []

    found = list(RecordReader(str(path)).records(invalid.append))

    assert [item.line for item in invalid] == [1]
    assert [located.line for located in found] == [2]


def test_a_path_that_is_not_there_names_what_can_be_read(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"\.jsonl"):
        list(RecordReader(str(tmp_path / "absent.jsonl")).records(refuse_invalid))


def test_a_folder_without_records_is_refused(tmp_path: Path) -> None:
    with pytest.raises(EvidenceError, match=r"holds no \.jsonl"):
        list(RecordReader(str(tmp_path)).records(refuse_invalid))


def test_a_failed_write_leaves_the_old_file_and_no_rubbish(tmp_path: Path) -> None:
    target = tmp_path / "out.csv"
    target.write_text("old")

    def chunks() -> "list[bytes]":
        raise EvidenceError("half-way")

    with pytest.raises(EvidenceError):
        write_atomic(target, (chunk for _ in range(1) for chunk in chunks()))

    assert target.read_text() == "old"
    assert [path.name for path in tmp_path.iterdir()] == ["out.csv"]


def test_a_folder_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"its folder does not exist; make it with `mkdir -p .*/no`"):
        write_atomic(tmp_path / "no" / "out.csv", [b""])


@pytest.mark.parametrize("line", ["{}", '{"id": "1", "arm": "a", "failed": 1, "reverted": false}', "{"])
def test_a_broken_changes_file_is_refused_with_its_line(tmp_path: Path, line: str) -> None:
    path = tmp_path / "changes.jsonl"
    path.write_text('{"id": "0", "arm": "a", "failed": true, "reverted": false}\n' + line)

    with pytest.raises(UsageError, match=r"changes\.jsonl:2"):
        read_changes(str(path))


def test_the_runs_of_a_store_are_its_records_without_the_judgments(tmp_path: Path) -> None:
    run = a_run()
    (tmp_path / "runs.jsonl").write_bytes(encode(run) + b"\n" + encode(a_judgment(run)) + b"\n")

    assert list(Store.open(tmp_path).runs()) == [run]


def test_half_a_file_of_a_killed_process_with_the_same_number_is_not_in_the_way(tmp_path: Path) -> None:
    (tmp_path / f".file.{os.getpid()}").write_bytes(b"half")

    write_atomic(tmp_path / "file", [b"whole"])

    assert [(path.name, path.read_bytes()) for path in tmp_path.iterdir()] == [("file", b"whole")]
