"""Tries one candidate from beginning to end: dependencies, proof, instruction, and the task in the suite's folder."""

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from threading import Event
from time import monotonic

from outweigh.mining.base_dependencies import for_base, stated_manifests, tree_with_manifests, with_runner
from outweigh.mining.candidate import Candidate
from outweigh.mining.dependencies import DependencyError, DependencyOptions, InstalledDependencies
from outweigh.mining.dependency_cache import DependencyCache
from outweigh.mining.fairness import ChangedCode, TaskInstruction, UnfairTask
from outweigh.mining.install_dependencies import machine_setting
from outweigh.mining.instruction.gather import gather_change
from outweigh.mining.instruction.write import write_instruction
from outweigh.mining.journal import CandidateState, MinedCandidate
from outweigh.mining.plan_dependencies import plan_for_commit
from outweigh.mining.proof import FailedProof, ProvenTask, prove
from outweigh.mining.proof_bench import ProofContext
from outweigh.mining.proof_fault import ProofFault
from outweigh.mining.repository import HistoryRepository
from outweigh.mining.runners.detect import detect_runner, runner_for_command
from outweigh.mining.runners.runner import Runner
from outweigh.mining.task_writer import TASKS_FOLDER, write_task
from outweigh.mining.time_limits import GreenTimes
from outweigh.model.suite import SandboxSpec
from outweigh.ports.sandboxes import SandboxProvider
from outweigh.workspace.overlay_mount import overlay_mounts_below, unmount
from outweigh.workspace.scratch_folder import abandoned_folders, scratch_folder
from outweigh.workspace.trash import remove_tree

DEPENDENCIES_FOLDER = "dependencies"
_SCRATCH = "mining"
_LABEL = "outweigh-mining:"
_FAULTS_OF_THE_MACHINE = (ProofFault.SANDBOX_FAILED.value, ProofFault.TOOL_MISSING.value)

Install = Callable[[Candidate, Path], InstalledDependencies | None]
FindTyped = Callable[[Candidate], Sequence[str]]
Rewrite = Callable[[TaskInstruction, ChangedCode], TaskInstruction]


