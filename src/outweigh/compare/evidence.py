"""Records gathered by arm: each trial once, each judgment with its run, everything hashed. Needs no numpy."""

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from datetime import date
from operator import attrgetter

from msgspec import Struct, field

from outweigh.compare.arm_ledger import ArmLedger, add_lines
from outweigh.compare.judge_calls import JoinedJudgments, JudgeCallFact, LocatedJudgment, join_judgments
from outweigh.compare.run_measures import ArmMeasures, RunMeasures
from outweigh.compare.run_scores import ScoredRuns
from outweigh.compare.setup_summary import SetupObserver, SetupSummary
from outweigh.errors import EvidenceError, OutweighError, UsageError, quote_names
from outweigh.model.codec import InvalidLine, LocatedRecord
from outweigh.model.corrections import CORRECTED_LABEL, CorrectionSummary
from outweigh.model.evidence_hash import EvidenceHash, evidence_sha256_v1
from outweigh.model.judgment import Judgment
from outweigh.model.pricing import PriceTables
from outweigh.model.run_record import (
    ARBITRARY_REPEAT,
    REPEAT_LABEL,
    NamedTier,
    RunRecord,
    Trial,
    named_policy_version,
    named_tier,
)
from outweigh.model.scan_result import RunKey, RunScan
from outweigh.model.suite import QuarantinedTask
from outweigh.model.task_list import TaskList
from outweigh.model.trigger_case import TRIGGER_LABEL
from outweigh.model.usage import Component
from outweigh.score.judge_scores import NO_JUDGE_RULES, JudgeRules
from outweigh.score.metrics import METRICS, Metric
from outweigh.score.objective import Change
from outweigh.score.resource_usage import ComponentShare
from outweigh.score.run_score import RunScorer, Score

SHOWN_LINES = 10
ARBITRARY_REPEATS = (
    "repeats were numbered when they were imported, so a pair of runs has only its task in common: "
    "trust what is said about tasks, not about pairs."
)


IsForChoosing = Callable[[str, Trial], bool]
"""Whether a run that is read from a file is only for choosing the arm that others are built on."""

_JUDGE_AGAIN = (
    "Run the chosen tasks again, or choose them with `outweigh suite prune --judge ARM`, which leaves that arm out of "
    "the choice."
)


class SetAsideTask(Struct, frozen=True, kw_only=True):
    """A task in quarantine, and how many runs of it the records hold, which count for nothing."""

    task: str
    reason: str
    since: date
    runs: int


