"""A suite translated for Harbor: its tasks, its arms as agents, and the job file.

What Harbor cannot express or enforce is refused with a way to change it, never left out silently. Files of an arm
are added to a copy of the task whose Dockerfile ends by copying them in: the Dockerfile is all that Harbor's
environments share.
"""

import re
import shutil
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from outweigh.errors import UsageError
from outweigh.model.arm import Arm, McpServer, OverlayFile
from outweigh.model.suite import GatewaySpec, HarborSpec, SandboxSpec, SuiteSpec
from outweigh.model.task import FolderSource, Task
from outweigh.model.task_environment import NO_STAGE
from outweigh.model.untrusted_json import as_amount, as_dict, as_name


def refuse_unsupported_suite(spec: SuiteSpec) -> None:
    """Refuse limits, sandbox and gateway settings that Harbor would ignore."""
    if (found := next(_unsupported_settings(spec), None)) is not None:
        key, why = found
        raise UsageError(
            f"the suite's {key} cannot be kept to through Harbor: {why} Leave it out, or run without Harbor."
        )


def _unsupported_settings(spec: SuiteSpec) -> Iterator[tuple[str, str]]:
    if spec.budget_usd is not None:
        yield "`budget_usd`", "Harbor runs a job to its end and cannot be stopped at an amount."
    if spec.triggers:
        yield "`triggers`", "a run of a trigger case ends at the model's answer, which Harbor cannot do."
    for key in ("budget_usd", "tokens"):
        if getattr(spec.limits, key) is not None:
            yield f"`{key}` under [limits]", "agents go to their models without outweigh's gateway."
    usual = SandboxSpec(kind=spec.sandbox.kind)
    for key in SandboxSpec.__struct_fields__:
        if getattr(spec.sandbox, key) != getattr(usual, key):
            yield f"`{key}` under [sandbox]", "tasks and [harbor.environment] say what Harbor's environments are like."
    if spec.workspaces.without:
        yield "`without` under [workspaces]", "Harbor makes the workspaces, with everything that the tasks have."
    direct = GatewaySpec(mode=spec.gateway.mode)
    for key in GatewaySpec.__struct_fields__:
        if getattr(spec.gateway, key) != getattr(direct, key):
            yield f"`{key}` under [gateway]", "agents go to their models without outweigh's gateway."
    if any(arm.provider is not None for arm in spec.arms.values()):
        yield "`provider` of an arm", "agents go to their models without outweigh's gateway."
    if any(arm.auth == "login" for arm in spec.arms.values()):
        yield '`auth = "login"` of an arm', "agents go to their models without outweigh's gateway."


HARBOR_TASK_FILE = "task.toml"
DOCKERFILE = "Dockerfile"
COMPOSE_FILE = "docker-compose.yaml"
SHOWN_TASKS = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class HarborTask:
    """A task that Harbor can run: its folder, and the agent's working directory if the task states it.

    `own_image` is whether Harbor uses a prebuilt image, so that nothing can be added through a Dockerfile.
    """

    id: str
    folder: Path
    workdir: str | None
    own_image: bool
    stated_timeout_seconds: float | None
    timeout_seconds: float | None


def supported_tasks(tasks: Iterable[Task], *, scored: Iterable[str], force_build: bool) -> tuple[HarborTask, ...]:
    """The tasks for Harbor, or a UsageError that says why some cannot run there. `scored` tasks have only a test.sh."""
    graded = frozenset(scored)
    found: list[HarborTask] = []
    reasons: list[str] = []
    for task in tasks:
        if task.id not in graded or (folder := _task_folder(task)) is None:
            reasons.append(f"{task.id}: Harbor runs no checks but tests/test.sh; let that script check everything.")
            continue
        document = tomllib.loads((folder / HARBOR_TASK_FILE).read_text(encoding="utf-8"))
        reasons += [f"{task.id}: {why}" for why in _task_problems(task, folder, document)]
        found.append(_to_harbor_task(task, folder, document, force_build=force_build))
    if reasons:
        more = f" (and {len(reasons) - SHOWN_TASKS} more)" if len(reasons) > SHOWN_TASKS else ""
        raise UsageError(f"not every task can be run through Harbor. {' '.join(reasons[:SHOWN_TASKS])}{more}")
    return tuple(found)


def common_timeout(tasks: Iterable[HarborTask], otherwise_seconds: float) -> float | None:
    """The timeout to pass to Harbor: None if every task states its own, else the one that all share; UsageError if they
    differ.
    """
    wanted = {task: task.timeout_seconds or otherwise_seconds for task in tasks}
    unsaid = [task.id for task, seconds in wanted.items() if task.stated_timeout_seconds != seconds]
    if not unsaid:
        return None
    if len(set(wanted.values())) == 1:
        return next(iter(wanted.values()))
    raise UsageError(
        "Harbor knows a task's time limit by `timeout_sec` under [agent] in its task.toml, or one for all tasks. Write "
        f"it down for {', '.join(unsaid[:SHOWN_TASKS])}{' and others' if len(unsaid) > SHOWN_TASKS else ''}."
    )


