"""Mine a suite from the history of a repository: scan, try candidates until there are enough, write the suite."""

import fcntl
import os
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, time
from hashlib import sha256
from pathlib import Path

import msgspec

from outweigh.app.instruction_sources import InstructionRewriter, SessionWords
from outweigh.app.new_files import ignore_generated
from outweigh.app.observer import StopSignals
from outweigh.app.suite_sandbox import sandbox_name
from outweigh.app.suite_size import points_to_see, tasks_to_see
from outweigh.errors import UsageError
from outweigh.mining.candidate import HistoryScan
from outweigh.mining.change_rules import HistorySettings
from outweigh.mining.dependencies import DependencyError, DependencyOptions
from outweigh.mining.family import families
from outweigh.mining.history import explain, scan_history
from outweigh.mining.install_tools import missing_tool
from outweigh.mining.journal import JOURNAL_FILE, CandidateState, MinedCandidate, MiningJournal, read_journal
from outweigh.mining.mine_candidates import MiningLoop, MiningProgress, count_kept, mine_candidates, spread_candidates
from outweigh.mining.plan_dependencies import plan_for_commit
from outweigh.mining.repository import HistoryRepository, open_history
from outweigh.mining.training_cutoff import training_cutoff
from outweigh.mining.try_candidate import MiningSetting, open_mining
from outweigh.model.base import SafeName
from outweigh.model.failure import detail_line
from outweigh.model.suite import DEFAULT_REPEATS, SUITE_FILE, SandboxSpec
from outweigh.model.toml_writer import write_toml
from outweigh.plugins import load_adapter
from outweigh.ports.sandboxes import SandboxProvider
from outweigh.ports.suites import DEFAULT_AGENT
from outweigh.store.durable_files import write_atomic
from outweigh.workspace.trash import remove_tree

