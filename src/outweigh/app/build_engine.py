"""Build the engine's dependencies: agents, sandboxes, secrets, workspaces, scratch folder, model gateway and store.

Trials are laid out in a temporary folder outside of the store, because agents read settings from the folders above
their workspace. The store notes where it is, so that the next engine can remove it after a crash.
"""

import os
import re
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from hashlib import sha256
from pathlib import Path
from secrets import token_hex
from tempfile import gettempdir
from threading import Event
from types import MappingProxyType
from typing import Any

from outweigh.app.arm_login import explain_unfit_login, open_login
from outweigh.app.suite_sandbox import choose_sandbox
from outweigh.app.task_images import image_files
from outweigh.engine.load_suite import LoadedSuite
from outweigh.engine.run_agent import EngineDeps
from outweigh.engine.setup_check import expected_setup
from outweigh.engine.task_dependencies import require_dependencies
from outweigh.errors import UsageError
from outweigh.gateway.host_allowlist import AllowedHosts
from outweigh.gateway.model_gateway import ModelGateway, NamedUpstream
from outweigh.gateway.named_providers import provider_variables, read_provider
from outweigh.gateway.token_queue import TokenQueue
from outweigh.gateway.upstream import ModelUpstream, read_upstreams
from outweigh.model.arm import Arm
from outweigh.model.pricing import PriceTables
from outweigh.model.suite import SuiteSpec
from outweigh.plugins import load_adapter
from outweigh.ports.agents import Agent, HoldsConversations
from outweigh.ports.gateways import Gateway, HostAccess
from outweigh.ports.sandboxes import ReadyImage, SandboxProvider
from outweigh.ports.stores import RunStore
from outweigh.prices import price_tables, read_prices
from outweigh.workspace.cache import WorkspaceCache
from outweigh.workspace.overlay_mount import overlay_mounts_below, unmount
from outweigh.workspace.patch import workspace_patch
from outweigh.workspace.survey import survey_workspace
from outweigh.workspace.trash import remove_tree

SCRATCH_NOTE = "scratch"
"""The file of a store that says where its engine lays out trials. Read and written under the store's lock."""

NO_LABELS: Mapping[str, Any] = MappingProxyType({})

