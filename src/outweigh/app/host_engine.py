"""The engine of a host: a suite's package, opened with the secrets, agents and sandboxes of this machine."""

import os
import platform
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from threading import Event, Lock

from outweigh.app.build_engine import (
    Scratch,
    SuiteAdapters,
    build_engine_deps,
    engine_label,
    load_agents,
    missing_variables,
    open_model_gateway,
    scratch_folder,
    sweep_scratch,
)
from outweigh.app.open_files import require_open_files
from outweigh.app.sandbox_limits import with_default_limits
from outweigh.app.suite_sandbox import choose_sandbox, model_hosts, open_allowed_hosts
from outweigh.app.task_images import prepare_task_images, require_agents_start
from outweigh.app.try_arms import TryRequest, try_arms
from outweigh.cluster.lease import LeaseSignal
from outweigh.cluster.spool import ExperimentSpool
from outweigh.cluster.suite_package import PackedSuite, unpack_suite
from outweigh.engine.attempt import FinishedAttempt, run_attempt
from outweigh.engine.finish import metered_totals
from outweigh.engine.load_suite import LoadedSuite
from outweigh.engine.run_agent import EngineDeps
from outweigh.engine.task_dependencies import require_dependencies
from outweigh.engine.trial_plan import PlannedRun
from outweigh.gateway.token_queue import TokenQueue
from outweigh.model.arm import Arm
from outweigh.model.run_record import HOST_LABEL
from outweigh.model.usage import UNKNOWN_COST, Cost
from outweigh.ports.agents import Agent
from outweigh.ports.gateways import Gateway, Meter, MeterRequest
from outweigh.workspace.trash import Trash


@dataclass(frozen=True, slots=True, kw_only=True)
class HostPlace:
    """What a host offers, and the folder that is its own. `ending` is set when the host is to end."""

    folder: Path
    slots: int
    tags: frozenset[str]
    ending: Event


class SpendingGateway:
    """A gateway that knows what the attempts under way have cost so far."""

    def __init__(self, gateway: Gateway) -> None:
        self._gateway = gateway
        self._lock = Lock()
        self._meters: dict[str, Meter] = {}

    @contextmanager
    def meter(self, request: MeterRequest) -> Iterator[Meter]:
        """Open access for one run, whose label is its id."""
        with self._gateway.meter(request) as meter:
            with self._lock:
                self._meters[request.label] = meter
            try:
                yield meter
            finally:
                with self._lock:
                    self._meters.pop(request.label, None)

    def spent(self, run_id: str) -> Cost:
        """What a run has cost so far."""
        with self._lock:
            meter = self._meters.get(run_id)
        return UNKNOWN_COST if meter is None else metered_totals(meter.account())[1]


