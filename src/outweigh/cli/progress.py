"""Progress of runs and judging on standard error, the summary at the end of a run, and the event log (`--events`)."""

import shlex
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from io import FileIO
from pathlib import Path
from threading import Lock
from time import monotonic
from typing import TextIO

import msgspec

from outweigh.app.observer import RunSummary, RunWatch, StopSignals, StoreSpending
from outweigh.cli.console import error_stream, interruptible, notify, write_notice
from outweigh.engine.batch import EndReason
from outweigh.engine.events import EngineEvent, EventKind, EventListener
from outweigh.engine.experiment import ExperimentProgress
from outweigh.engine.trial_plan import PlannedRun
from outweigh.errors import UsageError
from outweigh.model.failure import EXCLUDED_STATUSES, detail_line
from outweigh.model.shard import Shard
from outweigh.report.formatting import count_of, escape_controls, format_dollars
from outweigh.report.judge_page import JudgingTotals, summarize_judging

QUIET_EVERY = 100
"""Where the line cannot change, it is written once per so many results."""


class RunProgress:
    """Listens to the engine. Per arm: trials with a result, how many passed; dollars, what runs on how many hosts, and
    time left.
    """

    def __init__(self, plan: Sequence[PlannedRun], stream: TextIO) -> None:
        self._total = Counter(run.trial.arm for run in plan)
        self._done: Counter[str] = Counter()
        self._passed: Counter[str] = Counter()
        self._spent = 0.0
        self._paid = False
        self._running = 0
        self._hosts: str | None = None
        self._earlier = 0
        self._began = monotonic()
        self._stream = stream
        self._live = stream.isatty()
        self._lock = Lock()

    def __enter__(self) -> "RunProgress":
        return self

    def __exit__(self, *trouble: object) -> None:
        if self._live:
            write_notice("\n", self._stream)

    def resume(self, progress: ExperimentProgress) -> None:
        """Tell where an earlier engine got to."""
        self._done.update(progress.done)
        self._passed.update(progress.passed)
        self._spent = progress.spent_usd
        self._paid = bool(progress.paid) and not progress.simulated
        self._earlier = self._done.total()
        if self._done.total():
            self._say(self._describe_earlier())

    def _describe_earlier(self) -> str:
        """What is not run again; where whole arms are new, as in a dry run, which those are."""
        done, total = self._done.total(), self._total.total()
        if all(self._done[arm] for arm in self._total):
            return f"{done} of {total} trials have a result already"
        kept = ", ".join(f"{arm} {number}" for arm, number in sorted(self._done.items()) if number)
        missing = [(arm, self._total[arm] - self._done[arm]) for arm in self._total]
        new = "; ".join(f"{arm}, {count_of(number, 'run')}" for arm, number in missing if number)
        return f"reused: {done} of {count_of(total, 'run')} ({kept}); new: {new}"

    def __call__(self, event: EngineEvent) -> None:
        """Take note of one moment."""
        with self._lock:
            if event.kind is EventKind.STARTED:
                self._running += 1
            elif event.kind is EventKind.FINISHED and event.arm is not None:
                self._running -= 1
                counts = event.status not in EXCLUDED_STATUSES
                self._done[event.arm] += counts
                self._passed[event.arm] += counts and event.passed is True
                self._spent += event.cost_usd or 0.0
                self._paid |= not event.simulated
                self._show()
            elif event.kind is EventKind.HOSTS:
                self._hosts = event.detail
            elif event.kind is EventKind.RETRYING:
                self._say(f"{event.task_id}, {event.arm}, repeat {event.repeat}: {detail_line(event.detail)}")
            elif event.kind in (EventKind.PAUSED, EventKind.NOTE, EventKind.STOPPED):
                self._say(event.detail)

    def _show(self) -> None:
        if self._live:
            write_notice(f"\r\x1b[K{self._line()}", self._stream)
        elif self._done.total() % QUIET_EVERY == 0:
            self._say(self._line())

    def _line(self) -> str:
        arms = "  ".join(
            f"{escape_controls(arm)} {self._done[arm]}/{total} ({self._passed[arm]} passed)"
            for arm, total in self._total.items()
        )
        money = f"${self._spent:,.2f}" if self._paid else "simulated costs"
        where = "" if self._hosts is None else f" on {self._hosts}"
        return f"{arms}  {money}  {self._running} running{where}{self._time_left()}"

    def _time_left(self) -> str:
        """From this engine's own pace; nothing before it has any."""
        made, left = self._done.total() - self._earlier, self._total.total() - self._done.total()
        if made < 1 or left < 1:
            return ""
        seconds = (monotonic() - self._began) / made * left
        return f", about {seconds / 60:.0f} min left" if seconds >= 90 else f", about {seconds:.0f} s left"

    def _say(self, text: str) -> None:
        clear = "\r\x1b[K" if self._live else ""
        write_notice(f"{clear}{escape_controls(text)}\n", self._stream)


