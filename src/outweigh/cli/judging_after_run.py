"""Judging as the last part of `outweigh run`: when all trials have ended, so that no trial waits for a judge."""

import sys
from pathlib import Path
from threading import Event

from outweigh.adapters.stores.run_store import FolderRunStore
from outweigh.cli.arguments import price_tables
from outweigh.cli.event_file import told_to_file
from outweigh.cli.interruptible import interruptible
from outweigh.cli.judging import Sitting, judge_store, judging_of, keep_judging, panel_of
from outweigh.cli.judging_line import JudgingLine
from outweigh.cli.progress import tell
from outweigh.report.judge_view import judging_words
from outweigh.report.wording import visible
from outweigh.run.batch import Stop
from outweigh.run.judging import paid_for_judging
from outweigh.run.loading import LoadedSuite

BEFORE_JUDGING = (Stop.DONE, Stop.DECIDED, Stop.INCOMPLETE)
"""Ends of a run after which judges are asked; a run that was interrupted or is out of money asks nobody."""


def prepare_judges(folder: Path, suite: LoadedSuite) -> None:
    """Keep what judges will be told, and say before the first run who cannot be asked."""
    if not suite.spec.judges:
        return
    keep_judging(folder, suite)
    for complaint in panel_of(suite.spec.judges).missing.values():
        tell(f"outweigh: {visible(complaint)} Until then its scores are left out, on all sides.\n", sys.stderr)


def spent_on_judges(store: FolderRunStore) -> float:
    """Dollars of all judgments whose cost is known."""
    judgments = (judgment for given in store.judgments().values() for judgment in given)
    return sum(cost or 0.0 for costs in paid_for_judging(judgments).values() for cost in costs)


def judge_afterwards(
    suite: LoadedSuite, store: FolderRunStore, *, jobs: int, cap_usd: float | None, events: str | None
) -> Stop:
    """Judge what has no judgment yet, within what the runs have left of the budget. A run stands without it."""
    judges, drain, cancel = suite.spec.judges, Event(), Event()
    with JudgingLine(sys.stderr) as line, told_to_file(events, line) as listen, interruptible(drain, cancel):
        sitting = Sitting(
            jobs=jobs,
            cap_usd=cap_usd,
            retry_invalid=False,
            prices=price_tables(None),
            drain=drain,
            cancel=cancel,
            listen=listen,
        )
        judged, accounts = judge_store(store, judging_of(suite), judges, panel_of(judges), sitting)
    for words in judging_words(accounts):
        tell(f"{visible(words)}\n", sys.stderr)
    return judged.stop
