"""The JSON Schemas of what is stored and of what people write, from the structures themselves."""

from pathlib import Path

import msgspec

from outweigh.model.codec import Attempt
from outweigh.model.judgment import Calibration, Judgment, Preference
from outweigh.model.preflight_result import Preflight
from outweigh.model.rubric import Rubric
from outweigh.model.run_record import RunRecord
from outweigh.model.suite import SuiteSpec
from outweigh.model.task import TaskSettings
from outweigh.store.experiment_file import ExperimentFile
from outweigh.store.judging_file import JudgingFile
from outweigh.store.pins import Pin
from outweigh.testing.model_server import Script

STORED: dict[str, type[msgspec.Struct]] = {
    "run_record": RunRecord,
    "judgment": Judgment,
    "preference": Preference,
    "calibration": Calibration,
    "attempt": Attempt,
    "experiment": ExperimentFile,
    "preflight": Preflight,
    "judging": JudgingFile,
    "pin": Pin,
}
WRITTEN: dict[str, type[msgspec.Struct]] = {
    "suite": SuiteSpec,
    "task_settings": TaskSettings,
    "rubric": Rubric,
    "model_script": Script,
}


def schema_files(root: Path) -> dict[Path, bytes]:
    """Every schema file and what it should hold."""
    return {root / "schemas" / f"{name}.schema.json": _schema(kind) for name, kind in (STORED | WRITTEN).items()}


def _schema(kind: type[msgspec.Struct]) -> bytes:
    schema = {"$schema": "https://json-schema.org/draft/2020-12/schema", **msgspec.json.schema(kind)}
    return msgspec.json.format(msgspec.json.encode(schema, order="sorted"), indent=2) + b"\n"
