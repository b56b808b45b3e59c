"""The suite that `outweigh try` writes: an ordinary one, with the tasks of another and two arms of its own."""

import os
import shutil
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from glob import escape
from itertools import count
from pathlib import Path
from tempfile import mkdtemp

import msgspec

from outweigh.app.check_before_run import faults_before_start
from outweigh.app.convert_suite import with_own_addresses
from outweigh.app.new_files import write_files
from outweigh.app.starter_suite import STARTER_SCRIPT
from outweigh.app.suite_selection import read_suite
from outweigh.app.try_agent import SCRIPT_FILE, TryAgent
from outweigh.app.try_subject import ArmAddition, SubjectKind, TrySubject
from outweigh.engine.load_arms import FILE_OPTIONS
from outweigh.engine.load_suite import LoadedSuite
from outweigh.engine.load_task import load_task, task_folders
from outweigh.errors import UsageError
from outweigh.interop.suite_writer import non_default_fields
from outweigh.model.arm import ArmSpec
from outweigh.model.suite import ADDRESS_VARIABLES, SUITE_FILE, Executor, GatewaySpec, HarborSpec, SuiteSpec
from outweigh.model.task import Task
from outweigh.model.toml_writer import write_toml
from outweigh.ports.suites import DraftFile
from outweigh.verdict.evidence_settings import JUDGE_SCORE

TRY_FOLDER = "outweigh-try"
MINED_FOLDER = "mined"
BASELINE, CANDIDATE = "baseline", "candidate"
IGNORE_ALL = "*\n"


@dataclass(frozen=True, slots=True, kw_only=True)
class TrySuiteDraft:
    """What the suite is made of: whose tasks, which of them, both arms, and what may be spent."""

    source: LoadedSuite
    tasks: Sequence[Task]
    agent: TryAgent
    subject: TrySubject
    budget_usd: float
    run_cap_usd: float

    def write(self, top: Path) -> LoadedSuite:
        """Write it below the repository's folder and load it; what cannot be loaded leaves nothing behind.

        The same experiment with another candidate goes into the same folder, so that its store keeps both versions.
        """
        parent = top / TRY_FOLDER
        is_new = not parent.exists()
        try:
            parent.mkdir(exist_ok=True)
            folder, files = self._place(parent)
            building = Path(mkdtemp(prefix=".new-", dir=parent))
        except OSError as fault:
            raise UsageError(f"{parent} cannot be written to: {fault.strerror}.") from fault
        try:
            write_files(building, files)
            _refuse_faults(read_suite(str(building)))
            if folder.exists():
                shutil.rmtree(folder)
            building.rename(folder)
        except UsageError as fault:
            raise UsageError(str(fault).replace(str(building), str(folder))) from None
        finally:
            shutil.rmtree(building, ignore_errors=True)
            if is_new and not folder.exists():
                with suppress(OSError):
                    parent.rmdir()
        keep_out_of_git(parent)
        return read_suite(str(folder))

    def _place(self, parent: Path) -> tuple[Path, dict[str, DraftFile]]:
        """The first folder that is free, or that has this experiment, and the files to write there."""
        for number in count(1):
            slug = self.subject.slug if number == 1 else f"{self.subject.slug}-{number}"
            folder, files = parent / slug, self._files(parent / slug)
            if not folder.exists() or _is_same_experiment(folder, files):
                return folder, files
        raise AssertionError

    def _files(self, folder: Path) -> dict[str, DraftFile]:
        shared = self._shared_files()
        before = {**shared, **self.subject.before.files}
        after = {**shared, **self.subject.after.files}
        spec = self._spec(folder, has_files=(bool(before), bool(after)))
        files = {SUITE_FILE: DraftFile(content=write_toml(non_default_fields(spec), self._comments()).encode())}
        for arm, added in ((BASELINE, before), (CANDIDATE, after)):
            files |= {f"{arm}/{path}": file for path, file in added.items()}
        if self.agent.spec.options.get("script") == SCRIPT_FILE:
            files[SCRIPT_FILE] = DraftFile(content=STARTER_SCRIPT.encode())
        return files

    def _shared_files(self) -> dict[str, DraftFile]:
        """The files that the suite's own baseline adds, without what is tried."""
        overlay = () if self.agent.arm is None else self.agent.arm.overlay
        tried = (*self.subject.without, *self.subject.before.files, *self.subject.after.files)
        below = tuple(f"{path}/" for path in tried)
        return {
            file.path: DraftFile(content=self.source.overlays[file.sha256], executable=file.executable)
            for file in overlay
            if file.path not in tried and not file.path.startswith(below)
        }

    def _spec(self, folder: Path, has_files: tuple[bool, bool]) -> SuiteSpec:
        spec = moved_settings(self.source, folder)
        places = task_places(self.source)
        decides = JUDGE_SCORE in (spec.policy.gates or ())
        made = msgspec.structs.replace(
            spec,
            name=f"try-{folder.name}",
            tasks=[escape(os.path.relpath(places[task.id], folder)) for task in self.tasks],
            arms={
                BASELINE: self._arm(folder, self.subject.before, BASELINE if has_files[0] else None),
                CANDIDATE: self._arm(folder, self.subject.after, CANDIDATE if has_files[1] else None),
            },
            baseline=BASELINE,
            repeats=1,
            budget_usd=self.budget_usd,
            limits=msgspec.structs.replace(spec.limits, budget_usd=self.run_cap_usd),
            workspaces=msgspec.structs.replace(
                spec.workspaces, without=sorted({*spec.workspaces.without, *self.subject.without})
            ),
            judges=spec.judges if decides else [],
        )
        return with_exported_addresses(made)

    def _arm(self, folder: Path, added: ArmAddition, files: str | None) -> ArmSpec:
        spec = self.agent.spec
        options = {
            key: os.path.relpath(value, folder) if key in FILE_OPTIONS and Path(str(value)).is_absolute() else value
            for key, value in spec.options.items()
        }
        return msgspec.structs.replace(
            spec,
            model=added.model or spec.model,
            files=files,
            mcp_servers={**spec.mcp_servers, **added.mcp_servers},
            secrets=sorted({*spec.secrets, *added.secrets}),
            flags=[*spec.flags, *added.flags],
            options=options,
        )

    def describe_baseline(self) -> str:
        """What the baseline has, in a few words."""
        if self.subject.kind is SubjectKind.MODEL:
            return self.agent.spec.model or f"{self.agent.name} with its own model"
        return "the repository without it" if self.subject.base is None else f"as it is at {self.subject.base}"

    def describe_candidate(self) -> str:
        """What the candidate has, in a few words."""
        is_model = self.subject.kind is SubjectKind.MODEL
        return f"{self.agent.name} with {self.subject.name}" if is_model else f"{self.subject.name} as it is now"

    def _comments(self) -> dict[str, str]:
        return {
            "": f"Written by `outweigh try {self.subject.name}`. It is an ordinary suite: all other commands take it.",
            f"arms.{BASELINE}": f"The baseline: {self.describe_baseline()}.",
            f"arms.{CANDIDATE}": f"The candidate: {self.describe_candidate()}.",
        }