DEFAULT_TASKS = 40
"""How many tasks are mined where nobody says what the suite is to show."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MineRequest:
    """What to mine: a repository, and the folder of the suite, which may hold an earlier part of it.

    `tasks` or `to_see_points` say when there is enough. `test` and `setup` are commands in place of those that are
    detected, `allow_hosts` what a set-up may reach besides the registries. `agent` and `model` are for the first arm,
    and `cutoff` is the day up to which the model was trained.
    """

    repository: Path
    folder: Path
    tasks: int | None = None
    to_see_points: float | None = None
    ref: str = "HEAD"
    since: date | None = None
    until: date | None = None
    test: str | None = None
    setup: str | None = None
    python: str | None = None
    image: str | None = None
    allow_hosts: tuple[str, ...] = ()
    most_files: int | None = None
    most_lines: int | None = None
    jobs: int = 2
    agent: str | None = None
    model: str | None = None
    rewrite: str | None = None
    from_sessions: bool = False
    cutoff: date | None = None

    @property
    def training_cutoff(self) -> date | None:
        """The day before which the model may know the solutions, as stated by the user or by the model's maker."""
        return self.cutoff or (None if self.model is None else training_cutoff(self.model))

    @property
    def dependency_options(self) -> DependencyOptions:
        """What the user says about dependencies."""
        return DependencyOptions(setup=self.setup, python=self.python, in_image=self.image is not None)

    def settings_hash(self) -> str:
        """Identifies how candidates are tried: results of other commands or other limits do not count."""
        how = (self.test, self.setup, self.python, self.image, sorted(self.allow_hosts), self.rewrite)
        return sha256(msgspec.json.encode((how, self.from_sessions, MINING_VERSION))).hexdigest()[:16]

    def history_settings(self) -> HistorySettings:
        """What is looked for in the history."""
        usual = HistorySettings()
        return HistorySettings(
            since=None if self.since is None else datetime.combine(self.since, time.min, UTC),
            until=None if self.until is None else datetime.combine(self.until, time.max, UTC),
            most_files=self.most_files or usual.most_files,
            most_lines=self.most_lines or usual.most_lines,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class MinedSuite:
    """What was found. `wanted` is the number of tasks that was asked for, None for as many as there are."""

    folder: Path
    scan: HistoryScan
    results: Mapping[str, MinedCandidate]
    wanted: int | None
    visible_points: float | None
    interrupted: bool
    cutoff: date | None
    rewriter: InstructionRewriter | None = None

    @property
    def kept(self) -> int:
        """The tasks of the suite."""
        return count_kept(self.results)

    @property
    def proven(self) -> int:
        """The candidates that were red before the change and green after it."""
        return sum(each.is_proven for each in self.results.values())

    @property
    def before_cutoff(self) -> int | None:
        """The tasks whose solution the model may know from its training; None where that day is not known."""
        last, tasks = self.cutoff, (each for each in self.results.values() if each.state is CandidateState.KEPT)
        return None if last is None else sum(each.date.date() <= last for each in tasks)

    @property
    def exhausted(self) -> bool:
        """Whether the history has nothing more to try."""
        return len(self.results) == len(self.scan.candidates)


MINING_VERSION = 3
"""Raised when candidates are judged otherwise than before, so that a resumed suite tries them again."""

Listen = Callable[[MiningProgress], None]


def mine_suite(request: MineRequest, *, listen: Listen | None = None, signals: StopSignals | None = None) -> MinedSuite:
    """Mine until there are enough tasks or the history ends. What was tried before in this folder is not tried again.

    The repository is only read; code of it runs in sandboxes alone.
    """
    signals = signals or StopSignals()
    # Sandboxes are given full paths of what they show.
    request = replace(request, folder=request.folder.absolute())
    with open_history(request.repository, request.ref) as repository:
        scan = scan_history(repository, request.history_settings())
        refuse_without_candidates(request, scan)
        _refuse_without_tools(request, repository, scan)
        wanted = _wanted_tasks(request)
        sub_systems = families(scan.candidates)
        rewriter = None if request.rewrite is None else InstructionRewriter(request.rewrite, signals)
        setting = replace(
            _mining_setting(request, signals, sub_systems),
            typed=SessionWords(repository, request.repository, Path.home()) if request.from_sessions else None,
            rewrite=rewriter,
        )
        with _own_folder(request) as journal, open_mining(repository, _with_times(setting, journal)) as tries:
            loop = MiningLoop(
                attempt=tries.attempt,
                journal=journal,
                settings=request.settings_hash(),
                jobs=request.jobs,
                wanted=wanted,
                drain=signals.drain,
                listen=listen or (lambda _: None),
                discard=tries.discard,
            )
            ordered = spread_candidates(scan.candidates, lambda each: sub_systems[each.fix] or "")
            results = mine_candidates(ordered, loop)
    kept = count_kept(results)
    if kept:
        _write_suite(request)
    return MinedSuite(
        folder=request.folder,
        scan=scan,
        results=results,
        wanted=wanted,
        visible_points=points_to_see(kept, DEFAULT_REPEATS) if kept else None,
        interrupted=signals.drain.is_set(),
        cutoff=request.training_cutoff,
        rewriter=rewriter,
    )


def _mining_setting(request: MineRequest, signals: StopSignals, sub_systems: Mapping[str, str | None]) -> MiningSetting:
    kind = sandbox_name(SandboxSpec(image=request.image), ()) if request.image is None else "container"
    sandboxes: SandboxProvider = load_adapter("sandbox", kind)
    if (missing := sandboxes.missing()) is not None:
        raise UsageError(f"code of a repository only runs in a sandbox, and there is none here: {missing}")
    return MiningSetting(
        suite=request.folder,
        settings=request.settings_hash(),
        families=sub_systems,
        sandboxes=sandboxes,
        test=request.test,
        options=request.dependency_options,
        image=request.image,
        allow_hosts=request.allow_hosts,
        cancel=signals.cancel,
    )


def _with_times(setting: MiningSetting, journal: MiningJournal) -> MiningSetting:
    """The setting with what tests took before, so that a resumed suite need not learn it again."""
    known = journal.read(setting.settings).values()
    return replace(setting, green_seconds=tuple(each.test_seconds for each in known if each.test_seconds is not None))


def explain_commit(request: MineRequest, commit: str) -> str:
    """Why a commit is a candidate or not, and what became of it where it was tried for this suite."""
    with open_history(request.repository, request.ref) as repository:
        explained = explain(repository, request.history_settings(), commit)
    tried = [each for each in read_journal(request.folder / JOURNAL_FILE) if each.fix.startswith(commit)]
    return f"{explained} {_what_became(tried[-1])}" if tried else explained


def _what_became(found: MinedCandidate) -> str:
    detail = f" ({detail_line(found.detail)})" if found.detail else ""
    match found.state:
        case CandidateState.KEPT:
            return f"It was tried and kept, as the task {found.task}."
        case CandidateState.DUPLICATE:
            return f"It was tried, proven and not kept: it {found.reason}{detail}."
        case CandidateState.UNFAIR:
            return f"It was tried, proven and not kept: {found.reason}{detail}."
        case CandidateState.FAILED:
            return f"It was tried and not proven: {found.reason}{detail}."


def _wanted_tasks(request: MineRequest) -> int | None:
    if request.to_see_points is None:
        return request.tasks or DEFAULT_TASKS
    needed = tasks_to_see(request.to_see_points, DEFAULT_REPEATS)
    if needed is None:
        raise UsageError(
            f"--to-see {request.to_see_points:g} takes more tasks than can be planned for; ask for a larger difference."
        )
    return needed


def refuse_without_candidates(request: MineRequest, scan: HistoryScan) -> None:
    """Raise UsageError where nothing of a history can become a task."""
    if scan.candidates:
        return
    reasons = Counter(each.reason for each in scan.rejections)
    most = "; ".join(f"{number} {reason.value}" for reason, number in reasons.most_common(3))
    older = f" {scan.not_looked_at:,} older commits were not looked at." if scan.not_looked_at else ""
    raise UsageError(
        f"none of the {scan.commits:,} commits of {request.repository} changes source and tests together, so there is "
        f"nothing to make tasks of{f' ({most})' if most else ''}.{older} Look at others with --since and --until, "
        "allow larger changes with --most-files and --most-lines, or write tasks by hand: `outweigh init SUITE`."
    )


def _refuse_without_tools(request: MineRequest, history: HistoryRepository, scan: HistoryScan) -> None:
    """Raise UsageError where this machine lacks what would install the dependencies of the newest candidate.

    Others would fail as well, one after the other, and none of them would be at fault.
    """
    newest = max(scan.candidates, key=lambda each: each.date)
    try:
        wanted = plan_for_commit(history, newest.fix, newest.date, request.dependency_options)
    except DependencyError:
        return  # it is said of that candidate, which may be the only one
    if wanted is None:
        return
    if (missing := missing_tool(wanted.commands, in_image=request.image is not None)) is not None:
        raise UsageError(f"what the tests of {newest.short} need cannot be installed: {missing}")


@contextmanager
def _own_folder(request: MineRequest) -> Iterator[MiningJournal]:
    """The folder of the suite, made where it is missing, for this process alone; a folder of something else is refused.

    Without any result it is left as it was.
    """
    folder, was_there = request.folder, request.folder.exists()
    file = folder / JOURNAL_FILE
    is_mined = file.exists()
    if was_there and not is_mined and (not folder.is_dir() or any(folder.iterdir())):
        raise UsageError(f"{folder} is there already and is not a mined suite; name another folder.")
    folder.mkdir(parents=True, exist_ok=True)
    lock = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)
    try:
        _take(lock, folder)
        # Only now: opening the journal removes half a line, which another process may be writing.
        with closing(MiningJournal(folder)) as journal:
            # Whoever is killed before the first result leaves a suite that can be resumed, not a folder of something.
            file.touch()
            try:
                yield journal
            finally:
                if not is_mined and not file.stat().st_size:
                    _remove_unused(folder, was_there=was_there)
    finally:
        os.close(lock)


