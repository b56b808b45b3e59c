"""What `outweigh verdict` prints by default: the answer on one screen. `--verbose` prints the whole page instead.

One candidate has its decision, a sentence, its gates as bars, why it is not more, and the next command. Several have a
table first, and a few lines each.
"""

from collections.abc import Iterable, Iterator, Sequence

from msgspec import Struct
from msgspec.structs import replace

from outweigh.compare.comparison import Comparison
from outweigh.compare.scan_summary import describe_findings
from outweigh.compare.setup_use import SERVER, SKILL
from outweigh.report.comparison_tables import format_gate, gate_blocks, total_evidence
from outweigh.report.correction_lines import describe_correction
from outweigh.report.document import Block, BulletList, KeyPoints, Report, Table
from outweigh.report.formatting import UNKNOWN, shorten_name
from outweigh.report.gate_bars import gate_bars
from outweigh.report.next_step import NextStep, VerdictCommand, next_step, unjudged_runs
from outweigh.report.quarantine_lines import describe_quarantine
from outweigh.report.setup_use_lines import describe_use
from outweigh.report.verdict_page import DECISION_TONES, verdicts_headline
from outweigh.report.verdict_sentence import break_even_sentence, effect_sentence, join_words, with_gate_titles
from outweigh.verdict.decision import Decision, Gate, Verdict
from outweigh.verdict.evidence_settings import PASS_RATE, WORTH, gate_title
from outweigh.verdict.promotion import may_promote

SCREEN_WIDTH, SCREEN_HEIGHT = 100, 24
MOST_BRIEF_REASONS = 6
MOST_DESCRIBED_CANDIDATES = 4
"""More candidates get one line each."""
NARROW_WIDTH = 96
SHORTEST_NAME = 8
APPLIES_TO = "applies to "
"""How the reason begins that says which tasks a verdict is about."""


class KeyPoint(Struct, frozen=True, kw_only=True):
    """One labelled sentence; a command below it, and how many lines of the sentence there is room for."""

    label: str
    text: str
    command: str | None = None
    lines: int | None = None


def key_points(points: Iterable[KeyPoint]) -> KeyPoints:
    """The points as a block of a page."""
    points = list(points)
    return KeyPoints(
        rows=tuple((point.label, point.text) for point in points),
        commands={point.label: point.command for point in points if point.command is not None},
        most_lines={point.label: point.lines for point in points if point.lines is not None},
    )


class Screen(Struct, frozen=True, kw_only=True):
    """How wide the screen is, and which command asked for the verdict."""

    command: VerdictCommand
    width: int = SCREEN_WIDTH


def verdicts_summary(verdicts: Sequence[Verdict], comparisons: Sequence[Comparison], screen: Screen) -> Report:
    """One screen, for one candidate or for several of one baseline."""
    if len(verdicts) == 1:
        return _one_candidate(verdicts[0], comparisons[0], screen)
    return _several_candidates(verdicts, comparisons, screen)


def _one_candidate(verdict: Verdict, comparison: Comparison, screen: Screen) -> Report:
    bars = gate_bars(verdict.gates, comparison, screen.width)
    points = key_points(_points(verdict, comparison, screen))
    blocks: list[Block] = [*bars, points]
    if not bars:
        # A literal rule has no intervals to draw: its reasons and its two figures per gate are the answer.
        wording = () if verdict.seed_wording == verdict.decision.value else (verdict.seed_wording,)
        reasons = (*wording, *map(with_gate_titles, verdict.reasons[:MOST_BRIEF_REASONS]))
        why = BulletList(title="Why", items=reasons, tone=DECISION_TONES[verdict.decision])
        blocks = [why, *gate_blocks(verdict.gates, comparison), points]
    return Report(
        headline=_headline(verdict, comparison, screen.width),
        tone=DECISION_TONES[verdict.decision],
        lead=effect_sentence(verdict, comparison),
        blocks=tuple(blocks),
        payload={},
    )