def _task_folder(task: Task) -> Path | None:
    """The task's own folder, which contains its tests."""
    folder = Path(task.tests_folder).parent if task.tests_folder else None
    return folder if folder is not None and (folder / HARBOR_TASK_FILE).is_file() else None


def _task_problems(task: Task, folder: Path, document: Mapping[str, Any]) -> Iterator[str]:
    place = folder / "environment"
    image = as_dict(document.get("environment")).get("docker_image")
    if not (image or (place / DOCKERFILE).is_file() or (place / COMPOSE_FILE).is_file()):
        yield f"it has no environment/{DOCKERFILE}, which Harbor would build; write one."
    if task.workspace is not None and not _is_folder(task.workspace, place):
        yield f"its workspace is not environment/; let environment/{DOCKERFILE} fetch it."
    if (task.work, task.checking) != (NO_STAGE, NO_STAGE):
        yield "Harbor has no setup, teardown, variables and services of [metadata.outweigh]; put them into its image."
    if task.dependencies is not None:
        yield "Harbor has no dependencies of [metadata.outweigh]; put them into its image."
    if task.has_several_turns:
        yield "Harbor has no turns of [metadata.outweigh]; use outweigh's own executor, or leave them out."


def _is_folder(workspace: object, place: Path) -> bool:
    return isinstance(workspace, FolderSource) and Path(workspace.path) == place.resolve()


def _to_harbor_task(task: Task, folder: Path, document: Mapping[str, Any], *, force_build: bool) -> HarborTask:
    environment = as_dict(document.get("environment"))
    place = folder / "environment"
    is_built = force_build or not environment.get("docker_image")
    return HarborTask(
        id=task.id,
        folder=folder,
        workdir=as_name(environment.get("workdir")),
        own_image=not (is_built and (place / DOCKERFILE).is_file()) or (place / COMPOSE_FILE).is_file(),
        stated_timeout_seconds=as_amount(as_dict(document.get("agent")).get("timeout_sec")),
        timeout_seconds=task.timeout_seconds,
    )


OVERLAY_FOLDER = "outweigh-overlay"
_IGNORE_FILES = (".dockerignore", f"{DOCKERFILE}.dockerignore")
_PLAIN_PATH = re.compile(r"[A-Za-z0-9._/@+-]+")
"""A path that needs no quoting in a Dockerfile or shell."""


def overlay_task_folder(root: Path, arm: Arm, task: HarborTask) -> Path:
    """The task's folder for this arm: its own if the arm adds no files, else a copy below `root`."""
    if not arm.overlay:
        return task.folder
    if task.own_image:
        raise UsageError(
            f"arms.{arm.name} adds files to the workspace, and Harbor takes the image of task {task.id!r} as it is. "
            f"Let environment/{DOCKERFILE} build it, without docker-compose.yaml, and with force_build = true under "
            "[harbor.environment] where task.toml names a docker_image; or leave the task out."
        )
    if task.workdir is not None and _PLAIN_PATH.fullmatch(task.workdir) is None:
        raise UsageError(
            f"arms.{arm.name} adds files to the workspace, and the `workdir` of task {task.id!r}, {task.workdir!r}, "
            f"cannot be written into a {DOCKERFILE} as it is. Give it a plain path, or leave the task out."
        )
    return root / arm.fingerprint[:16] / task.id


def write_overlay_task(folder: Path, arm: Arm, task: HarborTask, contents: Mapping[str, bytes]) -> None:
    """Write the copy of a task with the arm's files; nothing if the arm adds none."""
    if not arm.overlay:
        return
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(task.folder, folder, symlinks=True)
    place = folder / "environment" / OVERLAY_FOLDER
    _write_overlay(place, arm.overlay, contents)
    _add_lines(folder / "environment" / DOCKERFILE, _dockerfile_lines(task.workdir))
    for name in _IGNORE_FILES:
        if (folder / "environment" / name).is_file():
            # The last matching line decides: a pattern such as **/*.md would silently drop an arm's files.
            _add_lines(folder / "environment" / name, f"!{OVERLAY_FOLDER}\n!{OVERLAY_FOLDER}/**\n")


def _add_lines(file: Path, lines: str) -> None:
    file.write_bytes(file.read_bytes().rstrip() + b"\n" + lines.encode())


def _write_overlay(place: Path, overlay: Sequence[OverlayFile], contents: Mapping[str, bytes]) -> None:
    for file in overlay:
        target = place / file.path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(contents[file.sha256])
        target.chmod(0o755 if file.executable else 0o644)


def _dockerfile_lines(workdir: str | None) -> str:
    """Copy the files to the agent's working directory, and remove their source if the task copied its whole folder
    there.
    """
    there = workdir or "."
    return f"COPY {OVERLAY_FOLDER}/ {there}/\nRUN rm -rf {there}/{OVERLAY_FOLDER} || true\n"


