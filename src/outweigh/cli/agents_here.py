"""Which agents are installed here, in which version, and whether anybody could pay for their models."""

import os
from collections import defaultdict
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

from outweigh.errors import name_some
from outweigh.gateway.upstream import upstreams
from outweigh.plugins import load, names
from outweigh.ports.agents import Agent
from outweigh.report.doctor_view import Part
from outweigh.run.loading import LoadedSuite
from outweigh.task.arm import Arm, bare_arm

SOME_MODEL = "openai/gpt-4.1"


def look_at_agents(suite: LoadedSuite | None) -> Iterator[Part]:
    """Every agent there is an adapter for; with a suite, its arms, its secrets and the keys of its gateway."""
    if suite is None:
        with ThreadPoolExecutor() as threads:  # each is asked for its version, which takes a moment
            yield from threads.map(_agent, names("agent"))
        return
    yield from map(_arm, suite.arms.values())
    for name in sorted({name for arm in suite.arms.values() for name in arm.secrets}):
        missing = None if name in os.environ else "it is not in the environment; export it."
        yield Part(kind="secret", name=name, missing=missing, required=True, detail="")
    yield from _keys(suite)


def arms_to_try(suite: LoadedSuite | None) -> list[Arm]:
    """The arms that ask a model and can start; without a suite, a plain one for every agent that is installed."""
    arms = map(plain_arm, names("agent")) if suite is None else suite.arms.values()
    return [arm for arm in arms if _asks_a_model(load("agent", arm.agent), arm)]


def plain_arm(agent: str) -> Arm:
    """An arm with nothing to it; with a model where the agent has none of its own."""
    needs_model = getattr(load("agent", agent), "needs_model", False)
    return bare_arm(agent, agent, SOME_MODEL if needs_model else None)


def _asks_a_model(agent: Agent, arm: Arm) -> bool:
    return agent.uses_model(arm) and agent.missing(arm) is None


def _agent(name: str) -> Part:
    """A program of somebody else's may be missing; an agent that needs none, or any, is there."""
    agent, arm = load("agent", name), plain_arm(name)
    if not getattr(agent, "keys", ()):
        return Part(kind="agent", name=name, missing=None, required=False, detail="installed")
    missing = agent.missing(arm)
    detail = "" if missing is not None else f"{_version(agent, arm) or 'version unknown'}, {agent.sign_in()}"
    return Part(kind="agent", name=name, missing=missing, required=False, detail=detail)


def _arm(arm: Arm) -> Part:
    agent: Agent = load("agent", arm.agent)
    missing = agent.missing(arm)
    version = None if missing is not None else _version(agent, arm)
    detail = f"agent {arm.agent}" if version is None else f"agent {arm.agent} {version}"
    return Part(kind="arm", name=arm.name, missing=missing, required=True, detail=detail)


def _version(agent: Agent, arm: Arm) -> str | None:
    """Some can tell."""
    tell = getattr(agent, "version", None)
    found: str | None = None if tell is None else tell(arm)
    return found


def _keys(suite: LoadedSuite) -> Iterator[Part]:
    """The keys that the gateway would use for the arms; of those whose provider nobody knows, any one will do."""
    if suite.spec.gateway.mode == "direct":
        return
    askers: dict[str | None, list[str]] = defaultdict(list)
    for arm in arms_to_try(suite):
        askers[_provider(arm)].append(arm.name)
    ways = upstreams(suite.spec.gateway, os.environ)
    for provider, way in ways.items():
        if provider in askers and way.variable:
            yield _key(
                way.variable,
                f"{name_some(askers[provider])} cannot ask {provider} without it; export it.",
                required=True,
            )
    if None in askers:
        is_needed = all(way.key is None for way in ways.values())
        for variable in dict.fromkeys(way.variable for name, way in ways.items() if name not in askers):
            if variable:
                yield _key(variable, f"{name_some(askers[None])} may need it; export it if so.", required=is_needed)


def _provider(arm: Arm) -> str | None:
    """Some can tell whom they ask."""
    tell = getattr(load("agent", arm.agent), "provider", None)
    found: str | None = None if tell is None else tell(arm)
    return found


def _key(variable: str, without: str, *, required: bool) -> Part:
    missing = None if os.environ.get(variable) else f"it is not in the environment. {without}"
    detail = "set, not tried" if missing is None else ""
    return Part(kind="key", name=variable, missing=missing, required=required, detail=detail)
