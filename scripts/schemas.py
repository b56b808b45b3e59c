"""The JSON Schemas of the stored records, from the structures themselves."""

from pathlib import Path

import msgspec

from outweigh.record.judgment import Judgment
from outweigh.record.run_record import RunRecord

STORED: dict[str, type[msgspec.Struct]] = {"run_record": RunRecord, "judgment": Judgment}


def schema_files(root: Path) -> dict[Path, bytes]:
    """Every schema file and what it should hold."""
    return {root / "schemas" / f"{name}.schema.json": _schema(record) for name, record in STORED.items()}


def _schema(record: type[msgspec.Struct]) -> bytes:
    schema = {"$schema": "https://json-schema.org/draft/2020-12/schema", **msgspec.json.schema(record)}
    return msgspec.json.format(msgspec.json.encode(schema, order="sorted"), indent=2) + b"\n"
