"""Stopwatch and scales: interleaved timing, and time and peak memory of a process."""

import os
import resource
import subprocess
import sys
from collections import deque
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from statistics import median
from time import perf_counter

import msgspec

from benchmarks.launch import Cost

Command = Sequence[str]

PYTHON = (sys.executable,)
OUTWEIGH = (sys.executable, "-m", "outweigh")
A_VERDICT = (0, 1)
"""Exit codes of a verdict that was reached; code 3 can mean that reading stopped early, which is not being fast."""

A_DECISION = (*A_VERDICT, 3)
"""With that of an inconclusive verdict; for files of which it is known that they are read to the end."""

_LAUNCHER = Path(__file__).with_name("launch.py")


def median_seconds(
    actions: Mapping[str, Callable[[], object]], rounds: int, clock: Callable[[], float] = perf_counter
) -> dict[str, float]:
    """Time all actions once per round, after one round to warm up, so that a busy moment hits all of them.

    Each round starts with another action, so that none always follows the one that empties the caches. The `clock` of
    actions that only compute may be the processor's, which does not count the turns of other programs.
    """
    for action in actions.values():
        action()
    times: dict[str, list[float]] = {name: [] for name in actions}
    order = deque(actions)
    for _ in range(rounds):
        for name in order:
            start = clock()
            actions[name]()
            times[name].append(clock() - start)
        order.rotate()
    return {name: median(seconds) for name, seconds in times.items()}


def processor_seconds_of_processes() -> float:
    """A clock for `median_seconds`: what the processes that were run so far took of the processor."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def keep_bytecode(folder: Path) -> None:
    """Let the processes to come load compiled modules from a cache of their own, as installed programs do.

    Where the environment forbids writing bytecode, every process would compile every module again, and a large
    library beside outweigh would look slower than its users find it.
    """
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    os.environ["PYTHONPYCACHEPREFIX"] = str(folder)


def run(command: Command, exit_codes: Collection[int] = (0,)) -> None:
    """Run a process to its end; one that fails is not a measurement."""
    _check(subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, check=False), exit_codes)


def cost_of(command: Command, exit_codes: Collection[int] = (0,)) -> Cost:
    """Time and peak memory of one process, started by a small launcher.

    A child's peak counts what its parent held when it was started, so this process, which holds much, must not start
    it itself.
    """
    done = subprocess.run([*PYTHON, str(_LAUNCHER), *command], capture_output=True, check=False)
    _check(done, exit_codes)
    return msgspec.json.decode(done.stdout, type=Cost)


def _check(done: subprocess.CompletedProcess[bytes], exit_codes: Collection[int]) -> None:
    if done.returncode not in exit_codes:
        sys.stderr.buffer.write(done.stderr)
        raise subprocess.CalledProcessError(done.returncode, done.args)
