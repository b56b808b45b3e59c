"""The JSON Schemas of what is stored and of what people write, from the structures themselves."""

from pathlib import Path

import msgspec

from outweigh.model.choice import ChoiceRecord
from outweigh.model.codec import Attempt
from outweigh.model.judgment import Calibration, Judgment, Preference
from outweigh.model.line_seal import CHECKSUM_KEY
from outweigh.model.packed_runs import PackedRuns
from outweigh.model.pin_check import PinCheck
from outweigh.model.preflight_result import Preflight
from outweigh.model.rubric import Rubric
from outweigh.model.run_record import RunRecord
from outweigh.model.scan_result import ScanFile
from outweigh.model.suite import PolicySpec, SuiteSpec
from outweigh.model.task import TaskSettings
from outweigh.store.bundle import BundleManifest
from outweigh.store.experiment_file import ExperimentFile
from outweigh.store.judging_file import JudgingFile
from outweigh.store.ledger import LedgerLine
from outweigh.store.pins import Pin
from outweigh.testing.model_server import Script
from outweigh.verdict.policy import POLICIES, Policies

STORED: dict[str, type[msgspec.Struct]] = {
    "run_record": RunRecord,
    "packed_runs": PackedRuns,
    "judgment": Judgment,
    "preference": Preference,
    "choice": ChoiceRecord,
    "calibration": Calibration,
    "attempt": Attempt,
    "experiment": ExperimentFile,
    "preflight": Preflight,
    "judging": JudgingFile,
    "pin": Pin,
    "pin_check": PinCheck,
    "ledger": LedgerLine,
    "scan": ScanFile,
    "bundle": BundleManifest,
}
SEALED = (RunRecord, PackedRuns, Judgment, Preference, ChoiceRecord)
"""What is stored as JSON Lines, each with its checksum as its last key."""

WRITTEN: dict[str, type[msgspec.Struct]] = {
    "suite": SuiteSpec,
    "task_settings": TaskSettings,
    "rubric": Rubric,
    "model_script": Script,
}


def schema_files(root: Path, policies: Policies = POLICIES) -> dict[Path, bytes]:
    """Every schema file and what it should hold."""
    kinds = (STORED | WRITTEN).items()
    return {root / "schemas" / f"{name}.schema.json": _schema(kind, policies) for name, kind in kinds}


def _schema(kind: type[msgspec.Struct], policies: Policies) -> bytes:
    schema = {"$schema": "https://json-schema.org/draft/2020-12/schema", **msgspec.json.schema(kind)}
    # The model holds any name, because the policies stand above it; a file may name only these.
    if policy := schema.get("$defs", {}).get(PolicySpec.__name__):
        policy["properties"]["name"] = {"default": PolicySpec().name, "enum": sorted(policies)}
    if kind in SEALED:
        checksum = {
            "type": "string",
            "pattern": "^[0-9a-f]{8}$",
            "description": "CRC-32 of the object without this key, which is its last one, byte for byte.",
        }
        schema["$defs"][kind.__name__]["properties"][CHECKSUM_KEY] = checksum
    return msgspec.json.format(msgspec.json.encode(schema, order="sorted"), indent=2) + b"\n"
