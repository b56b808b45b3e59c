"""What `outweigh verdict` prints by default: the answer on one screen. `--verbose` prints the whole page instead."""

from collections.abc import Iterator, Sequence

from outweigh.compare.comparison import Comparison
from outweigh.compare.scan_summary import describe_findings
from outweigh.report.comparison_tables import format_gate, gate_blocks
from outweigh.report.document import Block, BulletList, Heading, KeyPoints, Report
from outweigh.report.figures.gates import brief_gate_figures
from outweigh.report.verdict_page import DECISION_TONES, verdict_headline, verdicts_headline
from outweigh.report.verdict_sentence import effect_sentence
from outweigh.verdict.decision import Decision, PolicySource, Verdict
from outweigh.verdict.evidence_settings import WORTH
from outweigh.verdict.promotion import may_promote

MOST_BRIEF_REASONS = 6
MOST_POINT_CHARACTERS = 160
"""About two lines of a screen."""


def verdicts_summary(verdicts: Sequence[Verdict], comparisons: Sequence[Comparison], source: PolicySource) -> Report:
    """One screen for one candidate; a part of a screen for each of several."""
    parts = [_parts(*pair, source) for pair in zip(verdicts, comparisons, strict=True)]
    closing = KeyPoints(rows=tuple(_closing(verdicts)))
    if len(parts) == 1:
        heading, blocks = parts[0]
        first, last = blocks[:-1], blocks[-1]
        points = KeyPoints(rows=(*last.rows, *closing.rows)) if isinstance(last, KeyPoints) else closing
        return Report(headline=heading.title, tone=heading.tone, lead=heading.lead, blocks=(*first, points), payload={})
    line, tone = verdicts_headline(verdicts, comparisons[0].baseline.name)
    every = [block for heading, blocks in parts for block in (heading, *blocks)]
    return Report(headline=line, tone=tone, blocks=(*every, closing), payload={})


def _parts(verdict: Verdict, comparison: Comparison, source: PolicySource) -> tuple[Heading, list[Block]]:
    heading = Heading(
        title=verdict_headline(verdict, comparison, source),
        tone=DECISION_TONES[verdict.decision],
        lead=effect_sentence(verdict, comparison),
    )
    figures = brief_gate_figures(verdict.gates)
    points = KeyPoints(rows=tuple(_points(verdict, comparison)))
    if figures:
        return heading, [*figures, points]
    # A literal rule has no intervals to draw: its reasons and its two figures per gate are the answer.
    reasons = verdict.reasons[:MOST_BRIEF_REASONS]
    why = BulletList(title="Why", items=reasons, tone=DECISION_TONES[verdict.decision])
    return heading, [why, *gate_blocks(verdict.gates, comparison), points]


def _points(verdict: Verdict, comparison: Comparison) -> Iterator[tuple[str, str]]:
    tested = any(gate.evidence is not None for gate in verdict.gates)
    if tested and (why := _why(verdict)):
        yield why
    for gate in verdict.gates:
        if gate.name == WORTH and gate.evidence is not None:
            change, span, _ = format_gate(gate.evidence)
            yield "Worth", f"{change} per task ({span}): {gate.state.words}"
    yield "Promotion", _shorten(_promotion(verdict, comparison))
    if (findings := describe_findings(comparison.scans)) is not None:
        yield "Findings", f"{findings}; see --verbose"
    if verdict.warnings:
        first, *others = verdict.warnings
        yield "Warning", _shorten(first) + (f" And {len(others)} more." if others else "")
    if step := _next_step(verdict):
        yield "Next", step


def _why(verdict: Verdict) -> tuple[str, str] | None:
    if verdict.decision is Decision.INCONCLUSIVE:
        obstacle = verdict.in_the_way.detail if verdict.in_the_way is not None else _first(verdict.reasons)
        return "Undecided", _shorten(obstacle)
    return ("Why", _shorten(_first(verdict.reasons))) if verdict.reasons else None


def _first(reasons: Sequence[str]) -> str:
    return reasons[0] if reasons else "nothing was tested"


def _promotion(verdict: Verdict, comparison: Comparison) -> str:
    if may_promote(verdict, comparison.evidence_sha256):
        return "allowed"
    verdict_itself = () if verdict.decision is Decision.IMPROVED else (f"the candidate is {verdict.decision.words}.",)
    reasons = (*verdict_itself, *(item.detail for item in verdict.regressions), *verdict.blockers)
    first, *others = dict.fromkeys(reasons) or ("the records have changed since the verdict.",)
    return f"refused: {first}" + (f" And {len(others)} more." if others else "")


def _next_step(verdict: Verdict) -> str:
    match verdict.decision:
        case Decision.IMPROVED:
            limits = _tolerances(verdict)
            return f"mind what is not ruled out: {limits}" if limits else ""
        case Decision.TRADE_OFF:
            return "say what one solved task is worth to you (--value USD), and the trade-off is settled by it"
        case Decision.REGRESSED:
            return "look at the runs that got worse (`outweigh view`), fix the candidate and run it again"
        case Decision.NEUTRAL:
            return "nothing to ship; keep the baseline, or choose by something else than these gates"
        case Decision.INCONCLUSIVE:
            # How the number was found stands in parentheses at its end, which is left to the whole page.
            return "" if verdict.needs is None else f"to decide, you would need {verdict.needs.detail.split(' (')[0]}"


def _tolerances(verdict: Verdict) -> str:
    """Which resources may have grown, and by how much, although the candidate is called improved."""
    if verdict.policy_version == 1:
        return ""
    limits: dict[float, list[str]] = {}
    for gate in verdict.gates:
        if gate.evidence is not None and gate.evidence.tolerance is not None:
            limits.setdefault(gate.evidence.tolerance, []).append(gate.name)
    return "; ".join(f"{', '.join(names)} up to {100 * limit:g} % more" for limit, names in limits.items())


def _closing(verdicts: Sequence[Verdict]) -> Iterator[tuple[str, str]]:
    """What all candidates share: what the answer applies to, and where the rest is."""
    scope = next((reason for reason in verdicts[0].reasons if reason.startswith("applies to ")), None)
    if scope is not None:
        yield "Applies to", scope.removeprefix("applies to ").removesuffix("; valid for one look at the data")
    yield "More", "all figures, all warnings, and how firm the decision is: --verbose"


def _shorten(text: str) -> str:
    """So much of a sentence as two lines hold."""
    if len(text) <= MOST_POINT_CHARACTERS:
        return text
    return f"{text[: MOST_POINT_CHARACTERS - 2].rsplit(' ', 1)[0]} …"