class Evidence(Struct, frozen=True, kw_only=True):
    """Scores by arm in order of first appearance, with what was set aside on the way.

    `superseded` are attempts in whose place a later one stands: they count for nothing, and were paid for. `stale` are
    reused runs that are set aside, because fresh ones stand beside them; `unanchored` names arms that lack such runs,
    and says why that matters (compare/stale_runs.py). `scans` are what the scan for cheats found, by run. `quarantine`
    are the tasks whose runs are in none of the other fields, because the suite sets them aside. `choosing_arms` are
    those that have no run left, because the tasks were chosen by them. `named_tiers` are the tiers, with their names,
    that the runs of an arm say it is on: one, unless records contradict each other. `measures` are what is measured of
    runs and is no metric, by arm. `chosen_by` counts the runs of each arm that are in none of the other fields, because
    an inheriting arm was chosen by them (compare/held_out.py). `corrections` are what files of corrections did to the
    stores, and `selected` the hashes of those that chose which runs make up an arm, by arm. `ledgers` are the tokens
    that `components` are made of, and `unused_judgments` how many name no run, and how many another record of theirs.
    `triggers` are the runs of trigger cases, which say when a skill is used and not whether it helps; None where there
    are none, or no others.
    """

    arms: Mapping[str, Sequence[Score]]
    digests: Mapping[str, Sequence[bytes]]
    hashes: Mapping[str, EvidenceHash]
    changes: Mapping[str, Sequence[Change]]
    components: Mapping[str, Sequence[ComponentShare]]
    judging: Mapping[str, Sequence[JudgeCallFact]]
    judge_rules: JudgeRules
    skipped: Sequence[InvalidLine]
    warnings: tuple[str, ...]
    setups: Mapping[str, SetupSummary] = field(default_factory=dict)
    superseded: Mapping[str, Sequence[Score]] = field(default_factory=dict)
    stale: Mapping[str, Sequence[Score]] = field(default_factory=dict)
    unanchored: Mapping[str, str] = field(default_factory=dict)
    metrics: tuple[Metric, ...] = METRICS
    policy_versions: frozenset[int] = frozenset()
    scans: Mapping[RunKey, RunScan] = field(default_factory=dict)
    quarantine: tuple[SetAsideTask, ...] = ()
    choosing_arms: frozenset[str] = frozenset()
    named_tiers: Mapping[str, frozenset[NamedTier]] = field(default_factory=dict)
    measures: Mapping[str, ArmMeasures] = field(default_factory=dict)
    chosen_by: Mapping[str, int] = field(default_factory=dict)
    corrections: tuple[CorrectionSummary, ...] = ()
    selected: Mapping[str, frozenset[str]] = field(default_factory=dict)
    ledgers: Mapping[str, ArmLedger] = field(default_factory=dict)
    unused_judgments: tuple[int, int] = (0, 0)
    triggers: "Evidence | None" = None

    def arm(self, name: str) -> Sequence[Score]:
        """The scores of one arm; an unknown name is answered with the nearest one."""
        if name in self.choosing_arms:
            raise EvidenceError(
                f"the tasks were chosen by the runs of {name!r}, so these runs cannot judge it. {_JUDGE_AGAIN}"
            )
        if name not in self.arms:
            from difflib import get_close_matches  # noqa: PLC0415 - only needed for a mistake

            near = get_close_matches(name, self.arms, n=1)
            hint = f" Did you mean {near[0]!r}?" if near else ""
            raise UsageError(f"there is no arm {name!r}; the records hold {quote_names(self.arms, 10)}.{hint}")
        return self.arms[name]

    def judge_calls(self, names: Iterable[str]) -> Iterator[JudgeCallFact]:
        """Every judge call about these arms."""
        return (fact for name in names for fact in self.judging.get(name, ()))

    def sha256(self, *names: str) -> str:
        """The fingerprint of everything recorded about these arms."""
        return EvidenceHash.merged(self.hashes[name] for name in names).hexdigest()

    def sha256_v1(self, *names: str) -> str | None:
        """The same by version 1, which earlier releases sealed things with; None where digests are not kept singly."""
        if not self.digests:
            return None
        return evidence_sha256_v1(digest for name in names for digest in self.digests[name])


