"""Choose the arms that inheriting arms are built on, and check that a store's choices still follow from its records.

A choice rests on the lines that the store's files had when it was made, and on the costs that the records themselves
state, so that neither later records nor other price lists change it.
"""

from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime
from math import isclose
from pathlib import Path
from typing import NamedTuple

import msgspec

from outweigh.compare.choose_best import BestArm, ComparedCandidate, choose_best, choosing_runs
from outweigh.compare.evidence import Evidence, gather
from outweigh.errors import EvidenceError, quote_names
from outweigh.model.choice import ChoiceCandidate, ChoiceRecord
from outweigh.model.codec import LocatedRecord
from outweigh.model.evidence_hash import evidence_sha256_v1
from outweigh.model.judgment import Judgment
from outweigh.model.pricing import PriceTables
from outweigh.model.run_record import RunRecord
from outweigh.model.tiers import InheritSpec
from outweigh.store.choice_file import CHOICES_FILE, choices_by_arm, read_choices
from outweigh.store.experiment_file import ExperimentFile
from outweigh.store.store import Store
from outweigh.store.store_files import record_files
from outweigh.store.store_set import StoreSet

_RESTORE = "Restore the store from a backup, or run into another folder with -o."


def make_choice(
    folder: Path,
    experiment: ExperimentFile,
    arm: str,
    inherit: InheritSpec,
    choosing_repeats: Mapping[str, int],
) -> ChoiceRecord:
    """Choose from what the store holds now; `choosing_repeats` has the candidates and their last repeat for choosing.

    The fingerprint of the inheriting arm is left to the caller, who builds it. The same choice holds for every arm that
    asks for the same.
    """
    lines = {file.name: _count_lines(file) for file in record_files(folder) if file.name != CHOICES_FILE}
    set_aside = tuple(each.task for each in experiment.quarantine)
    evidence = _read_evidence(folder, lines, choosing_repeats, set_aside)
    best = _choose(evidence, choosing_repeats, inherit)
    return ChoiceRecord(
        arm=arm,
        inherit=inherit,
        chosen=best.chosen,
        reason=best.reason,
        fingerprint=None,
        candidates=tuple(
            ChoiceCandidate(
                arm=each.arm,
                tier=experiment.tiers[each.arm],
                fingerprint=experiment.arms[each.arm],
                runs=each.runs,
                value=each.value,
                problem=each.problem,
                is_close=each.is_close,
                tokens=each.tokens,
                cost_usd=each.cost_usd,
                evidence_sha256=_evidence_hash(evidence, each.arm),
            )
            for each in best.candidates
        ),
        choosing_repeats=dict(choosing_repeats),
        lines=lines,
        chosen_at=datetime.now(UTC),
        quarantine=set_aside,
    )


def check_choices(store: Store) -> None:
    """Refuse a store whose choices no longer follow from its records, and say what has changed."""
    folder, experiment = store.folder, store.experiment
    if folder is None or experiment is None:
        return
    choices = choices_by_arm(read_choices(folder))
    for arm in experiment.inherits:
        if arm in experiment.arms and (arm not in choices or choices[arm].chosen is None):
            raise EvidenceError(
                f"{folder}: {arm!r} was built, and {CHOICES_FILE} does not say on which arm. {_RESTORE}"
            )
    made_again: dict[bytes, _MadeAgain] = {}
    for choice in choices.values():
        # Arms that inherit from the same tiers by the same rule share what they were chosen by.
        basis = msgspec.json.encode((choice.inherit, choice.candidates, choice.lines, choice.quarantine))
        if basis not in made_again:
            made_again[basis] = _choose_again(folder, choice)
        for change in _changes(experiment, choice, *made_again[basis]):
            raise EvidenceError(f"{folder / CHOICES_FILE}: {change}. {_RESTORE}")


class _MadeAgain(NamedTuple):
    """What the records of a choice say, and which arm they lead to."""

    evidence: Evidence | None
    best: BestArm


def _choose_again(folder: Path, choice: ChoiceRecord) -> _MadeAgain:
    # In the order of the candidates, which decides where nothing else does; that of keys is not kept.
    repeats = {each.arm: choice.choosing_repeats.get(each.arm, 0) for each in choice.candidates}
    evidence = _read_evidence(folder, choice.lines, repeats, choice.quarantine)
    return _MadeAgain(evidence, _choose(evidence, repeats, choice.inherit))


