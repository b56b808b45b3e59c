"""A verdict in one plain sentence: how much more often the candidate passes, what that takes, and what a pass costs.

Every number has a unit that people use. What noise explains is told as the range that it is.
"""

import re
from collections.abc import Iterator, Sequence

from outweigh.compare.comparison import Comparison
from outweigh.report.comparison_tables import total_evidence
from outweigh.report.formatting import MOST_NAME_CHARACTERS, format_change, format_dollars
from outweigh.report.json_output import never_passes
from outweigh.verdict.decision import Decision, GateEvidence, Verdict
from outweigh.verdict.evidence_settings import COST_OF_PASS, GATED_METRICS, JUDGE_SCORE, PASS_RATE, gate_title
from outweigh.verdict.worth import pass_cost_change

COST = "cost"

_QUALITY_WORDS = {PASS_RATE: ("passes", "more often", "less often"), JUDGE_SCORE: ("is judged", "better", "worse")}
_RESOURCE_WORDS = {
    COST: ("costs", "for", "more per run", "less per run", "the same per run"),
    "duration": ("takes", "in", "more time", "less time", "the same time"),
    "non_cache_tokens": ("uses", "with", "more tokens", "fewer tokens", "as many tokens"),
    COST_OF_PASS: ("pays", "at", "more for a pass", "less for a pass", "the same for a pass"),
}
"""The verb that stands alone, the preposition after a quality, the two directions, and no change."""


_NAMES = "|".join(sorted(GATED_METRICS, key=len, reverse=True))
_GATE_NAME = re.compile(rf"(?<![\w,=-])(?<!--gates )({_NAMES})(?![\w,=])")
"""The name of a gate in a sentence, and not as the value of an option."""


def effect_sentence(verdict: Verdict, comparison: Comparison, *, mark_simulated: bool = True) -> str:
    """`new passes 58 points more often (41 to 72) for 16 % more per run; a pass costs 63 % less.`

    Intervals are of 90 %. Other resources are told of where no cost is known. Empty where nothing was tested. A page
    that says elsewhere that costs are simulated does not have it marked here.
    """
    known = {
        gate.name: gate.evidence
        for gate in verdict.gates
        if gate.evidence is not None and gate.evidence.effect is not None
    }
    quality = [_quality(name, known[name]) for name in _QUALITY_WORDS if name in known]
    resources = [name for name in _RESOURCE_WORDS if name in known and (name == COST or COST not in known)]
    alone = not quality
    spent = [_resource(name, total_evidence(known[name]) or known[name], alone=alone) for name in resources]
    if not (quality or spent):
        return ""
    comma = "," if any(" between " in clause for clause in quality) else ""
    parts = [f"{join_words(quality)}{comma}"] if quality and spent else quality
    name = comparison.candidate.name
    who = name if len(name) <= MOST_NAME_CHARACTERS else "the candidate"
    said = " ".join([who, *parts, *([join_words(spent)] if spent else [])])
    marked = mark_simulated and comparison.simulated and (COST in known or COST_OF_PASS in known)
    note = " (costs are simulated)" if marked else ""
    return "; ".join([said, *_price_of_a_pass(comparison, known)]) + f"{note}."


def break_even_sentence(verdict: Verdict, comparison: Comparison) -> str | None:
    """What one more solved task costs, where dollars go up and so do passes, beyond doubt or as a trade-off says."""
    price = verdict.break_even
    if comparison.simulated or price is None or price.usd is None or not price.usd > 0:
        return None
    if price.low is not None and price.high is not None:
        span = f"{format_dollars(price.low)} to {format_dollars(price.high)}"
    elif verdict.decision is Decision.TRADE_OFF:
        span = "no upper limit: the pass rates may be equal"
    else:
        return None
    return f"one more solved task costs {format_dollars(price.usd)} ({span})"


def with_gate_titles(text: str) -> str:
    """A sentence with gates called as people call them; options keep the names that they take."""
    return _GATE_NAME.sub(lambda found: gate_title(found[1]), text)


def join_words(words: Sequence[str]) -> str:
    """`a`, `a and b`, or `a, b and c`."""
    *first, last = words
    return f"{', '.join(first)} and {last}" if first else last


def _quality(name: str, evidence: GateEvidence) -> str:
    """`passes 12 points more often (4 to 20)`, or `passes between 8 points less and 22 points more often`."""
    verb, more, less = _QUALITY_WORDS[name]
    effect, low, high = evidence.effect or 0.0, evidence.low, evidence.high
    direction = less if effect < 0 else more
    if low is None or high is None:
        return f"{verb} {_points(effect)} {direction} (no interval)"
    if low == high == 0:
        return "passes equally often" if name == PASS_RATE else "is judged equally good"
    if low < 0 < high:
        return f"{verb} between {_points(low)} {less.split()[0]} and {_points(high)} {more}"
    near, far = sorted((abs(low), abs(high)))
    return f"{verb} {_points(effect)} {direction} ({_size(near)} to {_size(far)})"


def _resource(name: str, evidence: GateEvidence, *, alone: bool) -> str:
    """`for 16 % more per run` after a quality; `costs 16 % more per run (12 to 20)` alone."""
    verb, preposition, more, less, same = _RESOURCE_WORDS[name]
    start = verb if alone else preposition
    effect, low, high = evidence.effect or 0.0, evidence.low, evidence.high
    if low is not None and high is not None and low < 0 < high:
        return f"{start} between {_size(low)} % {less.split()[0]} and {_size(high)} % {more}"
    if _size(effect) == "0":
        return f"{start} {same}"
    said = f"{start} {_size(effect)} % {less if effect < 0 else more}"
    if alone and low is not None and high is not None:
        near, far = sorted((abs(low), abs(high)))
        return f"{said} ({_size(near)} to {_size(far)})"
    return said


def _price_of_a_pass(comparison: Comparison, known: dict[str, GateEvidence]) -> Iterator[str]:
    """What a pass costs, where noise does not explain the difference; who never passes has no price."""
    for arm in (comparison.baseline, comparison.candidate):
        if PASS_RATE in known and never_passes(arm):
            yield f"{arm.name} never passes"
    if PASS_RATE not in known or COST not in known:
        return
    price = pass_cost_change(comparison.baseline_table, comparison.candidate_table)
    if price is not None and not price.low <= 0 <= price.high and _size(price.change) != "0":
        yield f"a pass costs {_size(price.change)} % {'less' if price.change < 0 else 'more'}"


def _points(share: float) -> str:
    size = _size(share)
    return f"{size} point" if size == "1" else f"{size} points"


def _size(share: float) -> str:
    """A change in points or percent without its sign."""
    return format_change(share, signed=False)