def gather(  # noqa: PLR0913 - one keyword for every reason to leave runs out
    records: Iterable[LocatedRecord],
    *,
    prices: PriceTables,
    changes: Iterable[Change] = (),
    skipped: Sequence[InvalidLine] = (),
    judge_rules: JudgeRules = NO_JUDGE_RULES,
    metrics: tuple[Metric, ...] = METRICS,
    quarantine: Sequence[QuarantinedTask] = (),
    task_list: TaskList | None = None,
    is_for_choosing: IsForChoosing | None = None,
) -> Evidence:
    """Score every run as it is read, keep the last attempt of each trial, and join the judgments.

    `metrics` is the table to score by; everything made of the evidence shows the metrics of this table. Runs of the
    tasks in `quarantine` are counted, and otherwise treated as if they had not been recorded. So are those of tasks
    that are not in the `task_list`, those that the list was chosen by, and those that are for choosing an arm.
    """
    chosen_by: dict[str, list[str]] = defaultdict(list)
    listed = _ListedRuns(task_list)
    set_aside: dict[str, list[str]] = {each.task: [] for each in quarantine}
    trials, cases = (_Trials(RunScorer(prices, metrics)) for _ in range(2))
    judgments: dict[str, list[LocatedJudgment]] = defaultdict(list)

    def counted_runs() -> Iterator[_ReadRun]:
        for located in records:
            record = located.record
            if isinstance(record, RunRecord):
                if (runs := set_aside.get(record.trial.task_id)) is not None:
                    runs.append(record.run_id)
                elif is_for_choosing is not None and is_for_choosing(located.source, record.trial):
                    chosen_by[record.trial.arm].append(record.run_id)
                elif listed.counts(record):
                    yield located, record
            elif isinstance(record, Judgment):
                judgments[record.run_id].append(LocatedJudgment(record, located.source, located.line))

    for batch in _in_batches(counted_runs()):
        (cases if _is_case(batch[0]) else trials).add(batch)
    if not trials.scores:
        trials, cases = cases, trials
    if not trials.scores:
        if any(set_aside.values()):
            raise EvidenceError(
                "all runs of the records are of tasks in quarantine, so there is nothing to compare. Take tasks out of "
                "[[quarantine]] in the suite and run it again."
            )
        if chosen_by:
            raise EvidenceError(
                "all runs of the records are for choosing which arm others are built on, so there is nothing to "
                "compare yet. Run the suite again to go on."
            )
        listed.refuse_empty()
        raise EvidenceError("the records hold no run; there is nothing to compare.")
    for run_id in (run_id for runs in (*set_aside.values(), *chosen_by.values(), listed.left_out) for run_id in runs):
        judgments.pop(run_id, None)
    joined = join_judgments(trials.scores, trials.digest_of, judgments, judge_rules)
    trials.take(joined)
    for arm, digests in cases.digests.items():
        trials.digests[arm].extend(digests)  # a verdict names the hash of everything that it could rest on
    arms, changed, ledgers = trials.by_arm(), changes_by_arm(changes), trials.ledgers()
    return Evidence(
        arms=arms,
        digests=trials.digests,
        hashes=_hashes(trials.digests),
        changes=changed,
        components={arm: ledger.breakdown(prices) for arm, ledger in ledgers.items()},
        ledgers=ledgers,
        judging=joined.facts,
        unused_judgments=(joined.orphans, joined.stale),
        judge_rules=judge_rules,
        # `skipped` fills while the records are read, so it is copied only now.
        skipped=tuple(skipped),
        warnings=(
            *gathering_notes(sum(map(len, trials.superseded.values())), skipped, changed.keys() - arms.keys()),
            *((ARBITRARY_REPEATS,) if trials.arbitrary_repeats else ()),
            *joined.warnings(),
            *listed.notes(arms),
            *_trigger_note(cases),
        ),
        triggers=None if not cases.scores else _trigger_evidence(cases, prices, metrics),
        setups=trials.setups(),
        superseded=trials.superseded,
        metrics=metrics,
        policy_versions=frozenset(trials.policy_versions),
        choosing_arms=frozenset(listed.choosing_arms - arms.keys()),
        named_tiers={arm: frozenset(tiers) for arm, tiers in trials.named_tiers.items()},
        measures=trials.measures(judgments),
        chosen_by={arm: len(set(runs)) for arm, runs in chosen_by.items()},
        selected={arm: frozenset(found) for arm, found in trials.selected.items()},
        quarantine=tuple(
            SetAsideTask(task=each.task, reason=each.reason, since=each.since, runs=len(set_aside[each.task]))
            for each in quarantine
        ),
    )


def _trigger_evidence(cases: "_Trials", prices: PriceTables, metrics: tuple[Metric, ...]) -> Evidence:
    """The runs of trigger cases by themselves; nobody judges them."""
    return Evidence(
        arms=cases.by_arm(),
        digests=cases.digests,
        hashes=_hashes(cases.digests),
        changes={},
        components={arm: ledger.breakdown(prices) for arm, ledger in cases.ledgers().items()},
        judging={},
        judge_rules=NO_JUDGE_RULES,
        skipped=(),
        warnings=(),
        setups=cases.setups(),
        superseded=cases.superseded,
        metrics=metrics,
    )


def _trigger_note(cases: "_Trials") -> Iterator[str]:
    if cases.scores:
        yield (
            f"{len(cases.scores)} runs of trigger cases count for the gates trigger_recall and false_triggers only; "
            "`outweigh suite triggers` shows them."
        )


_ReadRun = tuple[LocatedRecord, RunRecord]

_BATCH = 32
"""Runs that are scored together: enough to score them column by column, and so few that they stay in the processor's
cache, without which it takes twice as long.
"""


