"""The agent that `outweigh try` uses: the one that is named, the suite's, or the first that is installed and has a key.

Where there is none, a scripted agent takes its place, and `pretends` says so.
"""

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from difflib import get_close_matches

import msgspec

from outweigh.app.arm_login import explain_unfit_login, login_file
from outweigh.app.probe_agents import provider_of_arm
from outweigh.engine.load_suite import LoadedSuite
from outweigh.errors import UsageError, quote_names
from outweigh.gateway.upstream import read_upstreams
from outweigh.model.arm import Arm, ArmSpec, bare_arm
from outweigh.model.suite import SuiteSpec
from outweigh.plugins import adapter_names, load_adapter

PREFERRED_AGENTS = (
    "claude-code",
    "codex",
    "gemini-cli",
    "opencode",
    "copilot",
    "goose",
    "qwen-code",
    "cline",
    "pi",
    "kimi",
    "aider",
    "mini-swe-agent",
)
SIMULATED_AGENTS = ("scripted", "noop", "oracle", "replay")
SCRIPT_FILE = "script.toml"

ReadsSubject = Callable[[str], bool]
"""Whether an agent would see what is tried."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TryAgent:
    """An arm with the agent and what it needs to reach its model, and nothing of what is tried.

    `pretends` says why no real agent takes part; None where one does. `arm` of the suite is None where it is another.
    """

    spec: ArmSpec
    pretends: str | None = None
    arm: Arm | None = None

    @property
    def name(self) -> str:
        """The name of its adapter."""
        return self.spec.agent or ""


def choose_agent(
    suite: LoadedSuite, reads: ReadsSubject, named: str | None, model: str | None, subject: str | None
) -> TryAgent:
    """The agent to use; UsageError where one that is named cannot be used, or none reads what is tried.

    `subject` is None where it is nothing that an agent reads, such as a model.
    """
    if named is not None:
        return _named_agent(suite.spec, reads, named, model, subject)
    own = _suite_agent(suite, reads, model)
    if own is not None and own.pretends is None:
        return own
    installed = list(_installed_agents(model))
    readers = [agent for agent in installed if reads(agent.name)]
    for agent in readers:
        if (ready := _with_access(suite.spec, agent)) is not None:
            return ready
    if not readers and any(_with_access(suite.spec, agent) is not None for agent in installed):
        names = quote_names([agent.name for agent in installed])
        raise UsageError(
            f"no installed agent reads {subject}; installed are {names}. Name a file that one of them reads, or "
            "install another agent (`outweigh doctor` lists them)."
        )
    return own or _pretended(readers, subject)


def _named_agent(spec: SuiteSpec, reads: ReadsSubject, named: str, model: str | None, subject: str | None) -> TryAgent:
    known = adapter_names("agent")
    if named not in known:
        near = get_close_matches(named, known, n=1)
        hint = f" Did you mean {near[0]!r}?" if near else ""
        raise UsageError(f"-a: there is no agent {named!r}; there are {', '.join(known)}.{hint}")
    agent = TryAgent(spec=ArmSpec(agent=named, model=model))
    if named in (*SIMULATED_AGENTS, "shell", "acp"):
        raise UsageError(f"-a {named}: name a coding agent, or a suite whose baseline is set up with it (-s SUITE).")
    if (missing := load_adapter("agent", named).missing(bare_arm("baseline", named, model))) is not None:
        raise UsageError(f"-a {named}: {missing} Without -a, outweigh takes an agent that is installed.")
    if not reads(named):
        raise UsageError(f"-a {named}: it does not read {subject}. Name another agent, or leave -a out.")
    ready = _with_access(spec, agent)
    if ready is None:
        keys = " or ".join(load_adapter("agent", named).keys)
        raise UsageError(
            f"-a {named}: there is no key for its model in the environment ({keys}) and no login. Export the key; "
            "without -a and without a key, outweigh shows everything with a scripted agent that only pretends."
        )
    return ready


def _suite_agent(suite: LoadedSuite, reads: ReadsSubject, model: str | None) -> TryAgent | None:
    """The baseline of the suite, where its agent can start here, sees what is tried, and reaches its model."""
    arm = suite.arms.get(suite.spec.baseline)
    if arm is None:
        return None
    if model is not None:
        arm = msgspec.structs.replace(arm, model=model)
    if load_adapter("agent", arm.agent).missing(arm) is not None or not reads(arm.agent):
        return None
    spec = ArmSpec(
        agent=arm.agent,
        model=arm.model,
        provider=arm.provider_name,
        auth=arm.auth,
        mcp_servers=dict(arm.mcp_servers),
        extra_prompt=arm.extra_prompt,
        environment=dict(arm.environment),
        secrets=list(arm.secrets),
        flags=list(arm.flags),
        options=dict(arm.options),
    )
    agent = TryAgent(spec=spec, arm=arm)
    if arm.agent in SIMULATED_AGENTS:
        return replace(agent, pretends=f"the suite's agent is {arm.agent!r}")
    return _with_access(suite.spec, agent)


def _installed_agents(model: str | None) -> Iterator[TryAgent]:
    for name in PREFERRED_AGENTS:
        if load_adapter("agent", name).missing(bare_arm("baseline", name, model)) is None:
            yield TryAgent(spec=ArmSpec(agent=name, model=model))


def _with_access(spec: SuiteSpec, agent: TryAgent) -> TryAgent | None:
    """The agent with a way to its model: a key, an address that takes none, or its own login; else None."""
    arm = agent.arm or bare_arm("baseline", agent.name, agent.spec.model)
    adapter = load_adapter("agent", arm.agent)
    own_way = arm.provider_name is not None or arm.auth is not None or spec.gateway.mode == "direct"
    if own_way or not adapter.uses_model(arm):
        return agent
    provider = provider_of_arm(arm)
    ways = read_upstreams(spec.gateway, os.environ)
    if any(way.key is not None for name, way in ways.items() if provider in (None, name)):
        return agent
    if explain_unfit_login(spec, arm, adapter) is not None:
        return None
    try:
        login_file(arm, os.environ).read()
    except (UsageError, ValueError):
        return None
    return replace(agent, spec=msgspec.structs.replace(agent.spec, auth="login"))


def _pretended(readers: list[TryAgent], subject: str | None) -> TryAgent:
    if readers:
        keys = " or ".join(load_adapter("agent", readers[0].name).keys)
        why = f"{readers[0].name} is installed, and there is neither a key ({keys}) nor a login for its model"
    else:
        why = f"no coding agent{'' if subject is None else f' that reads {subject}'} is installed"
    return TryAgent(spec=ArmSpec(agent="scripted", options={"script": SCRIPT_FILE}), pretends=why)
