"""What was observed of an arm's set-up: its agents, the skills, servers and memory files they had, and attempts that
do not count.
"""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

from outweigh.model.run_record import EXCLUDED_STATUSES, AgentIdentity, ObservedSetup, RunRecord, Status
from outweigh.model.usage import unmetered_use

MOST_EXCLUDED_LISTED = 200


class SetupItem(NamedTuple):
    """Something an agent had at hand: a skill, a tool server with its state, a memory file."""

    kind: str
    name: str


class ExcludedAttempt(NamedTuple):
    """An attempt that says nothing about its arm, and why."""

    task_id: str
    repeat: int
    attempt: int
    status: Status
    detail: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class SetupSummary:
    """Of counted runs: how many each agent made, how many have a proof of what was loaded, and what that names.

    `warnings` are those of the runs themselves; `warned` runs have some. `past_gateway` runs used a model where nobody
    measured it. `setbacks` are attempts that do not count, the first of many.
    """

    agents: Mapping[AgentIdentity, int]
    proven: int
    pieces: Mapping[SetupItem, int]
    warnings: Mapping[str, int]
    warned: int
    past_gateway: int
    setbacks: tuple[ExcludedAttempt, ...]

    def commonest_detail(self, status: Status) -> str | None:
        """Why most attempts that ended so say nothing; None where nobody said why."""
        details = Counter(setback.detail for setback in self.setbacks if setback.status is status and setback.detail)
        return min(details, key=lambda detail: (-details[detail], detail), default=None)


class SetupObserver:
    """Looks at the runs of one arm as they are read."""

    def __init__(self) -> None:
        self._agents: Counter[AgentIdentity] = Counter()
        self._pieces: Counter[SetupItem] = Counter()
        self._warnings: Counter[str] = Counter()
        self._setbacks: list[ExcludedAttempt] = []
        self._warned = 0
        self._past_gateway = 0
        self._proven = 0

    def see(self, run: RunRecord) -> None:
        """Note one attempt."""
        if run.status in EXCLUDED_STATUSES:
            if len(self._setbacks) < MOST_EXCLUDED_LISTED:
                trial = run.trial
                self._setbacks.append(
                    ExcludedAttempt(trial.task_id, trial.repeat, run.attempt, run.status, run.status_detail)
                )
            return
        self._agents[run.agent] += 1
        self._warnings.update(set(run.warnings))
        self._warned += bool(run.warnings)
        self._past_gateway += unmetered_use(run.metering, run.reported) is not None
        if run.loaded is not None:
            self._proven += 1
            self._pieces.update(_items(run.loaded))

    def sighting(self) -> SetupSummary:
        """All that was seen."""
        return SetupSummary(
            agents=self._agents,
            proven=self._proven,
            pieces=self._pieces,
            warnings=self._warnings,
            warned=self._warned,
            past_gateway=self._past_gateway,
            setbacks=tuple(self._setbacks),
        )


def _items(loaded: ObservedSetup) -> set[SetupItem]:
    found = {SetupItem("skill", name) for name in loaded.skills or ()}
    found.update(SetupItem("skill used", name) for name in loaded.skills_used or ())
    found.update(SetupItem(f"tool server, {server.state}", server.name) for server in loaded.mcp_servers or ())
    found.update(SetupItem("memory file", name) for name in loaded.memory_files or ())
    return found
