"""What is checked before the first paid run: ways to the models, judges, every arm on a scripted model, and prices.

Whatever would make runs fail, or their costs unknown, is said in a paragraph each, and nothing is run unless the user
insists.
"""

import os
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from itertools import chain
from pathlib import PurePosixPath

from outweigh.app.build_engine import own_price_file, prices_for_provider
from outweigh.app.judging_round import missing_judges
from outweigh.app.observer import Notify
from outweigh.app.probe_agents import asks_with_key, missing_access, provider_of_arm
from outweigh.app.suite_sandbox import unreachable_servers
from outweigh.app.try_arms import TryRequest, describe_faults, describe_unproven_parts, try_arms
from outweigh.engine.load_suite import LoadedSuite
from outweigh.errors import UsageError, quote_names
from outweigh.model.agent_files import SKILL_FILE, AgentFileLocations
from outweigh.model.arm import Arm
from outweigh.model.model_name import bare_model_name
from outweigh.model.suite import ADDRESS_VARIABLES, GatewaySpec
from outweigh.plugins import load_adapter
from outweigh.ports.agents import NamesHosts, agent_file_locations
from outweigh.prices import GenaiPrices, listed_models, read_prices
from outweigh.store.tried_arms_file import TriedArm

IGNORE_HINT = "To run it as it is, add -y."

LEAST_SIMILARITY = 0.75
"""How similar a name must be to a known one to be taken for a misspelling of it, of 1 for equal names."""


def check_before_run(request: TryRequest, notify: Notify, *, has_budget: bool, ignore_faults: bool) -> None:
    """Say everything that is wrong; raises UsageError for what would cost money, unless the user insists."""
    left = _with_arms(request.suite, request.arms)
    faults = faults_before_start(request.suite, request.arms)
    if not _asks_models(left):
        _notify_all(notify, missing_judges(left))
    tried = examine_tries(left, try_arms(request, notify), has_budget=has_budget)
    faults += tried.faults
    _notify_all(notify, tried.notices)
    if faults and not ignore_faults:
        raise UsageError(describe_refusal(faults))
    _notify_all(notify, faults)


@dataclass(frozen=True, slots=True, kw_only=True)
class ExaminedTries:
    """What follows from tries of arms: a paragraph for each fault, and what is worth a notice and stops nothing."""

    faults: tuple[str, ...]
    notices: tuple[str, ...]


def examine_tries(suite: LoadedSuite, tried: Mapping[str, TriedArm], *, has_budget: bool) -> ExaminedTries:
    """What is wrong with these arms and with the models that they asked for."""
    agents = {name: suite.arms[name].agent for name in tried}
    models = _UnpricedModels(suite, tried, has_budget=has_budget)
    return ExaminedTries(
        faults=(*describe_faults(tried, agents), *models.faults()),
        notices=(*describe_unproven_parts(tried, agents), *models.notices()),
    )


def faults_before_start(suite: LoadedSuite, arms: Collection[str]) -> list[str]:
    """What can be said about these arms, their keys and the judges without starting any agent."""
    left = _with_arms(suite, arms)
    judges = missing_judges(left) if _asks_models(left) else ()
    parts = (
        _unreachable_models(left),
        _ignored_addresses(left),
        unreachable_servers(left),
        missing_access(left),
        _misplaced_skills(left),
    )
    return [*chain.from_iterable(parts), *judges]


def faults_of_suite(suite: LoadedSuite, arms: Collection[str]) -> list[str]:
    """The same without what depends on the machine where the agents run: its keys, logins and addresses."""
    left = _with_arms(suite, arms)
    parts = (_unreachable_models(left), unreachable_servers(left), _misplaced_skills(left))
    return [*chain.from_iterable(parts), *(missing_judges(left) if _asks_models(left) else ())]


def _with_arms(suite: LoadedSuite, names: Collection[str]) -> LoadedSuite:
    return replace(suite, arms={name: arm for name, arm in suite.arms.items() if name in names})


