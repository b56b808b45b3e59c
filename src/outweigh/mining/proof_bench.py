"""Where one candidate is tried: what proofs need, its workspace, and the drafts of its task."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from tempfile import mkdtemp
from threading import Event

from outweigh.engine.load_task import load_task
from outweigh.engine.preflight import PreflightContext
from outweigh.mining.candidate import Candidate
from outweigh.mining.choose_tests import ChangedTestFile
from outweigh.mining.dependencies import InstalledDependencies
from outweigh.mining.fix_text import FixText, read_fix_text
from outweigh.mining.related_tests import related_tests
from outweigh.mining.repository import HistoryRepository
from outweigh.mining.restored_files import HiddenFile, read_restored_files
from outweigh.mining.runners.runner import Runner
from outweigh.mining.task_writer import (
    WORKSPACES,
    MinedDraft,
    connecting_lines,
    read_hidden_files,
    read_solution,
    write_task_folder,
)
from outweigh.mining.test_runs import TestRuns
from outweigh.mining.time_limits import GreenTimes, ProofLimits
from outweigh.mining.workspace_tree import create_repository, is_leftover, keep_workspace, write_workspace
from outweigh.model.suite import SandboxSpec
from outweigh.model.task import REPORTS_PREFIX, GitSource, Task
from outweigh.ports.sandboxes import SandboxProvider
from outweigh.workspace.cache import WorkspaceCache

REPORT = "report"
_SOLUTION_SECONDS = 120.0
_OTHER_FILES = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class ProofContext:
    """What proofs need. `find_runner` and `install` are asked once per candidate.

    `install` gets the folder with the files of the base, which it must leave alone, and may raise DependencyError.
    `scratch` is an existing folder for what a proof needs meanwhile, and `label` names its sandboxes. `green_times` is
    shared by the proofs of one history.
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
    green_times: GreenTimes = field(default_factory=GreenTimes)


@dataclass(frozen=True, slots=True, kw_only=True)
class ProofBench:
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
        """The repository that has the workspace as its only commit."""
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
            restored=read_restored_files(self.context.history, self.candidate, self.runner, others),
            check_seconds=self.context.limits.longest_seconds,
        )

    def load(self, draft: MinedDraft, *, has_setup: bool = True) -> Task:
        """The draft as a task, with words in place of the instruction that it does not have yet."""
        folder = Path(mkdtemp(prefix="task-", dir=self.folder))
        words = "Make the hidden tests pass."
        write_task_folder(folder, draft, self.commit, self.repository, words, has_setup=has_setup)
        return load_task(folder)

    def runs(self, draft: MinedDraft) -> TestRuns:
        """Runs of a draft's tests, before and after the change."""
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

    def other_test_files(self) -> tuple[str, ...]:
        """Some test files that the change leaves alone and that are about the same code, the nearest first."""
        history, candidate = self.context.history, self.candidate
        base, fix = history.files(candidate.base), history.files(candidate.fix)
        names = {
            path: entry.object_name
            for path, entry in base.items()
            if fix.get(path) == entry and entry.is_file and self.runner.is_test_file(path) and not is_leftover(path)
        }
        contents = history.blobs(names.values())
        related = related_tests({path: contents[name] for path, name in names.items()}, candidate)
        with_tests = (path for path in related if self.runner.changed_tests(path, None, contents[names[path]]))
        return tuple(islice(with_tests, _OTHER_FILES))


def set_up_bench(candidate: Candidate, context: ProofContext, folder: Path, runner: Runner) -> ProofBench:
    """Write the workspace of a candidate into a folder and install what its tests need."""
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
    return ProofBench(
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
