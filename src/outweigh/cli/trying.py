"""Preflight of a whole suite: every task tried before anybody pays, and the results kept as evidence."""

import os
import tempfile
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from threading import Event

import msgspec

from outweigh.adapters.stores.whole_file import write_whole
from outweigh.adapters.workspaces.copies import CachedWorkspaces
from outweigh.cli.allowed_hosts import allowed_hosts
from outweigh.cli.sandbox_choice import wanted_sandbox
from outweigh.errors import EvidenceError, UsageError
from outweigh.plugins import load
from outweigh.run.loading import LoadedSuite
from outweigh.run.preflight import Premises, preflight
from outweigh.run.preflight_findings import Preflight, PreflightResult
from outweigh.run.way_out import WayOut

JOBS = 2
SHOWN_FAULTS = 3
PREFLIGHT_FILE = "preflight.json"


def try_tasks(suite: LoadedSuite) -> list[PreflightResult]:
    """Untouched, noop and oracle for every task. Needs the sandbox and git, but no agent and no secret."""
    with tempfile.TemporaryDirectory(prefix="outweigh-", ignore_cleanup_errors=True) as scratch:
        # Not an engine's label: a run that clears up after a killed engine must leave this alone.
        return _try(suite, Path(scratch), f"outweigh-doctor:{os.getpid()}")


def keep_preflight(folder: Path, suite: LoadedSuite, results: Sequence[PreflightResult]) -> None:
    """Write the results beside the records."""
    evidence = Preflight(suite=suite.spec.name, tasks=tuple(results))
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as fault:
        raise UsageError(f"{folder} cannot be made: {fault.strerror}. Name a folder to write to by -o.") from fault
    write_whole(folder / PREFLIGHT_FILE, [msgspec.json.format(msgspec.json.encode(evidence), indent=2), b"\n"])


def require_preflight(folder: Path, suite: LoadedSuite, *, scratch: Path, label: str, go_on: bool) -> None:
    """Before the first paid run: a task that cannot show anything stops the experiment, unless the user insists.

    With the scratch folder and the label of the engine, what is left by a kill is found like everything else.
    """
    results = _kept(folder, suite)
    # What stood in the way may be mended without a change to any task: a tool was installed, the disk has room again.
    if results is None or not (go_on or all(result.fit for result in results)):
        results = _try(suite, scratch, label)
        keep_preflight(folder, suite, results)
    faults = [
        f"{result.task_id}: {finding.message}" for result in results for finding in result.findings if finding.blocking
    ]
    if faults and not go_on:
        more = f" (and {len(faults) - SHOWN_FAULTS} more)" if len(faults) > SHOWN_FAULTS else ""
        raise EvidenceError(
            f"tried before the first run, tasks were found that would show nothing: {' '.join(faults[:SHOWN_FAULTS])}"
            f"{more} `outweigh doctor -c` shows all; mend them, or go on all the same with -y."
        )


def _kept(folder: Path, suite: LoadedSuite) -> Sequence[PreflightResult] | None:
    """Earlier results, where they are about just these tasks in this kind of sandbox."""
    try:
        kept = msgspec.json.decode((folder / PREFLIGHT_FILE).read_bytes(), type=Preflight)
    except (OSError, msgspec.MsgspecError):
        return None
    kind = wanted_sandbox(suite.spec.sandbox.kind)
    tried = {result.task_id: (result.task_checksum, result.sandbox) for result in kept.tasks}
    return kept.tasks if tried == {task.id: (task.checksum, kind) for task in suite.tasks} else None


def _try(suite: LoadedSuite, scratch: Path, label: str) -> list[PreflightResult]:
    with allowed_hosts(suite.spec.sandbox) as hosts:
        premises = _premises(suite, scratch, label, WayOut(hosts()))
        premises.scratch.mkdir()
        with ThreadPoolExecutor(JOBS) as threads, _cancelled_by_trouble(premises.cancel):
            return list(threads.map(lambda task: preflight(task, premises), suite.tasks))


def _premises(suite: LoadedSuite, scratch: Path, label: str, way_out: WayOut) -> Premises:
    return Premises(
        sandboxes=load("sandbox", wanted_sandbox(suite.spec.sandbox.kind)),
        workspaces=CachedWorkspaces(scratch / "pristine"),
        scratch=scratch / "preflight",
        sandbox=suite.spec.sandbox,
        label=label,
        solution_timeout_seconds=suite.spec.limits.timeout_seconds,
        cancel=Event(),
        way_out=way_out,
        judged=bool(suite.spec.judges),
    )


@contextmanager
def _cancelled_by_trouble(cancel: Event) -> Iterator[None]:
    """Ctrl-C must not wait for a test suite to end."""
    try:
        yield
    except BaseException:
        cancel.set()
        raise
