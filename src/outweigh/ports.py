"""One small protocol per kind of adapter: the page an adapter author reads."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from socket import socket
from threading import Event
from typing import Any, Protocol

from outweigh.errors import EvidenceError
from outweigh.record.codec import InvalidLine, Located, OnInvalid
from outweigh.record.components import ComponentTokens
from outweigh.record.cost import Cost
from outweigh.record.judgment import Judgment
from outweigh.record.loaded import Loaded
from outweigh.record.pricing import PriceTable
from outweigh.record.run_record import AgentIdentity, RunRecord
from outweigh.record.status import Status
from outweigh.record.trajectory import AlignedAction, Step
from outweigh.record.trial import Trial
from outweigh.record.usage import Usage
from outweigh.report.document import Report
from outweigh.task.arm import Arm
from outweigh.task.judge import JudgeSpec
from outweigh.task.suite_draft import SuiteDraft, SuiteFile, TaskDraft
from outweigh.task.task import Task
from outweigh.transcript.failure import Failure
from outweigh.transcript.model_call import Account, Marker

__all__ = [
    "DEFAULT_AGENT",
    "Agent",
    "AttemptOutcome",
    "AttemptRequest",
    "Comments",
    "Completed",
    "Door",
    "Ending",
    "FieldOrigin",
    "FileChange",
    "Forge",
    "ForgeError",
    "ForgeProject",
    "Gateway",
    "Hosts",
    "ImportNotes",
    "ImportRequest",
    "Importer",
    "Judge",
    "JudgeAnswer",
    "JudgeQuestion",
    "Meter",
    "MeterRequest",
    "ModelAccess",
    "OutsideJob",
    "OutsideJobs",
    "PriceTable",
    "PullRequest",
    "PullRequestDraft",
    "Reporter",
    "RevisionFile",
    "Revisions",
    "RunStore",
    "Sandbox",
    "SandboxError",
    "SandboxProvider",
    "SandboxRequest",
    "Store",
    "SuiteDraft",
    "SuiteFile",
    "SuiteReader",
    "SuiteWishes",
    "TaskDraft",
    "Upstream",
    "Workspaces",
]


class Store(Protocol):
    """Where records are read from."""

    def records(self, on_invalid: OnInvalid) -> Iterator[Located]:
        """Read every run and judgment; what cannot be read goes to `on_invalid`."""


class RunStore(Protocol):
    """Where an engine keeps its evidence: nothing acknowledged is ever lost."""

    def begin(self, run_id: str, trial: Trial, attempt: int) -> None:
        """Write down, durably, that an attempt is about to start."""

    def append(self, record: RunRecord) -> None:
        """Keep a finished run; when this returns, the record survives a power cut."""

    def append_judgment(self, judgment: Judgment) -> None:
        """Keep what a judge said; when this returns, it survives a power cut."""

    def keep(self, content: bytes) -> str:
        """Keep an artifact and return the hash it is found by."""

    def artifact(self, digest: str) -> bytes:
        """A kept artifact, checked against its hash; EvidenceError where it is gone or damaged."""

    def finished(self) -> Mapping[tuple[str, str, int], Sequence[RunRecord]]:
        """All records so far, by (task, arm, repeat), in order of attempts."""

    def judgments(self) -> Mapping[str, Sequence[Judgment]]:
        """All judgments so far, by the run's id."""


class Comments(Protocol):
    """The comments of one pull request."""

    def upsert(self, body: str, number_of: Callable[[str], int]) -> str:
        """Write the comment, or bring ours with the same first line up to date; returns where it is.

        A comment in which `number_of` finds a larger number is from a later run, and stays.
        """


class Reporter(Protocol):
    """Turns an answer into text."""

    def render(self, report: Report) -> str:
        """The whole output, ending in a line feed."""


class Ending(StrEnum):
    """How a command came to its end."""

    EXITED = "exited"
    TIMED_OUT = "timed_out"
    CANCELLED = "cancelled"


