"""How far the judges of two arms can be trusted: with themselves, with each other, and with their own sums."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from outweigh.compare.pass_fact import PassFact
from outweigh.compare.unsigned import homes
from outweigh.record.voice import Voice, voice_of
from outweigh.score.judged import NOTABLE_GAP
from outweigh.stats.agreement import Scale, krippendorff_alpha
from outweigh.stats.estimate import Estimate
from outweigh.stats.quantity import Quantity, known, unknown

LEVEL = 0.95


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgeSummary:
    """One voice: how many answers it gave for each arm, how many could not be used, and how it adds up.

    Tries that another one replaced are in its cost and in nothing else.
    `notable_gaps` of `stated_totals` are further than .02 from the sum of their parts. `retest` is the agreement
    between its own passes over the same runs.
    """

    voice: Voice
    answers: Mapping[str, int]
    invalid: Mapping[str, int]
    flagged: int
    stated_totals: int
    notable_gaps: int
    mean_gap: float | None
    retest: Estimate
    cost_usd: Mapping[str, Quantity]


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgePanel:
    """All voices, and the agreement between them over the runs that they share."""

    judges: tuple[JudgeSummary, ...]
    agreement: Estimate
    cost_usd: Mapping[str, Quantity]


def judge_panel(arms: Mapping[str, Sequence[PassFact]], seed: int) -> JudgePanel | None:
    """Look at the judges of some arms; None where nobody judged."""
    voices: dict[Voice, dict[str, list[PassFact]]] = defaultdict(lambda: {arm: [] for arm in arms})
    for arm, facts in arms.items():
        for fact in facts:
            voices[voice_of(fact.judge)][arm].append(fact)
    if not voices:
        return None
    has_answered = {voice: any(not fact.invalid for fact in _flat(by_arm)) for voice, by_arm in voices.items()}
    for silent, voice in homes(has_answered).items():
        for arm, facts in voices.pop(silent).items():
            voices[voice][arm].extend(facts)
    ordered = sorted(voices.items(), key=lambda item: (item[0].name, item[0].sha256))
    return JudgePanel(
        judges=tuple(_summary(voice, by_arm, seed) for voice, by_arm in ordered),
        agreement=_agreement([_flat(by_arm) for _, by_arm in ordered], seed),
        cost_usd={arm: _cost(facts) for arm, facts in arms.items()},
    )


def _summary(voice: Voice, by_arm: Mapping[str, Sequence[PassFact]], seed: int) -> JudgeSummary:
    standing = {arm: [fact for fact in of_arm if not fact.replaced] for arm, of_arm in by_arm.items()}
    facts = _flat(standing)
    gaps = [abs(fact.gap) for fact in facts if fact.gap is not None]
    return JudgeSummary(
        voice=voice,
        answers={arm: len(of_arm) for arm, of_arm in standing.items()},
        invalid={arm: sum(fact.invalid for fact in of_arm) for arm, of_arm in standing.items()},
        flagged=sum(fact.flagged for fact in facts),
        stated_totals=len(gaps),
        notable_gaps=sum(round(gap, 9) > NOTABLE_GAP for gap in gaps),
        mean_gap=sum(gaps) / len(gaps) if gaps else None,
        retest=retest(facts, seed),
        cost_usd={arm: _cost(of_arm) for arm, of_arm in by_arm.items()},
    )


def retest(facts: Iterable[PassFact], seed: int) -> Estimate:
    """The agreement of a judge with itself: its passes as raters of the same runs."""
    passes: dict[int, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    for fact in facts:
        if fact.score is not None:
            passes[fact.pass_index][fact.run_id].append(fact.score)
    return _alpha([_means(rated) for _, rated in sorted(passes.items())], seed)


def _agreement(voices: Iterable[Iterable[PassFact]], seed: int) -> Estimate:
    """Voices as raters of the same runs, each with the mean of its passes."""
    raters = []
    for facts in voices:
        rated: dict[str, list[float]] = defaultdict(list)
        for fact in facts:
            if fact.score is not None:
                rated[fact.run_id].append(fact.score)
        raters.append(_means(rated))
    return _alpha(raters, seed)


def _means(rated: Mapping[str, Sequence[float]]) -> dict[str, float]:
    return {run_id: sum(scores) / len(scores) for run_id, scores in rated.items()}


def _alpha(raters: Sequence[Mapping[str, float]], seed: int) -> Estimate:
    runs = sorted({run_id for rated in raters for run_id in rated})
    matrix = np.array([[rated.get(run_id, np.nan) for run_id in runs] for rated in raters] or [[]], dtype=np.float64)
    return krippendorff_alpha(matrix, scale=Scale.ORDINAL, level=LEVEL, rng=np.random.default_rng(seed))


def total_cost(costs: Sequence[float | None]) -> Quantity:
    """What all answers cost; unknown as soon as one is."""
    priced = [cost for cost in costs if cost is not None]
    missing = len(costs) - len(priced)
    return unknown(f"{missing} of {len(costs)} answers have no known cost") if missing else known(sum(priced))


def _cost(facts: Sequence[PassFact]) -> Quantity:
    return total_cost([fact.cost_usd for fact in facts])


def _flat(by_arm: Mapping[str, Sequence[PassFact]]) -> list[PassFact]:
    return [fact for facts in by_arm.values() for fact in facts]
