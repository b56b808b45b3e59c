"""An event loop beside threads: it works for any of them, and nothing outlives it."""

import asyncio
from concurrent.futures import CancelledError, ThreadPoolExecutor
from threading import Event, current_thread
from threading import enumerate as all_threads

import pytest

from outweigh.gateway.event_loop_thread import EventLoopThread

PATIENCE_SECONDS = 60.0


async def _own_thread() -> str:
    return current_thread().name


async def _fail() -> None:
    raise LookupError("said the coroutine")


def test_a_coroutine_is_run_elsewhere_and_its_result_comes_back() -> None:
    with EventLoopThread() as background:
        assert background.run(_own_thread()) != current_thread().name
        assert background.run(asyncio.sleep(0, "result")) == "result"


def test_a_fault_is_raised_where_somebody_waits_for_it() -> None:
    with EventLoopThread() as background, pytest.raises(LookupError, match="said the coroutine"):
        background.run(_fail())


def test_many_threads_wait_at_once() -> None:
    together = asyncio.Barrier(8)

    async def meet() -> int:
        return await together.wait()

    with EventLoopThread() as background, ThreadPoolExecutor(8) as threads:
        places = list(threads.map(lambda _: background.run(meet()), range(8), timeout=PATIENCE_SECONDS))

    assert sorted(places) == list(range(8))


def test_leaving_cancels_what_is_left_and_waits_until_it_has_cleaned_up() -> None:
    begun, cleaned = Event(), Event()

    async def work() -> None:
        begun.set()
        try:
            await asyncio.sleep(PATIENCE_SECONDS)
        finally:
            await asyncio.sleep(0)
            cleaned.set()

    with ThreadPoolExecutor(1) as threads:
        with EventLoopThread() as background:
            waiting = threads.submit(background.run, work())
            assert begun.wait(PATIENCE_SECONDS)
        assert cleaned.is_set()
        with pytest.raises(CancelledError):
            waiting.result(PATIENCE_SECONDS)


def test_no_thread_is_left() -> None:
    before = set(all_threads())
    with EventLoopThread() as background:
        background.run(asyncio.sleep(0))

    assert set(all_threads()) <= before


def test_waiting_for_itself_is_refused_and_not_a_deadlock() -> None:
    with EventLoopThread() as background:

        async def wait_for_oneself() -> None:
            background.run(_fail())

        with pytest.raises(RuntimeError, match="await the coroutine"):
            background.run(wait_for_oneself())


def test_before_and_after_it_does_nothing() -> None:
    background = EventLoopThread()
    with pytest.raises(RuntimeError, match="not entered"):
        background.run(_fail())
    with background:
        pass
    with pytest.raises(RuntimeError, match="left already"):
        background.run(_fail())
