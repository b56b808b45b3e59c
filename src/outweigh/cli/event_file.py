"""The engine's events as JSON Lines, for programs that watch."""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from io import FileIO

import msgspec

from outweigh.errors import UsageError
from outweigh.run.events import Event, Listener


def _opened(path: str) -> FileIO:
    try:
        return FileIO(path, "a")
    except OSError as fault:
        raise UsageError(f"--events {path} cannot be written: {fault.strerror}.") from fault


@contextmanager
def told_to_file(path: str | None, listen: Listener) -> Iterator[Listener]:
    """A listener that also appends every event to a file, one object per line, as it happens."""
    if path is None:
        yield listen
        return
    with _opened(path) as stream:

        def tell(event: Event) -> None:
            moment = {"at": datetime.now(UTC), **msgspec.to_builtins(event)}
            stream.write(msgspec.json.encode(moment) + b"\n")
            listen(event)

        yield tell