_SCRATCH_NAME = re.compile(r"outweigh-[0-9a-f]{16}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Scratch:
    """The folder that an engine works in, and how it deletes what it no longer needs there."""

    folder: Path
    remove: Callable[[Path], None] = remove_tree


@contextmanager
def scratch_folder(store: Path) -> Iterator[Path]:
    """A new folder for this engine alone, noted in the store before it is made."""
    folder = Path(gettempdir()).resolve() / f"outweigh-{token_hex(8)}"
    note = store / SCRATCH_NOTE
    try:
        note.write_text(f"{folder}\n")
        folder.mkdir(mode=0o700)
    except OSError as fault:
        raise UsageError(
            f"{fault.filename} cannot be made: {fault.strerror}. Free some disk space, or set TMPDIR."
        ) from None
    try:
        yield folder
    finally:
        _remove_scratch(folder)
        note.unlink(missing_ok=True)


def sweep_scratch(store: Path) -> str | None:
    """Remove the folder of an engine that could not do it itself; says which one it was."""
    note = store / SCRATCH_NOTE
    try:
        folder = Path(note.read_text().strip())
    except (OSError, ValueError):
        return None
    # A store can come from anywhere; nothing is removed but what one of our engines made.
    found = bool(_SCRATCH_NAME.fullmatch(folder.name)) and folder.is_dir() and not folder.is_symlink()
    if found:
        _remove_scratch(folder)
    note.unlink()
    return str(folder) if found else None


def _remove_scratch(folder: Path) -> None:
    for mount in overlay_mounts_below(folder):
        unmount(mount)
    with suppress(OSError):
        remove_tree(folder)


@dataclass(frozen=True, slots=True, kw_only=True)
class SuiteAdapters:
    """What a suite needs from this machine. `images` are those of tasks that run in their own, once they are ready."""

    sandboxes: SandboxProvider
    agents: dict[str, Agent]
    secrets: dict[str, str]
    images: Mapping[str, ReadyImage] = field(default_factory=dict)

    def model_users(self, suite: LoadedSuite) -> list[Arm]:
        """The arms whose agents ask a model."""
        return [arm for arm in suite.arms.values() if self.agents[arm.agent].uses_model(arm)]


def load_suite_adapters(suite: LoadedSuite) -> SuiteAdapters:
    """Find everything the suite names; what is missing is refused before anything is written or paid for."""
    AllowedHosts(suite.spec.sandbox.allow_hosts)
    sandboxes = choose_sandbox(suite.spec.sandbox, suite.tasks)
    require_dependencies(suite.tasks, sandboxes.name)
    agents = load_agents(suite)
    for arm in suite.arms.values():
        if (missing := agents[arm.agent].missing(arm)) is not None:
            raise UsageError(f"arm {arm.name!r} cannot run here: {missing}")
    return SuiteAdapters(sandboxes=sandboxes, agents=agents, secrets=_secrets(suite))


def engine_label(store: Path) -> str:
    """The label of everything that an engine of this store starts; no other store has the same."""
    return f"outweigh:{sha256(os.fsencode(store.resolve())).hexdigest()[:16]}"


def build_engine_deps(  # noqa: PLR0913, PLR0917 - what an engine is made of
    suite: LoadedSuite,
    adapters: SuiteAdapters,
    store: RunStore,
    label: str,
    scratch: Scratch,
    cancel: Event,
    gateway: Gateway | None = None,
    hosts: Callable[[], HostAccess | None] = lambda: None,
    labels: Mapping[str, Any] = NO_LABELS,
) -> EngineDeps:
    """What the engine works with; without a gateway agents go to their models directly. `labels` are those of the
    experiment (store/experiment_file.py).
    """
    return EngineDeps(
        tasks={task.id: task for task in suite.tasks},
        arms=suite.arms,
        overlays=suite.overlays,
        agents=adapters.agents,
        sandboxes=adapters.sandboxes,
        workspaces=WorkspaceCache(
            scratch.folder / "pristine",
            remove=_leave_in_place,
            image_files=image_files(adapters.sandboxes, adapters.images),
        ),
        store=store,
        sandbox=suite.spec.sandbox,
        limits=suite.spec.limits,
        secrets=adapters.secrets,
        scratch=scratch.folder / "trials",
        label=label,
        cancel=cancel,
        now=lambda: datetime.now(UTC),
        survey=survey_workspace,
        diff=partial(workspace_patch, scratch=scratch.folder),
        remove=scratch.remove,
        gateway=gateway,
        hosts=hosts,
        expected_setup=expected_setup(suite.arms, suite.overlays, adapters.agents, suite.spec.gateway.model_aliases),
        keep_bodies=suite.spec.gateway.keep_bodies,
        allow=suite.spec.gateway.allow,
        labels=dict(labels),
        images=adapters.images,
        user_model=suite.spec.simulated_user,
    )


def _leave_in_place(layout: Path) -> None:
    """Leave a layout where it is: it lies in its trial's folder, which is removed as a whole."""


def load_agents(suite: LoadedSuite) -> dict[str, Agent]:
    """The adapters of the arms' agents, whether or not their programs are here; mistakes of the suite are refused."""
    agents: dict[str, Agent] = {
        name: load_adapter("agent", name) for name in {arm.agent for arm in suite.arms.values()}
    }
    for arm in suite.arms.values():
        if (unfit := explain_unfit_provider(suite.spec, arm, agents[arm.agent])) is not None:
            raise UsageError(unfit)
        _refuse_unheld_turns(suite, arm, agents[arm.agent])
    _refuse_unplayed_user(suite)
    return agents


def _refuse_unheld_turns(suite: LoadedSuite, arm: Arm, agent: Agent) -> None:
    """Refuse tasks with several turns for an agent that would only ever get the first."""
    task = next((task for task in suite.tasks if task.has_several_turns), None)
    if task is None or (isinstance(agent, HoldsConversations) and agent.holds_conversations(arm)):
        return
    raise UsageError(
        f"the task {task.id!r} has several turns, and the agent {arm.agent} of arm {arm.name!r} cannot go on in a "
        "session. Agents that can are claude-code and codex; use one of them, or leave out the turns."
    )


def _refuse_unplayed_user(suite: LoadedSuite) -> None:
    """Refuse simulated users that no model plays, or that could not be metered."""
    task = next((task for task in suite.tasks if task.user is not None), None)
    if task is None:
        return
    if suite.spec.simulated_user is None:
        raise UsageError(
            f"the task {task.id!r} has a simulated user, and the suite does not say which model plays it. Add "
            '[simulated_user] with model = "NAME" to suite.toml.'
        )
    if suite.spec.gateway.mode == "direct":
        raise UsageError(
            f'the task {task.id!r} has a simulated user, which is asked through the gateway, and mode = "direct" '
            "under [gateway] uses none. Leave one of them out."
        )


def explain_unfit_provider(spec: SuiteSpec, arm: Arm, agent: Agent) -> str | None:
    """Why an arm cannot be served by the provider or the login that it names; None where it can, or names none."""
    provider, name = arm.provider, arm.provider_name
    if arm.auth == "login":
        return explain_unfit_login(spec, arm, agent)
    if provider is None:
        return None
    where = f"arms.{arm.name}.provider"
    if spec.gateway.mode == "direct":
        return (
            f'{where}: the gateway sends requests to {name!r}, and mode = "direct" under [gateway] uses no gateway. '
            "Leave one of them out."
        )
    if not agent.uses_model(arm):
        hint = " Set model_access = true in its options." if arm.agent == "shell" else " Leave it out."
        return f"{where}: the agent {arm.agent} asks no model here, so {name!r} would serve nothing.{hint}"
    tell = getattr(agent, "provider", None)
    own: str | None = None if tell is None else tell(arm)
    if own is None or own == provider.dialect:
        return None
    return (
        f"{where}: {arm.agent} uses {own}'s API for this arm, and {name!r} has {provider.dialect}'s. Name a provider "
        f'with dialect = "{own}"'
        + (f", or write the model as {provider.dialect}/NAME." if "/" in (arm.model or "") else ", or another agent.")
    )


def _secrets(suite: LoadedSuite) -> dict[str, str]:
    wanted = {name for arm in suite.arms.values() for name in arm.secrets}
    missing = sorted(name for name in wanted if name not in os.environ)
    if missing:
        raise UsageError(f"the suite names the secret {missing[0]}, which is not in the environment; export it first.")
    return {name: os.environ[name] for name in wanted}


@contextmanager
def open_model_gateway(
    suite: LoadedSuite, adapters: SuiteAdapters, tokens: TokenQueue | None = None
) -> Iterator[Gateway | None]:
    """The model gateway while the experiment runs; None where no arm asks a model, or where arms ask it directly.

    Requests wait in `tokens` until they may be sent.
    """
    spec = suite.spec.gateway
    model_users = adapters.model_users(suite)
    if spec.mode == "direct" or not model_users:
        yield None
        return
    ways = read_upstreams(spec, os.environ)
    if any(arm.upstream_name is None for arm in model_users):
        _refuse_keyless(ways.values())
    named = {arm.provider_name for arm in model_users if arm.provider_name is not None}
    providers = {name: _named_upstream(suite, name) for name in named}
    prices = prices_for_provider(suite, None)
    logins = {name: arm for arm in model_users if arm.auth == "login" and (name := arm.upstream_name) is not None}
    providers |= {name: open_login(spec, arm, prices) for name, arm in logins.items()}
    with ModelGateway(ways, prices, providers=providers, tokens=tokens) as gateway:
        yield gateway


def _named_upstream(suite: LoadedSuite, name: str) -> NamedUpstream:
    """A provider of the suite, with its key and headers."""
    spec = suite.spec.providers[name]
    for variable in missing_variables(suite, name):
        raise UsageError(
            f"providers.{name} needs {variable}, which is not in the environment; export it, or name another "
            "variable there."
        )
    prices = prices_for_provider(suite, name)
    return NamedUpstream(dialect=spec.dialect, upstream=read_provider(name, spec, os.environ), prices=prices)


def missing_variables(suite: LoadedSuite, provider: str) -> list[str]:
    """The variables of a provider of the suite that are not in the environment."""
    return [name for name in provider_variables(suite.spec.providers[provider]) if not os.environ.get(name)]


def own_price_file(suite: LoadedSuite, provider: str | None) -> str | None:
    """The price file of one of the suite's providers, else of its gateway; None where neither names one."""
    of_provider = None if provider is None else suite.spec.providers[provider].prices
    stated = of_provider or suite.spec.gateway.prices
    return None if stated is None else str(suite.folder / stated)


def prices_for_provider(suite: LoadedSuite, provider: str | None) -> PriceTables:
    """What prices the runs of a provider of the suite, None for those under `[gateway]`; its own file does so alone."""
    file = own_price_file(suite, provider)
    if file is not None and provider is not None and suite.spec.providers[provider].prices is not None:
        return PriceTables(read_prices(file))
    return price_tables(file)


def _refuse_keyless(ways: Collection[ModelUpstream]) -> None:
    """Refuse a suite that has no key at all. Which provider an arm needs, only its agent knows."""
    if all(way.key is None for way in ways):
        raise UsageError(
            f"the suite's arms ask models, and none of {', '.join(way.variable for way in ways)} is set. "
            "Export the key of your provider, name another variable under [gateway], or set "
            'auth = "login" in the arms, for the login of a Claude or ChatGPT plan or of a Google account.'
        )