@dataclass(frozen=True, slots=True, kw_only=True)
class Completed:
    """What a command left behind. Output is kept up to a limit; `truncated` says that there was more."""

    ending: Ending
    exit_code: int | None
    stdout: bytes
    stderr: bytes
    truncated: bool
    duration_seconds: float


class SandboxError(Exception):
    """The sandbox itself failed, not the command in it; the run is an infrastructure failure."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Door:
    """A way out of a sandbox: a port on its own loopback, behind which somebody outside answers.

    The sandbox listens where programs inside can connect, and nobody else, and hands the socket to `serve`, which
    answers on it until the context is left. Only what has a door can be reached.
    """

    name: str
    serve: Callable[[socket], AbstractContextManager[None]]


@dataclass(frozen=True, slots=True, kw_only=True)
class SandboxRequest:
    """What a sandbox is made of. `workspace` and `home` are folders of the host, laid out and private to this trial.

    `label` names the trial, so that what a killed engine left behind can be found. `cancel` ends everything at once.
    """

    workspace: Path
    home: Path
    label: str
    read_only: tuple[str, ...]
    doors: tuple[Door, ...]
    image: str | None
    memory_mb: int | None
    processes: int | None
    cancel: Event


class Sandbox(Protocol):
    """A closed room with a workspace. When it is left, nothing that was started in it is alive."""

    @property
    def workspace(self) -> str:
        """The working folder as seen from inside."""

    @property
    def host_workspace(self) -> Path:
        """The same folder as seen from outside."""

    @property
    def home(self) -> str:
        """The private home folder as seen from inside; it lasts as long as the sandbox."""

    @property
    def host_home(self) -> Path:
        """The same folder as seen from outside."""

    def port(self, door: str) -> int:
        """Where on 127.0.0.1 a program inside reaches what is behind this door."""

    def exec(
        self,
        command: Sequence[str],
        *,
        environment: Mapping[str, str],
        timeout_seconds: float,
        stdin: bytes = b"",
        listen: Callable[[bytes], None] | None = None,
    ) -> Completed:
        """Run a command in the workspace with this environment and no other; a timeout ends its whole tree.

        `listen` hears all of standard output as it comes, also what is beyond the limit of what is kept.
        """

    def read(self, path: str, limit: int) -> bytes | None:
        """A file of the workspace, at most so many bytes; None when there is none. A path that leads out is refused."""

    def write(self, path: str, content: bytes, *, executable: bool = False) -> None:
        """Put a file into the workspace. A path that leads out is refused."""


class SandboxProvider(Protocol):
    """Opens sandboxes of one kind."""

    @property
    def name(self) -> str:
        """The kind, as a suite names it."""

    def missing(self) -> str | None:
        """What is missing for it to work here, with the way out; None when it works."""

    def open(self, request: SandboxRequest) -> AbstractContextManager[Sandbox]:
        """Start one; leaving the context ends it and everything in it."""

    def sweep(self, label_prefix: str) -> list[str]:
        """End and remove whatever sandboxes with such labels a killed engine left behind; says what it found."""


class Hosts(Protocol):
    """One run's way to the hosts that its suite allows."""

    def door(self) -> Door:
        """The door to an HTTP proxy that connects to them alone."""

    def refused(self) -> tuple[str, ...]:
        """Which others were asked for so far, with their ports."""


