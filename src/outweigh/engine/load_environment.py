"""Reads what is around a task's files: its image, in Harbor's layout, and the stages of `[metadata.outweigh]`."""

import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from outweigh.model.source_document import SourceDocument
from outweigh.model.task import TaskSettings
from outweigh.model.task_environment import SetupCommand, StageSettings, TaskImage, TaskStage
from outweigh.model.untrusted_json import as_amount, as_dict, as_str

DOCKERFILE = "Dockerfile"
COMPOSE_FILE = "docker-compose.yaml"
BUILD_FILES = frozenset({DOCKERFILE, COMPOSE_FILE})
"""Files of environment/ that build a container and are not part of the workspace."""

_SIZE = re.compile(r"\s*([0-9]+(?:\.[0-9]+)?)\s*([KMG])B?\s*", re.IGNORECASE)
_MEBIBYTES = {"K": 1 / 1024, "M": 1.0, "G": 1024.0}
_TEMPLATE = re.compile(r"\$\{[A-Za-z_][A-Za-z0-9_]*(?::-(?P<default>[^}]*))?\}")


def load_image(folder: Path, file: SourceDocument, *, has_workspace: bool) -> TaskImage | None:
    """The image of a task; None where it has none. `has_workspace` says that the task names a workspace of its own."""
    document: Mapping[str, Any] = file.value
    stated, place = as_dict(document.get("environment")), folder / "environment"
    name = as_str(stated.get("docker_image")) or None
    dockerfile = str(place.resolve()) if (place / DOCKERFILE).is_file() else None
    has_compose = (place / COMPOSE_FILE).is_file()
    if dockerfile is None and name is None and not has_compose:
        return None
    return TaskImage(
        # As in Harbor, an image that is named is taken as it is, and its Dockerfile only says how it was made.
        dockerfile=dockerfile if name is None else None,
        name=name,
        working_directory=as_str(stated.get("workdir")),
        fills_workspace=not has_workspace,
        unsupported=_unsupported(stated, document, has_compose=has_compose),
        cpus=as_amount(stated.get("cpus")) or None,
        memory_mb=_mebibytes(stated, "memory"),
        storage_mb=_mebibytes(stated, "storage"),
        build_timeout_seconds=as_amount(stated.get("build_timeout_sec")) or None,
        variables=_variables(document, "environment"),
        verifier_variables=_variables(document, "verifier"),
        solution_variables=_variables(document, "solution"),
    )


def _unsupported(stated: Mapping[str, Any], document: Mapping[str, Any], *, has_compose: bool) -> str | None:
    if has_compose:
        return f"its environment is several containers ({COMPOSE_FILE})"
    if document.get("steps"):
        return "it has several steps"
    if as_amount(stated.get("gpus")):
        return "it needs a GPU"
    system = as_str(stated.get("os")) or "linux"
    if system.lower() != "linux":
        return f"its container is one of {system}"
    if as_dict(document.get("verifier")).get("environment"):
        return "its verifier has an environment of its own"
    return None


def _mebibytes(stated: Mapping[str, Any], key: str) -> int | None:
    """A size in mebibytes, which earlier versions of Harbor write as `2G`. What cannot be read is no limit."""
    if number := as_amount(stated.get(f"{key}_mb")):
        return int(number) or None
    found = _SIZE.fullmatch(as_str(stated.get(key)) or "")
    return None if found is None else int(float(found[1]) * _MEBIBYTES[found[2].upper()]) or None


def _variables(document: Mapping[str, Any], table: str) -> dict[str, str]:
    """The variables of a table. A reference to a variable of the caller (`${NAME}`) counts only by its default."""
    stated = as_dict(as_dict(document.get(table)).get("env"))
    return {
        name: _TEMPLATE.sub(lambda found: found["default"] or "", value)
        for name, value in stated.items()
        if isinstance(value, str) and all(found["default"] is not None for found in _TEMPLATE.finditer(value))
    }


def load_stages(settings: TaskSettings) -> tuple[TaskStage, TaskStage]:
    """What is around the agent, and what is around the checks: the task's variables and services, then the checker's
    own.
    """
    checker = settings.checker
    work = TaskStage(
        setup=_commands(settings.setup),
        teardown=_commands(settings.teardown),
        environment=settings.environment,
        services=tuple(settings.services),
    )
    checking = TaskStage(
        setup=_commands(checker.setup),
        teardown=_commands(checker.teardown),
        environment={**settings.environment, **checker.environment},
        services=(*settings.services, *checker.services),
    )
    return work, checking


def _commands(stated: Iterable[str | SetupCommand]) -> tuple[SetupCommand, ...]:
    return tuple(SetupCommand(run=each) if isinstance(each, str) else each for each in stated)


def stages_identity(settings: TaskSettings) -> dict[str, Sequence[TaskStage]]:
    """The part of a task's checksum that is about its stages: nothing where it has none, as in earlier releases."""
    if all(getattr(settings, key) == getattr(_NONE, key) for key in (*StageSettings.__struct_fields__, "checker")):
        return {}
    return {"stages": load_stages(settings)}


_NONE = TaskSettings()
