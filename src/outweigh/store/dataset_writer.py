"""Write the parts of a dataset. In the file of a part, every arm's runs of one role are row groups of their own."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import msgspec

from outweigh.compare.evidence import Evidence
from outweigh.compare.evidence_part import EvidencePart
from outweigh.errors import requires_extra
from outweigh.model.codec import Record
from outweigh.score.run_score import Score
from outweigh.store.dataset_manifest import DatasetPart, describe_file
from outweigh.store.dataset_rows import (
    COUNTED,
    EXCLUDED,
    SUPERSEDED,
    compression,
    dictionary_columns,
    rows_of,
    rows_schema,
)
from outweigh.store.parquet import parquet_chunks

ROLES = (COUNTED, EXCLUDED, SUPERSEDED)
"""In the order of their row groups."""


def write_part(
    folder: Path, number: int, evidence: Evidence, summary: EvidencePart, records: Iterable[Record] | None
) -> DatasetPart:
    """Write what was gathered of whole tasks."""
    stem = f"part-{number:05d}"
    tables = [
        rows_of(scores, role)
        for arm in sorted(evidence.arms)
        for role, scores in runs_by_role(evidence, arm).items()
        if scores
    ]
    write_rows(folder / f"{stem}.parquet", tables)
    (folder / f"{stem}.json").write_bytes(msgspec.json.encode(summary))
    if records is not None:
        with (folder / f"{stem}.records.parquet").open("wb") as stream:
            stream.writelines(parquet_chunks(records))
    tasks = sorted({score.task_id for scores in evidence.arms.values() for score in scores})
    return DatasetPart(
        rows=sum(table.num_rows for table in tables),
        tasks=len(tasks),
        first_task=tasks[0],
        last_task=tasks[-1],
        runs=describe_file(folder, f"{stem}.parquet"),
        summary=describe_file(folder, f"{stem}.json"),
        records=None if records is None else describe_file(folder, f"{stem}.records.parquet"),
    )


def runs_by_role(evidence: Evidence, arm: str) -> dict[str, list[Score]]:
    """The attempts of an arm: those that count, those that do not, and those in whose place a later one stands."""
    scores, superseded = evidence.arms[arm], evidence.superseded.get(arm, ())
    return {
        COUNTED: [score for score in scores if score.counted],
        EXCLUDED: [score for score in scores if not score.counted],
        SUPERSEDED: sorted(superseded, key=lambda score: (score.task_id, score.repeat, score.attempt)),
    }


def write_rows(path: Path, tables: Iterable[Any]) -> None:
    """Write every table as one row group."""
    with requires_extra("a dataset", "parquet"):
        from pyarrow.parquet import ParquetWriter  # noqa: PLC0415 - heavy, and only datasets need it
    with ParquetWriter(path, rows_schema(), compression=compression(), use_dictionary=dictionary_columns()) as writer:
        for table in tables:
            writer.write_table(table, row_group_size=max(1, table.num_rows))
