"""An asyncio event loop in its own thread, for servers that work while the engine's threads wait."""

import asyncio
from collections.abc import Coroutine
from concurrent.futures import Future
from threading import Event, Lock, Thread, current_thread
from types import TracebackType
from typing import Any, Self, TypeVar

_Result = TypeVar("_Result")


class EventLoopThread:
    """Runs coroutines for a program of threads. Leaving the context cancels those that are still running."""

    def __init__(self) -> None:
        self._thread = Thread(target=self._run_loop, name="outweigh-background", daemon=True)
        self._ready = Event()
        # What is submitted before the end is cancelled by it; nothing may be submitted later and wait for ever.
        self._submit_lock = Lock()
        self._is_open = False

    def __enter__(self) -> Self:
        self._thread.start()
        self._ready.wait()
        self._is_open = True
        return self

    def __exit__(
        self, kind: type[BaseException] | None, fault: BaseException | None, trace: TracebackType | None
    ) -> None:
        with self._submit_lock:
            self._is_open = False
            self._loop.call_soon_threadsafe(self._stopped.set)
        self._thread.join()

    def run(self, work: Coroutine[Any, Any, _Result]) -> _Result:
        """Run a coroutine and wait for its result, from any thread but the event loop's own."""
        pending = self._submit(work)
        try:
            return pending.result()
        except BaseException:  # also Ctrl-C: nobody waits for the result any more
            pending.cancel()
            raise

    def _submit(self, work: Coroutine[Any, Any, _Result]) -> Future[_Result]:
        with self._submit_lock:
            if self._is_open and current_thread() is not self._thread:
                return asyncio.run_coroutine_threadsafe(work, self._loop)
        work.close()
        if self._is_open:
            raise RuntimeError("the background cannot wait for itself; await the coroutine instead")
        raise RuntimeError("the background is not entered, or left already")

    def _run_loop(self) -> None:
        # The runner cancels the remaining tasks and waits for them before it closes the loop.
        with asyncio.Runner() as runner:
            self._loop = runner.get_loop()
            self._stopped = asyncio.Event()
            runner.run(self._wait())

    async def _wait(self) -> None:
        self._ready.set()
        await self._stopped.wait()
