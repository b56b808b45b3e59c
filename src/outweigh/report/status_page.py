"""The page of `outweigh` alone: where the current folder stands, and what to do next."""

from collections.abc import Iterator
from shlex import quote

from msgspec import Struct

from outweigh.report.document import KeyPoints, Report, Tone
from outweigh.report.formatting import count_of
from outweigh.report.next_step import NextStep
from outweigh.report.store_page import StoreOverview

MOST_STEPS = 3
MOST_DECISIONS = 5


class SuiteStatus(Struct, frozen=True, kw_only=True):
    """The suite of a folder; `fault` says what is wrong with its file, and then nothing else is known.

    `repeats` are those of arms without their own, and `own_repeats` those of all other arms.
    """

    file: str
    name: str = ""
    tasks: int = 0
    arms: tuple[str, ...] = ()
    repeats: int = 0
    own_repeats: tuple[int, ...] = ()
    fault: str | None = None


class StoreStatus(Struct, frozen=True, kw_only=True):
    """The last store of a folder, and what its records decide.

    `overview` is None where the records are too many to be counted at once, or `fault` says why they cannot be read.
    """

    path: str
    overview: StoreOverview | None = None
    decisions: tuple[str, ...] = ()
    undecided: str | None = None
    fault: str | None = None

    @property
    def trials(self) -> tuple[int, int]:
        """Trials that have a result, and those that are missing or failed to run."""
        arms = () if self.overview is None else self.overview.arms
        return sum(arm.done for arm in arms), sum((arm.missing or 0) + arm.failed for arm in arms)

    @property
    def unjudged(self) -> int:
        """Runs with a result that no judge of the suite has a usable judgment of."""
        if self.overview is None or not self.overview.judges:
            return 0
        return sum(max(0, arm.done - arm.judged) for arm in self.overview.arms)


class SuiteChange(Struct, frozen=True, kw_only=True):
    """How the suite differs from what its store ran, and the command that runs it as it is now."""

    words: str
    step: NextStep


class FolderStatus(Struct, frozen=True, kw_only=True):
    """A folder. `suites_below` are the folders in it that have a suite; `other_stores` are older than the last one.

    `change` is None where the suite is what the last store ran.
    """

    suite: SuiteStatus | None
    suites_below: tuple[str, ...]
    store: StoreStatus | None
    other_stores: int
    change: SuiteChange | None = None

    @property
    def is_of_suite(self) -> bool:
        """Whether the last store was made by the suite of this folder."""
        overview = None if self.store is None else self.store.overview
        return overview is not None and self.suite is not None and overview.suite == self.suite.name

    @property
    def planned_repeats(self) -> int:
        """The repeats of the suite, where the last store was run with fewer; else 0."""
        if self.suite is None or self.store is None or self.store.overview is None or not self.is_of_suite:
            return 0
        made = self.store.overview.repeats
        return self.suite.repeats if made is not None and made < self.suite.repeats else 0


def status_report(status: FolderStatus) -> Report:
    """Suite, store, decision, and the next commands."""
    steps = list(_steps(status))[:MOST_STEPS]
    labels = ("Next", "Then", "Or")
    rows = [*_facts(status), *((label, step.words) for label, step in zip(labels, steps, strict=False))]
    commands = {label: step.command for label, step in zip(labels, steps, strict=False) if step.command is not None}
    headline = " ".join(_headline(status))
    return Report(
        headline=headline, tone=Tone.PLAIN, blocks=(KeyPoints(rows=tuple(rows), commands=commands),), payload={}
    )


def _headline(status: FolderStatus) -> Iterator[str]:
    if status.store is None:
        yield "Nothing has been run in this folder" + (", and it has no suite." if status.suite is None else " yet.")
        return
    done, missing = status.store.trials
    if status.store.overview is None:
        yield f"The last store of this folder is {status.store.path}."
    elif status.store.overview.running:
        where = "" if status.store.overview.hosts is None else f" on {status.store.overview.hosts}"
        yield f"An experiment is running{where}: {done:,} of {done + missing:,} trials have a result."
    elif status.change is not None:
        yield "The suite has changed since the last run."
    elif missing:
        yield f"An experiment is incomplete: {done:,} of {done + missing:,} trials have a result."
    else:
        yield f"An experiment is complete: {count_of(done, 'trial')}, each with a result."


