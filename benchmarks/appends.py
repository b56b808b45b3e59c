"""Appending: what durable records cost, against the disk's own speed measured in the same run."""

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache, partial
from itertools import count, islice
from pathlib import Path
from tempfile import TemporaryDirectory

import msgspec

from benchmarks.measure import median_seconds
from benchmarks.ratio import Ratio
from benchmarks.setting import Setting
from benchmarks.synthetic import records
from outweigh.model.codec import encode
from outweigh.model.line_seal import seal
from outweigh.model.run_record import RunRecord
from outweigh.store.run_store import FolderRunStore

THREADS = (16, 32)
"""How many append at once: the more wait together, the more share a flush, so one number alone would mislead."""

ALONE_PER_SECOND = 2_000
TOGETHER_PER_SECOND = 20_000
_ROUNDS = 9
_MEMORY = Path("/dev/shm")
"""A disk that flushes at once, where there is one: what is left is what the store itself takes."""

Rates = Mapping[str, float]


def measure(setting: Setting) -> list[Ratio]:
    """On the disk, where flushing is most of the time, then in memory, where nothing is but the store."""
    disk = _rates(setting.folder, alone=60, together=960, raw=5_000)
    return [*_against_the_disk(disk), *_wanted("disk", disk), *_in_memory()]


def _against_the_disk(disk: Rates) -> list[Ratio]:
    """How near one thread comes to the disk's own speed, and how far sharing flushes takes many beyond it."""
    flushed = "write and fdatasync in a loop"
    rows = [_ratio("appends by one thread", flushed, disk["alone"], disk["flushed"])]
    for number in THREADS:
        rows += [
            _ratio(f"appends by {number} threads", flushed, disk[_by(number)], disk["flushed"]),
            _ratio(f"appends by {number} threads", "writes without a flush", disk[_by(number)], disk["raw"]),
        ]
    return rows


def _in_memory() -> list[Ratio]:
    if not _MEMORY.is_dir():
        return []
    with TemporaryDirectory(dir=_MEMORY) as folder:
        return _wanted("memory", _rates(Path(folder), alone=1_000, together=4_000, raw=5_000))


def _wanted(where: str, rates: Rates) -> list[Ratio]:
    """The targets are rates; how far a disk is from them depends on the disk, which is why memory is beside it."""
    together = [
        _ratio(f"appends by {number} threads, {where}", "wanted", rates[_by(number)], TOGETHER_PER_SECOND, 1)
        for number in THREADS
    ]
    return [_ratio(f"appends by one thread, {where}", "wanted", rates["alone"], ALONE_PER_SECOND, 1), *together]


def _by(threads: int) -> str:
    return f"by {threads}"


def _ratio(ours: str, theirs: str, rate: float, other: float, target: float | None = None) -> Ratio:
    note = f"{rate:,.0f}/s : {other:,.0f}/s"
    return Ratio(name=f"{ours} : {theirs}", measured=rate / other, target=target, better="higher", note=note)


def _rates(folder: Path, *, alone: int, together: int, raw: int) -> dict[str, float]:
    """Lines per second, every way in turns, in files that lie side by side."""
    lines = [seal(encode(record)) for record in _samples()]
    with FolderRunStore.open(folder / "store") as store, ThreadPoolExecutor(max(THREADS)) as pool:
        numbers = count()
        work: dict[str, tuple[int, Callable[[], None]]] = {
            "alone": (alone, lambda: _append(store, numbers, alone)),
            "flushed": (alone, lambda: _write(folder / "flushed", lines[:alone], flush=True)),
            "raw": (raw, lambda: _write(folder / "raw", lines * (raw // len(lines)), flush=False)),
        }
        for threads in THREADS:
            work[_by(threads)] = (together, partial(_append_together, pool, threads, store, numbers, together))
        seconds = median_seconds({name: action for name, (_, action) in work.items()}, rounds=_ROUNDS)
    return {name: number / seconds[name] for name, (number, _) in work.items()}


def _append_together(
    pool: ThreadPoolExecutor, threads: int, store: FolderRunStore, numbers: Iterator[int], number: int
) -> None:
    share = number // threads
    for done in [pool.submit(_append, store, numbers, share) for _ in range(threads)]:
        done.result()


def _append(store: FolderRunStore, numbers: Iterator[int], number: int) -> None:
    """Append so many records, each under a name of its own: a store takes no record twice."""
    samples = _samples()
    for index in islice(numbers, number):
        store.append(msgspec.structs.replace(samples[index % len(samples)], run_id=f"run-{index}"))


@cache
def _samples() -> Sequence[RunRecord]:
    return tuple(records(1_000))


def _write(path: Path, lines: Sequence[bytes], *, flush: bool) -> None:
    """What anybody would write without a store."""
    file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    for line in lines:
        os.write(file, line)
        if flush:
            os.fdatasync(file)
    os.close(file)
