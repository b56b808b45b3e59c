"""Installs the dependencies of a commit in a sandbox that reaches the package registries and nothing else.

The sandbox has the base commit's files as its workspace, so that the project is linked from the place where every task
has it, and an empty `/opt/dependencies` that it fills. Caches are those of one suite: code of the repository runs while
it is installed and could write to them, so no other repository uses them.
"""

import os
import re
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from threading import Event

from outweigh.engine.sandbox_request import RunEgress, watch_disk_quota
from outweigh.gateway.egress_proxy import EgressProxy
from outweigh.gateway.event_loop_thread import EventLoopThread
from outweigh.mining.connect_dependencies import InstallPlace, connect_dependencies, library_path
from outweigh.mining.dependencies import (
    DEPENDENCIES_INSIDE,
    SYSTEM_PATH,
    DependencyError,
    DependencySet,
    InstalledDependencies,
    MissingToolError,
)
from outweigh.mining.install_tools import find_uv, missing_tool
from outweigh.mining.python_plan import PYTHON_INSIDE, VENV, VERSION_VARIABLES
from outweigh.mining.registries import node_registry, python_index, registry_hosts, registry_variables
from outweigh.model.failure import detail_line
from outweigh.ports.sandboxes import (
    CommandEnding,
    CompletedCommand,
    Mount,
    SandboxError,
    SandboxProvider,
    SandboxRequest,
)
from outweigh.sandbox.base_sandbox import HOME
from outweigh.workspace.trash import remove_tree

