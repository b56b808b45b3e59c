"""The engine's own cost: what a trial takes when the agent does nothing, beside inspect_ai's no-op sample."""

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from itertools import count
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from time import perf_counter

from benchmarks.inspect_here import installed_inspect
from benchmarks.measure import OUTWEIGH, run
from benchmarks.ratio import Ratio
from benchmarks.setting import Setting

FEW, MANY = 20, 220
"""Trials per run; what a process takes to start is gone from the difference."""

ROUNDS = 3
BOUNDS = {"local": 0.060, "bubblewrap": 0.150}
"""Seconds that the engine may add to a trial at -j 2, by sandbox."""

MEMORY = Path("/dev/shm")
"""A disk that takes no time, where there is one: what is left is what the engine itself takes."""

_SUITE = """\
name = "noop"
tasks = ["task"]
baseline = "plain"

[arms.plain]
agent = "noop"

[arms.candidate]
agent = "noop"
extra_prompt = "Do nothing, but with care."

[sandbox]
kind = "{kind}"
"""
_TASK = """\
[task]
name = "bench/noop"

[[metadata.outweigh.checks]]
type = "command"
name = "answered"
run = "test -e answer.txt"
"""
_INSPECT = Path(__file__).with_name("inspect_noop.py")

Trials = Callable[[int], None]
"""Runs so many of them."""


def measure(setting: Setting) -> list[Ratio]:
    """Overhead per trial of each kind of sandbox, and of inspect_ai where it can be installed; then all in memory."""
    inspect = installed_inspect(setting.folder)
    rows = _rows("disk", setting.folder / "engine", inspect)
    if not MEMORY.is_dir():
        return rows
    with TemporaryDirectory(dir=MEMORY) as place:
        return [*rows, *_rows("memory", Path(place) / "engine", inspect)]


def _rows(where: str, folder: Path, inspect: Path | None) -> list[Ratio]:
    work: dict[str, Trials] = {kind: _ours(folder, kind) for kind in BOUNDS}
    if inspect is not None:
        work["inspect"] = partial(_theirs, inspect, folder / "logs")
    with _temporary_files_in(folder / "tmp"):
        took = _seconds_per_trial(work)
    rows = [
        Ratio(
            name=f"engine overhead per trial, {kind} sandbox, {where}, -j 2 : {1e3 * bound:.0f} ms",
            measured=took[kind] / bound,
            target=1.0,
            better="lower",
            note=f"{1e3 * took[kind]:.1f} ms per trial",
        )
        for kind, bound in BOUNDS.items()
    ]
    if inspect is None:
        return rows
    beside = Ratio(
        name=f"inspect_ai, a no-op sample in its local sandbox, {where} : a no-op trial in ours",
        measured=took["inspect"] / took["local"],
        target=5.0,
        better="higher",
        note=f"{1e3 * took['inspect']:.1f} ms : {1e3 * took['local']:.1f} ms",
    )
    return [*rows, beside]


def _seconds_per_trial(work: Mapping[str, Trials]) -> dict[str, float]:
    """In turns, so that a busy moment hits all of them; the median over the rounds."""
    found: dict[str, list[float]] = {name: [] for name in work}
    for trials in work.values():
        trials(2)  # compiles its modules, which the others must not pay for
    for _ in range(ROUNDS):
        for name, trials in work.items():
            found[name].append((_seconds(trials, MANY) - _seconds(trials, FEW)) / (MANY - FEW))
    return {name: median(seconds) for name, seconds in found.items()}


def _seconds(trials: Trials, number: int) -> float:
    start = perf_counter()
    trials(number)
    return perf_counter() - start


def write_noop_suite(folder: Path, kind: str) -> Path:
    """A suite of one task and two arms whose agent does nothing."""
    suite = folder / f"noop-{kind}"
    (suite / "task").mkdir(parents=True)
    (suite / "suite.toml").write_text(_SUITE.format(kind=kind))
    (suite / "task" / "task.toml").write_text(_TASK)
    (suite / "task" / "instruction.md").write_text("Do nothing.\n")
    return suite


def _ours(folder: Path, kind: str) -> Trials:
    suite = write_noop_suite(folder, kind)
    stores = count(1)

    def trials(number: int) -> None:
        store = folder / f"{suite.name}-{next(stores)}"
        run((*OUTWEIGH, "run", "-c", str(suite), "-k", str(number // 2), "-j", "2", "-o", str(store)))

    return trials


def _theirs(python: Path, logs: Path, number: int) -> None:
    run((str(python), str(_INSPECT), str(number), str(logs)))


@contextmanager
def _temporary_files_in(folder: Path) -> Iterator[None]:
    """Both lay out their trials in temporary folders."""
    folder.mkdir()
    before = os.environ.get("TMPDIR")
    os.environ["TMPDIR"] = str(folder)
    try:
        yield
    finally:
        if before is None:
            del os.environ["TMPDIR"]
        else:
            os.environ["TMPDIR"] = before