def _remove_unused(folder: Path, *, was_there: bool) -> None:
    if not was_there:
        remove_tree(folder)
        return
    for path in folder.iterdir():
        remove_tree(path) if path.is_dir() else path.unlink()


def _take(lock: int, folder: Path) -> None:
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise UsageError(f"another process is mining into {folder}; wait until it has ended.") from None


SUITE_COMMENT = """\
Tasks from the history of a repository: `outweigh init` mined them, and `outweigh doctor` tries them again.
Every task starts before a change of that history; its tests are those that came with the change."""

CANDIDATE_COMMENT = """\
An example of a change. Put yours in its place: a skill, instructions, a tool server, another model. For the file of
this repository, `outweigh try CLAUDE.md` does it for you."""
CANDIDATE = {"extends": "plain", "extra_prompt": "Run the tests before you say that it is done."}


def _write_suite(request: MineRequest) -> None:
    """The experiment, unless there is one: whoever resumes keeps their arms."""
    path = request.folder / SUITE_FILE
    if path.exists():
        return
    arm = {"agent": request.agent or DEFAULT_AGENT, **({} if request.model is None else {"model": request.model})}
    table = {
        "name": _suite_name(request.folder),
        "tasks": ["tasks/*"],
        "baseline": "plain",
        "arms": {"plain": arm, "candidate": CANDIDATE},
    }
    comments = {"": SUITE_COMMENT, "arms.candidate": CANDIDATE_COMMENT}
    write_atomic(path, [write_toml(table, comments).encode()])
    ignore_generated(request.folder)


def _suite_name(folder: Path) -> str:
    try:
        return msgspec.convert(folder.resolve().name, SafeName)
    except msgspec.ValidationError:
        return "mined"
