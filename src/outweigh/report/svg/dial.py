"""The dial: a needle for the change, an arc for its interval, and the margins around no change."""

from math import cos, pi, sin

from msgspec import Struct

from outweigh.report.interval_rows import ChangeMarker
from outweigh.report.svg.elements import svg_document, text_element, titled_element

WIDTH, HEIGHT = 340, 208
CENTRE_X, CENTRE_Y, RADIUS = 170.0, 158.0, 118.0

Span = tuple[float, float]


class Dial(Struct, frozen=True, kw_only=True):
    """One gate's change, oriented so that more is better. `word` is the decision, `figures` what is written below."""

    word: str
    name: str
    label: str
    mark: ChangeMarker
    point: float
    interval: Span | None
    band: Span
    band_labels: tuple[str, str]
    description: str


def draw_dial(title: str, dial: Dial) -> str:
    """Half a circle: worse on the left, the margin around the top, better on the right."""
    low, high = (dial_angle(end, dial.band) for end in dial.band)
    outer, inner = RADIUS, RADIUS - 20
    zones = [
        _arc(-90, low, outer, 16, "ow-worse", "worse, beyond the margin", opacity=0.45),
        _arc(low, high, outer, 16, "ow-ink", f"within the margin: {' to '.join(dial.band_labels)}", opacity=0.2),
        _arc(high, 90, outer, 16, "ow-better", "better, beyond the margin", opacity=0.45),
    ]
    # The dial has a size of its own, and is scaled as a whole where there is less room.
    body = "\n".join([*zones, *_labels(dial, low, high), *_interval(dial, inner), *_needle(dial, inner)])
    canvas = f'<svg width="100%" height="{HEIGHT}" viewBox="0 0 {WIDTH} {HEIGHT}">{body}</svg>'
    return svg_document(title, HEIGHT, [canvas])


def dial_angle(benefit: float, band: Span) -> float:
    """Degrees from the top, the margin half-way down at the most: however large a change is, it has a place."""
    edge = max(map(abs, band))
    times = benefit / edge
    return 90 * times / (1 + abs(times))


def _labels(dial: Dial, low: float, high: float) -> list[str]:
    parts = []
    for degrees, description in ((low, dial.band_labels[0]), (0.0, "0"), (high, dial.band_labels[1])):
        x, y = _point_at(degrees, RADIUS + 14)
        anchor = "middle" if degrees == 0 else "end" if degrees < 0 else "start"
        parts.append(_label(description, x, y, anchor, "ow-small"))
        start, end = _point_at(degrees, RADIUS - 8), _point_at(degrees, RADIUS + 8)
        parts.append(
            titled_element(
                "line", f"margin {description}", class_="ow-zero", x1=start[0], y1=start[1], x2=end[0], y2=end[1]
            )
        )
    parts.append(_label("worse", 4, CENTRE_Y + 4, "start", "ow-small"))
    parts.append(_label("better", WIDTH - 4, CENTRE_Y + 4, "end", "ow-small"))
    parts.append(_label(dial.word, CENTRE_X, CENTRE_Y + 26, "middle", "ow-big"))
    parts.append(_label(f"{dial.name} {dial.label}", CENTRE_X, CENTRE_Y + 44, "middle", ""))
    return parts


def _interval(dial: Dial, radius: float) -> list[str]:
    if dial.interval is None:
        return []
    low, high = (dial_angle(end, dial.band) for end in dial.interval)
    return [_arc(low, high, radius, 9, f"ow-{dial.mark.value}", dial.description)]


def _needle(dial: Dial, radius: float) -> list[str]:
    x, y = _point_at(dial_angle(dial.point, dial.band), radius + 4)
    needle = titled_element(
        "line", dial.description, class_="ow-ink", x1=CENTRE_X, y1=CENTRE_Y, x2=x, y2=y, stroke_width=3
    )
    hub = titled_element("circle", dial.description, class_="ow-ink", cx=CENTRE_X, cy=CENTRE_Y, r=5)
    return [needle, hub]


def _arc(
    start: float, end: float, radius: float, width: float, kind: str, description: str, opacity: float = 1.0
) -> str:
    (x1, y1), (x2, y2) = _point_at(start, radius), _point_at(end, radius)
    path = f"M{x1:.2f} {y1:.2f}A{radius:g} {radius:g} 0 0 1 {x2:.2f} {y2:.2f}"
    return titled_element(
        "path", description, class_=f"{kind} ow-arc", d=path, stroke_width=width, stroke_opacity=opacity
    )


def _point_at(degrees: float, radius: float) -> tuple[float, float]:
    turned = degrees * pi / 180
    return CENTRE_X + radius * sin(turned), CENTRE_Y - radius * cos(turned)


def _label(description: str, x: float, y: float, anchor: str, kind: str) -> str:
    return text_element(description, x=f"{x:.2f}", y=y, anchor=anchor, kind=kind)