def _is_case(read: _ReadRun) -> bool:
    return TRIGGER_LABEL in read[1].extra


def _in_batches(runs: Iterable[_ReadRun]) -> Iterator[list[_ReadRun]]:
    """Runs in their order, a few at a time: of a batch, all are of trigger cases, or none.

    Where reading ends with an error, what came before is handed out first, because its own errors come first.
    """
    batch: list[_ReadRun] = []
    try:
        for read in runs:
            if batch and (len(batch) == _BATCH or _is_case(read) is not _is_case(batch[0])):
                yield batch
                batch = []
            batch.append(read)
    except OutweighError:
        if batch:
            yield batch
        raise
    if batch:
        yield batch


class _ListedRuns:
    """Which runs a list of tasks leaves: all where there is no list."""

    def __init__(self, task_list: TaskList | None) -> None:
        self._list = task_list
        self._tasks = frozenset(() if task_list is None else task_list.tasks)
        self._met: set[str] = set()
        self.left_out: list[str] = []
        self.choosing_arms: set[str] = set()

    def counts(self, run: RunRecord) -> bool:
        """Whether a run counts."""
        if self._list is None:
            return True
        listed, used = run.trial.task_id in self._tasks, self._list.chosen.used(run)
        if used:
            self.choosing_arms.add(run.trial.arm)
        if listed and not used:
            self._met.add(run.trial.task_id)
            return True
        self.left_out.append(run.run_id)
        return False

    def refuse_empty(self) -> None:
        """Say why nothing is left, where the list is the reason."""
        if self.left_out:
            raise EvidenceError(
                "no run is left to compare: the records hold none of the listed tasks, or only runs that the tasks "
                f"were chosen by. {_JUDGE_AGAIN}"
            )

    def notes(self, arms: Collection[str]) -> Iterator[str]:
        """What was left out."""
        if self._list is None:
            return
        yield self._list.chosen.describe(len(self._tasks))
        if unmet := len(self._tasks) - len(self._met):
            yield f"{unmet} of the {len(self._tasks)} listed tasks have no run in the records."
        if gone := sorted(self.choosing_arms - set(arms)):
            yield f"arms without any other run are left out: {quote_names(gone, 10)}."


