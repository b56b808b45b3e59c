"""`ModelServer`, as tests and the command line use it: a server on loopback that runs in its own thread while a context
lasts.
"""

import asyncio
from collections.abc import Callable
from pathlib import Path
from threading import Event, Thread
from types import TracebackType
from typing import Self

from outweigh.errors import UsageError, requires_extra
from outweigh.testing.model_server.ledger import LedgerEntry, RequestLedger, Totals
from outweigh.testing.model_server.model_script import Script, read_script

LOOPBACK_HOST = "127.0.0.1"
# How long responses under way may take when the server stops; 0 would mean for ever.
_SHUTDOWN_SECONDS = 0.05


class ModelServer:
    """A scripted model behind the protocols of the large providers.

    ```
    with ModelServer(Script(turn=[Turn(run="echo 42 >answer.txt"), Turn(text="Done.")])) as server:
        run_an_agent(base_url=server.url)
    assert server.totals().billed == 2
    ```

    Port 0 takes any that is free. `kept_body_bytes` keeps the beginning of every request's body in the ledger.
    `on_entry` is called in the server's thread for every request.
    """

    def __init__(
        self,
        script: Script | Path,
        *,
        port: int = 0,
        kept_body_bytes: int = 0,
        on_entry: Callable[[LedgerEntry], None] | None = None,
    ) -> None:
        self._script = read_script(script) if isinstance(script, Path) else script
        self._port = port
        self._kept_body_bytes = kept_body_bytes
        self._ledger = RequestLedger(on_entry)
        self._ready, self._stop = Event(), asyncio.Event()
        self._fault: Exception | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread = Thread(target=self._run, name="model-server", daemon=True)

    @property
    def port(self) -> int:
        """The port it listens on, once it has started."""
        return self._port

    @property
    def url(self) -> str:
        """The base URL of all paths, without `/v1`."""
        return f"http://{LOOPBACK_HOST}:{self._port}"

    @property
    def ledger(self) -> tuple[LedgerEntry, ...]:
        """Every request so far, in the order in which they were answered."""
        return self._ledger.entries()

    def totals(self, model: str | None = None) -> Totals:
        """The requests and tokens so far, of all models or of one."""
        return self._ledger.totals(model)

    def __enter__(self) -> Self:
        self._thread.start()
        self._ready.wait()
        if self._fault is not None:
            self._thread.join()
            raise self._fault
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._loop is not None:
            self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join()

    def _run(self) -> None:
        try:
            asyncio.run(self._serve())
        except OSError as fault:
            said = fault.strerror or str(fault)
            self._fault = UsageError(
                f"port {self._port} of {LOOPBACK_HOST} cannot be used: {said}. Take another, or 0 for any."
            )
        except Exception as fault:  # raised again in the thread that started the server
            self._fault = fault
        finally:
            self._ready.set()

    async def _serve(self) -> None:
        # Imported here, because only a running server needs them.
        with requires_extra("the scripted model server", "run"):
            from aiohttp import web  # noqa: PLC0415

            from outweigh.testing.model_server.http_handler import ModelRequestHandler  # noqa: PLC0415

        self._loop = asyncio.get_running_loop()
        handler = ModelRequestHandler(self._script, self._ledger, self._kept_body_bytes)
        runner = web.AppRunner(handler.application(), access_log=None, shutdown_timeout=_SHUTDOWN_SECONDS)
        await runner.setup()
        try:
            site = web.TCPSite(runner, LOOPBACK_HOST, self._port)
            await site.start()
            self._port = runner.addresses[0][1]
            self._ready.set()
            await self._stop.wait()
        finally:
            await runner.cleanup()