def _headline(verdict: Verdict, comparison: Comparison, width: int) -> str:
    """The decision about whom, and how large the experiment is; long names are shortened to fit the screen."""
    rule = "" if verdict.policy == "evidence" else f", policy {verdict.policy}"
    start, end = f"{verdict.decision.words.upper()}  ", f" ({_size(comparison)}{_pretended(comparison)}){rule}"
    names = comparison.candidate.name, comparison.baseline.name
    space = width - len(start) - len(" against ") - len(end)
    if sum(map(len, names)) > space:
        names = (
            shorten_name(names[0], max(SHORTEST_NAME, space // 2)),
            shorten_name(names[1], max(SHORTEST_NAME, space // 2)),
        )
    return f"{start}{' against '.join(names)}{end}"


def _size(comparison: Comparison) -> str:
    """`12 tasks × 5 repeats`, or tasks and runs where not all tasks have as many."""
    tasks = len(comparison.tasks)
    counts = {*comparison.tasks.baseline.runs.tolist(), *comparison.tasks.candidate.runs.tolist()}
    shape = f"{tasks:,} {'task' if tasks == 1 else 'tasks'}"
    if len(counts) == 1:
        repeats = counts.pop()
        return f"{shape} × {repeats:,} {'repeat' if repeats == 1 else 'repeats'}"
    return f"{shape}, {comparison.baseline.runs:,} and {comparison.candidate.runs:,} runs"


def _pretended(comparison: Comparison) -> str:
    return ", simulated agent" if comparison.simulated else ""


def outcome_points(verdict: Verdict, comparison: Comparison) -> Iterator[KeyPoint]:
    """Why, what it costs, whether the change was used, whether it may be promoted, and what to keep in mind."""
    tested = any(gate.evidence is not None for gate in verdict.gates)
    if tested or not verdict.reasons:
        yield KeyPoint(label="Why", text=decision_reason(verdict, comparison), lines=2)
    if (price := break_even_sentence(verdict, comparison)) is not None and verdict.decision is Decision.TRADE_OFF:
        yield KeyPoint(label="Price", text=price)
    yield from _worth(verdict.gates)
    if limits := _tolerances(verdict):
        yield KeyPoint(label="Not ruled out", text=limits, lines=1)
    yield from _use(comparison)
    yield KeyPoint(label="Promotion", text=_promotion(verdict, comparison), lines=2)
    if (findings := describe_findings(comparison.scans)) is not None:
        yield KeyPoint(label="Findings", text=findings, lines=1)
    if (set_aside := describe_quarantine(comparison.quarantine)) is not None:
        yield KeyPoint(label="Set aside", text=set_aside, lines=2)
    for correction in comparison.corrections:
        yield KeyPoint(label="Corrected", text=describe_correction(correction), lines=2)
    if verdict.warnings:
        yield KeyPoint(label="Warning", text=_first_of(verdict.warnings), lines=2)


def _points(verdict: Verdict, comparison: Comparison, screen: Screen) -> Iterator[KeyPoint]:
    yield from outcome_points(verdict, comparison)
    scope = next((reason for reason in verdict.reasons if reason.startswith(APPLIES_TO)), None)
    if scope is not None:
        yield KeyPoint(label="Applies to", text=scope.removeprefix(APPLIES_TO).split(";")[0], lines=1)
    yield from _closing(next_step(verdict, comparison, screen.command), screen)


def _closing(step: NextStep, screen: Screen) -> Iterator[KeyPoint]:
    whole = screen.command.again("--verbose")
    yield KeyPoint(label="Next", text=step.words, command=step.command)
    if step.command != whole:
        yield KeyPoint(label="More", text="every figure and warning: add --verbose")


def decision_reason(verdict: Verdict, comparison: Comparison) -> str:
    """What the decision rests on, or what keeps it from being made."""
    if unjudged_runs(verdict, comparison):
        return "the judges decide here, and not all runs have a judgment yet"
    if verdict.decision is Decision.INCONCLUSIVE and verdict.in_the_way is not None:
        return with_gate_titles(verdict.in_the_way.detail)
    return with_gate_titles(verdict.reasons[0]) if verdict.reasons else "nothing was tested"


def _use(comparison: Comparison) -> Iterator[KeyPoint]:
    """Whether the skills and servers that the candidate changes were used; those that were used least come first."""
    for kind, label in ((SKILL, "Skill"), (SERVER, "MCP server")):
        items = sorted(
            (item for item in comparison.changed_use if item.kind == kind), key=lambda item: item.share or 0.0
        )
        if items:
            more = f" (and {len(items) - 1} more)" if len(items) > 1 else ""
            yield KeyPoint(label=label, text=f"{describe_use(items[0])}{more}", lines=1)


def _worth(gates: Sequence[Gate]) -> Iterator[KeyPoint]:
    for gate in gates:
        if gate.name == WORTH and gate.evidence is not None:
            change, span, _ = format_gate(gate.evidence)
            yield KeyPoint(label="Worth", text=f"{change} per task ({span}): {gate.state.words}")


def _tolerances(verdict: Verdict) -> str:
    """Which resources may have grown, and by how much, although the candidate is called improved."""
    if verdict.policy_version == 1 or verdict.decision is not Decision.IMPROVED:
        return ""
    limits: dict[float, list[str]] = {}
    for gate in verdict.gates:
        if gate.evidence is not None and gate.evidence.tolerance is not None:
            limits.setdefault(gate.evidence.tolerance, []).append(gate_title(gate.name))
    return "; ".join(f"{join_words(names)} up to {100 * limit:g} % higher" for limit, names in limits.items())


def _promotion(verdict: Verdict, comparison: Comparison) -> str:
    if may_promote(verdict, comparison.evidence_sha256):
        return "allowed"
    verdict_itself = () if verdict.decision is Decision.IMPROVED else (f"the candidate is {verdict.decision.words}.",)
    reasons = (*verdict_itself, *(item.detail for item in verdict.regressions), *verdict.blockers)
    return (
        f"not allowed: {_first_of(tuple(dict.fromkeys(reasons)) or ('the records have changed since the verdict.',))}"
    )


def _first_of(sentences: Sequence[str]) -> str:
    first, *others = sentences
    return with_gate_titles(first.removesuffix(".")) + (f" (and {len(others)} more)" if others else "")


def _several_candidates(verdicts: Sequence[Verdict], comparisons: Sequence[Comparison], screen: Screen) -> Report:
    """A table, a few lines about each, and what all of them share."""
    pairs = sorted(zip(verdicts, comparisons, strict=True), key=lambda pair: MOST_PROMISING.index(pair[0].decision))
    headline, tone = verdicts_headline(verdicts, comparisons[0].baseline.name)
    size = f" ({_size(comparisons[0])}{_pretended(comparisons[0])})"
    described = key_points(_describe_candidate(*pair, brief=len(pairs) > MOST_DESCRIBED_CANDIDATES) for pair in pairs)
    return Report(
        headline=f"{headline}{size}",
        tone=tone,
        blocks=(_candidates_table(pairs, screen.width), described, key_points(_shared(pairs, screen))),
        payload={},
    )


def _describe_candidate(verdict: Verdict, comparison: Comparison, *, brief: bool) -> KeyPoint:
    """One candidate in a sentence, and why it is not more."""
    name = comparison.candidate.name
    said = effect_sentence(verdict, comparison, mark_simulated=False)
    said = said.removeprefix(f"{name} ").removeprefix("the candidate ")
    # The change that an improvement or a loss rests on is in the sentence already.
    complete = bool(said) and verdict.decision in (Decision.IMPROVED, Decision.REGRESSED) and not verdict.regressions
    why = "" if complete else f"{decision_reason(verdict, comparison).removesuffix('.')}."
    text = " ".join(f"{sentence[0].upper()}{sentence[1:]}" for sentence in (said, why) if sentence)
    return KeyPoint(label=shorten_name(name), text=text, lines=1 if brief else 3)


def _candidates_table(pairs: Sequence[tuple[Verdict, Comparison]], width: int) -> Table:
    gates = tuple(dict.fromkeys(gate.name for verdict, _ in pairs for gate in verdict.gates if gate.name != WORTH))
    if width < NARROW_WIDTH:
        gates = (gates[0], "cost") if "cost" in gates[1:] else gates[:2]
    return Table(
        title="",
        columns=("", "decision", *map(gate_title, gates), "promotion"),
        rows=tuple(
            (
                shorten_name(comparison.candidate.name),
                verdict.decision.words,
                *(_table_change(verdict, name) for name in gates),
                "allowed" if may_promote(verdict, comparison.evidence_sha256) else "not allowed",
            )
            for verdict, comparison in pairs
        ),
    )


def _table_change(verdict: Verdict, name: str) -> str:
    """The change of a gate, with its interval where it is the pass rate; the bare state where a rule measured none."""
    gate = next((gate for gate in verdict.gates if gate.name == name), None)
    if gate is None or gate.evidence is None:
        return "not gated" if gate is None else gate.state.words
    change, span, _ = format_gate(total_evidence(gate.evidence) or gate.evidence)
    return change if name != PASS_RATE or span == UNKNOWN else f"{change} ({span})"


def _shared(pairs: Sequence[tuple[Verdict, Comparison]], screen: Screen) -> Iterator[KeyPoint]:
    if not any(may_promote(verdict, comparison.evidence_sha256) for verdict, comparison in pairs):
        blockers = [why for verdict, _ in pairs if verdict.decision is Decision.IMPROVED for why in verdict.blockers]
        why = f": {blockers[0].split('. ')[0].removesuffix('.')}" if blockers else ""
        yield KeyPoint(label="Promotion", text=f"none is allowed{with_gate_titles(why)}", lines=1)
    warned = [(comparison.candidate.name, verdict.warnings) for verdict, comparison in pairs if verdict.warnings]
    if warned:
        number = sum(len(warnings) for _, warnings in warned)
        name, (first, *_) = warned[0]
        more = f" (and {number - 1} more)" if number > 1 else ""
        yield KeyPoint(label="Warning", text=f"{name}: {with_gate_titles(first.removesuffix('.'))}{more}", lines=2)
    best, comparison = pairs[0]
    if (set_aside := describe_quarantine(comparison.quarantine)) is not None:
        yield KeyPoint(label="Set aside", text=set_aside, lines=2)
    for correction in comparison.corrections:
        yield KeyPoint(label="Corrected", text=describe_correction(correction), lines=2)
    step = next_step(best, comparison, screen.command)
    yield from _closing(replace(step, words=f"{comparison.candidate.name}: {step.words}"), screen)


MOST_PROMISING = (Decision.IMPROVED, Decision.TRADE_OFF, Decision.INCONCLUSIVE, Decision.NEUTRAL, Decision.REGRESSED)
"""The most promising candidate stands first, and the next command is about it."""