def _asks_models(suite: LoadedSuite) -> bool:
    return any(load_adapter("agent", arm.agent).uses_model(arm) for arm in suite.arms.values())


def _notify_all(notify: Notify, sentences: Iterable[str]) -> None:
    for sentence in sentences:
        notify(sentence)


def describe_refusal(faults: Sequence[str]) -> str:
    """Why nothing is run."""
    if len(faults) == 1:
        return f"nothing was run or paid for: {faults[0]} {IGNORE_HINT}"
    lines = "".join(f"- {fault}\n" for fault in faults)
    return f"nothing was run or paid for: {len(faults)} problems were found.\n{lines}{IGNORE_HINT}"


def _unreachable_models(suite: LoadedSuite) -> Iterator[str]:
    """The arms that ask a model by themselves in a sandbox that reaches no host."""
    spec = suite.spec
    if spec.gateway.mode != "direct" or spec.sandbox.kind == "local" or spec.sandbox.allow_hosts:
        return
    for arm in suite.arms.values():
        agent = load_adapter("agent", arm.agent)
        asks = agent.uses_model(arm) or bool(arm.model or arm.secrets)
        if asks and not (isinstance(agent, NamesHosts) and agent.hosts(arm)):
            yield (
                f'arm {arm.name!r} asks its model directly (mode = "direct" under [gateway]), and its sandbox reaches '
                "no host. Add the host of the model's API to allow_hosts under [sandbox], or leave out the mode, so "
                "that the gateway asks the model."
            )


def _misplaced_skills(suite: LoadedSuite) -> Iterator[str]:
    """Files of arms that look like skills and lie where the agent looks for none."""
    for arm in suite.arms.values():
        agent = load_adapter("agent", arm.agent)
        places = agent_file_locations(arm.agent, agent)
        for file in arm.overlay if agent.uses_model(arm) else ():
            if _is_misplaced(PurePosixPath(file.path), places):
                right = f"reads skills at {places.skills[0]}/NAME/{SKILL_FILE}" if places.skills else "reads no skills"
                yield (
                    f"arm {arm.name!r} has the file {file.path}, and {arm.agent} {right}. Name the skill's folder "
                    "under `skills` of the arm, which puts it into the right place, or rename the file."
                )


def _is_misplaced(path: PurePosixPath, places: AgentFileLocations) -> bool:
    if path.name.lower() != SKILL_FILE.lower() or places.skill_folder(str(path)) is not None:
        return False
    below = [path.relative_to(folder).parts for folder in places.skills if path.is_relative_to(folder)]
    return not any(len(parts) > 2 for parts in below)  # deeper than NAME/SKILL.md, it is a part of a skill


def _ignored_addresses(suite: LoadedSuite) -> Iterator[str]:
    """Addresses that the user has exported and that requests would not go to, because the suite names none.

    Whoever exports one expects it to be used, perhaps because it is free.
    """
    if suite.spec.gateway.mode == "direct":
        return
    askers: dict[str, list[Arm]] = defaultdict(list)
    for arm in suite.arms.values():
        if arm.provider is None and arm.auth is None and load_adapter("agent", arm.agent).uses_model(arm):
            askers[provider_of_arm(arm) or ""].append(arm)
    for provider, variable in ADDRESS_VARIABLES.items():
        exported = os.environ.get(variable, "").rstrip("/").removesuffix("/v1")
        url, usual = (getattr(gateway, provider).url for gateway in (suite.spec.gateway, GatewaySpec()))
        if provider in askers and exported and url == usual and exported != usual:
            key = getattr(suite.spec.gateway, provider).key
            yield (
                f"{variable} is {exported}, but {_quote_arms(askers[provider])} would ask {url}: requests go where "
                f'the suite says. To use your address, add {provider} = {{ url = "{exported}", key = "{key}" }} under '
                f"[gateway] in suite.toml; to ask {url}, unset {variable}."
            )


