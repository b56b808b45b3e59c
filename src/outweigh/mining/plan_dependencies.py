"""What is to be installed for a commit, decided from its manifests, its date and what the user says."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from hashlib import sha256
from itertools import zip_longest

import msgspec

from outweigh.mining.commit_version import nearest_version
from outweigh.mining.dependencies import DEPENDENCIES_INSIDE, DependencyError, DependencyOptions, DependencySet
from outweigh.mining.node_plan import LOCKED_ATTEMPTS, NodeManifests, node_attempts, read_node_manifests
from outweigh.mining.python_manifests import PythonManifests, read_python_manifests
from outweigh.mining.python_plan import connecting_commands, create_environment, python_attempts
from outweigh.mining.pythons import InstalledPython, choose_python, earliest_packages, find_pythons, python_of_image
from outweigh.mining.repository import HistoryRepository
from outweigh.mining.runners.runner import ReadFile

_KEY_LENGTH = 12
_LAYOUT = 3
"""Raised when dependencies are laid out otherwise than before, so that earlier ones are installed again."""
FELL_BACK = "The first choice of commands failed; these are a fallback."
_IMAGE_FILES = ("Dockerfile", ".devcontainer/devcontainer.json", ".devcontainer.json", ".devcontainer/Dockerfile")
# Variables by which package tools ignore later releases.
_DATE_VARIABLES = ("UV_EXCLUDE_NEWER", "PIP_UPLOADED_PRIOR_TO", "npm_config_before")
# Many registries tell pip no dates; uv understands more of them, and the same commands.
_PIP_BY_UV = (
    "mkdir ~/bin && printf '#!/bin/sh\\nexec uv pip \"$@\"\\n' > ~/bin/pip && "
    "chmod +x ~/bin/pip && cp ~/bin/pip ~/bin/pip3"
)
# Manifests of ecosystems whose tool downloads what they name: their lock, and the commands in the order of attempts.
# Packages of Go that import nothing from elsewhere can be tested without the modules that others import.
_DOWNLOADS = {
    "go.mod": ("go.sum", (f"GOMODCACHE={DEPENDENCIES_INSIDE}/go GOFLAGS=-modcacherw go mod download", "true")),
    "Cargo.toml": ("Cargo.lock", (f"CARGO_HOME={DEPENDENCIES_INSIDE}/cargo cargo fetch",)),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class _Part:
    """What one ecosystem contributes. The first attempts are `locked`: they give the same on every day."""

    manifests: Mapping[str, bytes]
    attempts: tuple[tuple[str, ...], ...]
    locked: int

    def is_locked(self, row: int) -> bool:
        """Whether the attempt of a row is, or the last one where there are fewer."""
        return min(row, len(self.attempts) - 1) < self.locked


def plan_for_commit(
    history: HistoryRepository, commit: str, day: datetime, options: DependencyOptions
) -> DependencySet | None:
    """What to install for a commit of a history, as of a day."""
    files = history.files(commit)
    return plan_dependencies(
        files, lambda path: history.content(commit, path), day, options, version=nearest_version(history, commit)
    )


def plan_dependencies(
    files: Collection[str],
    read: ReadFile,
    day: datetime,
    options: DependencyOptions,
    *,
    version: str | None = None,
    pythons: Collection[InstalledPython] | None = None,
) -> DependencySet | None:
    """What to install for a commit with these files; None where it names nothing and the user neither.

    `version` is that of the nearest tag. Commits of the same month that have the same manifests share what is
    installed: versions as of the first day of that month, or of the next where there are none that fit.
    """
    python_project, node_project = read_python_manifests(files, read), read_node_manifests(files, read)
    days = day.date().replace(day=1), _next_month(day.date())
    python = None
    if python_project is not None:
        python = _choose_python(python_project, options, day.date(), find_pythons() if pythons is None else pythons)
        earliest = days[0] if options.in_image else earliest_packages(python.version)
        days = max(days[0], earliest), max(days[1], earliest)
    parts = list(_parts(files, read, python_project, node_project, python, days, options))
    if not parts:
        return None
    attempts = _combined([part.attempts for part in parts])
    manifests = {
        path: sha256(content).hexdigest() for part in parts for path, content in sorted(part.manifests.items())
    }
    from_tags = python_project is not None and python_project.version_from_tags
    stated = (python_project.version if python_project else None) or (node_project.version if node_project else None)
    names = {
        ecosystem: project.name
        for ecosystem, project in (("python", python_project), ("node", node_project))
        if project is not None and project.name
    }
    known_version = (version or "0.0.1") if from_tags else None
    found = None
    for rows in reversed(_by_day(parts, attempts)):
        found = DependencySet(
            key=_key(manifests, rows, known_version, None if python is None else python.name),
            commands=rows[0],
            fallbacks=tuple(rows[1:]),
            otherwise=found,
            manifests=manifests,
            before=days[1].isoformat(),
            version=known_version,
            interpreter=None if python is None else python.program,
            names=names,
            project_version=stated if not from_tags else version,
            notes=(*_notes(files), *((FELL_BACK,) if rows[0] != attempts[0] else ())),
            connect=() if python_project is None else connecting_commands(python_project),
        )
    return found


def _choose_python(
    project: PythonManifests, options: DependencyOptions, day: date, pythons: Collection[InstalledPython]
) -> InstalledPython:
    if options.in_image:
        return python_of_image(options.python)
    installed = ", ".join(python.name for python in pythons) or "none"
    if options.python is not None:
        found = next((python for python in pythons if python.name == options.python), None)
        if found is None:
            raise DependencyError(f"there is no Python {options.python} on this machine, only {installed}.")
        return found
    chosen = choose_python(pythons, project.requires_python, project.classified_pythons, day)
    if chosen is None:
        raise DependencyError(
            f"the project needs Python {project.requires_python}, and on this machine there is only {installed}. "
            "Install one, or choose another with --python."
        )
    return chosen


def _parts(
    files: Collection[str],
    read: ReadFile,
    python_project: PythonManifests | None,
    node_project: NodeManifests | None,
    python: InstalledPython | None,
    days: tuple[date, date],
    options: DependencyOptions,
) -> Iterator[_Part]:
    projects = [project.contents for project in (python_project, node_project) if project is not None]
    if options.setup is not None:
        create = () if python is None else (create_environment(python, seed=True),)
        merged = {path: content for contents in projects for path, content in contents.items()}
        for manifest, (lock, _) in _DOWNLOADS.items():
            merged |= {path: content for path in (manifest, lock) if (content := read(path)) is not None}
        dated = f"export {' '.join(f'{name}={days[0].isoformat()}' for name in _DATE_VARIABLES)}; {options.setup}"
        yield _Part(manifests=merged, attempts=((*create, _PIP_BY_UV, dated), (*create, options.setup)), locked=0)
        return
    if python_project is not None and python is not None:
        attempts = python_attempts(python_project, python, days, needs_pytest=options.needs_pytest)
        locked = int(python_project.has_uv_lock)
        yield _Part(manifests=python_project.contents, attempts=tuple(attempts), locked=locked)
    if node_project is not None:
        tries = tuple(node_attempts(node_project, days[1]))
        yield _Part(
            manifests=node_project.contents, attempts=tries, locked=LOCKED_ATTEMPTS if node_project.has_lock else 0
        )
    for manifest, (lock, commands) in _DOWNLOADS.items():
        if manifest in files and "vendor/modules.txt" not in files:
            contents = {path: content for path in (manifest, lock) if (content := read(path)) is not None}
            yield _Part(manifests=contents, attempts=tuple((each,) for each in commands), locked=len(commands))


def _combined(parts: list[tuple[tuple[str, ...], ...]]) -> list[tuple[str, ...]]:
    """The attempts of several ecosystems as one list. Where there are several, each falls back by itself."""
    if len(parts) == 1:
        return list(parts[0])
    rows = zip_longest(*parts)
    last = [part[-1] for part in parts]
    combined = []
    for row in rows:
        chosen = [part if part is not None else last[place] for place, part in enumerate(row)]
        combined.append(tuple(command for commands in chosen for command in commands))
    return combined


def _by_day(parts: Sequence[_Part], attempts: list[tuple[str, ...]]) -> list[list[tuple[str, ...]]]:
    """The attempts that lock files decide, and those that depend on the day; without the empty ones of the two."""
    dated = (row for row in range(len(attempts)) if not all(part.is_locked(row) for part in parts))
    locked = next(dated, len(attempts))
    return [rows for rows in (attempts[:locked], attempts[locked:]) if rows]


def _next_month(day: date) -> date:
    return date(day.year + day.month // 12, day.month % 12 + 1, 1)


def _key(manifests: Mapping[str, str], attempts: object, version: str | None, python: str | None) -> str:
    identity = {
        "manifests": manifests,
        "attempts": attempts,
        "version": version,
        "python": python,
        "layout": _LAYOUT,
    }
    return sha256(msgspec.json.encode(identity, order="sorted")).hexdigest()[:_KEY_LENGTH]


def _notes(files: Collection[str]) -> Iterator[str]:
    for path in _IMAGE_FILES:
        if path in files:
            yield f"{path} is not used; to run tests in an image, build it and name it with --image."
            return