def _facts(status: FolderStatus) -> Iterator[tuple[str, str]]:
    suite, store = status.suite, status.store
    if suite is not None:
        repeats = sorted({suite.repeats, *suite.own_repeats})
        often = ("" if len(repeats) == 1 else f"{repeats[0]} to ") + count_of(repeats[-1], "repeat")
        shape = " × ".join((count_of(suite.tasks, "task"), count_of(len(suite.arms), "arm"), often))
        yield "Suite", suite.fault or f"{suite.name}: {shape} ({', '.join(suite.arms)})"
    elif status.suites_below:
        yield "Suite", f"none here; below this folder in {', '.join(status.suites_below)}"
    if store is None:
        return
    if status.change is not None:
        yield "Changed", status.change.words
    yield "Store", " ".join(_describe_store(store, status.other_stores))
    if store.overview is not None and store.overview.judges:
        done, _ = store.trials
        yield "Judged", f"{done - store.unjudged:,} of {count_of(done, 'run')}"
    for decision in store.decisions[:MOST_DECISIONS]:
        yield "Decision", decision
    if (more := len(store.decisions) - MOST_DECISIONS) > 0:
        yield "Decision", f"and {count_of(more, 'more candidate')}"
    if store.undecided is not None:
        yield "Decision", store.undecided


def _describe_store(store: StoreStatus, others: int) -> Iterator[str]:
    more = f" (and {count_of(others, 'older store')})" if others else ""
    if store.fault is not None or store.overview is None:
        yield f"{store.path}{more}: {store.fault or 'too many records to count here'}"
        return
    done, missing = store.trials
    yield f"{store.path}{more}: {done:,} of {done + missing:,} trials have a result"
    failed = sum(arm.failed for arm in store.overview.arms)
    if failed:
        yield f"({failed:,} failed to run)"
    if store.overview.damaged:
        yield f"and {count_of(len(store.overview.damaged), 'line')} cannot be read"


def _steps(status: FolderStatus) -> Iterator[NextStep]:
    if status.suite is not None and status.suite.fault is not None:
        yield NextStep(words=f"correct {status.suite.file}, then check it", command="outweigh doctor")
    elif status.store is None:
        yield from _first_steps(status)
    if status.store is not None:
        yield from _store_steps(status, status.store)


def _first_steps(status: FolderStatus) -> Iterator[NextStep]:
    if status.suite is not None:
        yield NextStep(words="check this machine and the tasks; nothing is paid", command="outweigh doctor")
        yield NextStep(words="run the experiment", command="outweigh run")
        return
    for folder in status.suites_below[:1]:
        yield NextStep(words=f"run the suite in {folder}", command=f"outweigh run -c {quote(folder)}")
    yield NextStep(words="see the whole flow offline, in seconds", command="outweigh demo")
    yield NextStep(words="write a suite of your own", command="outweigh init")
    yield NextStep(words="check what works on this machine", command="outweigh doctor")


def _store_steps(status: FolderStatus, store: StoreStatus) -> Iterator[NextStep]:
    path, overview = quote(store.path), store.overview
    if store.fault is not None or (overview is not None and overview.damaged):
        yield NextStep(words="see what cannot be read", command=f"outweigh store show {path}")
    if overview is not None and overview.running:
        yield NextStep(words="watch it in a browser", command="outweigh view")
    elif status.change is not None:
        yield status.change.step
    elif store.trials[1] and status.is_of_suite:
        yield NextStep(words=f"run the {count_of(store.trials[1], 'missing trial')}", command="outweigh run")
    elif status.planned_repeats:
        yield NextStep(words=f"run all {status.planned_repeats} repeats of the suite", command="outweigh run")
    if status.suite is not None and status.suite.fault is None and not status.is_of_suite:
        yield NextStep(words=f"run {status.suite.name}, which the last store is not about", command="outweigh run")
    if store.unjudged and overview is not None and not overview.running:
        again = " --retry-invalid" if any(arm.invalid_judgments for arm in overview.arms) else ""
        yield NextStep(words=f"judge {count_of(store.unjudged, 'run')}", command=f"outweigh judge {path}{again}")
    if store.trials[0] or overview is None:
        yield from _reading_steps(store, path)


def _reading_steps(store: StoreStatus, path: str) -> Iterator[NextStep]:
    words = "see the decision and its reasons" if store.decisions else "see what can be said so far"
    yield NextStep(words=words, command=f"outweigh verdict {path}")
    yield NextStep(words="write the report", command=f"outweigh report {path} -o report.html")
