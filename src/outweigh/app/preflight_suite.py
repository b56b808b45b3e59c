"""Preflight of a whole suite: every task is tried before any run is paid for, and the results are stored."""

import os
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from threading import Event
from typing import TypeVar

from outweigh.app.sandbox_limits import with_default_limits
from outweigh.app.suite_sandbox import open_allowed_hosts, sandbox_name
from outweigh.app.task_images import NO_IMAGES, image_files, prepare_task_images
from outweigh.engine.attack import TriedCheat, attack
from outweigh.engine.load_suite import LoadedSuite
from outweigh.engine.preflight import PreflightContext, preflight
from outweigh.engine.sandbox_request import RunEgress
from outweigh.engine.task_dependencies import require_dependencies
from outweigh.errors import EvidenceError
from outweigh.model.preflight_result import Preflight, PreflightResult
from outweigh.model.task import Task
from outweigh.plugins import load_adapter
from outweigh.ports.sandboxes import ReadyImage, SandboxProvider
from outweigh.store.preflight_file import read_preflight, write_preflight
from outweigh.workspace.cache import WorkspaceCache

Item = TypeVar("Item")
Tried = TypeVar("Tried")

PREFLIGHT_JOBS = 2
SHOWN_FAULTS = 3
SIGNAL_SECONDS = 0.2
"""How long a signal may wait until it is taken."""


def preflight_tasks(suite: LoadedSuite) -> list[PreflightResult]:
    """Untouched, noop and oracle for every task. Needs the sandbox and git, but no agent and no secret."""
    with tempfile.TemporaryDirectory(prefix="outweigh-", ignore_cleanup_errors=True) as scratch:
        # Not an engine's label: a run that clears up after a killed engine must leave this alone.
        return _preflight_all(suite, Path(scratch), f"outweigh-doctor:{os.getpid()}", _own_images(suite))


def attack_tasks(suite: LoadedSuite, results: Sequence[PreflightResult]) -> dict[str, tuple[TriedCheat, ...]]:
    """Every known cheat on every task, by task; `results` are those of preflight, which know the names of tests."""
    names = {result.task_id: result.case_names for result in results}
    with (
        tempfile.TemporaryDirectory(prefix="outweigh-", ignore_cleanup_errors=True) as scratch,
        _opened_context(suite, Path(scratch), f"outweigh-doctor:{os.getpid()}", _own_images(suite)) as context,
    ):
        tried = try_all(_checked_tasks(suite), context.cancel, lambda task: attack(task, context, names[task.id]))
        return dict(zip((task.id for task in _checked_tasks(suite)), tried, strict=True))


def store_preflight(folder: Path, suite: LoadedSuite, results: Sequence[PreflightResult]) -> None:
    """Write the results beside the records."""
    write_preflight(folder, Preflight(suite=suite.spec.name, tasks=tuple(results)))


def require_preflight(
    folder: Path,
    suite: LoadedSuite,
    *,
    scratch: Path,
    label: str,
    ignore_faults: bool,
    images: Mapping[str, ReadyImage] = NO_IMAGES,
) -> Sequence[PreflightResult]:
    """Before the first paid run: a task that cannot show anything stops the experiment, unless the user insists.

    Returns what was found: runs must report the test cases that solved tries did. With the scratch folder and the
    label of the engine, what is left by a kill is found like everything else.
    """
    results = _stored_results(folder, suite)
    # What stood in the way may be mended without a change to any task: a tool was installed, the disk has room again.
    if results is None or not (ignore_faults or all(result.fit for result in results)):
        results = _preflight_all(suite, scratch, label, images)
        store_preflight(folder, suite, results)
    faults = [
        f"{result.task_id}: {finding.message}" for result in results for finding in result.findings if finding.blocking
    ]
    if faults and not ignore_faults:
        more = f" (and {len(faults) - SHOWN_FAULTS} more)" if len(faults) > SHOWN_FAULTS else ""
        raise EvidenceError(
            f"some tasks cannot show anything: {' '.join(faults[:SHOWN_FAULTS])}"
            f"{more} `outweigh doctor -c` shows all; fix them, or continue anyway with -y."
        )
    return results


def _stored_results(folder: Path, suite: LoadedSuite) -> Sequence[PreflightResult] | None:
    """Earlier results, where they are about just these tasks in this kind of sandbox."""
    kept = read_preflight(folder)
    if kept is None:
        return None
    kind = sandbox_name(suite.spec.sandbox, suite.tasks)
    tried = {result.task_id: (result.task_checksum, result.sandbox) for result in kept.tasks}
    return kept.tasks if tried == {task.id: (task.checksum, kind) for task in _checked_tasks(suite)} else None


def _own_images(suite: LoadedSuite) -> Mapping[str, ReadyImage]:
    return prepare_task_images(suite, _provider(suite))


def _provider(suite: LoadedSuite) -> SandboxProvider:
    provider: SandboxProvider = load_adapter("sandbox", sandbox_name(suite.spec.sandbox, suite.tasks))
    return provider


def _preflight_all(
    suite: LoadedSuite, scratch: Path, label: str, images: Mapping[str, ReadyImage]
) -> list[PreflightResult]:
    with _opened_context(suite, scratch, label, images) as context:
        return try_all(_checked_tasks(suite), context.cancel, lambda task: preflight(task, context))


def try_all(
    items: Sequence[Item], cancel: Event, work: Callable[[Item], Tried], jobs: int = PREFLIGHT_JOBS
) -> list[Tried]:
    """Several tries at once. Ctrl-C must not wait for a test suite to end: it cancels what is under way."""
    with ThreadPoolExecutor(jobs) as threads:
        tries = [threads.submit(work, item) for item in items]
        left = set(tries)
        try:
            while left:
                # Not for ever at once: a signal that another thread takes does not wake this one.
                done, left = wait(left, timeout=SIGNAL_SECONDS)
                for each in done:
                    each.result()
        except BaseException:
            cancel.set()
            threads.shutdown(wait=False, cancel_futures=True)
            raise
        return [each.result() for each in tries]


@contextmanager
def _opened_context(
    suite: LoadedSuite, scratch: Path, label: str, images: Mapping[str, ReadyImage]
) -> Iterator[PreflightContext]:
    """What tries are made with; the way to allowed hosts is open meanwhile."""
    with open_allowed_hosts(suite.spec.sandbox) as hosts:
        context = replace(_preflight_context(suite, scratch, label, images), egress=RunEgress(hosts()))
        context.scratch.mkdir()
        yield context


def _preflight_context(
    suite: LoadedSuite, scratch: Path, label: str, images: Mapping[str, ReadyImage]
) -> PreflightContext:
    provider = _provider(suite)
    require_dependencies(suite.tasks, provider.name)
    return PreflightContext(
        sandboxes=provider,
        workspaces=WorkspaceCache(scratch / "pristine", image_files=image_files(provider, images)),
        scratch=scratch / "preflight",
        sandbox=with_default_limits(suite.spec.sandbox, PREFLIGHT_JOBS),
        label=label,
        solution_timeout_seconds=suite.spec.limits.timeout_seconds,
        cancel=Event(),
        judged=bool(suite.spec.judges),
        images=images,
    )


def _checked_tasks(suite: LoadedSuite) -> tuple[Task, ...]:
    """The tasks that have something to try: trigger cases have no checks, and need none."""
    return tuple(task for task in suite.tasks if task.trigger is None)
