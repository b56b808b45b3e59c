"""What was seen of an arm beside its figures: its agents, what they had at hand, and what went wrong."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

from outweigh.record.loaded import Loaded
from outweigh.record.past_gateway import past_gateway
from outweigh.record.run_record import AgentIdentity, RunRecord
from outweigh.record.status import EXCLUDED, Status

MOST_SETBACKS = 200


class Piece(NamedTuple):
    """Something an agent had at hand: a skill, a tool server with its state, a memory file."""

    kind: str
    name: str


class Setback(NamedTuple):
    """An attempt that says nothing about its arm, and why."""

    task_id: str
    repeat: int
    attempt: int
    status: Status
    detail: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Sighting:
    """Of counted runs: how many each agent made, how many have a proof of what was loaded, and what that names.

    `warnings` are those of the runs themselves; `warned` runs have some. `past_gateway` runs used a model where nobody
    measured it. `setbacks` are attempts that do not count, the first of many.
    """

    agents: Mapping[AgentIdentity, int]
    proven: int
    pieces: Mapping[Piece, int]
    warnings: Mapping[str, int]
    warned: int
    past_gateway: int
    setbacks: tuple[Setback, ...]

    def commonest_detail(self, status: Status) -> str | None:
        """Why most attempts that ended so say nothing; None where nobody said why."""
        details = Counter(setback.detail for setback in self.setbacks if setback.status is status and setback.detail)
        return min(details, key=lambda detail: (-details[detail], detail), default=None)


class Watcher:
    """Looks at the runs of one arm as they are read."""

    def __init__(self) -> None:
        self._agents: Counter[AgentIdentity] = Counter()
        self._pieces: Counter[Piece] = Counter()
        self._warnings: Counter[str] = Counter()
        self._setbacks: list[Setback] = []
        self._warned = 0
        self._past_gateway = 0
        self._proven = 0

    def see(self, run: RunRecord) -> None:
        """Note one attempt."""
        if run.status in EXCLUDED:
            if len(self._setbacks) < MOST_SETBACKS:
                trial = run.trial
                self._setbacks.append(Setback(trial.task_id, trial.repeat, run.attempt, run.status, run.status_detail))
            return
        self._agents[run.agent] += 1
        self._warnings.update(set(run.warnings))
        self._warned += bool(run.warnings)
        self._past_gateway += past_gateway(run.metering, run.reported) is not None
        if run.loaded is not None:
            self._proven += 1
            self._pieces.update(_pieces(run.loaded))

    def sighting(self) -> Sighting:
        """All that was seen."""
        return Sighting(
            agents=self._agents,
            proven=self._proven,
            pieces=self._pieces,
            warnings=self._warnings,
            warned=self._warned,
            past_gateway=self._past_gateway,
            setbacks=tuple(self._setbacks),
        )


def _pieces(loaded: Loaded) -> set[Piece]:
    found = {Piece("skill", name) for name in loaded.skills or ()}
    found.update(Piece("skill used", name) for name in loaded.skills_used or ())
    found.update(Piece(f"tool server, {server.state}", server.name) for server in loaded.mcp_servers or ())
    found.update(Piece("memory file", name) for name in loaded.memory_files or ())
    return found
