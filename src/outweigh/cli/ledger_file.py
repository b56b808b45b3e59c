"""The ledger of the scripted model as JSON Lines."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from io import FileIO
from threading import Event
from typing import Any

import msgspec

from outweigh.errors import UsageError
from outweigh.testing.model_server import LedgerEntry

Listener = Callable[[LedgerEntry], None]
_SHOWN = 4
_SECRET_LENGTH = 16


@contextmanager
def told_to_ledger_file(path: str | None, listen: Listener, stop: Event) -> Iterator[Listener]:
    """A listener that also appends every entry to a file, one object per line, as it happens.

    It is called in the server's thread; a file that cannot be written any more ends the serving, and then the program.
    """
    if path is None:
        yield listen
        return
    faults: list[OSError] = []
    with _opened(path) as stream:

        def tell(entry: LedgerEntry) -> None:
            try:
                stream.write(msgspec.json.encode(_line(entry)) + b"\n")
            except OSError as fault:
                faults.append(fault)
                stop.set()
            listen(entry)

        yield tell
    if faults:
        raise _cannot_write(path, faults[0])


def _opened(path: str) -> FileIO:
    try:
        return FileIO(path, "a")
    except OSError as fault:
        raise _cannot_write(path, fault) from fault


def _cannot_write(path: str, fault: OSError) -> UsageError:
    return UsageError(f"--ledger {path} cannot be written: {fault.strerror}. Name another file.")


def _line(entry: LedgerEntry) -> dict[str, Any]:
    """The entry without its body, and with the end only of what may be a real key that somebody forgot to replace."""
    fields: dict[str, Any] = msgspec.to_builtins(entry)
    fields.pop("body")
    key = entry.api_key
    if key is not None and len(key) >= _SECRET_LENGTH:
        fields["api_key"] = f"…{key[-_SHOWN:]}"
    return fields
