"""Whether the agents, keys and judges of a suite work from here, and Harbor where it is to run the suite."""

import os
from collections import defaultdict
from collections.abc import Callable, Collection, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial

from outweigh.app.arm_login import login_file
from outweigh.app.build_engine import explain_unfit_provider
from outweigh.app.judging_round import find_judges
from outweigh.app.run_harbor import harbor_settings
from outweigh.app.suite_sandbox import unreachable_servers
from outweigh.engine.load_suite import LoadedSuite
from outweigh.errors import UsageError, quote_names
from outweigh.gateway.named_providers import provider_variables
from outweigh.gateway.upstream import read_upstreams
from outweigh.interop.harbor.harbor_command import HarborProgram, find_harbor, select_environment
from outweigh.interop.harbor.job_spec import agent_entry
from outweigh.model.arm import Arm, bare_arm
from outweigh.model.suite import SuiteSpec
from outweigh.plugins import adapter_names, load_adapter
from outweigh.ports.agents import Agent
from outweigh.report.doctor_page import RunRequirement
from outweigh.verdict.evidence_settings import JUDGE_SCORE

PLACEHOLDER_MODEL = "openai/gpt-4.1"


def probe_agents(suite: LoadedSuite | None) -> Iterator[RunRequirement]:
    """Every agent there is an adapter for; with a suite, its arms, its secrets and the keys of its gateway."""
    if suite is None:
        with ThreadPoolExecutor() as threads:  # each is asked for its version, which takes a moment
            yield from threads.map(_probe_agent, adapter_names("agent"))
        return
    yield from (_probe_arm(suite.spec, arm) for arm in suite.arms.values())
    for name in sorted({name for arm in suite.arms.values() for name in arm.secrets}):
        missing = None if name in os.environ else "it is not in the environment; export it."
        yield RunRequirement(kind="secret", name=name, missing=missing, required=True, detail="")
    for sentence in unreachable_servers(suite):
        where, _, why = sentence.partition(": ")
        yield RunRequirement(kind="server", name=where, missing=why, required=True, detail="")
    yield from _probe_keys(suite)


def arms_that_ask(suite: LoadedSuite | None) -> list[Arm]:
    """The arms that ask a model and can start; without a suite, a plain one for every agent that is installed."""
    arms = map(plain_arm, adapter_names("agent")) if suite is None else suite.arms.values()
    return [arm for arm in arms if _asks_a_model(load_adapter("agent", arm.agent), arm)]


def missing_access(suite: LoadedSuite) -> Iterator[str]:
    """The keys and logins without which an arm of the suite cannot ask its model, with what to do about each."""
    for part in _probe_keys(suite):
        if part.blocks:
            yield f"{part.kind} {part.name}: {part.missing}"


def asks_with_key(suite: LoadedSuite, arm: Arm, apis: Collection[str]) -> bool:
    """Whether the arm's requests are sent with a key or a login, so that their price matters, by the APIs it used."""
    if suite.spec.gateway.mode == "direct" or arm.auth == "login":
        return True
    if arm.provider_name is not None:
        return bool(provider_variables(suite.spec.providers[arm.provider_name]))
    return any(way.variable for api, way in read_upstreams(suite.spec.gateway, os.environ).items() if api in apis)


def plain_arm(agent: str) -> Arm:
    """An arm with nothing to it; with a model where the agent has none of its own."""
    needs_model = getattr(load_adapter("agent", agent), "needs_model", False)
    return bare_arm(agent, agent, PLACEHOLDER_MODEL if needs_model else None)


def _asks_a_model(agent: Agent, arm: Arm) -> bool:
    return agent.uses_model(arm) and agent.missing(arm) is None


def _probe_agent(name: str) -> RunRequirement:
    """A program of somebody else's may be missing; an agent that needs none, or any, is there."""
    agent, arm = load_adapter("agent", name), plain_arm(name)
    if not getattr(agent, "keys", ()):
        return RunRequirement(kind="agent", name=name, missing=None, required=False, detail="installed")
    missing = agent.missing(arm)
    detail = "" if missing is not None else f"{_agent_version(agent, arm) or 'version unknown'}, {agent.credentials()}"
    return RunRequirement(kind="agent", name=name, missing=missing, required=False, detail=detail)


def _probe_arm(spec: SuiteSpec, arm: Arm) -> RunRequirement:
    agent: Agent = load_adapter("agent", arm.agent)
    missing = agent.missing(arm) or explain_unfit_provider(spec, arm, agent)
    version = None if missing is not None else _agent_version(agent, arm)
    detail = f"agent {arm.agent}" if version is None else f"agent {arm.agent} {version}"
    return RunRequirement(kind="arm", name=arm.name, missing=missing, required=True, detail=detail)


def _agent_version(agent: Agent, arm: Arm) -> str | None:
    """Some can tell."""
    tell = getattr(agent, "version", None)
    found: str | None = None if tell is None else tell(arm)
    return found