class Workspaces(Protocol):
    """Workspaces of tasks: prepared once, laid out fresh for every trial."""

    def prepare(self, task: Task) -> Path:
        """The pristine workspace of a task, made on first use."""

    def lay(self, pristine: Path, target: Path) -> AbstractContextManager[Path]:
        """A private, writable copy of it; leaving the context removes it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RevisionFile:
    """A file of a revision, by its path below the folder that was asked for."""

    path: str
    content: bytes
    executable: bool


class Revisions(Protocol):
    """The history of a repository. What is read from it is no file of the host, and obeys nobody's settings."""

    def commit(self, ref: str) -> str:
        """The full hash of the commit that a ref means; UsageError where there is none."""

    def files(self, commit: str, folder: str, wanted: Callable[[str], bool]) -> Iterator[RevisionFile]:
        """The wanted files below a folder, by path; UsageError where one of them is no plain file."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelAccess:
    """How a program inside a sandbox reaches the model. The key is worth nothing anywhere else."""

    base_url: str
    key: str


@dataclass(frozen=True, slots=True, kw_only=True)
class MeterRequest:
    """What a run may take from models, and what to look for in what it sends."""

    label: str
    budget_usd: float | None
    tokens: int | None
    markers: tuple[Marker, ...]
    keep_bodies: bool


class Meter(Protocol):
    """One run's way to the model, open as long as the run lasts."""

    @property
    def door(self) -> Door:
        """The door that a sandbox opens to it."""

    @property
    def key(self) -> str:
        """What the agent must send instead of a real key; it tells the runs apart."""

    def account(self) -> Account:
        """Everything that passed so far."""


class Gateway(Protocol):
    """Stands between agents and models: meters, keeps the keys, holds the caps."""

    def meter(self, request: MeterRequest) -> AbstractContextManager[Meter]:
        """Open the way for one run; leaving the context closes it, also for what is still under way."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AttemptRequest:
    """What an agent is asked: the trial, the task's words, the arm, and its limits.

    `model_access` is None where the agent goes to its model directly, with what it has itself.
    """

    trial: Trial
    task: Task
    arm: Arm
    timeout_seconds: float
    budget_usd: float | None
    environment: Mapping[str, str]
    model_access: ModelAccess | None


@dataclass(frozen=True, slots=True, kw_only=True)
class AttemptOutcome:
    """What the agent did, before anything is checked. What it does not say is None, never 0.

    `failure` says more about a status than a word can, where the agent's kind of failure is known.
    `retry_after_seconds` asks for a pause of the whole account; `artifacts` are kept beside the record by name.
    `request_count` is how many requests to a model its own figures cover; `loaded` is what it says it had at hand.
    """

    status: Status
    status_detail: str | None
    agent: AgentIdentity
    duration_seconds: float | None
    usage: Usage
    cost: Cost
    step_count: int | None
    tool_call_count: int | None
    steps: tuple[Step, ...] | None
    components: tuple[ComponentTokens, ...] | None
    actions: tuple[AlignedAction, ...] | None
    reached_steps: frozenset[str] | None
    failure: Failure | None
    retry_after_seconds: float | None
    request_count: int | None
    loaded: Loaded | None
    warnings: tuple[str, ...]
    artifacts: Mapping[str, bytes]


class Agent(Protocol):
    """Attempts a trial inside a sandbox. A failed attempt is an outcome with a status, never an exception."""

    @property
    def name(self) -> str:
        """The name a suite uses."""

    def missing(self, arm: Arm) -> str | None:
        """What is missing for this arm to run here, with the way out; None when nothing is."""

    def uses_model(self, arm: Arm) -> bool:
        """Whether it sends requests to a model, which then go through the gateway."""

    def read_only(self, arm: Arm) -> tuple[str, ...]:
        """Folders of the host that it is installed in and must see from inside, as they are called outside."""

    def attempt(self, request: AttemptRequest, sandbox: Sandbox) -> AttemptOutcome:
        """Work on the task until done, out of time or out of money."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgeQuestion:
    """One question to a judge. `system` is the same for all runs of a task, so that it can be cached.

    The answer is to be one JSON object that fits `answer_schema`; `cancel` ends the asking at once.
    """

    judge: JudgeSpec
    system: str
    prompt: str
    answer_schema: Mapping[str, Any]
    timeout_seconds: float
    cancel: Event


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgeAnswer:
    """What came back: a text as the judge wrote it, or why there is none. What it does not say is None, never 0.

    `model` and `version` are who answered, in the backend's own words. A failed answer may have cost something too.
    """

    text: str | None
    failure: Failure | None
    model: str | None
    version: str | None
    usage: Usage
    cost: Cost


