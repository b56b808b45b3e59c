"""Make many calls to a location, several at a time where it allows that."""

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

Given = TypeVar("Given")
Made = TypeVar("Made")


def call_all(workers: int, do: Callable[[Given], Made], over: Sequence[Given]) -> Iterator[Made]:
    """The results in order; the first failure ends it, and what has not begun by then never begins."""
    if workers == 1 or len(over) < 2:
        yield from map(do, over)
        return
    pool = ThreadPoolExecutor(workers)
    try:
        yield from pool.map(do, over)
    finally:
        pool.shutdown(cancel_futures=True)
