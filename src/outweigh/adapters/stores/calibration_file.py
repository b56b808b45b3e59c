"""Calibrations beside the runs of a store, one file per voice: `calibration-<hash of the voice>.json`."""

from collections.abc import Iterable
from pathlib import Path

import msgspec

from outweigh.adapters.stores.whole_file import write_whole
from outweigh.errors import EvidenceError
from outweigh.record.calibration import Calibration

PATTERN = "calibration-*.json"


def keep_calibration(folder: Path, calibration: Calibration) -> Path:
    """Write it whole, in place of an earlier one of the same voice."""
    target = folder / PATTERN.replace("*", calibration.judge_sha256)
    write_whole(target, [msgspec.json.format(msgspec.json.encode(calibration), indent=2), b"\n"])
    return target


def kept_calibrations(folder: Path) -> Iterable[Calibration]:
    """Every calibration of a store. A damaged one is refused: without it a judge might decide that must not."""
    for path in sorted(folder.glob(PATTERN)):
        try:
            calibration = msgspec.json.decode(path.read_bytes(), type=Calibration)
        except (OSError, msgspec.MsgspecError) as fault:
            raise EvidenceError(
                f"{path} cannot be read: {fault}. Calibrate again with `outweigh judge RUNS --calibrate LABELS`."
            ) from fault
        if calibration.judge.sha256 != calibration.judge_sha256 or path.name != PATTERN.replace(
            "*", calibration.judge_sha256
        ):
            raise EvidenceError(f"{path} is not about the judge that its name says. Calibrate again.")
        yield calibration