class JudgingProgress:
    """Listens to the judging: judgments so far, and dollars."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._live = stream.isatty()
        self._judged = 0
        self._spent = 0.0
        self._shown = False
        self._lock = Lock()

    def __enter__(self) -> "JudgingProgress":
        return self

    def __exit__(self, *trouble: object) -> None:
        if self._live and self._shown:
            write_notice("\n", self._stream)

    def __call__(self, event: EngineEvent) -> None:
        """Take note of one moment."""
        with self._lock:
            if event.kind is EventKind.JUDGED:
                self._judged += 1
                self._spent += event.cost_usd or 0.0
                self._show()
            elif event.kind in (EventKind.NOTE, EventKind.STOPPED):
                self._say(event.detail)

    def _show(self) -> None:
        line = f"{self._judged} judgments, {format_dollars(self._spent)}"
        if self._live:
            write_notice(f"\r\x1b[K{line}", self._stream)
            self._shown = True
        elif self._judged % QUIET_EVERY == 0:
            self._say(line)

    def _say(self, words: str) -> None:
        write_notice(("\r\x1b[K" if self._live else "") + f"{escape_controls(words)}\n", self._stream)


MAX_REASONS = 5
_NEXT_STEPS = {
    EndReason.BUDGET: "raise the budget with --budget and run the same command again",
    EndReason.TIER_BUDGET: "raise budget_usd of the tier in the suite and run the same command again",
    EndReason.INTERRUPTED: "run the same command again; nothing that finished is repeated",
    EndReason.FUTILE: "run the same command without --until-decided; the error rates still hold",
    EndReason.INCOMPLETE: "fix what failed and run the same command again; nothing that finished is repeated. "
    "A task that was changed needs another store",
    EndReason.STOPPED: "fix the cause (`outweigh doctor` with the same -c helps to find it) and run the same command "
    "again; nothing that finished is repeated. With --keep-going the other trials are attempted anyway",
}
_UNKNOWN_COST_HINT = "the cost of a run is unknown; set budget_usd under [limits], the most that one run may cost"


def print_run_summary(summary: RunSummary, command: str | None = None, *, verdict_follows: bool = False) -> None:
    """Of the whole experiment, earlier engines included; `command` is what the user typed.

    Where the verdict follows at once, nobody is told how to get it.
    """
    stop, plan, progress = summary.stop, summary.plan, summary.progress
    done = len(plan) - len(progress.left)
    stream = error_stream() if stop in _NEXT_STEPS else sys.stderr
    write_notice(
        f"{stop.value}: {done} of {len(plan)} trials have a result{_describe_later(summary)}, "
        f"{_describe_spending(summary.spending)}\n",
        stream,
    )
    if stop in (EndReason.DECIDED, EndReason.FUTILE):
        write_notice(f"{_describe_savings(plan, progress)}\n", stream)
    if stop in (EndReason.INCOMPLETE, EndReason.STOPPED):
        write_notice("".join(f"no result: {escape_controls(reason)}\n" for reason in _reasons(progress)), stream)
    if verdict_follows and stop in (EndReason.DONE, EndReason.DECIDED, EndReason.FUTILE):
        return
    if stop in _NEXT_STEPS:
        step = _UNKNOWN_COST_HINT if stop is EndReason.BUDGET and summary.cost_is_unknown else _NEXT_STEPS[stop]
        write_notice(f"to go on: {step}\n", stream)
        if stop is EndReason.STOPPED and command is not None:
            write_notice(f"the command: {escape_controls(command)}\n", stream)
    if summary.shard is not None:
        write_notice(
            f"next: when all {summary.shard.count} shards have ended, read their stores together, as in "
            f"outweigh verdict {escape_controls(_all_shards(summary.store, summary.shard))}\n",
            stream,
        )
    elif _can_be_compared(plan, progress) and not summary.later_runs:
        commands = _next_commands(summary.store)
        write_notice("".join(f"next: {escape_controls(command)}\n" for command in commands), stream)


def _describe_later(summary: RunSummary) -> str:
    return f" ({summary.later_runs} more follow after a choice)" if summary.later_runs else ""


def _reasons(progress: ExperimentProgress) -> Iterator[str]:
    """Why trials have no result, the commonest first."""
    found = sorted(progress.lost.items(), key=lambda item: (-item[1], item[0]))
    for (arm, why), trials in found[:MAX_REASONS]:
        yield f"{arm}, {trials} {'trial' if trials == 1 else 'trials'}: {detail_line(why)}"
    if len(found) > MAX_REASONS:
        yield f"and {len(found) - MAX_REASONS} more reasons"


def _describe_spending(spending: StoreSpending) -> str:
    """Dollars that somebody told, and how many attempts nobody told of: an unknown cost is not $0."""
    if spending.simulated:
        return "costs are simulated"
    known, unknown = _known_usd(spending.total), spending.total.count(None)
    is_first = len(spending.now) == len(spending.total)
    parts = []
    if known is not None:
        dollars = f"{'about ' if spending.estimated else ''}{format_dollars(known)}"
        parts.append(f"{dollars} spent" if is_first else f"{_spent_now(spending)}, {dollars} in this store")
    if unknown:
        parts.append("1 attempt has an unknown cost" if unknown == 1 else f"{unknown} attempts have an unknown cost")
    return ", and ".join(parts) or "nothing spent"


def _spent_now(spending: StoreSpending) -> str:
    if not spending.now:
        return "nothing spent now"
    if spending.simulated_now:
        return "simulated costs now"
    known = _known_usd(spending.now)
    return "an unknown amount spent now" if known is None else f"{format_dollars(known)} spent now"


def _known_usd(costs: Sequence[float | None]) -> float | None:
    known = [cost for cost in costs if cost is not None]
    return sum(known) if known else None


def _describe_savings(plan: Sequence[PlannedRun], progress: ExperimentProgress) -> str:
    """What an early end saved: runs, and dollars where somebody told what a run costs."""
    dollars = None if progress.simulated else progress.saved_usd
    worth = "" if dollars is None else f", about ${dollars:,.2f} at the mean cost of an attempt"
    return f"saved: {len(progress.left)} of {len(plan)} planned runs{worth}"


def _can_be_compared(plan: Sequence[PlannedRun], progress: ExperimentProgress) -> bool:
    """There are two arms at least, and every one has something to show."""
    arms = {run.trial.arm for run in plan}
    return len(arms) > 1 and all(progress.done.get(arm) for arm in arms)


def _all_shards(store: Path, shard: Shard) -> str:
    """The stores of all shards, where they are named like this one; else words for them."""
    if store.name.endswith(shard.file_name):
        return f"{shlex.quote(str(store).removesuffix(shard.file_name))}shard-*"
    return "STORE-1 STORE-2 …"


def _next_commands(store: Path) -> tuple[str, ...]:
    page = store / "report.html"
    return (
        shlex.join(["outweigh", "verdict", str(store)]),
        shlex.join(["outweigh", "report", str(store), "-o", str(page)]),
    )


def _open_event_log(path: str) -> FileIO:
    try:
        return FileIO(path, "a")
    except OSError as fault:
        raise UsageError(f"--events {path} cannot be written: {fault.strerror}.") from fault


@contextmanager
def log_events(path: str | None, listen: EventListener) -> Iterator[EventListener]:
    """A listener that also appends every event to a file, one object per line, as it happens."""
    if path is None:
        yield listen
        return
    with _open_event_log(path) as stream:

        def tell(event: EngineEvent) -> None:
            moment = {"at": datetime.now(UTC), **msgspec.to_builtins(event)}
            stream.write(msgspec.json.encode(moment) + b"\n")
            listen(event)

        yield tell


class ConsoleObserver:
    """Shows progress on standard error, appends events to a file if one is named, and lets Ctrl-C end the work."""

    def __init__(self, events: str | None, command: str | None = None, *, verdict_follows: bool = False) -> None:
        self._events = events
        self._command = command
        self._verdict_follows = verdict_follows
        self.comparable_store: Path | None = None
        """The store of the runs that have ended, if its arms can be compared."""

    def notify(self, text: str) -> None:
        """Show a sentence."""
        notify(text)

    @contextmanager
    def watch_runs(self, plan: Sequence[PlannedRun], signals: StopSignals) -> Iterator[RunWatch]:
        """Show one line about all trials."""
        with (
            RunProgress(plan, sys.stderr) as line,
            log_events(self._events, line) as listen,
            interruptible(signals.drain, signals.cancel),
        ):
            yield RunWatch(listen=listen, resume=line.resume)

    def runs_ended(self, summary: RunSummary) -> None:
        """Sum up the experiment."""
        print_run_summary(summary, self._command, verdict_follows=self._verdict_follows)
        if summary.shard is None and _can_be_compared(summary.plan, summary.progress):
            self.comparable_store = summary.store

    @contextmanager
    def watch_judging(self, signals: StopSignals) -> Iterator[EventListener]:
        """Show one line about all judge calls."""
        with (
            JudgingProgress(sys.stderr) as line,
            log_events(self._events, line) as listen,
            interruptible(signals.drain, signals.cancel),
        ):
            yield listen

    def judging_ended(self, totals: JudgingTotals) -> None:
        """Sum up what the judges said."""
        for words in summarize_judging(totals):
            write_notice(f"{escape_controls(words)}\n", sys.stderr)