class Judge(Protocol):
    """Puts a question to a model, a program or a person. Whatever goes wrong is an answer with a failure."""

    @property
    def name(self) -> str:
        """The backend's name, as a suite uses it."""

    def missing(self, judge: JudgeSpec) -> str | None:
        """What is missing for this judge to be asked from here, with the way out; None when nothing is."""

    def judge(self, question: JudgeQuestion) -> JudgeAnswer:
        """Ask once."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FileChange:
    """One file of a promotion, by its path below the configuration's folder; no content means that it goes."""

    path: str
    content: bytes | None
    executable: bool


class ForgeError(Exception):
    """A forge or a remote refused or did not answer; the text says what, and the way out."""


class Upstream(Protocol):
    """A repository's branches as its remote has them. Nothing of the working copy is ever changed."""

    def tip(self, branch: str) -> str | None:
        """The commit a branch is at, with its files at hand; None where there is no such branch."""

    def files(self, commit: str, folder: str, wanted: Callable[[str], bool]) -> Iterator[RevisionFile]:
        """The wanted files below a folder of a commit that was asked for, by path."""

    def changed(self, commit: str) -> list[str]:
        """Every path that a commit does not share with its parent."""

    def commit(self, onto: str, folder: str, changes: Sequence[FileChange], message: str) -> str:
        """A new commit with exactly these changes, known to nobody yet."""

    def push(self, branch: str, commit: str) -> None:
        """Make a branch that does not exist yet; ForgeError where that cannot be done."""

    def remove(self, branch: str, commit: str) -> None:
        """Remove a branch that is still at this commit; ForgeError where that cannot be done."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ForgeProject:
    """A repository on a forge: the host, the path there, and the address of the API where somebody named one."""

    host: str
    path: str
    api_url: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class PullRequestDraft:
    """A pull request that is to be opened. `draft` asks for one that cannot be merged yet."""

    branch: str
    into: str
    title: str
    body: str
    draft: bool
    reviewers: tuple[str, ...]
    labels: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class PullRequest:
    """A pull request as the forge knows it; without a number it is only the address where one can be opened."""

    number: int | None
    url: str | None
    is_open: bool


class Forge(Protocol):
    """Where pull requests are opened. Whatever it refuses is a ForgeError; its token is never shown."""

    @property
    def name(self) -> str:
        """The name that --forge takes."""

    def missing(self, project: ForgeProject) -> str | None:
        """What is missing for it to be asked from here, with the way out; None when nothing is."""

    def find_pull_request(self, project: ForgeProject, branch: str, into: str) -> PullRequest | None:
        """The pull request of a branch, an open one before a closed one."""

    def open_pull_request(self, project: ForgeProject, draft: PullRequestDraft) -> PullRequest:
        """Open one, or give back the open one that there is already."""

    def finish_pull_request(self, project: ForgeProject, opened: PullRequest, draft: PullRequestDraft) -> None:
        """Add the labels and ask the reviewers."""

    def close_pull_request(self, project: ForgeProject, opened: PullRequest) -> None:
        """Close it without merging."""


MOST_UNREAD_ROWS = 100_000
"""Rows that became no record are kept with their places; a source with more of them is something else."""


class FieldOrigin(StrEnum):
    """How an importer comes by a field of a record."""

    REPORTED = "reported"
    DERIVED = "derived"
    UNKNOWN = "unknown"


@dataclass(slots=True)
class ImportNotes:
    """What an importer has to say beside the records. Nothing that was found in a source is dropped in silence.

    `unreadable` are the rows that became no record, with their place and the reason. `aggregates` are results that
    stand for many runs and are never made up into some. `facts` are figures that the source states about itself, so
    that anybody can compare them with what is computed here.
    """

    unreadable: list[InvalidLine] = field(default_factory=list)
    warnings: dict[str, None] = field(default_factory=dict)
    aggregates: list[Mapping[str, Any]] = field(default_factory=list)
    facts: dict[str, Any] = field(default_factory=dict)

    def unread(self, source: object, line: int, reason: str) -> None:
        """Keep the place of a row that became no record; line 0 is the file as a whole."""
        if len(self.unreadable) >= MOST_UNREAD_ROWS:
            raise EvidenceError(
                f"{source} is given up: more than {MOST_UNREAD_ROWS:,} rows cannot be read, the first because it is "
                f"{self.unreadable[0].reason}. Is it of the format that it is read as?"
            )
        self.unreadable.append(InvalidLine(str(source), line, reason))

    def warn(self, sentence: str) -> None:
        """Say something once that a reader of the results must know."""
        self.warnings[sentence] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportRequest:
    """What is to be imported, and what the user says about it.

    `arm` names the arm where the source does not. `tasks` are all tasks of a fixed suite: one that the source leaves
    out was failed, not skipped; None where nobody said. `columns` maps fields of a record to places of a table.
    `keep` puts an artifact beside the records and returns the hash it is found by.
    """

    path: Path
    arm: str | None
    tasks: frozenset[str] | None
    columns: Mapping[str, str]
    keep: Callable[[bytes], str]


class Importer(Protocol):
    """Reads what another program wrote as records, exactly. Bad input is a note or an EvidenceError, nothing else.

    One that makes use of a request's `tasks` or `columns` has an attribute `takes`, the set of those names: what would
    be ignored is refused before anything is read.
    """

    @property
    def name(self) -> str:
        """The format, as `outweigh import` takes it."""

    @property
    def fields(self) -> Mapping[str, FieldOrigin]:
        """How each field of a RunRecord is come by; a field that is not here is unknown."""

    def recognises(self, path: Path) -> bool:
        """Whether this looks like its format, by a short look that never raises and is never wrong about others'."""

    def read(self, request: ImportRequest, notes: ImportNotes) -> Iterator[RunRecord | Judgment]:
        """Record by record, in memory that does not grow with the source. The same source gives the same records."""


