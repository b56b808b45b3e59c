"""Runs on a Dask cluster: what an attempt costs beside one in a thread, and how fast one lead feeds many places."""

import os
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from statistics import median
from time import perf_counter

from benchmarks.engine import FEW, MANY, ROUNDS, write_noop_suite
from benchmarks.measure import OUTWEIGH, PYTHON, processor_seconds_of_processes, run
from benchmarks.ratio import Ratio
from benchmarks.setting import Setting
from outweigh.cluster.dask_settings import quiet_variables

SLOTS = 64
FEED_FEW, FEED_MANY = 128, 1408
TRIALS_PER_SECOND = 50.0
_IDLE_HOST = Path(__file__).with_name("idle_host.py")

Trials = Callable[[int], None]


def measure(setting: Setting) -> list[Ratio]:
    """Processor time of a whole attempt, with hosts and scheduler; then the pace of a lead whose hosts only wait."""
    folder = setting.folder / "dask"
    write_noop_suite(folder, "local")
    stores = count(1)
    cost = _processor_seconds(folder, stores)
    pace = _pace(folder, stores)
    return [
        Ratio(
            name="a no-op attempt on a Dask cluster : in a thread, processor time",
            measured=cost["dask"] / cost["threads"],
            target=1.2,
            better="lower",
            note=f"{1e3 * cost['dask']:.1f} ms : {1e3 * cost['threads']:.1f} ms",
        ),
        Ratio(
            name=f"trials per second that one lead gives to {SLOTS} places : {TRIALS_PER_SECOND:.0f}",
            measured=pace / TRIALS_PER_SECOND,
            target=1.0,
            better="higher",
            note=f"{pace:.0f} trials per second, each of 1 s",
        ),
    ]


def _processor_seconds(folder: Path, stores: Iterator[int]) -> dict[str, float]:
    """Per attempt; what processes take to start is gone from the difference."""
    work: dict[str, Trials] = {
        "threads": lambda number: _run(folder, stores, number, "-j", "2"),
        "dask": lambda number: _run_on_hosts(folder, stores, number, (*OUTWEIGH, "dev", "host"), places=2),
    }
    found: dict[str, list[float]] = {name: [] for name in work}
    for trials in work.values():
        trials(2)
    for _ in range(ROUNDS):
        for name, trials in work.items():
            few, many = (_processor(trials, number) for number in (FEW, MANY))
            found[name].append((many - few) / (MANY - FEW))
    return {name: median(seconds) for name, seconds in found.items()}


def _pace(folder: Path, stores: Iterator[int]) -> float:
    took: list[float] = []
    for number in (FEED_FEW, FEED_MANY):
        began = perf_counter()
        _run_on_hosts(folder, stores, number, (*PYTHON, str(_IDLE_HOST)), places=SLOTS // 2, hosts=2)
        took.append(perf_counter() - began)
    return (FEED_MANY - FEED_FEW) / (took[1] - took[0])


def _processor(trials: Trials, number: int) -> float:
    before = processor_seconds_of_processes()
    trials(number)
    return processor_seconds_of_processes() - before


def _run(folder: Path, stores: Iterator[int], number: int, *options: str) -> None:
    suite, store = folder / "noop-local", folder / f"store-{next(stores)}"
    run((*OUTWEIGH, "run", "-c", str(suite), "-k", str(number // 2), "-o", str(store), *options))


def _run_on_hosts(
    folder: Path, stores: Iterator[int], number: int, host: tuple[str, ...], *, places: int, hosts: int = 1
) -> None:
    port = _free_port()
    address = f"tcp://127.0.0.1:{port}"
    scheduler = (sys.executable, "-m", "distributed.cli.dask_scheduler", "--host", "127.0.0.1", "--no-dashboard")
    with _process(*scheduler, "--port", str(port)):
        spool = ("--spool", str(folder / "spool"), "-j", str(places))
        with _process(*host, address, *spool), _process(*(host if hosts > 1 else ("true",)), address, *spool):
            _run(folder, stores, number, "--executor", "dask", "--scheduler", address)


@contextmanager
def _process(*command: str) -> Iterator[None]:
    """A process while the context lasts; its end is waited for, so that what it took is counted."""
    process = subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env={**os.environ, **quiet_variables()},  # as docs/scale.md says to start a scheduler
    )
    try:
        yield
    finally:
        if process.poll() is None:
            process.send_signal(signal.SIGTERM)
        process.wait()


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
    return port
