"""The verdict of a store as pages show it: the decision, the sentence, the reason and the trend of each candidate."""

from collections.abc import Iterator, Sequence

from outweigh.report.formatting import escape_controls, format_change, format_points
from outweigh.verdict.decision import Decision
from outweigh.web.catalogue import ViewedStore
from outweigh.web.markup import Child, Html, element, escape_lines, escape_text, join_markup, link
from outweigh.web.pages.layout import badge, store_path
from outweigh.web.store_verdict import CandidateVerdict
from outweigh.web.trend import TrendPoint, TrendTable

MAX_CANDIDATES = 6
"""Candidates of one store on the first page; its own page has all of them."""

MAX_SHORT_EFFECTS = 5
"""The latest effects, written beside the drawing."""

_ORDER = (Decision.IMPROVED, Decision.TRADE_OFF, Decision.REGRESSED, Decision.NEUTRAL, Decision.INCONCLUSIVE)
_SPACING, _HALF_HEIGHT = 26, 15
_MARK_CLASSES = {"improved": "ow-better", "regressed": "ow-worse", "neutral": "ow-neutral"}


def verdict_blocks(store: ViewedStore, trends: TrendTable, most: int | None = None) -> Iterator[Child]:
    """Every candidate of a store; without a verdict, why there is none."""
    verdict = store.verdict()
    if verdict is None:
        yield element("p", badge("deciding"), " The verdict is being computed.", data_pending=True)
        return
    if verdict.problem is not None:
        yield element("p", badge("no verdict"), " ", escape_lines(verdict.problem), class_="problem")
    for candidate in sorted(verdict.candidates, key=lambda each: _ORDER.index(each.decision))[:most]:
        yield _candidate(candidate, verdict.baseline or "", trends.find(store, candidate.name))
    if most is not None and len(verdict.candidates) > most:
        yield element("p", link(f"{len(verdict.candidates) - most} more candidates", store_path(store)))


def _candidate(candidate: CandidateVerdict, baseline: str, trend: Sequence[TrendPoint]) -> Html:
    told = candidate.sentence or candidate.reason
    reason = candidate.reason if candidate.sentence else ""
    promotion = "May be promoted." if candidate.may_promote else ""
    return element(
        "div",
        element(
            "p",
            badge(candidate.decision.words),
            " ",
            element("b", candidate.name),
            element("span", f" against {baseline}", class_="quiet"),
        ),
        element("p", told, class_="lead") if told else None,
        element("p", " ".join(filter(None, (_as_sentence(reason), promotion))), class_="quiet"),
        _trend(trend),
        class_="verdict",
    )


def _as_sentence(text: str) -> str:
    return f"{text[0].upper()}{text[1:].rstrip('.')}." if text else ""


def _trend(points: Sequence[TrendPoint]) -> Html | None:
    """The effect of every verdict so far; None if this is the first."""
    if len(points) < 2:
        return None
    shown = ", ".join(f"{_effect(point)} ({point.verdict.decision.words})" for point in points)
    drawing = _draw_trend(points, f"Change of the pass rate, oldest first: {shown}")
    line = ", ".join(map(_short_effect, points[-MAX_SHORT_EFFECTS:])) + " points"
    links = join_markup(
        element(
            "li",
            link(_effect(point), store_path(point.store), None, title=f"{point.store.name}, {point.verdict.name}"),
            f" {point.verdict.decision.words}",
        )
        for point in points
    )
    return element(
        "details",
        element("summary", "Trend ", drawing, f" {line}"),
        element("ol", links, class_="trend"),
    )


def _effect(point: TrendPoint) -> str:
    return "unknown" if point.verdict.effect is None else format_points(point.verdict.effect)


def _short_effect(point: TrendPoint) -> str:
    return "unknown" if point.verdict.effect is None else format_change(point.verdict.effect)


def _draw_trend(points: Sequence[TrendPoint], title: str) -> Html:
    """A mark for every verdict above or below the line of no change, with the interval of the effect."""
    ends = [abs(end) for point in points for end in _ends(point.verdict)]
    scale = _HALF_HEIGHT / max([*ends, 0.01])
    width, height = _SPACING * len(points), 2 * _HALF_HEIGHT + 12
    middle = height / 2
    marks = [_mark(point.verdict, _SPACING * (place + 0.5), middle, scale) for place, point in enumerate(points)]
    line = f'<line class="ow-line" x1="0" x2="{width}" y1="{middle}" y2="{middle}"/>'
    return Html(
        f'<svg class="ow-chart sparkline" role="img" width="{width}" height="{height}" viewBox="0 0 {width} {height}">'
        f"<title>{escape_text(escape_controls(title))}</title>{line}{''.join(marks)}</svg>"
    )


def _ends(verdict: CandidateVerdict) -> list[float]:
    return [end for end in (verdict.effect, verdict.low, verdict.high) if end is not None]


def _mark(verdict: CandidateVerdict, x: float, middle: float, scale: float) -> str:
    if verdict.effect is None:
        return f'<circle class="ow-open" cx="{x}" cy="{middle}" r="3"/>'
    kind = _MARK_CLASSES.get(verdict.decision.value, "ow-unknown")
    parts = []
    if verdict.low is not None and verdict.high is not None:
        low, high = middle - scale * verdict.low, middle - scale * verdict.high
        parts.append(f'<line class="{kind}" x1="{x}" x2="{x}" y1="{low:.1f}" y2="{high:.1f}"/>')
    parts.append(f'<circle class="{kind}" cx="{x}" cy="{middle - scale * verdict.effect:.1f}" r="4"/>')
    return "".join(parts)
