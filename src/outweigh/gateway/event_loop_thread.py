"""An asyncio event loop in a thread of its own, for servers that work while the engine's threads wait."""

import asyncio
from collections.abc import Coroutine
from concurrent.futures import Future
from threading import Event, Lock, Thread, current_thread
from types import TracebackType
from typing import Any, Self, TypeVar

_Result = TypeVar("_Result")


class EventLoopThread:
    """A place for coroutines beside a program of threads. Leaving it cancels whatever is still under way."""

    def __init__(self) -> None:
        self._thread = Thread(target=self._work, name="outweigh-background", daemon=True)
        self._ready = Event()
        # Whatever is handed over before the end is cancelled by it; nothing may be handed over later and wait for ever.
        self._handing_over = Lock()
        self._is_open = False

    def __enter__(self) -> Self:
        self._thread.start()
        self._ready.wait()
        self._is_open = True
        return self

    def __exit__(
        self, kind: type[BaseException] | None, fault: BaseException | None, trace: TracebackType | None
    ) -> None:
        with self._handing_over:
            self._is_open = False
            self._loop.call_soon_threadsafe(self._over.set)
        self._thread.join()

    def run(self, work: Coroutine[Any, Any, _Result]) -> _Result:
        """Do this over there and wait for its result, from any thread but the background's own."""
        under_way = self._hand_over(work)
        try:
            return under_way.result()
        except BaseException:  # also Ctrl-C: nobody waits any more, so nobody should work
            under_way.cancel()
            raise

    def _hand_over(self, work: Coroutine[Any, Any, _Result]) -> Future[_Result]:
        with self._handing_over:
            if self._is_open and current_thread() is not self._thread:
                return asyncio.run_coroutine_threadsafe(work, self._loop)
        work.close()
        if self._is_open:
            raise RuntimeError("the background cannot wait for itself; await the coroutine instead")
        raise RuntimeError("the background is not entered, or left already")

    def _work(self) -> None:
        # The runner cancels what is left and waits for it before its loop closes.
        with asyncio.Runner() as runner:
            self._loop = runner.get_loop()
            self._over = asyncio.Event()
            runner.run(self._wait())

    async def _wait(self) -> None:
        self._ready.set()
        await self._over.wait()
