"""The agent that a set-up is measured with, and which parts of the set-up it reads at all."""

from collections.abc import Sequence
from difflib import get_close_matches
from pathlib import PurePosixPath

import msgspec

from outweigh.app.setup_parts import SetupPart
from outweigh.app.try_agent import PREFERRED_AGENTS, SIMULATED_AGENTS
from outweigh.engine.load_suite import LoadedSuite
from outweigh.errors import UsageError
from outweigh.model.agent_files import ConfigurationKind, configuration_kind
from outweigh.model.arm import Arm, ArmSpec, bare_arm
from outweigh.plugins import adapter_names, installed_file_locations, load_adapter
from outweigh.ports.agents import Agent
from outweigh.report.part_list_page import PartTokens


def choose_arm(named: str | None, model: str | None, parts: Sequence[SetupPart], source: LoadedSuite) -> ArmSpec:
    """An arm with the agent that is named, that of the suite's baseline, or the first that is installed.

    Without a name it must read the set-up. It has nothing of what is measured, and only its way to its model.
    """
    known = adapter_names("agent")
    if named is not None and named not in known:
        near = get_close_matches(named, known, n=1)
        hint = f" Did you mean {near[0]!r}?" if near else ""
        raise UsageError(f"-a: there is no agent {named!r}; there are {', '.join(known)}.{hint}")
    own = source.spec.arms.get(source.spec.baseline)
    if own is not None and own.agent is not None and _is_usable(own.agent, named, parts):
        return ArmSpec(
            agent=own.agent,
            model=model or own.model,
            provider=own.provider,
            auth=own.auth,
            environment=own.environment,
            secrets=own.secrets,
            options=own.options,
        )
    return ArmSpec(agent=named or _first_reader(parts), model=model)


def _is_usable(own: str, named: str | None, parts: Sequence[SetupPart]) -> bool:
    """Whether the suite's own agent is the one: it is named, or reads the set-up and no real one would do better."""
    if named is not None:
        return named == own
    return reads(parts, own) and not (own in SIMULATED_AGENTS and _installed_readers(parts))


def _readers(parts: Sequence[SetupPart]) -> list[str]:
    return [name for name in PREFERRED_AGENTS if reads(parts, name)]


def _installed_readers(parts: Sequence[SetupPart]) -> list[str]:
    return [name for name in _readers(parts) if explain_missing(ArmSpec(agent=name)) is None]


def _first_reader(parts: Sequence[SetupPart]) -> str:
    """The first agent that reads the set-up and is installed; the first that reads it where none is."""
    return (_installed_readers(parts) or _readers(parts) or PREFERRED_AGENTS)[0]


def explain_missing(arm: ArmSpec) -> str | None:
    """Why the agent of an arm cannot be measured here; None where it can."""
    agent = arm.agent or ""
    whole: Arm = msgspec.structs.replace(bare_arm("bare", agent, arm.model), options=arm.options)
    adapter: Agent = load_adapter("agent", agent)
    if not adapter.uses_model(whole):
        return f"{agent} sends no requests to a model, so there is nothing to measure; name another agent with -a"
    missing = adapter.missing(whole)
    return None if missing is None else missing.removeprefix("arms.bare: ").replace("arms.bare.model", "-m")


def reads(parts: Sequence[SetupPart], agent: str) -> bool:
    """Whether an agent reads the files of a set-up; one that has only tool servers is read by all that start them."""
    files = [part for part in parts if part.kind is not ConfigurationKind.TOOL_SERVERS]
    return any(explain_unread(part, agent) is None for part in files or parts)


def explain_unread(part: SetupPart, agent: str) -> str | None:
    """Why an agent would see nothing of a part; None where it would."""
    if part.kind is ConfigurationKind.TOOL_SERVERS:
        starts = getattr(load_adapter("agent", agent), "starts_servers", False)
        return None if starts else f"{agent} starts no tool servers"
    locations, path = installed_file_locations(agent), part.paths[0]
    kind = configuration_kind(path, agent, locations)
    is_read = kind is not None or PurePosixPath(path).name in locations.instructions
    return None if is_read else f"{agent} does not read {path}"


def split_by_reader(parts: Sequence[SetupPart], agent: str) -> tuple[tuple[SetupPart, ...], dict[str, PartTokens]]:
    """The parts that an agent reads and a suite can have, and for every other part why nothing is known about it."""
    used: list[SetupPart] = []
    others: dict[str, PartTokens] = {}
    for part in parts:
        why = part.withheld or explain_unread(part, agent)
        if why is None:
            used.append(part)
        else:
            others[part.name] = PartTokens(every_turn=None, why=why, when_read=None, tools=None)
    return tuple(used), others
