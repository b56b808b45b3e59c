"""What was observed of an arm's set-up: its agents, the skills, servers and memory files they had, and attempts that
do not count.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import islice
from typing import NamedTuple

from msgspec import Struct

from outweigh.compare.model_use import ModelObserver, ModelUse
from outweigh.compare.setup_use import SetupUse, UseObserver
from outweigh.model.failure import EXCLUDED_STATUSES, Status, detail_line
from outweigh.model.run_record import HOST_LABEL, AgentIdentity, ObservedSetup, RunRecord
from outweigh.model.usage import unmetered_use

MOST_EXCLUDED_LISTED = 200


NODE = "node"
"""The kind of item that is the machine of a run."""


class SetupItem(NamedTuple):
    """Something an agent had at hand: a skill, a tool server with its state, a memory file, the node that it ran on."""

    kind: str
    name: str


class ExcludedAttempt(NamedTuple):
    """An attempt that says nothing about its arm, and why."""

    task_id: str
    repeat: int
    attempt: int
    status: Status
    detail: str | None


class SetupSummary(Struct, frozen=True, kw_only=True):
    """Of counted runs: how many each agent made, in how many the set-up was observed (`with_setup`), and its items.

    `models` are those that answered. `use` is what of the set-up was invoked, by task. `warnings` are those of the runs
    themselves; `warned` runs have some. `past_gateway` runs used a model past the gateway, unmeasured.
    `excluded_attempts` do not count; of many, the first are listed.
    """

    agents: Mapping[AgentIdentity, int]
    with_setup: int
    items: Mapping[SetupItem, int]
    warnings: Mapping[str, int]
    warned: int
    past_gateway: int
    excluded_attempts: tuple[ExcludedAttempt, ...]
    use: SetupUse
    models: Mapping[str, ModelUse]

    def commonest_detail(self, status: Status) -> str | None:
        """The most common reason of attempts with this status, as one line; None where none has a reason."""
        details = Counter(
            detail_line(attempt.detail)
            for attempt in self.excluded_attempts
            if attempt.status is status and attempt.detail
        )
        return min(details, key=lambda detail: (-details[detail], detail), default=None)


class SetupObserver:
    """Counts the set-up of one arm's runs as they are read."""

    def __init__(self) -> None:
        self._agents: Counter[AgentIdentity] = Counter()
        self._nodes: Counter[SetupItem] = Counter()
        self._warnings: Counter[str] = Counter()
        self._excluded_attempts: list[ExcludedAttempt] = []
        self._warned = 0
        self._past_gateway = 0
        self._use = UseObserver()
        self._models = ModelObserver()

    def add(self, runs: Sequence[RunRecord]) -> Sequence[RunRecord]:
        """Count some attempts, and say which of them count."""
        counted = [run for run in runs if run.status not in EXCLUDED_STATUSES]
        if len(counted) < len(runs):
            self._note_excluded(run for run in runs if run.status in EXCLUDED_STATUSES)
        self._note_counted(counted)
        return counted

    def _note_excluded(self, runs: Iterable[RunRecord]) -> None:
        for run in islice(runs, MOST_EXCLUDED_LISTED - len(self._excluded_attempts)):
            trial = run.trial
            self._excluded_attempts.append(
                ExcludedAttempt(trial.task_id, trial.repeat, run.attempt, run.status, run.status_detail)
            )

    def _note_counted(self, runs: Sequence[RunRecord]) -> None:
        self._agents.update([run.agent for run in runs])
        self._use.add(runs)
        for run in runs:
            if run.warnings:
                self._warnings.update(set(run.warnings))
                self._warned += 1
            if run.metering is not None:
                self._models.add(run.metering)
                self._past_gateway += unmetered_use(run.metering, run.reported) is not None
            if HOST_LABEL in run.extra and isinstance(host := run.extra[HOST_LABEL], dict) and "node" in host:
                self._nodes[SetupItem(NODE, str(host["node"]))] += 1

    def summary(self) -> SetupSummary:
        """What was observed so far."""
        setups = self._use.setups()
        items = Counter(self._nodes)
        for loaded, runs in setups.items():
            items.update(dict.fromkeys(_items(loaded), runs))
        return SetupSummary(
            agents=self._agents,
            with_setup=sum(setups.values()),
            items=items,
            warnings=self._warnings,
            warned=self._warned,
            past_gateway=self._past_gateway,
            excluded_attempts=tuple(self._excluded_attempts),
            use=self._use.summary(),
            models=self._models.summary(),
        )


def _items(loaded: ObservedSetup) -> set[SetupItem]:
    found = {SetupItem("skill", name) for name in loaded.skills or ()}
    found.update(SetupItem("skill used", name) for name in loaded.skills_used or ())
    found.update(SetupItem(f"tool server, {server.state}", server.name) for server in loaded.mcp_servers or ())
    found.update(SetupItem("memory file", name) for name in loaded.memory_files or ())
    found.update(SetupItem("sub-agent", name) for name in loaded.agents or ())
    found.update(SetupItem("command", name) for name in loaded.commands or ())
    found.update(SetupItem("plugin", name) for name in loaded.plugins or ())
    found.update(SetupItem("hook", name) for name in loaded.hooks or ())
    return found
