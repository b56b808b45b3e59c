"""Which settings of a run belong to its arm where a source mixes them with those of its task, and names for such arms.

A setting that has two values for the same task is the arm's: somebody tried both. One that differs only from task to
task is the task's, and arms that differ in nothing else are one arm.
"""

from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Any

from outweigh.interop.imported_run import fingerprint, stable_id

Settings = Mapping[str, Any]
"""Settings by name; one that is missing is not the same as one with a value."""

_MOST_SHOWN = 3
_LONGEST_SHOWN = 40


def varying_settings(runs: Iterable[tuple[Hashable, Settings]]) -> frozenset[str]:
    """The settings that have two values for the same task. A run is a task with its settings."""
    first: dict[Hashable, Settings] = {}
    found: set[str] = set()
    for task, settings in runs:
        before = first.setdefault(task, settings)
        if before is not settings and before != settings:
            found.update(name for name in {*before, *settings} if before.get(name) != settings.get(name))
    return frozenset(found)


def task_settings(runs: Iterable[tuple[Hashable, Settings]]) -> frozenset[str]:
    """The settings that differ from task to task, and never for the same task."""
    known = list(runs)
    return varying_settings((None, settings) for _, settings in known) - varying_settings(known)


def name_configurations(name: str, configurations: Sequence[Settings]) -> list[str]:
    """A name for each of several configurations that share one: with the settings that differ, or a part of its hash.

    Settings are shown if they are few and short; a configuration without them keeps the plain name.
    """
    if len(configurations) == 1:
        return [name]
    differing = sorted(varying_settings((name, each) for each in configurations))
    shown = [[_shown(key, each.get(key)) for key in differing] for each in configurations]
    texts = ["".join(f" {part}" for part in parts if part) for parts in shown]
    is_short = len(differing) <= _MOST_SHOWN and all(len(text) <= _LONGEST_SHOWN for text in texts)
    if not is_short or len(set(texts)) < len(texts) or any(None in parts for parts in shown):
        texts = [f"@{fingerprint(each)[:8]}" for each in configurations]
    return [stable_id(f"{name[:440]}{text}") for text in texts]


def _shown(key: str, value: Any) -> str | None:
    """A setting in a name; empty if it is not set, None if its value cannot be shown."""
    if value is None:
        return ""
    if isinstance(value, bool):
        value = str(value).lower()
    return f"{key.rpartition('.')[2]}={value}" if isinstance(value, str | int | float) else None
