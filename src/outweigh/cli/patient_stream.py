"""Standard streams whose reader may leave early, as in `outweigh run … | head`: the work goes on without a listener."""

import io
import os
import stat
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer


class _PatientFile(io.FileIO):
    """What nobody reads any more counts as written."""

    def write(self, data: "ReadableBuffer", /) -> int:
        try:
            return super().write(data)
        except BrokenPipeError:
            return memoryview(data).nbytes


def be_patient(name: str) -> None:
    """Replace `sys.stdout` or `sys.stderr` where it is a pipe; files, terminals and what tests put there stay."""
    stream = getattr(sys, name)
    if stream is not getattr(sys, f"__{name}__") or not _leads_to_a_reader(stream):
        return
    patient = io.TextIOWrapper(
        io.BufferedWriter(_PatientFile(stream.fileno(), "w", closefd=False)),
        encoding=stream.encoding,
        errors=stream.errors,
        line_buffering=stream.line_buffering,
        write_through=stream.write_through,
    )
    setattr(sys, name, patient)


def _leads_to_a_reader(stream: io.TextIOWrapper) -> bool:
    try:
        mode = os.fstat(stream.fileno()).st_mode
    except (OSError, ValueError):
        return False
    return stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode)
