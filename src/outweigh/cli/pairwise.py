"""`outweigh judge --pairwise`: two arms side by side, in both orders. Only what is missing is asked."""

import sys
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass, replace

from outweigh.adapters.stores.judging_file import JudgingFile
from outweigh.adapters.stores.preference_log import PreferenceLog, kept_preferences
from outweigh.adapters.stores.run_store import FolderRunStore
from outweigh.cli.arguments import show
from outweigh.cli.exit_codes import ExitCode
from outweigh.cli.judging import Panel, Sitting, briefs_of, courtroom_of, purse_of
from outweigh.cli.progress import tell
from outweigh.compare.preferences import Pairwise, compare_pairwise
from outweigh.errors import UsageError, name_some
from outweigh.report.pairwise_view import pairwise_report
from outweigh.run.batch import Stop
from outweigh.run.duels import Duels
from outweigh.run.pairs import Pairs
from outweigh.run.questions import Judged
from outweigh.task.judge import JudgeSpec

CODES = {Stop.BUDGET: ExitCode.BUDGET_EXHAUSTED, Stop.INTERRUPTED: ExitCode.INTERRUPTED}


@dataclass(frozen=True, slots=True, kw_only=True)
class Sides:
    """The two arms that are shown side by side."""

    baseline: str
    candidate: str


def sides_of(baseline: str | None, candidate: str | None, arms: Sequence[str]) -> Sides:
    """Both must be named, and be there: which is which is never guessed."""
    if baseline is None or candidate is None:
        raise UsageError("--pairwise compares two arms; name them by --baseline and --candidate.")
    if baseline == candidate:
        raise UsageError(f"baseline and candidate are both {baseline!r}; name two different arms.")
    for name in (baseline, candidate):
        if name not in arms:
            raise UsageError(f"there is no arm {name!r}; the store holds {name_some(arms, 10)}.")
    return Sides(baseline=baseline, candidate=candidate)


def duel_in_store(
    store: FolderRunStore,
    judging: JudgingFile,
    judges: Sequence[JudgeSpec],
    panel: Panel,
    sides: Sides,
    sitting: Sitting,
) -> tuple[Judged, Pairwise]:
    """Ask whatever is open, keep every answer, and sum up what there is now. The store must be held by the caller."""
    with closing(PreferenceLog(store.folder)) as log:
        before = kept_preferences(store.folder)
        for repair in log.repairs:
            tell(f"outweigh: {repair}\n", sys.stderr)
        askable = [judge for judge in judges if judge.name in panel.backends]
        arms = (sides.baseline, sides.candidate)
        pairs = Pairs.of(store.finished(), arms, askable, briefs_of(store.folder, judging))
        duels = Duels(
            keep=log.append,
            room=courtroom_of(store, panel, sitting),
            purse=purse_of(judges, sitting.cap_usd, store),
            jobs=sitting.jobs,
            listen=sitting.listen,
        )
        dueled = duels.run(pairs.open(before, retry_invalid=sitting.retry_invalid))
    answers = pairs.answers(kept_preferences(store.folder))
    set_aside = {**panel.missing, **dueled.set_aside}
    return replace(dueled, set_aside=set_aside), compare_pairwise(answers, sides.baseline, sides.candidate)


def show_pairwise(dueled: Judged, pairwise: Pairwise, style: str) -> ExitCode:
    """Print the preferences; the exit code says whether every pair has a usable answer in both orders."""
    show(pairwise_report(pairwise, left_open=dueled.left_open, set_aside=dueled.set_aside), style)
    if dueled.stop in CODES:
        return CODES[dueled.stop]
    lacking = (
        dueled.left_open
        or dueled.set_aside
        or not pairwise.judges
        or any(judge.incomplete for judge in pairwise.judges)
    )
    return ExitCode.UNUSABLE_EVIDENCE if lacking else ExitCode.SATISFIED