class SuiteEngine:
    """Makes the attempts of a suite on this machine. `unfit` says which arms cannot run here, and why.

    Requests for models wait in `tokens`, for what the lead grants and as long as a provider asks any host to wait.
    """

    def __init__(self, package: Path, spool: ExperimentSpool, place: HostPlace) -> None:
        """Open it, and try its arms; UsageError where nothing of the suite can run here."""
        self._held = ExitStack()
        self._gateway: SpendingGateway | None = None
        self.tokens: TokenQueue | None = None
        try:
            self._deps = self._open(package, spool, place)
        except BaseException:
            self._held.close()
            raise

    def attempt(self, planned: PlannedRun, number: int, cancel: LeaseSignal) -> FinishedAttempt:
        """Make an attempt; its record says where, and how busy the machine was when it began."""
        labels = {**self._deps.labels, HOST_LABEL: describe_host()}
        deps = replace(self._deps, cancel=cancel.cancelled, agent_cancel=cancel, labels=labels)
        return run_attempt(deps, planned, number)

    def spent(self, run_id: str) -> Cost:
        """What a running attempt has cost so far."""
        return UNKNOWN_COST if self._gateway is None else self._gateway.spent(run_id)

    def close(self) -> None:
        """Free everything."""
        self._held.close()

    def _open(self, package: Path, spool: ExperimentSpool, place: HostPlace) -> EngineDeps:
        label = engine_label(place.folder)
        sweep_scratch(place.folder)
        scratch = self._held.enter_context(scratch_folder(place.folder))
        packed = unpack_suite(package, scratch / "suite")
        suite = packed.suite
        sandboxes = choose_sandbox(suite.spec.sandbox, suite.tasks)
        sandboxes.sweep(f"{label}:")
        require_dependencies(suite.tasks, sandboxes.name)
        agents = load_agents(suite)
        reasons = {name: why for name, arm in suite.arms.items() if (why := _why_unfit(suite, arm, agents, place.tags))}
        fit = replace(suite, arms={name: arm for name, arm in suite.arms.items() if name not in reasons})
        self.arms = tuple(fit.arms)
        self.unfit = _describe_unfit(reasons)
        secrets = {name: os.environ[name] for arm in fit.arms.values() for name in arm.secrets}
        adapters = SuiteAdapters(sandboxes=sandboxes, agents=agents, secrets=secrets)
        require_open_files(place.slots, sandboxes.name, asks_models=bool(adapters.model_users(fit)))
        adapters = replace(adapters, images=prepare_task_images(suite, sandboxes))
        require_agents_start(fit, sandboxes, agents, adapters.images)
        tries = TryRequest(
            suite=suite,
            adapters=adapters,
            arms=fit.arms,
            store=place.folder,
            scratch=scratch,
            label=label,
            jobs=place.slots,
            cancel=place.ending,
        )
        self.tried = tuple(try_arms(tries, lambda _: None).values())
        return self._build(packed, fit, adapters, spool, label, scratch, place.slots)

    def _build(
        self,
        packed: PackedSuite,
        fit: LoadedSuite,
        adapters: SuiteAdapters,
        spool: ExperimentSpool,
        label: str,
        scratch: Path,
        slots: int,
    ) -> EngineDeps:
        trash = self._held.enter_context(Trash(scratch / "waste"))
        hosts = self._held.enter_context(open_allowed_hosts(fit.spec.sandbox, model_hosts(fit)))
        tokens = TokenQueue(is_limited=fit.spec.limits.tokens_per_minute is not None)
        gateway = self._held.enter_context(open_model_gateway(fit, adapters, tokens))
        self._gateway = None if gateway is None else SpendingGateway(gateway)
        self.tokens = None if gateway is None else tokens
        deps = build_engine_deps(
            packed.suite,
            adapters,
            spool,
            label,
            Scratch(folder=scratch, remove=trash.remove),
            cancel=Event(),
            gateway=self._gateway,
            hosts=hosts,
            labels=packed.labels,
        )
        return replace(
            deps,
            sandbox=with_default_limits(deps.sandbox, slots),
            expected_cases={result.task_id: result.case_names for result in packed.tried},
        )


def describe_host() -> Mapping[str, str | float]:
    """The node that makes an attempt: its name and kernel, and its load now."""
    return {"node": platform.node(), "kernel": platform.release(), "load": round(os.getloadavg()[0], 2)}


def _why_unfit(suite: LoadedSuite, arm: Arm, agents: Mapping[str, Agent], tags: frozenset[str]) -> str | None:
    """Why an arm cannot run on this host; None where it can."""
    if lacking := sorted(set(suite.spec.cluster.tags.get(arm.name, ())) - tags):
        return f"it needs a host with the tag {lacking[0]}"
    if (missing := agents[arm.agent].missing(arm)) is not None:
        return missing
    wanted = list(arm.secrets)
    if arm.provider_name is not None and agents[arm.agent].uses_model(arm):
        wanted += missing_variables(suite, arm.provider_name)
    if unset := [name for name in wanted if not os.environ.get(name)]:
        return f"{unset[0]} is not in the environment of the host"
    return None


def _describe_unfit(reasons: Mapping[str, str]) -> str | None:
    if not reasons:
        return None
    return "; ".join(f"arm {name!r} does not run there: {why}" for name, why in reasons.items())


EngineOpener = Callable[[Path, ExperimentSpool], SuiteEngine]


def engine_opener(place: HostPlace) -> EngineOpener:
    """Opens the engines of a host."""
    return lambda package, spool: SuiteEngine(package, spool, place)
