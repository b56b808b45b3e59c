"""The engine's own cost: what a trial takes when the agent does nothing, beside inspect_ai's no-op sample."""

import shutil
import subprocess
import sys
from pathlib import Path
from time import perf_counter

from benchmarks.measure import OUTWEIGH, PYTHON, cost_of, run
from benchmarks.ratio import Ratio
from benchmarks.setting import Setting

FEW, MANY = 20, 320
"""Trials per run; what a process takes to start is gone from the difference."""

SANDBOXES = {"local": 0.060, "bubblewrap": 0.150}
"""Seconds that the engine may add to a trial at -j 2."""

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


def measure(setting: Setting) -> list[Ratio]:
    """Overhead per trial of each kind of sandbox, and of inspect_ai where it can be installed."""
    ours = {kind: _seconds_per_trial(setting.folder, kind) for kind in SANDBOXES}
    rows = [
        Ratio(
            name=f"engine overhead per trial, {kind} sandbox, -j 2 : {1e3 * target:.0f} ms",
            measured=ours[kind] / target,
            target=1.0,
            better="lower",
            note=f"{1e3 * ours[kind]:.1f} ms per trial",
        )
        for kind, target in SANDBOXES.items()
    ]
    theirs = _inspect_seconds_per_sample(setting.folder)
    if theirs is None:
        return rows
    return [
        *rows,
        Ratio(
            name="inspect_ai, a no-op sample in its local sandbox : a no-op trial in ours",
            measured=theirs / ours["local"],
            target=5.0,
            better="higher",
            note=f"{1e3 * theirs:.1f} ms : {1e3 * ours['local']:.1f} ms",
        ),
    ]


def _seconds_per_trial(folder: Path, kind: str) -> float:
    suite = folder / f"noop-{kind}"
    (suite / "task").mkdir(parents=True)
    (suite / "suite.toml").write_text(_SUITE.format(kind=kind))
    (suite / "task" / "task.toml").write_text(_TASK)
    (suite / "task" / "instruction.md").write_text("Do nothing.\n")
    run(_command(suite, 1, folder))  # a first process compiles its modules, which the others must not pay for
    took = {repeats: cost_of(_command(suite, repeats, folder)).seconds for repeats in (FEW, MANY)}
    return (took[MANY] - took[FEW]) / (2 * (MANY - FEW))


def _command(suite: Path, repeats: int, folder: Path) -> tuple[str, ...]:
    store = folder / f"{suite.name}-{repeats}"
    return (*OUTWEIGH, "run", "-c", str(suite), "-k", str(repeats), "-j", "2", "-o", str(store))


def _inspect_seconds_per_sample(folder: Path) -> float | None:
    """Installed into a folder of its own for the occasion; None where it cannot be had."""
    uv = shutil.which("uv", path=str(Path(sys.executable).parent))
    home = folder / "inspect"
    python = home / "bin" / "python"
    if uv is None:
        return None
    try:
        run((*PYTHON, "-m", "venv", "--without-pip", str(home)))
        run((uv, "pip", "install", "--quiet", "--python", str(python), "inspect_ai"))
    except subprocess.CalledProcessError:
        return None
    took = {}
    for samples in (2, 2 * FEW, 2 * MANY):
        start = perf_counter()
        run((str(python), str(_INSPECT), str(samples), str(folder / "inspect-logs")))
        took[samples] = perf_counter() - start
    return (took[2 * MANY] - took[2 * FEW]) / (2 * (MANY - FEW))
