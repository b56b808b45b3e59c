"""Pairwise judging of two arms of a store, in both orders. Only missing answers are requested."""

import sys
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass, replace

from outweigh.app.judge import AvailableJudges, RoundOptions, make_judge_budget, make_judging_context, task_materials
from outweigh.cli.arguments import print_report
from outweigh.cli.exit_codes import ExitCode
from outweigh.cli.progress import write_notice
from outweigh.compare.preferences import Pairwise, compare_pairwise
from outweigh.engine.batch import EndReason
from outweigh.engine.judging.pairwise import PendingPairs, judge_pairs
from outweigh.engine.judging.pool import PoolResult
from outweigh.errors import UsageError, quote_names
from outweigh.model.suite import JudgeSpec
from outweigh.report.judge_agreement import pairwise_report
from outweigh.store.judging_file import JudgingFile
from outweigh.store.run_store import FolderRunStore, PreferenceLog, read_preferences

PAIRWISE_EXIT_CODES = {EndReason.BUDGET: ExitCode.BUDGET_EXHAUSTED, EndReason.INTERRUPTED: ExitCode.INTERRUPTED}


@dataclass(frozen=True, slots=True, kw_only=True)
class ArmPair:
    """The two arms that are shown side by side."""

    baseline: str
    candidate: str


def choose_arm_pair(baseline: str | None, candidate: str | None, arms: Sequence[str]) -> ArmPair:
    """Both must be named, and be there: which is which is never guessed."""
    if baseline is None or candidate is None:
        raise UsageError("--pairwise compares two arms; name them by --baseline and --candidate.")
    if baseline == candidate:
        raise UsageError(f"baseline and candidate are both {baseline!r}; name two different arms.")
    for name in (baseline, candidate):
        if name not in arms:
            raise UsageError(f"there is no arm {name!r}; the store holds {quote_names(arms, 10)}.")
    return ArmPair(baseline=baseline, candidate=candidate)


def judge_pairs_in_store(
    store: FolderRunStore,
    judging: JudgingFile,
    judges: Sequence[JudgeSpec],
    available: AvailableJudges,
    sides: ArmPair,
    options: RoundOptions,
) -> tuple[PoolResult, Pairwise]:
    """Ask whatever is open, keep every answer, and sum up what there is now. The store must be held by the caller."""
    with closing(PreferenceLog(store.folder)) as log:
        before = read_preferences(store.folder)
        for repair in log.repairs:
            write_notice(f"outweigh: {repair}\n", sys.stderr)
        askable = [judge for judge in judges if judge.name in available.backends]
        arms = (sides.baseline, sides.candidate)
        pending = PendingPairs.of(store.finished(), arms, askable, task_materials(store.folder, judging))
        result = judge_pairs(
            pending.open_calls(before, retry_invalid=options.retry_invalid),
            store=log.append,
            context=make_judging_context(store, available, options),
            budget=make_judge_budget(judges, options.cap_usd, store),
            jobs=options.jobs,
            listen=options.listen,
        )
    answers = pending.answers(read_preferences(store.folder))
    set_aside = {**available.missing, **result.set_aside}
    return replace(result, set_aside=set_aside), compare_pairwise(answers, sides.baseline, sides.candidate)


def print_pairwise(result: PoolResult, pairwise: Pairwise, style: str) -> ExitCode:
    """Print the preferences; the exit code says whether every pair has a usable answer in both orders."""
    print_report(pairwise_report(pairwise, left_open=result.left_open, set_aside=result.set_aside), style)
    if result.stop in PAIRWISE_EXIT_CODES:
        return PAIRWISE_EXIT_CODES[result.stop]
    lacking = (
        result.left_open
        or result.set_aside
        or not pairwise.judges
        or any(judge.incomplete for judge in pairwise.judges)
    )
    return ExitCode.UNUSABLE_EVIDENCE if lacking else ExitCode.SATISFIED
