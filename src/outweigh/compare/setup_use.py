"""Whether what a candidate changes was used: in how many runs a skill or a tool server was loaded, and invoked.

A run whose transcript cannot tell is counted apart: unknown is not "not used".
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence

from msgspec import Struct

from outweigh.compare.server_tools import tools_by_server
from outweigh.model.run_record import ObservedSetup, RunRecord, Step

SKILL, SERVER = "skill", "MCP server"

HARDLY_USED = 0.2
"""Below this share of runs a change counts as hardly ever used.

A gain of 25 points in the runs that use it is then a gain of less than 5 points over all runs, which is the margin
within which a pass rate counts as the same.
"""

Runs = Mapping[str, int]
"""Runs by task."""

Servers = tuple[str, ...]


class ItemUse(Struct, frozen=True, kw_only=True):
    """One skill or tool server of an arm: runs by task that had it and that invoked it, and runs that could tell."""

    kind: str
    name: str
    runs: Runs
    loaded: Runs
    loaded_known: Runs
    used: Runs
    used_known: Runs

    @property
    def share(self) -> float | None:
        """The share of runs that invoked it, of those that can tell; None where none can."""
        known = sum(self.used_known.values())
        return sum(self.used.values()) / known if known else None

    @property
    def hardly_used(self) -> bool:
        """Whether so few runs invoked it that it can hardly have made the difference."""
        return self.share is not None and self.share < HARDLY_USED


class SetupUse(Struct, frozen=True, kw_only=True):
    """What was loaded and invoked in the counted runs of one arm."""

    runs: Runs
    known: Mapping[tuple[str, str], Runs]
    seen: Mapping[tuple[str, str, str], Runs]

    def names(self, kind: str) -> list[str]:
        """Everything of this kind that a run had or invoked."""
        return sorted({name for found, name, _ in self.seen if found == kind})

    def item(self, kind: str, name: str) -> ItemUse:
        """One item; with no run where nothing was seen of it."""
        return ItemUse(
            kind=kind,
            name=name,
            runs=self.runs,
            loaded=self.seen.get((kind, name, "loaded"), {}),
            loaded_known=self.known.get((kind, "loaded"), {}),
            used=self.seen.get((kind, name, "used"), {}),
            used_known=self.known.get((kind, "used"), {}),
        )


class UseObserver:
    """Counts what the runs of one arm loaded and invoked, as they are read.

    Runs of a task that had and invoked the same are counted together, and taken apart once at the end.
    """

    def __init__(self) -> None:
        self._runs: Counter[str] = Counter()
        self._alike: Counter[tuple[str, int, Servers | None]] = Counter()
        self._setups: dict[ObservedSetup, int] = {}

    def add(self, runs: Iterable[RunRecord]) -> None:
        """Count some runs."""
        tasks, alike, setups = [], [], self._setups
        for run in runs:
            task, loaded = run.trial.task_id, run.loaded
            tasks.append(task)
            if loaded is not None:
                number = setups.setdefault(loaded, len(setups))
                called = None if run.steps is None else _called_servers(run.steps, loaded)
                alike.append((task, number, called))
        self._runs.update(tasks)
        self._alike.update(alike)

    def setups(self) -> Mapping[ObservedSetup, int]:
        """In how many runs each set-up was observed."""
        totals = dict.fromkeys(range(len(self._setups)), 0)
        for (_, number, _), runs in self._alike.items():
            totals[number] += runs
        return {loaded: totals[number] for loaded, number in self._setups.items()}

    def summary(self) -> SetupUse:
        """What was counted so far."""
        known: dict[tuple[str, str], Counter[str]] = {}
        seen: dict[tuple[str, str, str], Counter[str]] = {}
        setups = tuple(self._setups)
        for (task, number, called), runs in self._alike.items():
            for kind, what, names in _observed(setups[number], called):
                if names is None:
                    continue
                known.setdefault((kind, what), Counter())[task] += runs
                for name in set(names):
                    seen.setdefault((kind, name, what), Counter())[task] += runs
        return SetupUse(runs=self._runs, known=known, seen=seen)


def _observed(loaded: ObservedSetup, called: Servers | None) -> Iterator[tuple[str, str, Iterable[str] | None]]:
    """What was loaded and invoked of each kind; None where the run does not tell."""
    servers = None if loaded.mcp_servers is None else [server.name for server in loaded.mcp_servers]
    yield SKILL, "loaded", loaded.skills
    yield SKILL, "used", loaded.skills_used
    yield SERVER, "loaded", servers
    yield SERVER, "used", called


def _called_servers(steps: Sequence[Step], loaded: ObservedSetup) -> Servers | None:
    """The servers of which a step called a tool; None where the servers were not recorded."""
    if loaded.mcp_servers is None:
        return None
    servers = tuple(server.name for server in loaded.mcp_servers)
    return tuple(tools_by_server((call.name for step in steps for call in step.tool_calls), servers))


def changed_use(before: SetupUse, after: SetupUse, changed_skills: Iterable[str] = ()) -> tuple[ItemUse, ...]:
    """What the candidate has and the baseline has not, by what was seen, and the skills whose files differ."""
    skills = dict.fromkeys((*changed_skills, *_only_after(SKILL, before, after)))
    servers = _only_after(SERVER, before, after)
    return (*(after.item(SKILL, name) for name in skills), *(after.item(SERVER, name) for name in servers))


def _only_after(kind: str, before: SetupUse, after: SetupUse) -> list[str]:
    earlier = set(before.names(kind))
    return [name for name in after.names(kind) if name not in earlier]


def use_warnings(items: Iterable[ItemUse]) -> Iterator[str]:
    """A change that was hardly ever used can hardly have made the difference."""
    for item in items:
        if not item.hardly_used:
            continue
        used, known = sum(item.used.values()), sum(item.used_known.values())
        often = f"never invoked in {known} runs" if not used else f"invoked in only {used} of {known} runs"
        yield (
            f"the {item.kind} {item.name!r} was {often}, so it can hardly explain a difference between the arms. "
            "Check its description, or give the agent tasks that need it."
        )
