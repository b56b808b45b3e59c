"""`outweigh judge --calibrate`: recorded judgments against what people say about the same runs. Nobody is asked."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from outweigh.adapters.stores.calibration_file import keep_calibration
from outweigh.adapters.stores.jsonl import JsonLines
from outweigh.adapters.stores.labels import read_labels
from outweigh.cli.arguments import show
from outweigh.cli.exit_codes import ExitCode
from outweigh.cli.jury import jury_behind
from outweigh.compare.calibrate import calibrate
from outweigh.errors import EvidenceError
from outweigh.record.calibration import Calibration
from outweigh.record.codec import refuse
from outweigh.record.judgment import Judgment
from outweigh.report.calibration_view import calibration_report
from outweigh.score.jury import JudgeRule

SEED = 0
"""Of the resamples behind the intervals; it is in the stored calibration."""


def calibrate_store(runs: str, labels_path: str, names: Sequence[str] | None, style: str) -> ExitCode:
    """Compare, keep the result beside the runs, and say whether every judge agrees as far as the suite demands.

    Of a file without a store, the agreement is shown and kept nowhere.
    """
    labels, jury = read_labels(labels_path), jury_behind([runs])
    records = (located.record for located in JsonLines(runs).records(refuse))
    judgments = [
        record for record in records if isinstance(record, Judgment) and (not names or record.judge.name in names)
    ]
    calibrations = calibrate(judgments, labels.labels, labels.sha256, seed=SEED, jury=jury)
    if not calibrations:
        raise EvidenceError(
            f"no label of {labels_path} is about a run that has a usable judgment in {runs}. Labels name runs by their "
            "run_id; `outweigh export RUNS -o runs.csv` lists them."
        )
    if Path(runs).is_dir():
        for calibration in calibrations:
            keep_calibration(Path(runs), calibration)
    demands = [_demand(calibration, jury.rules) for calibration in calibrations]
    show(calibration_report(calibrations, demands), style)
    met = all(_meets(calibration, demand) for calibration, demand in zip(calibrations, demands, strict=True))
    return ExitCode.SATISFIED if met else ExitCode.NOT_SATISFIED


def _demand(calibration: Calibration, rules: Mapping[str, JudgeRule]) -> float | None:
    return rules[calibration.judge.name].minimum_alpha if calibration.judge.name in rules else None


def _meets(calibration: Calibration, demand: float | None) -> bool:
    alpha = calibration.overall.alpha.value
    return demand is None or (alpha is not None and alpha >= demand)
