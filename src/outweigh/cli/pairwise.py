"""`outweigh judge --pairwise`: two arms side by side, in both orders. Only what is missing is asked."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from contextlib import closing
from dataclasses import dataclass

from outweigh.adapters.stores.judging_file import JudgingFile
from outweigh.adapters.stores.preference_log import PreferenceLog, kept_preferences
from outweigh.adapters.stores.run_store import FolderRunStore
from outweigh.cli.arguments import show
from outweigh.cli.exit_codes import ExitCode
from outweigh.cli.judging import Panel, Sitting, briefs_of, courtroom_of
from outweigh.compare.preferences import Pairwise, compare_pairwise
from outweigh.errors import UsageError, name_some
from outweigh.record.preference import Preference
from outweigh.report.pairwise_view import pairwise_report
from outweigh.run.batch import Stop
from outweigh.run.duels import Dueled, Duels, open_duels
from outweigh.run.judging import paid_for_judging
from outweigh.run.purse import Purse
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
) -> tuple[Dueled, Pairwise]:
    """Ask whatever is open, keep every answer, and sum up what there is now. The store must be held by the caller."""
    with closing(PreferenceLog(store.folder)) as log:
        before = kept_preferences(store.folder)
        askable = [judge for judge in judges if judge.name in panel.backends]
        arms = (sides.baseline, sides.candidate)
        open_now = open_duels(store.finished(), arms, askable, briefs_of(store.folder, judging), before)
        duels = Duels(
            keep=log.append,
            room=courtroom_of(store, panel, sitting),
            purse=Purse(sitting.cap_usd, {judge.name: judge.budget_usd for judge in judges}, _paid(store, before)),
            jobs=sitting.jobs,
            listen=sitting.listen,
        )
        dueled = duels.run(open_now)
    names = {judge.name for judge in judges}
    answers = [answer for answer in kept_preferences(store.folder) if answer.judge.name in names]
    return dueled, compare_pairwise(answers, sides.baseline, sides.candidate)


def show_pairwise(dueled: Dueled, pairwise: Pairwise, style: str) -> ExitCode:
    """Print the preferences; the exit code says whether every pair has a usable answer in both orders."""
    show(pairwise_report(pairwise), style)
    if dueled.stop in CODES:
        return CODES[dueled.stop]
    lacking = dueled.left_open or not pairwise.judges or any(judge.incomplete for judge in pairwise.judges)
    return ExitCode.UNUSABLE_EVIDENCE if lacking else ExitCode.SATISFIED


def _paid(store: FolderRunStore, preferences: Iterable[Preference]) -> dict[str, list[float | None]]:
    """All that a judge was paid in this store, for judgments and for preferences: it has one budget."""
    judgments = (judgment for answers in store.judgments().values() for judgment in answers)
    paid: dict[str, list[float | None]] = defaultdict(list, paid_for_judging(judgments))
    for preference in preferences:
        paid[preference.judge.name].append(preference.cost.usd)
    return paid