_HARBOR_NAMES = {"noop": "nop", "qwen-code": "qwen-coder"}
"""Agents that Harbor knows under another name; any other name is Harbor's own, or an import path."""
_OWN_AGENTS = frozenset({"acp", "replay", "scripted", "shell"})
_TEST_AGENTS = frozenset({"noop", "oracle"})
_WITHOUT_SERVERS = frozenset({"aider"}) | _TEST_AGENTS
_WANT_PROVIDER = frozenset({"aider", "gemini-cli", "goose", "mini-swe-agent", "opencode"})
_OWN_PROVIDER = {"gemini-cli": "google"}
"""Agents with a single provider, which Harbor's model names must still include."""


def agent_entry(arm: Arm) -> dict[str, Any]:
    """The entry under `agents`; secrets are only named there, and Harbor looks up their values."""
    if (why := next(_arm_problems(arm), None)) is not None:
        raise UsageError(f"arms.{arm.name} cannot be run through Harbor: {why}")
    said: dict[str, Any] = {
        "import_path" if ":" in arm.agent and not arm.agent.startswith("acp:") else "name": _HARBOR_NAMES.get(
            arm.agent, arm.agent
        ),
        "model_name": _model_name(arm),
        "kwargs": dict(arm.options),
        "env": {**arm.environment, **{name: f"${{{name}}}" for name in arm.secrets}},
        "mcp_servers": [_server_entry(name, server) for name, server in arm.mcp_servers.items()],
    }
    return {key: value for key, value in said.items() if value}


def _model_name(arm: Arm) -> str | None:
    provider = _OWN_PROVIDER.get(arm.agent)
    if arm.model is None or provider is None or "/" in arm.model:
        return arm.model
    return f"{provider}/{arm.model}"


def _server_entry(name: str, server: McpServer) -> dict[str, Any]:
    if server.url is not None:
        return {"name": name, "transport": "streamable-http", "url": server.url}
    program, *words = server.command
    return {"name": name, "transport": "stdio", "command": program, "args": words}


def _arm_problems(arm: Arm) -> Iterator[str]:
    """Settings of an arm that Harbor would ignore, each with what to do instead."""
    if arm.agent in _OWN_AGENTS:
        yield f"Harbor has no agent {arm.agent!r}; take another agent, or leave out --executor harbor."
    if (ours := {theirs: ours for ours, theirs in _HARBOR_NAMES.items()}.get(arm.agent)) is not None:
        yield f"what Harbor calls {arm.agent} is {ours} here, and only so its files go where it looks; write that."
    if arm.flags:
        yield "Harbor starts agents by itself and takes no `flags`; `harbor agent schema` lists what `options` can say."
    if arm.agent in _TEST_AGENTS and arm.options:
        yield f"{arm.agent} has no `options`; leave them out."
    if arm.agent in _WITHOUT_SERVERS and arm.mcp_servers:
        yield f"{arm.agent} starts no tool servers; leave out `mcp_servers`."
    for name, server in arm.mcp_servers.items():
        if server.environment:
            yield f"`mcp_servers.{name}.environment` has no place in a job file; put it into the server's command."
        if server.headers:
            yield f"`mcp_servers.{name}.headers` has no place in a job file; leave it out."
    if arm.agent in _WANT_PROVIDER and "/" not in (_model_name(arm) or ""):
        yield f"Harbor wants the model of {arm.agent} with its provider; write `model` as provider/model."
    for name, value in arm.environment.items():
        if value.startswith("${") and value.endswith("}"):
            yield f"Harbor would put a variable of yours in place of `environment.{name}`; name it under `secrets`."


def make_job_file(
    *,
    name: str,
    jobs_folder: Path,
    arm: Arm,
    task_folders: Sequence[Path],
    at_once: int,
    timeout_seconds: float | None,
    spec: HarborSpec,
) -> dict[str, Any]:
    """The job file: one trial for each task folder, in this order; a repeated task occurs more than once.

    Harbor's own retries are off, because it keeps nothing of earlier attempts and their cost would be lost.
    """
    agent = agent_entry(arm)
    if timeout_seconds is not None:
        agent["override_timeout_sec"] = timeout_seconds
    return {
        **spec.job,
        "job_name": name,
        "jobs_dir": str(jobs_folder),
        "n_attempts": 1,
        "n_concurrent_trials": at_once,
        "retry": {"max_retries": 0},
        **({"environment": spec.environment} if spec.environment else {}),
        "agents": [agent],
        "tasks": [{"path": str(folder)} for folder in task_folders],
        **({"extra_instructions": [arm.extra_prompt]} if arm.extra_prompt is not None else {}),
    }


def format_job_file(job: dict[str, Any]) -> bytes:
    """The job file as text."""
    return msgspec.json.format(msgspec.json.encode(job), indent=2) + b"\n"
