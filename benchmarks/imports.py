"""Imports: logs of Inspect, against inspect_ai's own data frames of the same file.

Both read the summaries of the samples and leave the messages alone: `samples_df` by its default columns, and we where
the summaries have the figures, as they have in all logs since 2025. What is taken is the time of the processor: other
programs on the machine hold up a process of a second more evenly than one of a hundredth.
"""

import subprocess
from collections import deque
from itertools import count
from pathlib import Path
from statistics import median
from time import process_time

from benchmarks.inspect_here import installed_inspect
from benchmarks.measure import run
from benchmarks.ratio import Ratio
from benchmarks.setting import Setting
from outweigh.interop.inspect_ai.importer import InspectImporter
from outweigh.ports.importers import ImportNotes
from outweigh.testing.importer_contract import import_request

_SAMPLES = 500
_MORE_SAMPLES = 5_000
_ROUNDS = 7
_HERE = Path(__file__).parent


def measure(setting: Setting) -> list[Ratio]:
    """Logs that inspect_ai itself wrote, read by both; nothing where inspect_ai cannot be installed."""
    python = installed_inspect(setting.folder)
    if python is None:
        return []
    sizes = (_SAMPLES, _MORE_SAMPLES) if setting.full else (_SAMPLES,)
    return [_ratio(python, _log(python, setting.folder, samples), samples) for samples in sizes]


def _log(python: Path, folder: Path, samples: int) -> Path:
    logs = folder / f"inspect-logs-{samples}"
    run((str(python), str(_HERE / "inspect_noop.py"), str(samples), str(logs)))
    (log,) = logs.glob("*.eval")
    return log


def _ratio(python: Path, log: Path, samples: int) -> Ratio:
    ours, theirs = [], []
    command = (str(python), str(_HERE / "inspect_frame.py"), str(log))
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as reader:
        for _ in range(_ROUNDS + 1):
            theirs.append(_asked(reader))
            ours.append(_seconds(log))
    # The first round loads what later ones have.
    one, other = median(theirs[1:]), median(ours[1:])
    return Ratio(
        name=f"inspect_ai.analysis.samples_df : a log of Inspect with {samples:,} samples as runs",
        measured=one / other,
        target=20,
        better="higher",
        note=f"{1e6 * one:,.0f} µs : {1e6 * other:,.1f} µs per sample",
    )


def _asked(reader: "subprocess.Popen[str]") -> float:
    if reader.stdin is None or reader.stdout is None:
        raise ValueError("a program that cannot be spoken to")
    reader.stdin.write("\n")
    reader.stdin.flush()
    return float(reader.stdout.readline())


def _seconds(log: Path) -> float:
    number, start = count(), process_time()
    deque(zip(InspectImporter().read(import_request(log), ImportNotes()), number, strict=False), maxlen=0)
    return (process_time() - start) / next(number)
