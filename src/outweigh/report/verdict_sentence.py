"""A verdict in plain sentences: how much more often the candidate passes, what that takes, and how likely it is."""

from collections.abc import Iterator, Sequence

from outweigh.compare.comparison import Comparison
from outweigh.report.comparison_tables import format_chance, total_evidence
from outweigh.report.formatting import without_negative_zero
from outweigh.verdict.decision import Decision, Gate, GateEvidence, Verdict
from outweigh.verdict.evidence_settings import COST_OF_PASS, JUDGE_SCORE, PASS_RATE

COST = "cost"

_RESOURCE_WORDS = {
    COST: ("costs", "more per run", "less per run"),
    "duration": ("takes", "more time", "less time"),
    "non_cache_tokens": ("uses", "more tokens", "fewer tokens"),
    COST_OF_PASS: ("pays", "more for a pass", "less for a pass"),
}


def effect_sentences(verdict: Verdict, comparison: Comparison) -> str:
    """What the candidate does to passes and to the bill, with 90 % intervals; empty where nothing was tested.

    Other resources are told of where no cost is known. An effect whose interval has both signs is told as the range
    that it is.
    """
    clauses = [
        clause
        for gate in verdict.gates
        if gate.evidence is not None
        and _is_told(gate, verdict.gates)
        and (clause := _clause(gate.name, gate.evidence, comparison.baseline.name)) is not None
    ]
    if not clauses:
        return ""
    return " ".join([f"{comparison.candidate.name} {_join(clauses)}.", *_price(verdict), *_chances(verdict.gates)])


def _is_told(gate: Gate, gates: Sequence[Gate]) -> bool:
    if gate.name in (PASS_RATE, JUDGE_SCORE, COST):
        return True
    return all(one.name != COST or one.evidence is None or one.evidence.effect is None for one in gates)


def _clause(name: str, evidence: GateEvidence, baseline: str) -> str | None:
    if name == PASS_RATE:
        return _describe(
            "passes", evidence, (f"points more often than {baseline}", f"points less often than {baseline}")
        )
    if name == JUDGE_SCORE:
        return _describe("is judged", evidence, (f"points better than {baseline}", f"points worse than {baseline}"))
    if name not in _RESOURCE_WORDS:
        return None
    verb, more, less = _RESOURCE_WORDS[name]
    return _describe(verb, total_evidence(evidence) or evidence, (f"% {more}", f"% {less}"))


def _describe(verb: str, evidence: GateEvidence, units: tuple[str, str]) -> str | None:
    """`passes 12 points more often than plain (4 to 20)`, or `costs between 6 % less and 8 % more per run`."""
    effect, low, high = evidence.effect, evidence.low, evidence.high
    if effect is None:
        return None
    if low is None or high is None:
        return f"{verb} {_size(effect)} {units[effect < 0]} (no interval)"
    if low < 0 < high:
        less = " ".join(units[1].split()[:2]) if units[1].startswith("points") else f"% {units[1].split()[1]}"
        return f"{verb} between {_size(low)} {less} and {_size(high)} {units[0]}"
    near, far = sorted((abs(low), abs(high)))
    return f"{verb} {_size(effect)} {units[effect < 0]} ({_size(near)} to {_size(far)})"


def _size(share: float) -> str:
    """A number without its sign, with a decimal only where it is small."""
    size = abs(100 * share)
    return f"{size:.0f}" if size >= 9.95 else f"{size:.1f}".removesuffix(".0")


def _join(clauses: Sequence[str]) -> str:
    *first, last = clauses
    return f"{', '.join(first)} and {last}" if first else last


def _price(verdict: Verdict) -> Iterator[str]:
    """What one more solved task costs, where dollars go up and so do passes, beyond doubt or as a trade-off says."""
    price = verdict.break_even
    if price is None or price.usd is None or not price.usd > 0:
        return
    if price.low is not None and price.high is not None:
        span = f"{_dollars(price.low)} to {_dollars(price.high)}"
    elif verdict.decision is Decision.TRADE_OFF:
        span = "unbounded: the pass rates may be equal"
    else:
        return
    yield f"One more solved task costs {_dollars(price.usd)} ({span})."


def _dollars(amount: float) -> str:
    return without_negative_zero(f"{'-' if amount < 0 else ''}${abs(amount):,.2f}")


def _chances(gates: Sequence[Gate]) -> Iterator[str]:
    for gate in gates:
        if gate.evidence is None or gate.name not in (PASS_RATE, JUDGE_SCORE):
            continue
        chances = gate.evidence.chances
        if chances.better is not None and chances.worse_beyond_margin is not None:
            yield (
                f"{gate.name.replace('_', ' ').capitalize()}, without prior knowledge: "
                f"{format_chance(chances.better)} likely better; "
                f"{format_chance(chances.worse_beyond_margin)} likely worse by more than "
                f"{100 * gate.evidence.margin:g} points."
            )
