"""Examine the machine: Python, git, disk space, sandboxes and prices; with a suite, also whether its tasks work."""

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from threading import Event
from time import monotonic

import msgspec

from outweigh.app.observer import Notify
from outweigh.app.preflight_suite import attack_tasks, preflight_tasks, store_preflight
from outweigh.app.probe_agents import arms_that_ask, probe_agents, probe_harbor, probe_judges
from outweigh.app.sandbox_limits import with_default_limits
from outweigh.app.suite_sandbox import open_allowed_hosts, sandbox_name
from outweigh.app.suite_selection import read_suite, require_known_agents
from outweigh.app.task_images import first_image
from outweigh.app.this_folder import RUNS_FOLDER
from outweigh.engine.attack import TriedCheat
from outweigh.engine.cheats import CHEATS
from outweigh.engine.load_suite import LoadedSuite
from outweigh.engine.sandbox_request import RunEgress, build_sandbox_request
from outweigh.errors import UsageError
from outweigh.model.preflight_result import PreflightResult
from outweigh.model.suite import Executor, SandboxSpec
from outweigh.plugins import adapter_names, load_adapter
from outweigh.ports.sandboxes import ReadyImage, SandboxError, SandboxProvider
from outweigh.prices import GenaiPrices
from outweigh.report.doctor_page import (
    CheatOutcome,
    CheckedTask,
    DoctorResult,
    LiveEstimate,
    RunRequirement,
    TaskFinding,
)
from outweigh.store.preflight_file import PREFLIGHT_FILE

TASK_RESULTS_FILE = PREFLIGHT_FILE
"""The file of a store that keeps what the tasks showed."""