def _changes(
    experiment: ExperimentFile, choice: ChoiceRecord, evidence: Evidence | None, best: BestArm
) -> Iterator[str]:
    """What no longer fits a choice."""
    arm = choice.arm
    if experiment.inherits.get(arm) != choice.inherit:
        yield f"the choice for {arm!r} was made by other settings of inherit than the store has now"
    if choice.inherit.held_out and (reported := _reported_candidates(experiment, choice)):
        yield f"the choice for {arm!r}: the repeats of {quote_names(reported, 5)} that it was made by are not set aside"
    if choice.fingerprint is not None and experiment.arms.get(arm, choice.fingerprint) != choice.fingerprint:
        yield f"{arm!r} is not the arm that was built on {choice.chosen!r}"
    changed = [each.arm for each in choice.candidates if _evidence_hash(evidence, each.arm) != each.evidence_sha256]
    if changed:
        yield f"the choice for {arm!r} rests on runs or judgments of {quote_names(changed, 5)} that have changed since"
    if best.chosen != choice.chosen:
        yield (
            f"the choice for {arm!r} is {_or_none(choice.chosen)}, and its records lead to {_or_none(best.chosen)} "
            f"({best.reason})"
        )
    if [each.arm for each in best.candidates] != [each.arm for each in choice.candidates]:
        yield f"the choice for {arm!r} lists other candidates than those that its records lead to"
        return
    for now, then in zip(best.candidates, choice.candidates, strict=True):
        if not _is_same(now, then) or experiment.arms.get(then.arm) != then.fingerprint:
            yield f"what the choice for {arm!r} says about {then.arm!r} is not what its records say"


def _reported_candidates(experiment: ExperimentFile, choice: ChoiceRecord) -> list[str]:
    """Candidates whose repeats for choosing are not those that the store leaves out of its figures."""
    arms = (each.arm for each in choice.candidates)
    return [arm for arm in arms if experiment.choosing_repeats.get(arm) != choice.choosing_repeats.get(arm)]


def _is_same(now: ComparedCandidate, then: ChoiceCandidate) -> bool:
    """Sums may differ in their last digit on another machine."""
    exact = (now.arm, now.runs, now.problem, now.is_close) == (then.arm, then.runs, then.problem, then.is_close)
    pairs = ((now.value, then.value), (now.tokens, then.tokens), (now.cost_usd, then.cost_usd))
    return exact and all(_is_close(one, other) for one, other in pairs)


def _is_close(one: float | None, other: float | None) -> bool:
    return one is other if one is None or other is None else isclose(one, other, rel_tol=1e-9, abs_tol=1e-12)


def _or_none(arm: str | None) -> str:
    return "no arm" if arm is None else repr(arm)


def _choose(evidence: Evidence | None, repeats: Mapping[str, int], inherit: InheritSpec) -> BestArm:
    return choose_best(choosing_runs({} if evidence is None else evidence.arms, repeats), inherit)


def _evidence_hash(evidence: Evidence | None, arm: str) -> str:
    return evidence_sha256_v1(() if evidence is None else evidence.digests.get(arm, ()))


def _read_evidence(
    folder: Path, lines: Mapping[str, int], arms: Iterable[str], set_aside: Iterable[str]
) -> Evidence | None:
    """What these lines say about these arms; None where they hold no run of them."""
    wanted, left_out = set(arms), set(set_aside)
    runs: list[LocatedRecord] = []
    judgments: list[LocatedRecord] = []
    for file in record_files(folder):
        if lines.get(file.name):
            for located in Store.open(file).records(lambda _: None):
                record = located.record
                if located.line > lines[file.name]:
                    break
                if isinstance(record, Judgment):
                    judgments.append(located)
                elif isinstance(record, RunRecord) and record.trial.arm in wanted:
                    runs += [located] if record.trial.task_id not in left_out else []
    if not runs:
        return None
    names = {located.record.run_id for located in runs if isinstance(located.record, RunRecord)}
    about = [each for each in judgments if isinstance(each.record, Judgment) and each.record.run_id in names]
    rules = StoreSet([Store.open(folder)]).judge_rules()
    return gather([*runs, *about], prices=PriceTables(), judge_rules=rules)


def _count_lines(file: Path) -> int:
    with file.open("rb") as stream:
        return sum(1 for line in stream if line.endswith(b"\n"))