class _UnpricedModels:
    """The models that tried arms asked for and that no price list has, with the arms that did.

    That is a fault where the requests are paid with a key, where dollars are limited or compared, or where the name
    looks like a misspelling. A server that takes no key bills nobody.
    """

    def __init__(self, suite: LoadedSuite, tried: Mapping[str, TriedArm], *, has_budget: bool) -> None:
        self._suite = suite
        self._needs_dollars = has_budget or any(name.startswith("cost") for name in suite.spec.policy.gates or ())
        self._apis = {name: result.apis for name, result in tried.items()}
        unpriced = _arms_by_unpriced_model(suite, tried)
        self._found = {model: (arms, self._similar(model, arms)) for model, arms in unpriced.items()}

    def faults(self) -> Iterator[str]:
        """A paragraph for each model that must not be asked as it is."""
        for model, (arms, similar) in self._found.items():
            if self._is_fault(arms, similar):
                yield self._describe(model, arms, similar)

    def notices(self) -> Iterator[str]:
        """A sentence for each of the others."""
        for model, (arms, similar) in self._found.items():
            if not self._is_fault(arms, similar):
                yield f"the cost of {_quote_arms(arms)} will be unknown: no price list has the model {model!r}."

    def _is_fault(self, arms: list[Arm], similar: list[str]) -> bool:
        billed = any(asks_with_key(self._suite, arm, self._apis[arm.name]) for arm in arms)
        return bool(similar) or self._needs_dollars or billed

    def _describe(self, model: str, arms: list[Arm], similar: list[str]) -> str:
        missing = GenaiPrices().unavailable
        cause = "no price list has" if missing is None else f"{missing}, and no other list has"
        effect = "no budget can be kept" if self._needs_dollars else "its cost would be unknown"
        hint = f" Did you mean {' or '.join(repr(name) for name in similar)}?" if similar else ""
        return (
            f"{_quote_arms(arms)} would ask for the model {model!r}, but {cause} that name, so {effect}.{hint} Correct "
            "`model` of the arm, or list the model's price in the file that `prices` under [gateway] names."
        )

    def _similar(self, model: str, arms: list[Arm]) -> list[str]:
        """Known names that it may be a misspelling of; none where it is a known name in another spelling."""
        known: dict[str, None] = {}
        aliases: dict[str, None] = {}
        for arm in arms:
            known |= dict.fromkeys(listed_models(provider_of_arm(arm)))
            aliases |= dict.fromkeys(getattr(load_adapter("agent", arm.agent), "model_aliases", {}))
            if (file := own_price_file(self._suite, arm.provider_name)) is not None:
                known |= dict.fromkeys(read_prices(file).names)
        own = bare_model_name(model).replace(":", "-")  # local servers write a tag after a colon
        if own in map(bare_model_name, known):
            return []
        asked = model.rpartition("/")[2]
        families = [alias for alias in aliases if asked.startswith(alias) and any(alias in name for name in known)]
        return get_close_matches(asked, [*known, *aliases], 2, LEAST_SIMILARITY) or families


def _arms_by_unpriced_model(suite: LoadedSuite, tried: Mapping[str, TriedArm]) -> dict[str, list[Arm]]:
    found: dict[str, list[Arm]] = defaultdict(list)
    for name, result in tried.items():
        arm = suite.arms[name]
        prices = prices_for_provider(suite, arm.provider_name)
        for model in result.models:
            if not any("*" in known or prices.prices(known) for known in _other_names(suite, arm, model)):
                found[model].append(arm)
    return found


def _other_names(suite: LoadedSuite, arm: Arm, model: str) -> Iterator[str]:
    """The name that was asked for, what the suite says that it stands for, and the provider's own name for it."""
    yield model
    yield from filter(None, [suite.spec.gateway.model_aliases.get(model)])
    yield from filter(None, [None if arm.provider is None else arm.provider.models.get(model)])


def _quote_arms(arms: list[Arm]) -> str:
    return f"{'arm' if len(arms) == 1 else 'arms'} {quote_names([arm.name for arm in arms])}"
