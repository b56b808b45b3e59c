"""A run on the hosts of a Dask cluster: the suite packed for them, and the executor that gives them its attempts."""

import shlex
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from functools import partial
from hashlib import sha256

import msgspec

from outweigh.app.build_engine import load_agents
from outweigh.app.check_before_run import describe_refusal, examine_tries
from outweigh.app.observer import StopSignals
from outweigh.app.run_request import RunRequest
from outweigh.app.until_decided import Looks
from outweigh.cluster.cluster_executor import ClusterExecutor, LeadSetting
from outweigh.cluster.dask_lead import DaskLink
from outweigh.cluster.dask_security import TlsFiles, open_security
from outweigh.cluster.host_launch import HostLaunch
from outweigh.cluster.host_overview import hosts_shown
from outweigh.cluster.lead_state import LeadState
from outweigh.cluster.messages import SuitePackage
from outweigh.cluster.shared_artifacts import SharedArtifacts, open_place
from outweigh.cluster.slurm_launcher import slurm_hosts
from outweigh.cluster.ssh_launcher import ssh_hosts
from outweigh.cluster.suite_package import pack_suite
from outweigh.cluster.tried_on_hosts import TriesFindings
from outweigh.engine.events import EventListener, note_event
from outweigh.engine.executor import AttemptExecutor
from outweigh.engine.experiment import experiment_progress
from outweigh.engine.load_suite import LoadedSuite
from outweigh.engine.token_pace import PacedExecutor
from outweigh.engine.trial_plan import PlannedRun
from outweigh.errors import OutweighError, UsageError
from outweigh.model.launch_spec import LaunchSpec
from outweigh.model.preflight_result import PreflightResult
from outweigh.model.redact import find_keys, secret_values
from outweigh.store.cluster_file import ClusterFile, begin_session
from outweigh.store.experiment_file import read_rule_labels
from outweigh.store.hosts_file import HostsFile
from outweigh.store.local_location import LocalLocation
from outweigh.store.run_store import FolderRunStore
from outweigh.store.tried_arms_file import TriedArm


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterAddress:
    """The scheduler of a cluster, how it is reached, and what is started for this run; None where it is there."""

    scheduler: str
    tls: TlsFiles
    launch: LaunchSpec | None = None


def check_cluster(suite: LoadedSuite, request: RunRequest) -> ClusterAddress:
    """The cluster that a suite names; UsageError for what cannot be run on one, before anything is written."""
    spec = suite.spec.cluster
    if spec.scheduler is None:
        raise UsageError(
            "--executor dask needs the address of a scheduler: name it with --scheduler tcp://127.0.0.1:8786, or as "
            "`scheduler` under [cluster]. `dask scheduler` starts one, and `outweigh dev host ADDRESS` its hosts; "
            "--cluster FILE starts both."
        )
    if request.shard is not None:
        raise UsageError(
            "--shard divides a run among machines that know nothing of each other; leave it out with dask."
        )
    if unknown := sorted(spec.tags.keys() - suite.spec.arms.keys()):
        raise UsageError(f"cluster.tags names the arm {unknown[0]!r}, which the suite does not have.")
    tls = TlsFiles(ca_file=spec.tls_ca_file, cert=spec.tls_cert, key=spec.tls_key)
    open_security(spec.scheduler, tls)
    place = None if spec.artifacts is None else open_place(spec.artifacts)
    if isinstance(place, LocalLocation) and not place.folder.is_dir():
        raise UsageError(
            f"{place.name}, which cluster.artifacts names, is no folder. It must be on this machine and the hosts."
        )
    load_agents(suite)
    return ClusterAddress(scheduler=spec.scheduler, tls=tls, launch=request.suite.launch)


