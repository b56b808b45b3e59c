"""The JSON Schemas of what is stored and of what people write, from the structures themselves."""

from pathlib import Path

import msgspec

from outweigh.adapters.stores.experiment_file import Experiment
from outweigh.adapters.stores.judging_file import JudgingFile
from outweigh.adapters.stores.pins import Pin
from outweigh.record.attempt import Attempt
from outweigh.record.calibration import Calibration
from outweigh.record.judgment import Judgment
from outweigh.record.preference import Preference
from outweigh.record.run_record import RunRecord
from outweigh.run.preflight_findings import Preflight
from outweigh.task.rubric import Rubric
from outweigh.task.suite import SuiteSpec
from outweigh.task.task import TaskSettings
from outweigh.testing.model_server import Script

STORED: dict[str, type[msgspec.Struct]] = {
    "run_record": RunRecord,
    "judgment": Judgment,
    "preference": Preference,
    "calibration": Calibration,
    "attempt": Attempt,
    "experiment": Experiment,
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
