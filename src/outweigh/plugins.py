"""Adapters by name, through entry points: built-in and third-party, loaded when first used."""

from difflib import get_close_matches
from importlib.metadata import EntryPoint, entry_points
from typing import Any

from outweigh.errors import UsageError
from outweigh.model.agent_files import AgentFileLocations, file_locations_of

GROUPS = {
    "agent": "outweigh.agents",
    "forge": "outweigh.forges",
    "importer": "outweigh.importers",
    "judge": "outweigh.judges",
    "sandbox": "outweigh.sandboxes",
    "suite reader": "outweigh.suite_readers",
}


def load_adapter(kind: str, name: str) -> Any:
    """Load and create the adapter of that name; raise UsageError where it is missing or offered twice."""
    found = list(entry_points(group=GROUPS[kind], name=name))
    if not found:
        raise UsageError(_unknown(kind, name))
    return _load(kind, found)


def load_adapters(kind: str) -> list[Any]:
    """Every adapter of a kind, by name. The installed packages are searched once, which takes longer than loading."""
    by_name: dict[str, list[EntryPoint]] = {}
    for point in entry_points(group=GROUPS[kind]):
        by_name.setdefault(point.name, []).append(point)
    return [_load(kind, by_name[name]) for name in sorted(by_name)]


def adapter_names(kind: str) -> list[str]:
    """The names of all installed adapters of a kind."""
    return sorted({point.name for point in entry_points(group=GROUPS[kind])})


def installed_file_locations(agent: str) -> AgentFileLocations:
    """Where an agent reads its files; the adapter of another package may say so itself, and is loaded for that."""
    found = list(entry_points(group=GROUPS["agent"], name=agent))
    if not found or found[0].value.startswith("outweigh."):
        return file_locations_of(agent)
    from outweigh.ports.agents import agent_file_locations  # noqa: PLC0415 - only for an adapter of another package

    return agent_file_locations(agent, _load("agent", found))


def _load(kind: str, points: list[EntryPoint]) -> Any:
    if len({point.value for point in points}) > 1:
        places = " and ".join(sorted(point.value for point in points))
        raise UsageError(f"two packages offer {kind} {points[0].name!r}: {places}. Uninstall one of them.")
    return points[0].load()()


def _unknown(kind: str, name: str) -> str:
    known = adapter_names(kind)
    near = get_close_matches(name, known, n=1)
    hint = f" Did you mean {near[0]!r}?" if near else ""
    return f"there is no {kind} {name!r}; installed are {', '.join(known) or 'none'}.{hint}"