class _Trials:
    """The runs read so far, one per (task, arm, repeat)."""

    def __init__(self, scorer: RunScorer) -> None:
        self._scorer = scorer
        self.scores: dict[tuple[str, str, int], Score] = {}
        self.digests: dict[str, list[bytes]] = defaultdict(list)
        self.digest_of: dict[tuple[str, str, int], bytes] = {}
        self.superseded: dict[str, list[Score]] = defaultdict(list)
        self.arbitrary_repeats = False
        self.policy_versions: set[int] = set()
        self.named_tiers: dict[str, set[NamedTier]] = defaultdict(set)
        self.selected: dict[str, set[str]] = defaultdict(set)
        self._observers: dict[str, SetupObserver] = defaultdict(SetupObserver)
        self._ledgers: dict[str, dict[Component, list[int]]] = defaultdict(dict)
        self._models: dict[str, set[str | None]] = defaultdict(set)
        self._measures: dict[str, RunMeasures] = defaultdict(RunMeasures)

    def add(self, batch: Sequence[_ReadRun]) -> None:
        """Add some runs that were read."""
        scores = self._scorer.score_all([located for located, _ in batch], [run for _, run in batch])
        by_arm: dict[str, list[RunRecord]] = {}
        for (located, run), score in zip(batch, scores, strict=True):
            arm, key, digest = score.arm, (score.task_id, score.arm, score.repeat), located.digest
            self.digests[arm].append(located.as_evidence(digest))
            if run.extra:
                self._note_labels(arm, run)
            if (earlier := self.scores.get(key)) is None or self._last_attempt(earlier, score) is score:
                self.scores[key] = score
                self.digest_of[key] = digest
            by_arm.setdefault(arm, []).append(run)
        for arm, runs in by_arm.items():
            counted = self._observers[arm].add(runs)
            if counted:
                self._measures[arm].add(counted)
                self._note_components(arm, [run for run in counted if run.components])

    def _note_components(self, arm: str, runs: Sequence[RunRecord]) -> None:
        if not runs:
            return
        self._models[arm].update([run.agent.model for run in runs])
        ledger = self._ledgers[arm]
        for run in runs:
            add_lines(ledger, run.components or ())

    def _note_labels(self, arm: str, run: RunRecord) -> None:
        if (corrections := run.extra.get(CORRECTED_LABEL)) is not None:
            self.selected[arm].add(str(corrections))
        self.arbitrary_repeats |= run.extra.get(REPEAT_LABEL) == ARBITRARY_REPEAT
        if (version := named_policy_version(run)) is not None:
            self.policy_versions.add(version)
        if (tier := named_tier(run)) is not None:
            self.named_tiers[arm].add(tier)

    def measures(self, judgments: Mapping[str, Iterable[LocatedJudgment]]) -> dict[str, ArmMeasures]:
        """Phases and tokens by component of every arm; judging takes as long as all judges of a run together."""
        for score in self.scores.values() if judgments else ():
            if score.counted and (answers := judgments.get(score.run_id)):
                spent = (answer.judgment.duration_seconds for answer in answers)
                self._measures[score.arm].add_judging(score.task_id, spent)
        return {arm: found.by_name() for arm, found in self._measures.items()}

    def setups(self) -> dict[str, SetupSummary]:
        """What was observed of every arm's set-up."""
        return {arm: observer.summary() for arm, observer in self._observers.items()}

    def ledgers(self) -> dict[str, ArmLedger]:
        """Where each arm's tokens went."""
        return {arm: ArmLedger.of(sums, self._models[arm]) for arm, sums in self._ledgers.items()}

    def _last_attempt(self, one: Score, other: Score) -> Score:
        first, last = sorted((one, other), key=lambda score: score.attempt)
        if first.attempt == last.attempt or first.counted:
            if one.place == other.place:
                raise EvidenceError(f"{one.place} is read twice: the same file is named more than once.")
            raise EvidenceError(
                f"task {one.task_id!r}, arm {one.arm!r}, repeat {one.repeat} is recorded twice: {one.place} and "
                f"{other.place}. Remove one, or number the repeats; only an infrastructure failure may be retried."
            )
        self.superseded[one.arm].append(first)
        return last

    def take(self, joined: JoinedJudgments) -> None:
        """Replace the scores of judged runs by those with judge scores."""
        self.scores.update(joined.scores)
        for arm, digests in joined.digests.items():
            self.digests[arm].extend(digests)

    def by_arm(self) -> dict[str, ScoredRuns]:
        """Arms as they appear, each in the order of its trials: no number may depend on which run finished first."""
        arms: dict[str, list[Score]] = defaultdict(list)
        for score in self.scores.values():
            arms[score.arm].append(score)
        return {arm: ScoredRuns(sorted(scores, key=attrgetter("task_id", "repeat"))) for arm, scores in arms.items()}


def _hashes(digests: Mapping[str, Sequence[bytes]]) -> dict[str, EvidenceHash]:
    return {arm: EvidenceHash.of(found) for arm, found in digests.items()}


def changes_by_arm(changes: Iterable[Change]) -> dict[str, list[Change]]:
    """The changes of every arm."""
    arms: dict[str, list[Change]] = defaultdict(list)
    for change in changes:
        arms[change.arm].append(change)
    return dict(arms)


def gathering_notes(retried: int, skipped: Sequence[InvalidLine], unknown_arms: Collection[str]) -> tuple[str, ...]:
    """What a reader must know about the lines that were read."""
    notes = []
    if retried:
        notes.append(f"{retried} attempts were superseded by a later attempt at the same trial.")
    if skipped:
        places = "; ".join(map(str, skipped[:SHOWN_LINES])) + ("; …" if len(skipped) > SHOWN_LINES else "")
        notes.append(f"{len(skipped)} lines could not be read and were skipped, so nothing is promoted: {places}.")
    if unknown_arms:
        notes.append(f"the changes file names {quote_names(sorted(unknown_arms))}, which the records do not hold.")
    return tuple(notes)