def moved_settings(source: LoadedSuite, folder: Path) -> SuiteSpec:
    """The settings of a suite for another one in a folder of its own, which the engine runs with all its tasks."""

    def moved(path: str | None) -> str | None:
        return None if path is None else os.path.relpath(source.folder / path, folder)

    spec = source.spec
    return msgspec.structs.replace(
        spec,
        gateway=msgspec.structs.replace(spec.gateway, prices=moved(spec.gateway.prices)),
        providers={
            name: msgspec.structs.replace(provider, prices=moved(provider.prices))
            for name, provider in spec.providers.items()
        },
        quarantine=[],
        triggers=[],
        executor=Executor.ENGINE,
        harbor=HarborSpec(),
    )


def task_places(source: LoadedSuite) -> dict[str, Path]:
    """The folder of every task of a suite, by the task's id."""
    spec = source.spec
    return {load_task(place).id: place for place in task_folders(spec.tasks, source.folder, spec.name)}


def _refuse_faults(suite: LoadedSuite) -> None:
    """Refuse what a run would refuse, as far as that is known without starting anything."""
    if faults := faults_before_start(suite, suite.arms):
        raise UsageError(f"nothing was run or paid for: {' '.join(faults)}")


def untouched_tasks(tasks: Sequence[Task], without: Sequence[str]) -> tuple[Task, ...]:
    """The tasks whose own solution changes nothing of what is tried: it could not be applied without it."""
    return tuple(task for task in tasks if not _solution_changes(task, without))


def _solution_changes(task: Task, without: Sequence[str]) -> bool:
    folder = Path(task.solution_folder or os.devnull)
    marks = [mark for path in without for mark in (f"--- a/{path}", f"+++ b/{path}")]
    patches = sorted(folder.glob("*.patch")) if folder.is_dir() else []
    return any(mark in patch.read_text(errors="replace") for patch in patches for mark in marks)


def _is_same_experiment(folder: Path, files: Mapping[str, DraftFile]) -> bool:
    """Whether a folder has the same suite, but perhaps for the files of its candidate."""
    there = {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}
    kept = [path for path in {*there, *files} if not path.startswith(f"{CANDIDATE}/")]
    return all(path in files and path in there and (folder / path).read_bytes() == files[path].content for path in kept)


def with_exported_addresses(spec: SuiteSpec) -> SuiteSpec:
    """The suite with the addresses that are exported for its agent, where it states none of its own."""
    addressed, usual = with_own_addresses(spec, os.environ), GatewaySpec()
    own = {
        name: getattr(spec.gateway, name)
        for name in ADDRESS_VARIABLES
        if getattr(spec.gateway, name) != getattr(usual, name)
    }
    return msgspec.structs.replace(addressed, gateway=msgspec.structs.replace(addressed.gateway, **own))


def keep_out_of_git(folder: Path) -> None:
    """Let git ignore everything in a folder of ours, without a change to the user's own files."""
    folder.mkdir(exist_ok=True)
    if not (folder / ".gitignore").exists():
        (folder / ".gitignore").write_text(IGNORE_ALL)