LOW_SPACE_BYTES = 2**30
_FIRST_COMMAND = ("sh", "-c", ":")
_START_TIMEOUT_SECONDS = 60.0
_STARTS = 3
"""The first start also loads programs from disk; the quickest is what a trial will see."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DoctorRequest:
    """A suite to try, a folder to keep the results in, and whether to start every agent once and to try cheats."""

    suite: str | None = None
    output: Path | None = None
    try_agents: bool = False
    attack: bool = False
    live: bool = False


Confirm = Callable[[LiveEstimate], bool]
"""Asks the user whether agents and judges may be asked at this price."""


def examine(request: DoctorRequest, announce: Notify, confirm: Confirm = lambda _: False) -> DoctorResult:
    """Look at this machine and, with a suite, try every task. `announce` hears of what takes a while."""
    if request.live and request.suite is None:
        raise UsageError("--live asks the agents and judges of a suite; name the suite with -c.")
    if request.output is not None and request.suite is None:
        raise UsageError("-o keeps what the tasks of a suite showed; name the suite with -c.")
    if request.attack and request.suite is None:
        raise UsageError("--attack tries cheats on the tasks of a suite; name the suite with -c.")
    suite = None if request.suite is None else read_suite(request.suite)
    if suite is not None and request.suite is not None:
        require_known_agents(suite, request.suite)
    if _is_for_harbor(suite) and (request.try_agents or request.attack or request.live or request.output is not None):
        raise UsageError(
            "--try-agents, --attack, --live and -o need sandboxes of this machine; the suite is run through Harbor."
        )
    estimate = _estimate(suite)
    is_agreed = request.live and estimate is not None and (not estimate.asked or confirm(estimate))
    parts = _probe_all(suite, request.output or RUNS_FOLDER)
    if request.try_agents:
        parts = (*parts, *_smoke_test_arms(suite, announce))
    results = None if suite is None else _preflight_tasks(suite, parts, announce)
    if request.output is not None and suite is not None and results is not None:
        store_preflight(request.output, suite, results)
    cheats = _attack_tasks(suite, results, announce) if request.attack else None
    examined = DoctorResult(
        suite=None if suite is None else suite.spec.name,
        parts=parts,
        tasks=None if results is None else tuple(_checked_task(result, cheats) for result in results),
        estimate=estimate,
    )
    if suite is None or not is_agreed or examined.blocked:
        return examined
    return msgspec.structs.replace(examined, live=tuple(_check_live(suite, announce)))


def _estimate(suite: LoadedSuite | None) -> LiveEstimate | None:
    """What a live check costs; None where there is nothing to ask from here."""
    if suite is None or _is_for_harbor(suite):
        return None
    from outweigh.app.live_check import estimate_live  # noqa: PLC0415 - brings price tables along

    return estimate_live(suite)


def _check_live(suite: LoadedSuite, announce: Notify) -> Iterator[RunRequirement]:
    from outweigh.app.live_check import check_live  # noqa: PLC0415 - brings a gateway along

    announce("asking the agents and judges …")
    yield from check_live(suite)


def _probe_all(suite: LoadedSuite | None, store: Path) -> tuple[RunRequirement, ...]:
    if suite is not None and _is_for_harbor(suite):
        return (*probe_machine(store), *probe_harbor(suite), *probe_judges(suite), probe_prices())
    machine = (*probe_machine(store), *probe_sandboxes(suite))
    return (*machine, *probe_agents(suite), *probe_judges(suite), probe_prices())


def _is_for_harbor(suite: LoadedSuite | None) -> bool:
    """Nothing of it runs in sandboxes of this machine."""
    return suite is not None and suite.spec.executor is Executor.HARBOR


def _smoke_test_arms(suite: LoadedSuite | None, announce: Notify) -> Iterator[RunRequirement]:
    from outweigh.app.smoke_test import smoke_test_arms  # noqa: PLC0415 - brings a gateway and a model along

    arms = arms_that_ask(suite)
    announce(f"trying {len(arms)} agents …")
    spec = SandboxSpec() if suite is None else suite.spec.sandbox
    yield from smoke_test_arms(
        arms,
        {} if suite is None else suite.overlays,
        spec,
        allow=() if suite is None else suite.spec.gateway.allow,
        model_aliases={} if suite is None else suite.spec.gateway.model_aliases,
        required=suite is not None,
        suite=suite,
    )


def _preflight_tasks(
    suite: LoadedSuite, parts: Sequence[RunRequirement], announce: Notify
) -> list[PreflightResult] | None:
    """Preflight needs the sandbox and git, but no agent and no secret."""
    if _is_for_harbor(suite) or any(part.blocks for part in parts if part.kind in ("git", "sandbox")):
        return None
    announce(f"trying {len(suite.tasks)} tasks …")
    return preflight_tasks(suite)


def _attack_tasks(
    suite: LoadedSuite | None, results: Sequence[PreflightResult] | None, announce: Notify
) -> Mapping[str, tuple[TriedCheat, ...]] | None:
    """None where the tasks could not be tried at all."""
    if suite is None or results is None:
        return None
    announce(f"trying {len(CHEATS)} cheats on {len(suite.tasks)} tasks …")
    return attack_tasks(suite, results)


def _checked_task(result: PreflightResult, cheats: Mapping[str, tuple[TriedCheat, ...]] | None) -> CheckedTask:
    return CheckedTask(
        cheats=None if cheats is None else tuple(map(_cheat_outcome, cheats[result.task_id])),
        task_id=result.task_id,
        untouched=result.untouched,
        noop=result.noop,
        oracle=result.oracle,
        remarks=tuple(
            TaskFinding(kind=finding.kind.value, blocking=finding.blocking, message=finding.message)
            for finding in result.findings
        ),
    )


def _cheat_outcome(tried: TriedCheat) -> CheatOutcome:
    return CheatOutcome(
        cheat=tried.cheat.name,
        summary=tried.cheat.summary,
        remedy=tried.cheat.remedy,
        passes=None if tried.checks is None else tried.passes,
        fault=tried.fault,
        checks=tried.checks,
    )


def probe_machine(store: Path) -> Iterator[RunRequirement]:
    """What every run needs."""
    version = ".".join(map(str, sys.version_info[:3]))
    yield RunRequirement(kind="python", name="", missing=None, required=True, detail=version)
    yield _probe_git()
    yield _probe_space("temporary files", Path(tempfile.gettempdir()))
    yield _probe_space("store", store)


def probe_sandboxes(suite: LoadedSuite | None) -> Iterator[RunRequirement]:
    """Every kind that is installed; the one that the suite asks for must work."""
    spec = SandboxSpec() if suite is None else suite.spec.sandbox
    for name in adapter_names("sandbox"):
        is_chosen = suite is not None and name == sandbox_name(spec, suite.tasks)
        own = suite if is_chosen else None
        yield _probe_sandbox(load_adapter("sandbox", name), spec if is_chosen else SandboxSpec(), own)


def probe_prices() -> RunRequirement:
    """Where prices come from for runs whose cost nobody reports."""
    table = GenaiPrices()
    missing = table.unavailable
    detail = "" if missing else table.name
    return RunRequirement(kind="prices", name="", missing=missing and f"{missing}.", required=False, detail=detail)


def _probe_git() -> RunRequirement:
    try:
        done = subprocess.run(["git", "--version"], capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError) as fault:
        missing = f"workspaces are made with it, and it does not run ({fault}); install it."
        return RunRequirement(kind="git", name="", missing=missing, required=True, detail="")
    version = done.stdout.removeprefix("git version").strip()
    return RunRequirement(kind="git", name="", missing=None, required=True, detail=version)


def _probe_space(what: str, folder: Path) -> RunRequirement:
    there = next(path for path in (folder.absolute(), *folder.absolute().parents) if path.is_dir())
    free = shutil.disk_usage(there).free
    missing = (
        None if free >= LOW_SPACE_BYTES else f"{there} has less than a gibibyte left; make room before a long run."
    )
    return RunRequirement(
        kind="disk for", name=what, missing=missing, required=False, detail=f"{free / 2**30:,.1f} GiB free"
    )


def _probe_sandbox(provider: SandboxProvider, spec: SandboxSpec, suite: LoadedSuite | None) -> RunRequirement:
    """Whether a kind works; with the suite that has chosen it, whether it works for that suite."""
    is_chosen = suite is not None
    missing, startup, detail = provider.missing(), None, "the suite's" if is_chosen else ""
    try:
        if missing is None:
            limited = with_default_limits(spec, 1) if provider.name != "local" else spec
            image = first_image(suite, provider)
            startup = min(_time_start(provider, limited, image) for _ in range(_STARTS))
            notes = (detail, _unkept_defaults(provider, spec, limited), _protection_note(provider))
            detail = ", ".join(filter(None, notes))
    except (SandboxError, OSError) as fault:
        missing = str(fault)
    except UsageError as error:
        # Something that only a suite can state, such as an image; the suite that must state it is told.
        missing, detail = (str(error), detail) if is_chosen else (None, "to be started by a suite's settings")
    if is_chosen and missing is None:
        missing = _limits_not_kept(provider, spec)
    return RunRequirement(
        kind="sandbox",
        name=provider.name,
        missing=missing,
        required=is_chosen,
        detail=detail,
        startup_seconds=startup,
    )


def _time_start(provider: SandboxProvider, spec: SandboxSpec, image: ReadyImage | None) -> float:
    """How long it takes from nothing to the end of a first command."""
    with tempfile.TemporaryDirectory(prefix="outweigh-doctor-") as folder:
        workspace, home = Path(folder, "workspace"), Path(folder, "home")
        workspace.mkdir()
        home.mkdir()
        label = f"outweigh-doctor:{os.getpid()}"
        with open_allowed_hosts(spec) as hosts:
            ports = RunEgress(hosts()).ports
            request = build_sandbox_request(
                spec, workspace=workspace, home=home, label=label, cancel=Event(), ports=ports, image=image
            )
            began = monotonic()
            with provider.open(request) as sandbox:
                sandbox.exec(_FIRST_COMMAND, environment={}, timeout_seconds=_START_TIMEOUT_SECONDS)
                return monotonic() - began


def _unkept_defaults(provider: SandboxProvider, spec: SandboxSpec, limited: SandboxSpec) -> str:
    """A limit that nobody asked for is worth a word where it is not kept, and not in the way."""
    if _limits_not_kept(provider, spec) is not None or _limits_not_kept(provider, limited) is None:
        return ""
    return "without limits of memory and processes, which need control groups"


def _protection_note(provider: SandboxProvider) -> str:
    """Some kinds can tell, too, whether a program that a check starts can be confined."""
    tell = getattr(provider, "protection_missing", None)
    missing = None if tell is None else tell()
    return "" if missing is None else f"code that checks start is not confined: {missing}"


def _limits_not_kept(provider: SandboxProvider, spec: SandboxSpec) -> str | None:
    """Some kinds can tell; a limit that the suite counts on and nobody keeps is a missing part."""
    tell = getattr(provider, "limits_missing", None)
    found: str | None = None if tell is None else tell(spec.memory_mb, spec.processes)
    return found
