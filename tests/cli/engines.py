"""`outweigh run`, or another verb, as a process of its own: started, interrupted, killed, and looked after."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from outweigh.model.codec import refuse_invalid
from outweigh.model.run_record import RunRecord
from outweigh.store.records import RecordReader
from outweigh.workspace.overlay_mount import overlay_mounts_below, unmount

# Only what hangs takes longer, on any machine.
PATIENCE = 300.0


class Ended(NamedTuple):
    """How a process ended and what it said."""

    code: int
    out: str
    err: str


class Engine:
    """One process, in a process group of its own like the foreground job of a terminal."""

    patience = PATIENCE

    def __init__(
        self, *arguments: str, temporary: Path, folder: Path | None = None, verb: str = "run", **variables: str
    ) -> None:
        self._temporary = temporary
        environment = {"PATH": os.environ["PATH"], "TMPDIR": str(temporary), **variables}
        self._process = subprocess.Popen(
            [sys.executable, "-m", "outweigh", verb, *arguments],
            env=environment,
            cwd=folder,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )

    def close(self) -> None:
        """Leave nothing of it behind, however a test ended."""
        self._process.kill()
        self._process.wait()
        self.stop_listening()
        for mount in overlay_mounts_below(self._temporary):
            unmount(mount)

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def has_ended(self) -> bool:
        return self._process.poll() is not None

    def stop_listening(self) -> None:
        """Close our ends of its outputs."""
        for stream in (self._process.stdout, self._process.stderr):
            assert stream is not None
            stream.close()

    def press_ctrl_c(self) -> None:
        """As a terminal does: everybody in the foreground gets it."""
        os.killpg(self.pid, signal.SIGINT)

    def kill(self) -> Ended:
        """At once, and only the engine itself: what it started stays."""
        self._process.kill()
        return self.wait()

    def kill_after(self, seconds: float) -> Ended:
        """Kill it, unless it ends before."""
        try:
            out, err = self._process.communicate(timeout=seconds)
        except subprocess.TimeoutExpired:
            return self.kill()
        return Ended(self._process.returncode, out, err)

    def wait(self) -> Ended:
        try:
            out, err = self._process.communicate(timeout=self.patience)
        except ValueError:  # nobody listens any more
            return Ended(self._process.wait(self.patience), "", "")
        return Ended(self._process.returncode, out, err)


def until(happened: Callable[[], bool]) -> None:
    """Wait for something another process does."""
    deadline = time.monotonic() + PATIENCE
    while not happened():
        assert time.monotonic() < deadline, "it did not happen"
        time.sleep(0.01)


def begun(store: Path) -> int:
    """How many attempts were begun."""
    journal = store / "attempts-engine.log"
    return len(journal.read_bytes().splitlines()) if journal.exists() else 0


def records(store: Path) -> list[RunRecord]:
    """Everything that is on disk now."""
    found = (located.record for located in RecordReader(str(store)).records(refuse_invalid))
    return [record for record in found if isinstance(record, RunRecord)]
