"""What `outweigh run` says when it is over: what there is now, what it came to, and what to type next."""

import shlex
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from outweigh.cli.progress import tell
from outweigh.report.wording import visible
from outweigh.run.batch import Stop
from outweigh.run.budget import Budget
from outweigh.run.experiment import Progress
from outweigh.run.plan import PlannedRun

MOST_REASONS = 5
_WAYS_ON = {
    Stop.BUDGET: "raise the budget with --budget and run the same command again",
    Stop.INTERRUPTED: "run the same command again; nothing that finished is repeated",
    Stop.INCOMPLETE: "mend what failed and run the same command again; nothing that finished is repeated. "
    "An arm or a task that was changed needs another store",
}
_BLIND = "nobody says what a run costs; set budget_usd under [limits], the most that one run may cost"


def say_how_it_ended(stop: Stop, plan: Sequence[PlannedRun], progress: Progress, budget: Budget, store: Path) -> None:
    """Of the whole experiment, earlier engines included."""
    done = len(plan) - len(progress.left)
    tell(f"{stop.value}: {done} of {len(plan)} trials have a result, {_spent(progress)}\n", sys.stderr)
    if stop is Stop.INCOMPLETE:
        tell("".join(f"no result: {visible(reason)}\n" for reason in _reasons(progress)), sys.stderr)
    if stop in _WAYS_ON:
        way = _BLIND if stop is Stop.BUDGET and budget.is_blind else _WAYS_ON[stop]
        tell(f"to go on: {way}\n", sys.stderr)
    if _can_be_compared(plan, progress):
        tell("".join(f"next: {visible(command)}\n" for command in _next_commands(store)), sys.stderr)


def _reasons(progress: Progress) -> Iterator[str]:
    """Why trials have no result, the commonest first."""
    found = sorted(progress.lost.items(), key=lambda item: (-item[1], item[0]))
    for (arm, why), trials in found[:MOST_REASONS]:
        yield f"{arm}, {trials} {'trial' if trials == 1 else 'trials'}: {why}"
    if len(found) > MOST_REASONS:
        yield f"and {len(found) - MOST_REASONS} more reasons"


def _spent(progress: Progress) -> str:
    """Dollars that somebody told, and how many attempts nobody told of: an unknown cost is not $0."""
    unknown = progress.paid.count(None)
    if not unknown:
        return f"${progress.spent_usd:,.4f} spent"
    attempts = "1 attempt has" if unknown == 1 else f"{unknown} attempts have"
    known = "" if unknown == len(progress.paid) else f"${progress.spent_usd:,.4f} spent, and "
    return f"{known}{attempts} an unknown cost"


def _can_be_compared(plan: Sequence[PlannedRun], progress: Progress) -> bool:
    """There are two arms at least, and every one has something to show."""
    arms = {run.trial.arm for run in plan}
    return len(arms) > 1 and all(progress.done.get(arm) for arm in arms)


def _next_commands(store: Path) -> tuple[str, ...]:
    page = store / "report.html"
    return (
        shlex.join(["outweigh", "verdict", str(store)]),
        shlex.join(["outweigh", "report", str(store), "-o", str(page)]),
    )
