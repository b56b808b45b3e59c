"""Parquet: what goes in comes out, and a data frame finds its columns."""

from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

import pyarrow
import pyarrow.parquet
import pytest

from outweigh.errors import EvidenceError
from outweigh.model.codec import Record, encode, refuse_invalid
from outweigh.model.usage import NO_USAGE, UNKNOWN_COST
from outweigh.store.parquet import is_own_parquet, parquet_chunks, parquet_records
from outweigh.store.records import RecordReader
from outweigh.testing.builders import a_check, a_judgment, a_preference, a_run


def written(path: Path, records: Sequence[Record]) -> Path:
    path.write_bytes(b"".join(parquet_chunks(records)))
    return path


def test_every_record_comes_back_as_it_was(tmp_path: Path) -> None:
    run = a_run("täsk", cost=UNKNOWN_COST)
    records: list[Record] = [run, a_run(repeat=2, passed=None), a_judgment(run)]

    found = list(parquet_records(written(tmp_path / "runs.parquet", records), refuse_invalid))

    assert [located.record for located in found] == records
    assert [located.line for located in found] == [1, 2, 3]


def test_a_file_of_many_batches_is_whole(tmp_path: Path) -> None:
    records = [a_run(repeat=number) for number in range(1, 20_002)]

    path = written(tmp_path / "runs.parquet", records)

    assert sum(1 for _ in RecordReader(str(path)).records(refuse_invalid)) == 20_001
    assert pyarrow.parquet.ParquetFile(path).num_row_groups == 3


def test_the_columns_hold_the_figures_and_what_is_unknown_is_null(tmp_path: Path) -> None:
    began = datetime(2026, 5, 1, 10, 30, tzinfo=UTC)
    run = a_run(started_at=began, checks=(a_check(cases_passed=1, cases_total=2, passed=False), a_check("lint")))
    others: list[Record] = [a_run(repeat=2, checks=None, cost=UNKNOWN_COST, usage=NO_USAGE), a_judgment(run)]

    table = pyarrow.parquet.read_table(written(tmp_path / "runs.parquet", [run, *others])).to_pydict()

    assert table["kind"] == ["run", "run", "judgment"]
    assert table["arm"] == ["baseline", "baseline", None]
    assert table["passed"] == [0.0, None, None]
    assert table["cost_usd"] == [0.10, None, None]
    assert table["input_tokens"] == [1000, None, None]
    assert table["started_at"] == [began, None, None]
    assert table["judge"] == [None, None, "judge"]
    assert table["checks"][1:] == [None, None]
    assert [(each["name"], each["passed"], each["cases_total"]) for each in table["checks"][0]] == [
        ("tests", False, 2),
        ("lint", True, None),
    ]


def test_a_preference_has_a_task_a_repeat_and_a_judge_and_is_of_no_run(tmp_path: Path) -> None:
    preference = a_preference(a_run(arm="old", repeat=3), a_run(arm="new", repeat=3))

    table = pyarrow.parquet.read_table(written(tmp_path / "runs.parquet", [preference])).to_pydict()

    assert {name: table[name] for name in ("kind", "run_id", "task_id", "repeat", "judge")} == {
        "kind": ["preference"],
        "run_id": [None],
        "task_id": [preference.task_id],
        "repeat": [3],
        "judge": ["judge"],
    }


def test_all_texts_but_the_records_are_dictionaries(tmp_path: Path) -> None:
    file = pyarrow.parquet.ParquetFile(written(tmp_path / "runs.parquet", [a_run(), a_run(repeat=2)]))
    group = file.metadata.row_group(0)
    columns = [group.column(number) for number in range(group.num_columns)]

    encoded = {column.path_in_schema for column in columns if any("DICTIONARY" in name for name in column.encodings)}

    texts = {name for name in file.schema_arrow.names if file.schema_arrow.field(name).type == pyarrow.string()}
    assert encoded == texts | {"checks.list.element.name"}
    assert "arm" in texts
    assert file.schema_arrow.field("record").type == pyarrow.large_string()


def test_records_that_were_kept_as_bytes_are_read(tmp_path: Path) -> None:
    earlier = pyarrow.table({"record": pyarrow.array([encode(a_run())], pyarrow.binary())})
    pyarrow.parquet.write_table(earlier, tmp_path / "runs.parquet")

    assert [located.record for located in parquet_records(tmp_path / "runs.parquet", refuse_invalid)] == [a_run()]


@pytest.mark.parametrize("content", [b"", b"PAR1", b"PAR1" + b"x" * 100 + b"PAR1"])
def test_what_is_no_parquet_is_refused_in_a_sentence(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "runs.parquet").write_bytes(content)

    with pytest.raises(EvidenceError, match="cannot be read as Parquet"):
        list(RecordReader(str(tmp_path / "runs.parquet")).records(refuse_invalid))


def test_a_table_of_somebody_else_is_for_import(tmp_path: Path) -> None:
    pyarrow.parquet.write_table(pyarrow.table({"task": ["one"]}), tmp_path / "t.parquet")

    with pytest.raises(EvidenceError, match="outweigh import table"):
        list(RecordReader(str(tmp_path / "t.parquet")).records(refuse_invalid))


@pytest.mark.parametrize("content", [b"", b"PAR1" + b"x" * 100 + b"PAR1"])
def test_a_damaged_table_is_not_said_to_be_ours(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "runs.parquet").write_bytes(content)

    assert not is_own_parquet(tmp_path / "runs.parquet")