@dataclass(frozen=True, slots=True, kw_only=True)
class CandidateTries:
    """Everything that trying a candidate takes; `settings` identifies how it was tried.

    `families` has the sub-system of every candidate by its last commit, where there is one. `typed` finds what a user
    typed to the agent that made a change, `rewrite` puts other words in place of an instruction's. `install_for_base`
    installs what the base needs, where that is not what the change needs.
    """

    proof: ProofContext
    suite: Path
    settings: str
    families: Mapping[str, str | None]
    typed: FindTyped | None = None
    rewrite: Rewrite | None = None
    install_for_base: Install | None = None

    def attempt(self, candidate: Candidate) -> MinedCandidate | None:
        """Try a candidate. What is wrong with it is said in the result; a kept one is in the suite afterwards.

        None where it was cancelled.
        """
        began = monotonic()
        proven = self._prove(candidate)
        if self.proof.cancel.is_set():
            return None
        if isinstance(proven, FailedProof):
            return self._result(
                candidate, CandidateState.FAILED, began, reason=proven.fault.value, detail=proven.detail
            )
        instruction = self._instruction(proven)
        if isinstance(instruction, UnfairTask):
            return self._result(
                candidate,
                CandidateState.UNFAIR,
                began,
                reason=instruction.reason.value,
                detail=instruction.detail,
                proven=proven,
            )
        family = self.families.get(candidate.fix)
        task = write_task(self.proof.history, proven.draft, self.suite, instruction.text, family)
        return self._result(
            candidate,
            CandidateState.KEPT,
            began,
            task=task.id,
            proven=proven,
            interface=len(instruction.interface),
        )

    def _prove(self, candidate: Candidate) -> ProvenTask | FailedProof:
        """A base that fails with what the change needs may only lack what the change gives up."""
        proven = prove(candidate, self.proof)
        wrong_red = isinstance(proven, FailedProof) and proven.fault is ProofFault.WRONG_RED
        if not wrong_red or self.install_for_base is None:
            return proven
        again = prove(candidate, replace(self.proof, install=self.install_for_base))
        return again if isinstance(again, ProvenTask) else proven

    def discard(self, found: MinedCandidate) -> None:
        """Remove the task of a candidate that turned out to be another one's twin."""
        if found.task is not None:
            remove_tree(self.suite / TASKS_FOLDER / found.task)

    def _instruction(self, proven: ProvenTask) -> TaskInstruction | UnfairTask:
        changed = gather_change(
            self.proof.history,
            proven.candidate,
            fail_to_pass=proven.fail_to_pass,
            passed_at_base=proven.passed_at_base,
            missing_names=proven.missing_names,
            typed=() if self.typed is None else self.typed(proven.candidate),
        )
        written = write_instruction(changed)
        if self.rewrite is None or isinstance(written, UnfairTask):
            return written
        return self.rewrite(written, changed)

    def _result(
        self,
        candidate: Candidate,
        state: CandidateState,
        began: float,
        *,
        reason: str = "",
        detail: str = "",
        task: str | None = None,
        proven: ProvenTask | None = None,
        interface: int = 0,
    ) -> MinedCandidate:
        return MinedCandidate(
            fix=candidate.fix,
            state=state,
            settings=self.settings,
            date=candidate.date,
            seconds=round(monotonic() - began, 2),
            reason=reason,
            detail=detail,
            task=task,
            family=self.families.get(candidate.fix),
            commits=candidate.commits,
            fail_to_pass=() if proven is None else proven.fail_to_pass,
            pass_to_pass=0 if proven is None else len(proven.pass_to_pass),
            test_seconds=None if proven is None else round(proven.test_seconds, 3),
            interface=interface,
            dependencies=None if proven is None else proven.dependencies,
            may_be_retried=reason in _FAULTS_OF_THE_MACHINE,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class MiningSetting:
    """How candidates are tried: by which commands, in which sandboxes, for which suite.

    `green_seconds` are what tests of candidates that were tried before took after their changes.
    """

    suite: Path
    settings: str
    families: Mapping[str, str | None]
    sandboxes: SandboxProvider
    test: str | None = None
    options: DependencyOptions = field(default_factory=DependencyOptions)
    image: str | None = None
    allow_hosts: tuple[str, ...] = ()
    typed: FindTyped | None = None
    rewrite: Rewrite | None = None
    cancel: Event = field(default_factory=Event)
    green_seconds: tuple[float, ...] = ()


def _release_leftovers(sandboxes: SandboxProvider) -> None:
    """Remove the mounts and sandboxes of processes that were killed while they mined, so that their folders can go."""
    for pid, folder in abandoned_folders(_SCRATCH):
        sandboxes.sweep(f"{_LABEL}{pid}:")
        for mount in overlay_mounts_below(folder):
            unmount(mount)


@contextmanager
def open_mining(history: HistoryRepository, setting: MiningSetting) -> Iterator[CandidateTries]:
    """What candidates are tried with; leaving it removes everything but the suite."""
    installing = machine_setting(
        setting.sandboxes, allow_hosts=setting.allow_hosts, cancel=setting.cancel, image=setting.image
    )
    cache = DependencyCache(setting.suite / DEPENDENCIES_FOLDER, installing)

    named = setting.test is not None and "pytest" in setting.test
    options = replace(setting.options, needs_pytest=named)

    def install(candidate: Candidate, base_tree: Path) -> InstalledDependencies | None:
        before = plan_for_commit(history, candidate.base, candidate.date, options)
        after = plan_for_commit(history, candidate.fix, candidate.date, options)
        if after is not None and (before is None or stated_manifests(after) != stated_manifests(before)):
            # Whoever makes the change has no network, so that what it needs must be there; but not its entry points.
            after = for_base(before, after)
            with scratch_folder("manifests") as folder, suppress(DependencyError):
                return cache.get(after, tree_with_manifests(history, candidate.fix, after, base_tree, folder))
        return None if before is None else cache.get(before, base_tree)

    def install_for_base(candidate: Candidate, base_tree: Path) -> InstalledDependencies | None:
        own = with_runner(options, find_runner(candidate))
        before = plan_for_commit(history, candidate.base, candidate.date, own)
        after = plan_for_commit(history, candidate.fix, candidate.date, options)
        if before is None or after is None or stated_manifests(before) == stated_manifests(after):
            raise DependencyError("the base needs nothing else than the change")
        return cache.get(before, base_tree)

    def find_runner(candidate: Candidate) -> Runner | None:
        files = list(history.files(candidate.fix))
        read = partial(history.content, candidate.fix)
        if setting.test is not None:
            return runner_for_command(setting.test, files, read)
        return detect_runner(files, read, candidate.test_files)

    _release_leftovers(setting.sandboxes)
    with scratch_folder(_SCRATCH) as scratch:
        proof = ProofContext(
            history=history,
            sandboxes=setting.sandboxes,
            sandbox=SandboxSpec(image=setting.image),
            scratch=scratch,
            label=f"{_LABEL}{os.getpid()}",
            find_runner=find_runner,
            install=install,
            cancel=setting.cancel,
            green_times=GreenTimes(setting.green_seconds),
        )
        yield CandidateTries(
            proof=proof,
            suite=setting.suite,
            settings=setting.settings,
            families=setting.families,
            typed=setting.typed,
            rewrite=setting.rewrite,
            install_for_base=install_for_base,
        )
