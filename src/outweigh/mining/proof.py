"""Proof that a candidate is a task: red before the change, green after it, three times alike."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path, PurePosixPath
from tempfile import TemporaryDirectory, mkdtemp
from threading import Event

from outweigh.engine.checks.evaluate import CheckEvaluation
from outweigh.engine.checks.untrusted_files import UnsafePathError
from outweigh.engine.load_task import load_task
from outweigh.engine.preflight import PreflightContext, TaskTries, try_task
from outweigh.errors import quote_names
from outweigh.mining.candidate import Candidate
from outweigh.mining.choose_tests import ChangedTestFile, ChosenTests, TestEvidence, choose_tests
from outweigh.mining.dependencies import DependencyError, InstalledDependencies
from outweigh.mining.fix_text import FixText, read_fix_text
from outweigh.mining.leaks import find_leak
from outweigh.mining.proof_fault import ProofFault, UnprovenError
from outweigh.mining.repository import HistoryRepository
from outweigh.mining.runners.runner import Runner
from outweigh.mining.task_writer import (
    CHECK_NAME,
    RUN_SCRIPT,
    WORKSPACES,
    HiddenFile,
    MinedDraft,
    connecting_lines,
    read_hidden_files,
    read_restored_files,
    read_solution,
    write_task_folder,
)
from outweigh.mining.test_results import TestResults
from outweigh.mining.test_runs import SolutionFailedError, TestRuns
from outweigh.mining.workspace_tree import (
    UnsupportedFilesError,
    create_repository,
    is_leftover,
    keep_workspace,
    write_workspace,
)
from outweigh.model.failure import detail_line
from outweigh.model.suite import SandboxSpec
from outweigh.model.task import REPORTS_PREFIX, GitSource, Task
from outweigh.ports.sandboxes import SandboxError, SandboxProvider
from outweigh.workspace.cache import WorkspaceCache

REPORT = "report"
_SOLUTION_SECONDS = 120.0
_OTHER_FILES = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class ProvenTask:
    """A candidate whose tests tell. `fail_to_pass` must pass after the change, `pass_to_pass` must stay green.

    Where the runner reports no single tests, both are empty and the exit code decides. `missing_names` are symbols
    without which the hidden tests could not be collected at the base. `passed_at_base` counts the hidden tests that
    pass before the change. `unstable` are tests that were left out because they do not give the same result every time.
    `draft` is all that `write_task` needs besides an instruction.
    """

    candidate: Candidate
    runner: str
    fail_to_pass: tuple[str, ...]
    pass_to_pass: tuple[str, ...]
    passed_at_base: int
    missing_names: tuple[str, ...] = ()
    test_seconds: float
    dependencies: str | None
    variables: Mapping[str, str]
    unstable: tuple[str, ...] = ()
    draft: MinedDraft


@dataclass(frozen=True, slots=True, kw_only=True)
class FailedProof:
    """A candidate that could not be proven. `detail` names tests, commands or output."""

    candidate: Candidate
    fault: ProofFault
    detail: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProofLimits:
    """How long tests may take: after the change at most `longest_seconds`, and in every other run many times as long as
    they took then, because other proofs may run beside them.
    """

    longest_seconds: float = 600.0
    least_seconds: float = 120.0
    times_measured: float = 20.0

    def after(self, seconds: float) -> float:
        """The limit of a run of tests that took so long after the change."""
        return max(self.least_seconds, self.times_measured * seconds)


@dataclass(frozen=True, slots=True, kw_only=True)
class ProofContext:
    """What proofs need. `find_runner` and `install` are asked once per candidate.

    `install` gets the folder with the files of the base, which it must leave alone, and may raise DependencyError.
    `scratch` is an existing folder for what a proof needs meanwhile, and `label` names its sandboxes.
    """

    history: HistoryRepository
    sandboxes: SandboxProvider
    sandbox: SandboxSpec
    scratch: Path
    label: str
    find_runner: Callable[[Candidate], Runner | None]
    install: Callable[[Candidate, Path], InstalledDependencies | None]
    cancel: Event = field(default_factory=Event)
    limits: ProofLimits = field(default_factory=ProofLimits)


def prove(candidate: Candidate, context: ProofContext) -> ProvenTask | FailedProof:
    """Try a candidate in sandboxes. What is wrong with it becomes a FailedProof; nothing is written to the suite."""
    try:
        with TemporaryDirectory(prefix="proof-", dir=context.scratch, ignore_cleanup_errors=True) as folder:
            return _prove(candidate, context, Path(folder))
    except UnprovenError as outcome:
        return FailedProof(candidate=candidate, fault=outcome.fault, detail=outcome.detail)
    except DependencyError as fault:
        return FailedProof(candidate=candidate, fault=ProofFault.SETUP_FAILED, detail=str(fault))
    except UnsupportedFilesError as fault:
        return FailedProof(candidate=candidate, fault=ProofFault.UNSUPPORTED_FILES, detail=str(fault))
    except SolutionFailedError as fault:
        detail = f"it cannot be applied to its base: {fault}"
        return FailedProof(candidate=candidate, fault=ProofFault.FIX_NOT_GREEN, detail=detail)
    except (SandboxError, UnsafePathError, OSError) as fault:
        return FailedProof(candidate=candidate, fault=ProofFault.SANDBOX_FAILED, detail=detail_line(str(fault)))


def _prove(candidate: Candidate, context: ProofContext, folder: Path) -> ProvenTask:
    runner = context.find_runner(candidate)
    if runner is None:
        raise UnprovenError(ProofFault.NO_RUNNER)
    bench = _set_up(candidate, context, folder, runner)
    draft, green = _measure(bench)
    limit = context.limits.after(green.seconds)
    runs = bench.runs(draft)
    red = runs.run(RUN_SCRIPT, solved=False, timeout_seconds=limit)
    if red.exit_code is None:
        raise UnprovenError(ProofFault.TIMED_OUT, f"not done after {limit:.0f} s before the change")
    own = runs.run(bench.own_command(draft), solved=False, timeout_seconds=limit)
    evidence = TestEvidence(
        green=green, red=red, own=own, files=bench.changed_files(), fix=bench.fix, sources=candidate.source_files
    )
    chosen = choose_tests(evidence, runner)
    draft = _with_names(replace(draft, check_seconds=limit, test_seconds=green.seconds), chosen)
    task = bench.load(draft)
    if (leak := find_leak(task, bench.tries, bench.fix)) is not None:
        raise UnprovenError(ProofFault.LEAK, leak)
    stable = _repeat(task, bench.tries, draft, chosen)
    return ProvenTask(
        candidate=candidate,
        runner=runner.name,
        fail_to_pass=stable.fail_to_pass,
        pass_to_pass=stable.pass_to_pass,
        passed_at_base=stable.passed_at_base,
        missing_names=stable.missing_names,
        test_seconds=green.seconds,
        dependencies=None if draft.dependencies is None else draft.dependencies.key,
        variables={} if draft.dependencies is None else draft.dependencies.variables,
        unstable=stable.unstable,
        draft=_with_names(draft, stable),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Bench:
    """Where one candidate is tried: its workspace in a repository of its own, and what to run there."""

    candidate: Candidate
    context: ProofContext
    folder: Path
    runner: Runner
    dependencies: InstalledDependencies | None
    fix: FixText
    hidden: Mapping[str, HiddenFile]
    commit: str
    tries: PreflightContext

    @property
    def repository(self) -> Path:
        return self.folder / WORKSPACES

    def draft(self, others: Sequence[str]) -> MinedDraft:
        """A task that runs the hidden tests and those of other files."""
        reported = self.runner.report_format is not None
        return MinedDraft(
            candidate=self.candidate,
            fix_text=self.fix,
            hidden=self.hidden,
            deleted=self.candidate.deleted_tests,
            patch=read_solution(self.context.history, self.candidate),
            command=self.runner.command([*self.hidden, *others], f"{REPORTS_PREFIX}{REPORT}"),
            report=REPORT if reported else None,
            report_format=self.runner.report_format,
            dependencies=self.dependencies,
            others=tuple(others),
            restored=read_restored_files(self.context.history, self.candidate, others),
            check_seconds=self.context.limits.longest_seconds,
        )

    def load(self, draft: MinedDraft, *, has_setup: bool = True) -> Task:
        """The draft as a task, with words in place of the instruction that it does not have yet."""
        folder = Path(mkdtemp(prefix="task-", dir=self.folder))
        words = "Make the hidden tests pass."
        write_task_folder(folder, draft, self.commit, self.repository, words, has_setup=has_setup)
        return load_task(folder)

    def runs(self, draft: MinedDraft) -> TestRuns:
        task = self.load(draft, has_setup=False)
        return TestRuns(task=task, context=self.tries, runner=self.runner, report=draft.report)

    def own_command(self, draft: MinedDraft) -> str:
        """The command that runs the same files as they are at the base."""
        base = self.context.history.files(self.candidate.base)
        files = [path for path in (*self.hidden, *draft.others) if path in base]
        command = self.runner.command(files, f"{REPORTS_PREFIX}{REPORT}") if files else "true"
        return "\n".join(("set -e", *connecting_lines(self.dependencies), command))

    def changed_files(self) -> dict[str, ChangedTestFile]:
        """The hidden files before and after the change."""
        history, base = self.context.history, self.candidate.base
        return {
            path: ChangedTestFile(before=history.content(base, path), after=file.content)
            for path, file in self.hidden.items()
        }


def _set_up(candidate: Candidate, context: ProofContext, folder: Path, runner: Runner) -> _Bench:
    fix = read_fix_text(context.history, candidate)
    create_repository(folder / WORKSPACES, context.history, borrow=True)
    commit = write_workspace(context.history, candidate, fix, folder / WORKSPACES)
    keep_workspace(folder / WORKSPACES, commit, candidate.short)
    workspace = _OneWorkspace(WorkspaceCache(folder / "pristine"), folder / WORKSPACES, commit)
    (folder / "tries").mkdir()
    tries = PreflightContext(
        sandboxes=context.sandboxes,
        workspaces=workspace,
        scratch=folder / "tries",
        sandbox=context.sandbox,
        label=f"{context.label}:{candidate.short}",
        solution_timeout_seconds=_SOLUTION_SECONDS,
        cancel=context.cancel,
    )
    return _Bench(
        candidate=candidate,
        context=context,
        folder=folder,
        runner=runner,
        dependencies=context.install(candidate, workspace.pristine),
        fix=fix,
        hidden=read_hidden_files(context.history, candidate),
        commit=commit,
        tries=tries,
    )


class _OneWorkspace:
    """The workspace that all drafts of one task share, so that it is prepared once."""

    def __init__(self, cache: WorkspaceCache, repository: Path, commit: str) -> None:
        self.lay_out = cache.lay_out
        self.pristine = cache.prepare(
            Task(
                id=commit,
                instruction="",
                checks=(),
                family=None,
                expected_steps=(),
                workspace=GitSource(repository=str(repository), commit=commit),
                timeout_seconds=None,
                tests_folder=None,
                solution_folder=None,
                checksum=commit,
            )
        )

    def prepare(self, _task: Task) -> Path:
        """The same for every draft."""
        return self.pristine

    def snapshot(self, _workspace: Path, _target: Path) -> Path:
        """The files of the base: no check of a mined task compares with what its setup left, and copies take long."""
        return self.pristine


def _measure(bench: _Bench) -> tuple[MinedDraft, TestResults]:
    """Run the hidden tests after the change, with other tests beside them as far as there is time for both."""
    limit = bench.context.limits.longest_seconds
    for others in dict.fromkeys((_other_test_files(bench), ())):
        draft = bench.draft(others)
        green = bench.runs(draft).run(RUN_SCRIPT, solved=True, timeout_seconds=limit)
        if green.exit_code is not None:
            return draft, green
    raise UnprovenError(ProofFault.TIMED_OUT, f"not done after {limit:.0f} s after the change")


def _other_test_files(bench: _Bench) -> tuple[str, ...]:
    """Some test files that the change leaves alone, those first that are named like the source files it changes."""
    history, candidate = bench.context.history, bench.candidate
    base, fix = history.files(candidate.base), history.files(candidate.fix)
    stems = {PurePosixPath(path).stem.lower() for path in candidate.source_files}
    unchanged = (path for path, entry in base.items() if fix.get(path) == entry and entry.is_file)
    tests = [path for path in unchanged if bench.runner.is_test_file(path) and not is_leftover(path)]
    tests.sort(key=lambda path: (not any(stem in PurePosixPath(path).stem.lower() for stem in stems), path))
    with_tests = (
        path for path in tests if bench.runner.changed_tests(path, None, history.content(candidate.base, path) or b"")
    )
    return tuple(islice(with_tests, _OTHER_FILES))


def _with_names(draft: MinedDraft, chosen: ChosenTests) -> MinedDraft:
    names = (*chosen.fail_to_pass, *chosen.pass_to_pass)
    return replace(draft, must_pass=names, fail_to_pass=len(chosen.fail_to_pass))


def _repeat(task: Task, context: PreflightContext, draft: MinedDraft, chosen: ChosenTests) -> ChosenTests:
    """Preflight of the task: red and green twice more. Tests that differ are left out where others still tell."""
    tries = try_task(task, context, solved_tries=2)
    if not tries.untouched:
        raise UnprovenError(ProofFault.SANDBOX_FAILED, tries.result.findings[0].message)
    for evaluation in (*tries.untouched, *tries.solved):
        if evaluation.results[0].exit_code is None:
            raise UnprovenError(ProofFault.TIMED_OUT, evaluation.results[0].detail or "")
    if not draft.must_pass:
        return _require_same_exit_codes(tries, chosen)
    unstable = frozenset(name for each in tries.solved for name in _unmet(each)).union(
        name for each in tries.untouched for name in set(chosen.fail_to_pass).difference(_unmet(each))
    )
    left = tuple(name for name in chosen.fail_to_pass if name not in unstable)
    if not left:
        raise UnprovenError(ProofFault.FLAKY, quote_names(sorted(unstable)))
    return replace(
        chosen,
        fail_to_pass=left,
        pass_to_pass=tuple(name for name in chosen.pass_to_pass if name not in unstable),
        unstable=tuple(sorted(unstable)),
    )


def _unmet(evaluation: CheckEvaluation) -> Sequence[str]:
    """The tests that had to pass and did not."""
    return evaluation.unmet_names.get(CHECK_NAME, ())


def _require_same_exit_codes(tries: TaskTries, chosen: ChosenTests) -> ChosenTests:
    if any(each.results[0].passed for each in tries.untouched) or not all(
        each.results[0].passed for each in tries.solved
    ):
        raise UnprovenError(ProofFault.FLAKY, "its exit codes differ")
    return chosen