_CACHE_INSIDE = "/opt/cache"
_SHOWN_OUTPUT = 2000
_BEFORE = re.compile(r"--before=(\S+)")
_NOTHING_BEFORE = re.compile("with a date before|No versions available for")
"""What npm says where the registry has no version of that time, or knows no dates; other options change nothing."""
_SETTINGS = {
    "LANG": "C.UTF-8",
    "CI": "1",
    "UV_LINK_MODE": "copy",
    "UV_NO_CONFIG": "1",
    "UV_PYTHON_DOWNLOADS": "never",
    "UV_NO_PROGRESS": "1",
    # On a busy machine compiling takes longer than uv waits for, and what was installed would be given up.
    "UV_COMPILE_BYTECODE_TIMEOUT": "0",
    "UV_HTTP_TIMEOUT": "300",
    "PIP_DISABLE_PIP_VERSION_CHECK": "1",
    "PIP_NO_INPUT": "1",
    "npm_config_audit": "false",
    "npm_config_fund": "false",
    "npm_config_update_notifier": "false",
    # Tests of a commit need no browsers and hooks, and these come from other hosts.
    "HUSKY": "0",
    "PUPPETEER_SKIP_DOWNLOAD": "1",
    "PUPPETEER_SKIP_CHROMIUM_DOWNLOAD": "1",
    "PLAYWRIGHT_SKIP_BROWSER_DOWNLOAD": "1",
    "CYPRESS_INSTALL_BINARY": "0",
    "ELECTRON_SKIP_BINARY_DOWNLOAD": "1",
    "GOTOOLCHAIN": "local",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class InstallLimits:
    """What one installation may take."""

    seconds: float = 1200.0
    disk_mb: int = 8192
    memory_mb: int = 6144
    processes: int = 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class InstallSetting:
    """What all installations of a suite share. `variables` and `hosts` are those of this machine's registries."""

    sandboxes: SandboxProvider
    variables: Mapping[str, str]
    hosts: Sequence[str]
    cancel: Event = field(default_factory=Event)
    image: str | None = None
    limits: InstallLimits = field(default_factory=InstallLimits)
    label: str = "outweigh-dependencies"


def machine_setting(
    sandboxes: SandboxProvider,
    *,
    allow_hosts: Sequence[str] = (),
    cancel: Event | None = None,
    image: str | None = None,
) -> InstallSetting:
    """The setting for the registries that this machine's tools are configured with."""
    index, registry = python_index(os.environ), node_registry(os.environ)
    return InstallSetting(
        sandboxes=sandboxes,
        variables=registry_variables(index, registry, os.environ),
        hosts=(*registry_hosts(index, registry), *allow_hosts),
        cancel=cancel or Event(),
        image=image,
    )


def install(
    wanted: DependencySet, base_tree: Path, place: InstallPlace, setting: InstallSetting
) -> tuple[InstalledDependencies, tuple[str, ...]]:
    """Install into `place.folder`; returns what was installed, and the commands that did it.

    Raises MissingToolError where a program is not there, and else DependencyError with the reason of the first list of
    commands where all fail.
    """
    first: DependencyError | None = None
    hopeless: set[str] = set()
    if (missing := missing_tool(wanted.commands, in_image=setting.image is not None)) is not None:
        raise MissingToolError(missing)
    for commands in (wanted.commands, *wanted.fallbacks):
        days = set(_BEFORE.findall(" ".join(commands)))
        if days & hopeless:
            continue
        try:
            _prepare(place, base_tree)
            _run_commands(commands, wanted, place, setting)
        except DependencyError as fault:
            first = first or fault
            hopeless |= days if _NOTHING_BEFORE.search(fault.output) else set()
            if setting.cancel.is_set():
                break
            continue
        return connect_dependencies(wanted, base_tree, place), commands
    assert first is not None
    raise first


def _prepare(place: InstallPlace, base_tree: Path) -> None:
    remove_tree(place.build)
    for folder in (place.folder, place.build / "home"):
        folder.mkdir(parents=True)
    place.cache.mkdir(parents=True, exist_ok=True)
    if place.python is not None:
        (place.folder / "python").mkdir()
    shutil.copytree(base_tree, place.build / "workspace", symlinks=True, ignore=shutil.ignore_patterns(".git"))


def _run_commands(commands: Sequence[str], wanted: DependencySet, place: InstallPlace, setting: InstallSetting) -> None:
    limits = setting.limits
    with (
        EventLoopThread() as background,
        watch_disk_quota(place.build, limits.disk_mb, setting.cancel) as quota,
        watch_disk_quota(place.cache, limits.disk_mb, quota.cancel) as cache_quota,
    ):
        egress = RunEgress(EgressProxy(setting.hosts, background) if setting.hosts else None)
        request = _request(place, setting, egress, cache_quota.cancel)
        try:
            with setting.sandboxes.open(request) as sandbox:
                environment = {**install_variables(wanted, place, setting), **egress.variables(sandbox)}
                for command in commands:
                    done = sandbox.exec(["sh", "-c", command], environment=environment, timeout_seconds=limits.seconds)
                    _require_success(command, done, egress, quota.exceeded() or cache_quota.exceeded(), limits)
        except SandboxError as fault:
            raise DependencyError(f"the sandbox for installing does not work: {fault}") from fault


def _request(place: InstallPlace, setting: InstallSetting, egress: RunEgress, cancel: Event) -> SandboxRequest:
    mounts = [
        Mount(source=place.folder, target=DEPENDENCIES_INSIDE, writable=True),
        Mount(source=place.cache, target=_CACHE_INSIDE, writable=True),
    ]
    if place.python is not None:
        mounts.append(Mount(source=place.python, target=PYTHON_INSIDE))
    uv = find_uv()
    return SandboxRequest(
        workspace=place.build / "workspace",
        home=place.build / "home",
        label=setting.label,
        read_only=() if uv is None or uv.is_relative_to("/usr") else (str(uv),),
        ports=egress.ports,
        image=setting.image,
        memory_mb=setting.limits.memory_mb,
        processes=setting.limits.processes,
        cancel=cancel,
        mounts=tuple(mounts),
        disk_mb=setting.limits.disk_mb,
    )


def install_variables(wanted: DependencySet, place: InstallPlace, setting: InstallSetting) -> dict[str, str]:
    """The environment of the commands that install."""
    uv = find_uv()
    path = ":".join((f"{HOME}/bin", f"{VENV}/bin", *([] if uv is None else [str(uv.parent)]), SYSTEM_PATH))
    version = {} if wanted.version is None else dict.fromkeys(VERSION_VARIABLES, wanted.version)
    return {
        **_SETTINGS,
        **setting.variables,
        "PATH": path,
        "VIRTUAL_ENV": VENV,
        "UV_CACHE_DIR": f"{_CACHE_INSIDE}/uv",
        "PIP_CACHE_DIR": f"{_CACHE_INSIDE}/pip",
        "npm_config_cache": f"{_CACHE_INSIDE}/npm",
        **library_path(place.python),
        **version,
    }


def _require_success(
    command: str, done: CompletedCommand, egress: RunEgress, too_much: str | None, limits: InstallLimits
) -> None:
    if too_much is None and done.ending is CommandEnding.EXITED and done.exit_code == 0:
        return
    output = (done.stderr or done.stdout).decode(errors="replace").strip()
    if too_much is not None:
        ended = f"was stopped ({too_much})"
    elif done.ending is CommandEnding.TIMED_OUT:
        ended = f"was not done after {limits.seconds:g} s"
    elif done.ending is CommandEnding.CANCELLED:
        ended = "was cancelled"
    else:
        last = output.splitlines()[-1].strip() if output else ""
        ended = f"ended with exit code {done.exit_code}" + (f": {detail_line(last)}" if last else "")
    refused = egress.refused().decode().split()
    hint = f" It wanted to reach {refused[0]}; allow that with --allow-host." if refused else ""
    raise DependencyError(f"`{detail_line(command)}` {ended}.{hint}", output[-_SHOWN_OUTPUT:])