def _probe_keys(suite: LoadedSuite) -> Iterator[RunRequirement]:
    """The keys that the gateway would use for the arms; where the provider is not known, any of them will do."""
    if suite.spec.gateway.mode == "direct":
        yield from filter(None, map(_probe_login, arms_that_ask(suite)))
        return
    askers: dict[str | None, list[str]] = defaultdict(list)
    named: dict[str, list[str]] = defaultdict(list)
    for arm in arms_that_ask(suite):
        if arm.auth == "login":
            yield _probe_plan(arm)
        elif arm.provider_name is None:
            askers[provider_of_arm(arm)].append(arm.name)
        else:
            named[arm.provider_name].append(arm.name)
    for name, arms in named.items():
        for variable in provider_variables(suite.spec.providers[name]):
            yield _probe_key(
                variable, f"{quote_names(arms)} cannot ask the provider {name!r} without it; export it.", required=True
            )
    ways = read_upstreams(suite.spec.gateway, os.environ)
    for provider, way in ways.items():
        if provider in askers and way.variable:
            yield _probe_key(
                way.variable,
                f"{quote_names(askers[provider])} cannot ask {provider} without it; export it.",
                required=True,
            )
    if None in askers:
        is_needed = all(way.key is None for way in ways.values())
        for variable in dict.fromkeys(way.variable for name, way in ways.items() if name not in askers):
            if variable:
                yield _probe_key(
                    variable, f"{quote_names(askers[None])} may need it; export it if so.", required=is_needed
                )


def _probe_plan(arm: Arm) -> RunRequirement:
    """Whether there is the login that an arm with `auth = "login"` uses."""
    missing, detail = None, ""
    try:
        file = login_file(arm, os.environ)
        file.read()
        detail = f"in {file.place}, sent by the gateway, not tried"
    except (UsageError, ValueError) as fault:
        missing = str(fault)
    return RunRequirement(kind="login of", name=arm.name, missing=missing, required=True, detail=detail)


def _probe_login(arm: Arm) -> RunRequirement | None:
    """Whether an arm that asks its model directly has a login; None where only a live check can tell."""
    tell = getattr(load_adapter("agent", arm.agent), "missing_login", None)
    if tell is None:
        return None
    missing: str | None = tell(arm)
    detail = "" if missing else "given to the sandbox, not tried"
    return RunRequirement(kind="login of", name=arm.name, missing=missing, required=True, detail=detail)


def provider_of_arm(arm: Arm) -> str | None:
    """Some can tell whom they ask."""
    tell = getattr(load_adapter("agent", arm.agent), "provider", None)
    found: str | None = None if tell is None else tell(arm)
    return found


def _probe_key(variable: str, without: str, *, required: bool) -> RunRequirement:
    missing = None if os.environ.get(variable) else f"it is not in the environment. {without}"
    detail = "set, not tried" if missing is None else ""
    return RunRequirement(kind="key", name=variable, missing=missing, required=required, detail=detail)


def probe_judges(suite: LoadedSuite | None) -> Iterator[RunRequirement]:
    """Every backend there is; with a suite, its judges. Runs stand without them, unless the suite decides by them."""
    if suite is None:
        for name in adapter_names("judge"):
            yield RunRequirement(kind="judge backend", name=name, missing=None, required=False, detail="installed")
        return
    missing = find_judges(suite.spec.judges).missing
    required = JUDGE_SCORE in (suite.spec.policy.gates or ())
    for judge in suite.spec.judges:
        detail = f"{judge.backend}, {judge.model or 'its own model'}"
        yield RunRequirement(
            kind="judge", name=judge.name, missing=missing.get(judge.name), required=required, detail=detail
        )


def probe_harbor(suite: LoadedSuite) -> Iterator[RunRequirement]:
    """Harbor's program, the suite in its terms, every arm, and the variables that are to be handed on."""
    yield _probe_harbor_part("harness", "harbor", lambda: _harbor_version(suite))
    yield _probe_harbor_part(
        "suite", suite.spec.name, lambda: f"{len(harbor_settings(suite, 1).tasks)} tasks fit for Harbor"
    )
    for arm in suite.arms.values():
        yield _probe_harbor_part("arm", arm.name, partial(_harbor_agent, arm))
    named = {name for arm in suite.arms.values() for name in arm.secrets} | set(suite.spec.harbor.pass_environment)
    for name in sorted(named):
        missing = None if name in os.environ else "it is not in the environment; export it."
        yield RunRequirement(kind="variable", name=name, missing=missing, required=True, detail="")


def _harbor_version(suite: LoadedSuite) -> str:
    program = find_harbor(suite.spec.harbor.program, suite.folder)
    return HarborProgram(program, assume_yes=False).version(select_environment((), os.environ))


def _harbor_agent(arm: Arm) -> str:
    entry = agent_entry(arm)
    return str(entry.get("name") or entry.get("import_path"))


def _probe_harbor_part(kind: str, name: str, look: Callable[[], str]) -> RunRequirement:
    try:
        detail, missing = look(), None
    except UsageError as fault:
        detail, missing = "", str(fault)
    return RunRequirement(kind=kind, name=name, missing=missing, required=True, detail=detail)