DEFAULT_AGENT = "claude-code"
"""Who works on a suite where neither its user nor its format names anybody."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SuiteWishes:
    """What the user says about a suite that is read, which goes before what its format says; None where nothing."""

    agent: str | None
    model: str | None


class SuiteReader(Protocol):
    """Reads a suite that was written for another program. Bad input is a UsageError, nothing else.

    What cannot be carried over is a note of the draft, never dropped in silence. Nothing is fetched and nothing run.
    """

    @property
    def name(self) -> str:
        """The format."""

    @property
    def looks_for(self) -> str:
        """What a path must be for this format, in a few words, e.g. "a folder with a test.yaml"."""

    def recognises(self, path: Path) -> bool:
        """Whether this looks like its format, by a short look that never raises and is never wrong about others'."""

    def read(self, path: Path, wishes: SuiteWishes) -> SuiteDraft:
        """The whole suite. The same source gives the same draft."""


class OutsideJob(Protocol):
    """Trials of one arm that another harness makes by itself; the job may outlive whoever started it."""

    @property
    def name(self) -> str:
        """What the job is called; no other of the store is called so."""

    @property
    def trials(self) -> Sequence[Trial]:
        """What it is to make."""

    def start(self) -> None:
        """Begin; what the job is for is written down before."""

    @property
    def is_running(self) -> bool:
        """Whether there may be further results."""

    def new_results(self) -> Sequence[RunRecord]:
        """Every trial that has ended, once, as the harness tells it; which repeat it stands for is not its business."""

    def stop(self, *, at_once: bool) -> bool:
        """Ask the job to end in order, or end it and all it started; False where it could not be reached (yet)."""

    def last_words(self) -> str:
        """What the harness said last, for whoever must find out why a trial has no result."""


class OutsideJobs(Protocol):
    """Another harness that runs an arm's trials as a job of its own."""

    def earlier(self) -> Sequence[OutsideJob]:
        """All jobs that were ever started for this store; some may still be running."""

    def prepare(self, trials: Sequence[Trial]) -> OutsideJob:
        """A job for trials of one arm, not started yet; one that the harness would refuse is refused here."""

    def may_mend(self, record: RunRecord) -> bool:
        """Whether another attempt at a trial that infrastructure broke could end otherwise."""
