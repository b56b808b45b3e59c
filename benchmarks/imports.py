"""Imports: logs of Inspect, against inspect_ai's own data frames of the same file."""

import subprocess
from collections import deque
from pathlib import Path
from statistics import median
from time import perf_counter

from benchmarks.inspect_here import installed_inspect
from benchmarks.measure import run
from benchmarks.ratio import Ratio
from benchmarks.setting import Setting
from outweigh.adapters.importers.inspect_importer import InspectImporter
from outweigh.ports import ImportNotes
from outweigh.testing.importer_contract import import_request

_SAMPLES = 500
_ROUNDS = 5
_HERE = Path(__file__).parent


def measure(setting: Setting) -> list[Ratio]:
    """One log that inspect_ai itself wrote, read by both; nothing where inspect_ai cannot be installed."""
    python = installed_inspect(setting.folder)
    if python is None:
        return []
    logs = setting.folder / "inspect-logs"
    run((str(python), str(_HERE / "inspect_noop.py"), str(_SAMPLES), str(logs)))
    (log,) = logs.glob("*.eval")
    ours, theirs = _ours(log), _theirs(python, log)
    return [
        Ratio(
            name="inspect_ai.analysis.samples_df : a log of Inspect as runs",
            measured=theirs / ours,
            target=20,
            better="higher",
            note=f"{1e6 * theirs:,.0f} µs : {1e6 * ours:,.0f} µs per sample",
        )
    ]


def _ours(log: Path) -> float:
    seconds = []
    for _ in range(_ROUNDS + 1):
        start = perf_counter()
        found = deque(enumerate(InspectImporter().read(import_request(log), ImportNotes()), start=1), maxlen=1)
        seconds.append((perf_counter() - start) / found[0][0])
    return median(seconds[1:])


def _theirs(python: Path, log: Path) -> float:
    command = (str(python), str(_HERE / "inspect_frame.py"), str(log), str(_ROUNDS))
    printed = subprocess.run(command, capture_output=True, check=True, text=True).stdout
    return median(map(float, printed.split()))
