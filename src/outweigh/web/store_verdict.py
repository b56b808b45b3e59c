"""Verdicts and reports of stores, computed one at a time in other processes and kept until the store changes."""

import os
import signal
import subprocess
import sys
from collections import OrderedDict
from contextlib import suppress
from pathlib import Path
from queue import SimpleQueue
from tempfile import TemporaryDirectory
from threading import Condition, Lock, Thread

import msgspec

from outweigh.errors import EvidenceError
from outweigh.process import spawn
from outweigh.store.store_files import FileState, rule_file_states
from outweigh.verdict.decision import Decision
from outweigh.web.store_index import StoreIndex

MAX_KEPT_REPORTS = 4
"""A report of many tasks has megabytes."""

_PROGRAM = "outweigh.web.verdict_process"


class CandidateVerdict(msgspec.Struct, frozen=True, kw_only=True):
    """What was decided about one candidate. `effect` and its interval are of the pass rate, or of the judge score."""

    name: str
    decision: Decision
    sentence: str
    reason: str
    may_promote: bool
    effect: float | None
    low: float | None
    high: float | None


class StoreVerdict(msgspec.Struct, frozen=True, kw_only=True):
    """The verdicts of a store; `problem` says why there is none. `earlier` are versions that the suite has no more."""

    baseline: str | None = None
    candidates: tuple[CandidateVerdict, ...] = ()
    earlier: tuple[CandidateVerdict, ...] = ()
    problem: str | None = None


class StoreReport(msgspec.Struct, frozen=True, kw_only=True):
    """The report of a store as HTML; `problem` says why there is none."""

    html: str = ""
    problem: str | None = None


StoreState = tuple[int, tuple[FileState, ...]]
"""Equal states of a store have equal verdicts."""


def _state_of(index: StoreIndex) -> StoreState:
    return index.version, rule_file_states(index.path)


class _VerdictProgram:
    """Runs the program that decides. At most one runs at a time, which bounds memory."""

    def __init__(self) -> None:
        self._turn = Lock()
        self._process: subprocess.Popen[bytes] | None = None

    def run(self, kind: str, path: Path) -> bytes:
        """What it answers; EvidenceError with its last line where it fails."""
        with self._turn, TemporaryDirectory() as folder:
            target = Path(folder) / "answer"
            with spawn([sys.executable, "-m", _PROGRAM, kind, str(path), str(target)]) as process:
                self._process = process
                _, err = process.communicate()
                self._process = None
            if process.returncode or not target.exists():
                lines = err.decode(errors="replace").strip().splitlines()
                raise EvidenceError(lines[-1] if lines else f"the verdict of {path} was not computed.")
            return target.read_bytes()

    def stop(self) -> None:
        """End the program that runs now."""
        if (process := self._process) is not None:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)


class VerdictCache:
    """The verdict of every store, decided in the background when it is first asked for and after every change."""

    def __init__(self) -> None:
        self._deciding = _VerdictProgram()
        # Apart, so that a report does not wait behind the verdicts of all stores.
        self._reporting = _VerdictProgram()
        self._known: dict[Path, tuple[StoreState, StoreVerdict]] = {}
        self._pending: set[Path] = set()
        self._queue: SimpleQueue[StoreIndex] = SimpleQueue()
        self._changed = Condition()
        self._worker: Thread | None = None
        self._reports: OrderedDict[Path, tuple[StoreState, str]] = OrderedDict()
        self._rendering = Lock()

    def find(self, index: StoreIndex) -> StoreVerdict | None:
        """The verdict of a store; None while it is being decided."""
        if (known := self.peek(index)) is not None:
            return known
        with self._changed:
            if index.path not in self._pending:
                self._pending.add(index.path)
                self._queue.put(index)
            if self._worker is None:
                self._worker = Thread(target=self._work, name="verdicts", daemon=True)
                self._worker.start()
        return None

    def peek(self, index: StoreIndex) -> StoreVerdict | None:
        """The verdict of a store as it is now, if it is known already."""
        known = self._known.get(index.path)
        return known[1] if known is not None and known[0] == _state_of(index) else None

    def wait(self) -> None:
        """Wait until everything that was asked for is decided."""
        with self._changed:
            self._changed.wait_for(lambda: not self._pending)

    def report(self, index: StoreIndex) -> str:
        """The report of a store as HTML, rendered when it is first asked for and after every change."""
        with self._rendering:
            state = _state_of(index)
            known = self._reports.get(index.path)
            if known is None or known[0] != state:
                self._reports.pop(index.path, None)
                while len(self._reports) >= MAX_KEPT_REPORTS:
                    self._reports.popitem(last=False)
                self._reports[index.path] = known = state, self._render(index.address)
            self._reports.move_to_end(index.path)
            return known[1]

    def _render(self, path: Path) -> str:
        report = msgspec.json.decode(self._reporting.run("report", path), type=StoreReport)
        if report.problem is not None:
            raise EvidenceError(report.problem)
        return report.html

    def stop(self) -> None:
        """End what is being computed."""
        self._deciding.stop()
        self._reporting.stop()

    def _work(self) -> None:
        while True:
            index = self._queue.get()
            state = _state_of(index)
            try:
                verdict = msgspec.json.decode(self._deciding.run("verdict", index.address), type=StoreVerdict)
            except (EvidenceError, OSError, msgspec.MsgspecError) as fault:
                verdict = StoreVerdict(problem=str(fault))
            with self._changed:
                self._known[index.path] = state, verdict
                self._pending.discard(index.path)
                self._changed.notify_all()