def keys_that_travel(suite: LoadedSuite) -> list[str]:
    """A paragraph for each arm with a key written out, which the scheduler and the disks of all hosts would have."""
    found: dict[str, str] = {}
    for name, arm in suite.arms.items():
        for kind, _ in find_keys(msgspec.json.encode(arm), {}):
            found.setdefault(name, kind)
        for variable in secret_values(arm.environment, is_path=lambda value: "/" in value):
            found.setdefault(name, f"a value of {variable}")
    return [
        f"arm {name!r} has {kind} written out, and the suite is sent to the scheduler and kept on the disks of the "
        "hosts as it is. Name the variable under `secrets` of the arm, and set it where `outweigh dev host` is started."
        for name, kind in found.items()
    ]


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterRun:
    """What is to be run on a cluster, and the store that it goes to."""

    suite: LoadedSuite
    plan: Sequence[PlannedRun]
    cluster: ClusterAddress
    tried: tuple[PreflightResult, ...]
    store: FolderRunStore
    has_budget: bool
    ignore_faults: bool

    @contextmanager
    def open(self, looks: Looks | None, signals: StopSignals, listen: EventListener) -> Iterator[ClusterExecutor]:
        """An executor that is connected to the cluster."""
        labels = dict(read_rule_labels(self.store.folder))
        package = pack_suite(self.suite, self.tried, labels)
        session = begin_session(self.store.folder)
        state = LeadState(session.experiment, session.sessions, self.suite.spec.cluster.lease_seconds)
        state.package = SuitePackage(sha256=sha256(package).hexdigest(), size=len(package))
        place = self.suite.spec.cluster.artifacts
        state.artifacts = place
        shared = None if place is None else SharedArtifacts(open_place(place), session.experiment)
        link = DaskLink(self.cluster.scheduler, self.cluster.tls, package, shared)
        setting = LeadSetting(
            suite=self.suite,
            labels=labels,
            store=self.store,
            looks=looks,
            cancel=signals.cancel,
            listen=listen,
            waiting_hint=self._waiting_hint(),
            examine_tries=self._examine_tries,
            takes_over=bool(self.store.abandoned()),
        )
        executor = ClusterExecutor(state, setting, link.stop)
        with self._launched(session, listen):
            link.start(executor)
            seen = partial(_seen_hosts, executor, signals)
            try:
                with hosts_shown(self.store.folder, seen):
                    yield executor
            finally:
                link.stop()
                if shared is not None:
                    _sweep(shared, listen)

    def require_arms(self, executor: ClusterExecutor, signals: StopSignals) -> None:
        """Wait for a host that has tried the arms; UsageError for one that no host may run as it is."""
        if self._arms_left and (faults := executor.await_host(signals.drain)):
            executor.close()
            raise UsageError(describe_refusal(faults))

    @property
    def _arms_left(self) -> frozenset[str]:
        return experiment_progress(self.plan, self.store).arms_left

    def _examine_tries(self, tried: Mapping[str, TriedArm]) -> TriesFindings:
        """What a host found of arms that have runs left, in the words of a run on this machine."""
        wanted = self._arms_left  # read from the plan and the store, once
        left = {name: each for name, each in tried.items() if name in wanted}
        found = examine_tries(self.suite, left, has_budget=self.has_budget)
        unfit = (name for name, each in left.items() if self._has_fault({name: each}))
        return TriesFindings(
            refused=frozenset() if self.ignore_faults else frozenset(unfit), faults=found.faults, notices=found.notices
        )

    def _has_fault(self, tried: Mapping[str, TriedArm]) -> bool:
        return bool(examine_tries(self.suite, tried, has_budget=self.has_budget).faults)

    def paced(self, executor: ClusterExecutor, listen: EventListener) -> AttemptExecutor:
        """The executor, with no more attempts at once than the limit of tokens serves, and none in pauses."""
        return PacedExecutor(executor, self.suite.spec.limits.tokens_per_minute, executor.token_use, listen)

    def _waiting_hint(self) -> str:
        if self.cluster.launch is not None:
            return "no host has come yet"
        address = shlex.quote(self.cluster.scheduler)
        return f"no host has come yet; start one on each machine with `outweigh dev host {address}`"

    def _launched(self, session: ClusterFile, listen: EventListener) -> AbstractContextManager[None]:
        """The scheduler and the hosts that are started for this run, if any are."""
        spec = self.cluster.launch
        if spec is None:
            return nullcontext()
        launch = HostLaunch(
            spec=spec,
            experiment=session.experiment,
            session=session.sessions,
            lease_seconds=self.suite.spec.cluster.lease_seconds,
            say=lambda words: listen(note_event(words)),
        )
        if spec.slurm is not None:
            return slurm_hosts(launch, spec.slurm)
        assert spec.ssh is not None
        return ssh_hosts(launch, spec.ssh)

    def recover(self, executor: ClusterExecutor, listen: EventListener) -> None:
        """Take over from an earlier lead: what hosts made or still make counts, and nothing else is left open."""
        abandoned = self.store.abandoned()
        if not abandoned:
            return
        lease = self.suite.spec.cluster.lease_seconds
        listen(note_event(f"asking the hosts for {len(abandoned)} attempts of an earlier run, for up to {lease:g} s"))
        planned = {run.trial.key: run for run in self.plan}
        for attempt in executor.recover(abandoned):
            run = planned.get(attempt.trial.key)
            if run is not None:
                executor.close_lost(run, attempt.attempt, "no host has this attempt of an earlier run any more")
                listen(note_event(f"{attempt.run_id} was lost with its host"))


def _sweep(shared: SharedArtifacts, listen: EventListener) -> None:
    """What the lead has stored, or hosts that are gone have left: a host that has a record still has its artifacts."""
    try:
        shared.sweep()
    except OutweighError as fault:
        listen(note_event(f"artifacts of this run may be left at {shared.name}; remove them there: {fault}"))


def _seen_hosts(executor: ClusterExecutor, signals: StopSignals) -> HostsFile:
    return executor.seen_hosts(draining=signals.drain.is_set())
