"""Parquet: what goes in comes out, and a data frame finds its columns."""

from collections.abc import Sequence
from pathlib import Path

import pyarrow.parquet
import pytest

from outweigh.adapters.stores.jsonl import JsonLines
from outweigh.adapters.stores.parquet import parquet_chunks, parquet_records
from outweigh.errors import EvidenceError
from outweigh.record.codec import Record, refuse
from outweigh.record.cost import UNKNOWN_COST
from outweigh.testing.builders import a_judgment, a_run


def written(path: Path, records: Sequence[Record]) -> Path:
    path.write_bytes(b"".join(parquet_chunks(records)))
    return path


def test_every_record_comes_back_as_it_was(tmp_path: Path) -> None:
    run = a_run("täsk", cost=UNKNOWN_COST)
    records: list[Record] = [run, a_run(repeat=2, passed=None), a_judgment(run)]

    found = list(parquet_records(written(tmp_path / "runs.parquet", records), refuse))

    assert [located.record for located in found] == records
    assert [located.line for located in found] == [1, 2, 3]


def test_a_file_of_many_batches_is_whole(tmp_path: Path) -> None:
    records = [a_run(repeat=number) for number in range(1, 20_002)]

    path = written(tmp_path / "runs.parquet", records)

    assert sum(1 for _ in JsonLines(str(path)).records(refuse)) == 20_001
    assert pyarrow.parquet.ParquetFile(path).num_row_groups == 3


def test_the_columns_hold_the_figures_and_names_are_dictionaries(tmp_path: Path) -> None:
    path = written(tmp_path / "runs.parquet", [a_run(), a_run(repeat=2, passed=False, cost=UNKNOWN_COST)])

    table = pyarrow.parquet.read_table(path).to_pydict()
    column = pyarrow.parquet.ParquetFile(path).metadata.row_group(0)

    assert table["arm"] == ["baseline", "baseline"]
    assert table["passed"] == [1.0, 0.0]
    assert table["cost_usd"] == [0.10, None]
    encodings = {column.column(n).path_in_schema: column.column(n).encodings for n in range(column.num_columns)}
    assert any("DICTIONARY" in encoding for encoding in encodings["arm"])
    assert not any("DICTIONARY" in encoding for encoding in encodings["record"])


@pytest.mark.parametrize("content", [b"", b"PAR1", b"PAR1" + b"x" * 100 + b"PAR1"])
def test_what_is_no_parquet_is_refused_in_a_sentence(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "runs.parquet").write_bytes(content)

    with pytest.raises(EvidenceError, match="cannot be read as Parquet"):
        list(JsonLines(str(tmp_path / "runs.parquet")).records(refuse))


def test_a_table_of_somebody_else_is_for_import(tmp_path: Path) -> None:
    pyarrow.parquet.write_table(pyarrow.table({"task": ["one"]}), tmp_path / "t.parquet")

    with pytest.raises(EvidenceError, match="outweigh import table"):
        list(JsonLines(str(tmp_path / "t.parquet")).records(refuse))
