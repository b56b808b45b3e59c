"""Draws the pictures of docs/statistics.md and ARCHITECTURE.md: `python docs/pictures/make.py` writes them again.

Measured numbers are read from docs/calibration.md, intervals are computed by outweigh itself. Every picture brings its
own light background, so it reads the same on a dark page; the colours are Okabe and Ito's, safe for colour-blind eyes.
"""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from xml.sax.saxutils import escape

import numpy as np

from outweigh.stats.estimate import Interval, Unit
from outweigh.stats.means import all_zero_bound, mean_interval
from outweigh.stats.power import effect_by_normal, tabulate_detectable_effects
from outweigh.stats.sequential import confidence_path
from outweigh.stats.variance import VarianceComponents

HERE = Path(__file__).resolve().parent
BLUE, ORANGE, GREEN, GREY = "#0072B2", "#D55E00", "#009E73", "#767676"
INK, PAPER, BAND = "#222222", "#FCFCFA", "#E8EEF3"
WIDTH = 720

Point = tuple[float, float]


class Picture:
    """A canvas that collects SVG elements."""

    def __init__(self, title: str, height: int) -> None:
        self._title = title
        self._height = height
        self._elements: list[str] = []
        self.rectangle(0.5, 0.5, WIDTH - 1, height - 1, fill=PAPER, stroke="#BBBBBB", corner=8)
        self.text(24, 36, title, size=18, weight="bold")

    def text(
        self,
        x: float,
        y: float,
        words: str,
        *,
        size: int = 14,
        weight: str = "normal",
        anchor: str = "start",
        fill: str = INK,
    ) -> None:
        """Write one line."""
        self._elements.append(
            f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size}" font-weight="{weight}" text-anchor="{anchor}" '
            f'fill="{fill}">{escape(words)}</text>'
        )

    def line(self, start: Point, end: Point, *, stroke: str = INK, width: float = 1.5, dash: str = "none") -> None:
        """Draw a straight line."""
        self._elements.append(
            f'<line x1="{start[0]:.1f}" y1="{start[1]:.1f}" x2="{end[0]:.1f}" y2="{end[1]:.1f}" stroke="{stroke}" '
            f'stroke-width="{width}" stroke-dasharray="{dash}"/>'
        )

    def curve(self, points: Sequence[Point], *, stroke: str, width: float = 2.5, dash: str = "none") -> None:
        """Join points."""
        places = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
        self._elements.append(
            f'<polyline points="{places}" fill="none" stroke="{stroke}" stroke-width="{width}" '
            f'stroke-linejoin="round" stroke-dasharray="{dash}"/>'
        )

    def area(self, points: Sequence[Point], *, fill: str) -> None:
        """Fill the inside of points."""
        places = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
        self._elements.append(f'<polygon points="{places}" fill="{fill}"/>')

    def circle(self, x: float, y: float, radius: float, *, fill: str = INK, stroke: str = INK) -> None:
        """Draw a dot."""
        self._elements.append(
            f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{radius:g}" fill="{fill}" stroke="{stroke}" stroke-width="1.5"/>'
        )

    def rectangle(
        self, x: float, y: float, width: float, height: float, *, fill: str, stroke: str = "none", corner: float = 0
    ) -> None:
        """Draw a box."""
        self._elements.append(
            f'<rect x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}" rx="{corner:g}" fill="{fill}" '
            f'stroke="{stroke}"/>'
        )

    def interval(self, low: float, point: float, high: float, y: float, *, stroke: str = INK) -> None:
        """Draw an interval with its point and end marks."""
        self.line((low, y), (high, y), stroke=stroke, width=3)
        for end in (low, high):
            self.line((end, y - 7), (end, y + 7), stroke=stroke, width=3)
        self.circle(point, y, 5.5, fill=stroke, stroke=stroke)

    def svg(self) -> str:
        """The whole file."""
        return "\n".join(
            [
                f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {self._height}" width="{WIDTH}" '
                f'height="{self._height}" role="img" font-family="Helvetica, Arial, sans-serif">',
                f"<title>{escape(self._title)}</title>",
                *self._elements,
                "</svg>\n",
            ]
        )


class Axes:
    """Where numbers are on the canvas."""

    def __init__(self, x: tuple[float, float], y: tuple[float, float], box: tuple[float, float, float, float]) -> None:
        self._x, self._y = x, y
        self.left, self.top, self.right, self.bottom = box

    def at(self, x: float, y: float) -> Point:
        """The place of a pair of numbers; what is too high or too low sticks to the edge."""
        across = (x - self._x[0]) / (self._x[1] - self._x[0])
        up = (min(max(y, self._y[0]), self._y[1]) - self._y[0]) / (self._y[1] - self._y[0])
        return self.left + across * (self.right - self.left), self.bottom - up * (self.bottom - self.top)

    def draw(self, picture: Picture, x_ticks: Mapping[float, str], y_ticks: Mapping[float, str], name: str) -> None:
        """Draw grid lines, labels and the name of the horizontal axis."""
        for value, label in y_ticks.items():
            _, y = self.at(self._x[0], value)
            picture.line((self.left, y), (self.right, y), stroke="#DDDDDD", width=1)
            picture.text(self.left - 8, y + 5, label, anchor="end", size=13)
        for value, label in x_ticks.items():
            x, _ = self.at(value, self._y[0])
            picture.line((x, self.bottom), (x, self.bottom + 5), width=1)
            picture.text(x, self.bottom + 21, label, anchor="middle", size=13)
        picture.line((self.left, self.bottom), (self.right, self.bottom), width=1)
        picture.text((self.left + self.right) / 2, self.bottom + 42, name, anchor="middle", size=13)


def tasks_are_the_unit() -> str:
    """Six tasks, five repeats: thirty runs per arm, but six observations."""
    before = ("11111", "11101", "10110", "01000", "00000", "11111")
    after = ("11111", "11111", "11111", "11110", "00000", "10000")
    picture = Picture("Repeats of a task share its luck: one number per task", 392)
    for x, heading in ((150, "baseline, 5 runs"), (320, "candidate, 5 runs"), (490, "delta of the task")):
        picture.text(x, 68, heading, size=13, fill=GREY)
    deltas = []
    for row, (old, new) in enumerate(zip(before, after, strict=True)):
        y = 94 + 30 * row
        picture.text(40, y + 5, f"task {row + 1}")
        for start, runs in ((158, old), (328, new)):
            for place, run in enumerate(runs):
                picture.circle(start + 24 * place, y, 7, fill=BLUE if run == "1" else PAPER, stroke=BLUE)
        deltas.append((new.count("1") - old.count("1")) / 5)
        words = f"{100 * deltas[-1]:+.0f} points".replace("-", "−").replace("+0 ", "0 ")
        picture.text(580, y + 5, words, anchor="end")
    pairs = [
        float(int(b) - int(a)) for old, new in zip(before, after, strict=True) for a, b in zip(old, new, strict=True)
    ]
    _two_ways_to_count(picture, deltas, pairs)
    picture.text(
        40,
        376,
        "Filled: passed. The 30 pairs of runs look precise, because they repeat six stories.",
        size=13,
        fill=GREY,
    )
    return picture.svg()


def _two_ways_to_count(picture: Picture, deltas: list[float], pairs: list[float]) -> None:
    axes = Axes((-60, 60), (0, 1), (270, 290, 690, 340))
    zero, _ = axes.at(0, 0)
    picture.line((zero, 276), (zero, 346), stroke=GREY, dash="4 4")
    picture.text(zero, 360, "0", anchor="middle", size=12, fill=GREY)
    for values, words, y, colour in (
        (pairs, "as 30 pairs: too narrow", 296, ORANGE),
        (deltas, "as 6 tasks: honest", 328, BLUE),
    ):
        point, span = _estimate(values)
        picture.text(40, y + 5, words, weight="bold", fill=colour)
        low, middle, high = (axes.at(100 * value, 0)[0] for value in (span.low, point, span.high))
        picture.interval(low, middle, high, y, stroke=colour)


def _estimate(values: list[float]) -> tuple[float, Interval]:
    estimate = mean_interval(values, level=0.95, unit=Unit.TASK)
    if estimate.point is None or estimate.interval is None:
        raise ValueError("the example has no interval")
    return estimate.point, estimate.interval


def intervals_and_margins() -> str:
    """Four decisions as four places of an interval."""
    picture = Picture("What an interval says about a margin of 5 points", 366)
    axes = Axes((-15, 15), (0, 1), (250, 70, 690, 300))
    (left, _), (zero, _), (right, _) = (axes.at(value, 0) for value in (-5, 0, 5))
    picture.rectangle(left, 62, right - left, 238, fill=BAND)
    for x, words in ((left, "−5"), (zero, "0"), (right, "+5")):
        picture.line((x, 62), (x, 300), stroke=GREY, width=1, dash="none" if x == zero else "5 4")
        picture.text(x, 320, words, anchor="middle", size=13)
    picture.text(zero, 344, "change of the pass rate, in points", anchor="middle", size=13)
    rows = (
        ("improved", "not worse by 5, and above 0", (1.5, 5.5, 9.5), GREEN),
        ("neutral", "inside both margins", (-3.2, -0.2, 2.8), BLUE),
        ("regressed", "below 0", (-11, -7, -3), ORANGE),
        ("inconclusive", "could be a loss or a gain", (-8.5, 1.5, 11.5), GREY),
        ("inconclusive", "no loss beyond 5, no gain shown", (-3.6, 2.6, 8.8), GREY),
    )
    for row, (decision, words, span, colour) in enumerate(rows):
        y = 86 + 48 * row
        picture.text(24, y, decision, weight="bold", fill=colour)
        picture.text(24, y + 18, words, size=13)
        low, point, high = (axes.at(value, 0)[0] for value in span)
        picture.interval(low, point, high, y + 4, stroke=colour)
    return picture.svg()


def two_populations() -> str:
    """All tasks like these, and the ones at hand."""
    dice = np.random.default_rng(7)
    picture = Picture("Two questions, two intervals", 352)
    places = _scattered(dice, 46)
    picture.rectangle(24, 58, 320, 270, fill=BAND, corner=12)
    picture.text(184, 82, "tasks like these", anchor="middle", fill=BLUE, weight="bold")
    picture.rectangle(96, 140, 176, 116, fill=PAPER, stroke=ORANGE, corner=10)
    picture.text(184, 160, "your suite", anchor="middle", fill=ORANGE, weight="bold")
    for x, y in places:
        inside = 90 < x < 278 and 134 < y < 262
        if not inside:
            picture.circle(x, y, 5, fill=PAPER, stroke=BLUE)
    for row in range(3):
        for column in range(5):
            picture.circle(124 + 30 * column, 184 + 25 * row, 6, fill=ORANGE, stroke=ORANGE)
    for y, colour, question, option, reach in (
        (100, BLUE, "Will it help on tasks like these?", "--infer tasks (the default)", 125),
        (230, ORANGE, "Did it help on this very suite?", "--infer runs", 62),
    ):
        picture.text(372, y, question, weight="bold", fill=colour)
        picture.text(372, y + 20, option, size=13)
        picture.interval(535 - reach, 535, 535 + reach, y + 46, stroke=colour)
    picture.text(372, 174, "counts the luck of which tasks you have", size=13, fill=GREY)
    picture.text(372, 192, "and the luck of every run", size=13, fill=GREY)
    picture.text(372, 304, "counts the luck of every run only, and", size=13, fill=GREY)
    picture.text(372, 322, "says nothing about other tasks", size=13, fill=GREY)
    return picture.svg()


def _scattered(dice: np.random.Generator, number: int) -> list[Point]:
    """Places in the large box that keep their distance from one another."""
    places: list[Point] = []
    while len(places) < number:
        x, y = float(dice.uniform(38, 330)), float(dice.uniform(100, 316))
        if all((x - a) ** 2 + (y - b) ** 2 > 22**2 for a, b in places):
            places.append((x, y))
    return places


def tasks_beat_repeats() -> str:
    """The smallest visible effect, by tasks and repeats."""
    picture = Picture("More tasks beat more repeats", 400)
    axes = Axes((0.5, 11), (0, 18), (84, 78, 560, 320))
    axes.draw(
        picture,
        {n: str(n) for n in (1, 3, 5, 10)},
        {n: str(n) for n in (0, 5, 10, 15)},
        "repeats of every task, per arm",
    )
    picture.text(24, 62, "smallest change of the pass rate that is found 4 times in 5, in points", size=13, fill=GREY)
    repeats = (1, 2, 3, 4, 5, 6, 7, 8, 9, 10)
    pilot = VarianceComponents(
        true_deltas=0.115, candidate_runs=0.06675, baseline_runs=0.06675, observed_deltas=None, tasks=80, warnings=()
    )
    table = 100 * tabulate_detectable_effects(pilot, (80, 200), repeats, detect=effect_by_normal)
    for tasks, effects, colour in ((80, table[0], ORANGE), (200, table[1], BLUE)):
        points = [axes.at(repeat, effect) for repeat, effect in zip(repeats, effects, strict=True)]
        picture.curve(points, stroke=colour)
        for place in (0, 2, 4, 9):
            picture.circle(*points[place], 5, fill=colour, stroke=colour)
        picture.text(points[-1][0] + 16, points[-1][1] + 5, f"{tasks} tasks", weight="bold", fill=colour)
    (x, y), (u, v) = axes.at(1, table[1, 0]), axes.at(10, table[0, 9])
    picture.text(x + 12, y - 8, f"200 × 1 = 200 runs: {table[1, 0]:.1f} points", size=13, fill=BLUE)
    picture.text(u + 8, v - 14, f"80 × 10 = 800 runs: {table[0, 9]:.1f} points", size=13, anchor="end", fill=ORANGE)
    picture.text(
        24, 386, "Variance of the tasks’ true deltas 0.115, of single runs 0.067 in each arm.", size=13, fill=GREY
    )
    return picture.svg()


def averages_promote_noise() -> str:
    """False decisions of three rules on identical arms."""
    rows = {row[3]: row for row in calibration_table("Rules without error rates") if row[:3] == [_EXACT, "20", "5"]}
    picture = Picture("Two identical arms: how often a rule still finds a winner", 300)
    picture.text(24, 62, "20 tasks, 5 repeats, nothing to find; per cent of experiments", size=13, fill=GREY)
    axes = Axes((0, 100), (0, 1), (270, 80, 620, 250))
    for row, (rule, cells) in enumerate(rows.items()):
        y = 82 + 52 * row
        improved, regressed = float(cells[4]), float(cells[5])
        (start, _), (middle, _), (end, _) = (axes.at(value, 0) for value in (0, improved, improved + regressed))
        picture.text(256, y + 21, rule, anchor="end")
        picture.rectangle(start, y, middle - start, 32, fill=BLUE)
        picture.rectangle(middle, y, end - middle, 32, fill=ORANGE)
        picture.text(end + 8, y + 21, f"{improved + regressed:.1f}", weight="bold")
    picture.line((270, 76), (270, 232), width=1)
    for x, colour, words in (
        (150, BLUE, "false “improved”: noise ships"),
        (400, ORANGE, "false “regressed”: noise blocks"),
    ):
        picture.rectangle(x, 254, 14, 14, fill=colour)
        picture.text(x + 20, 266, words, size=13)
    return picture.svg()


_EXACT = "identical arms, effects alike on all tasks"


def peeking() -> str:
    """The ordinary interval and the confidence sequence while tasks arrive."""
    deltas = np.random.default_rng(PEEKING_SEED).normal(0, 0.35, 100)
    picture = Picture("Peeking: one experiment without any difference", 420)
    axes = Axes((0, 100), (-40, 40), (84, 78, 690, 330))
    axes.draw(
        picture,
        {n: str(n) for n in range(0, 101, 20)},
        {n: f"{n:+d}".replace("-", "−").replace("+0", "0") for n in (-40, -20, 0, 20, 40)},
        "tasks so far",
    )
    picture.text(24, 62, "mean change so far with its 95 % interval, in points", size=13, fill=GREY)
    seen = list(range(8, 101))
    lows, highs = ((100 * path[7:]).tolist() for path in confidence_path(deltas, planned_tasks=100))
    fixed = [_estimate(deltas[:n].tolist()) for n in seen]
    bottom, top = [100 * span.low for _, span in fixed], [100 * span.high for _, span in fixed]
    outer = [*zip(seen, highs, strict=True), *reversed(list(zip(seen, lows, strict=True)))]
    picture.area([axes.at(*place) for place in outer], fill="#CFE3F0")
    for edge in (bottom, top):
        picture.curve([axes.at(*place) for place in zip(seen, edge, strict=True)], stroke=ORANGE, width=2)
    means = [100 * point for point, _ in fixed]
    picture.curve([axes.at(*place) for place in zip(seen, means, strict=True)], stroke=INK, width=2)
    picture.line(axes.at(0, 0), axes.at(100, 0), stroke=INK, width=1, dash="5 4")
    _mark_false_alarm(picture, axes, seen, bottom, top)
    return picture.svg()


PEEKING_SEED = 25


def _mark_false_alarm(picture: Picture, axes: Axes, seen: list[int], bottom: list[float], top: list[float]) -> None:
    alarms = [n for n, low, high in zip(seen, bottom, top, strict=True) if low > 0 or high < 0]
    for n in alarms:
        x, y = axes.at(n, 0)
        picture.circle(x, y, 3.5, fill=ORANGE, stroke=ORANGE)
    picture.rectangle(84, 388, 14, 14, fill="#CFE3F0")
    picture.text(104, 400, "confidence sequence: valid at all looks together", size=13)
    picture.line((430, 395), (450, 395), stroke=ORANGE, width=2)
    picture.text(458, 400, "ordinary interval; dots: excludes 0", size=13)


def all_passing() -> str:
    """How large a loss may hide behind tasks that all pass."""
    picture = Picture("Everything passes in both arms: what may still hide?", 400)
    axes = Axes((0, 120), (0, 30), (84, 78, 690, 320))
    axes.draw(
        picture,
        {n: str(n) for n in (0, 20, 40, 60, 80, 100, 120)},
        {n: str(n) for n in (0, 10, 20, 30)},
        "tasks, all passing in both arms",
    )
    picture.text(24, 62, "largest loss of pass rate that 5 % luck could hide, in points", size=13, fill=GREY)
    picture.curve([axes.at(tasks, 100 * all_zero_bound(tasks, 0.05)) for tasks in range(9, 121)], stroke=BLUE, width=3)
    picture.line(axes.at(0, 5), axes.at(120, 5), stroke=ORANGE, dash="6 4")
    picture.text(axes.right, axes.at(0, 5)[1] - 8, "margin: 5 points", anchor="end", fill=ORANGE)
    for tasks, shift in ((10, 0), (20, 0), (59, 0)):
        x, y = axes.at(tasks, 100 * all_zero_bound(tasks, 0.05))
        picture.circle(x, y, 5, fill=BLUE, stroke=BLUE)
        picture.text(x + 10 + shift, y - 8, f"{tasks} tasks: {100 * all_zero_bound(tasks, 0.05):.1f}", fill=BLUE)
    picture.text(
        24,
        386,
        "1 − 0.05^(1/T): with 59 tasks a loss of 5 points would have shown, 19 times in 20.",
        size=13,
        fill=GREY,
    )
    return picture.svg()


def flow() -> str:
    """From a suite to a report: what each step makes, and the package that does it."""
    picture = Picture("From a suite to a report", 330)
    rows = (
        (("Suite", "model"), ("Trial", "engine"), ("RunRecord", "store"), ("Judgment", "engine.judging")),
        (("Score", "score"), ("Comparison", "compare"), ("Verdict", "verdict"), ("Report", "report")),
    )
    verbs = (("plan", "attempt", "judge"), ("compare", "decide", "view"))
    for row, (boxes, steps) in enumerate(zip(rows, verbs, strict=True)):
        y = 76 + 118 * row
        for column, (name, package) in enumerate(boxes):
            x = 24 + 178 * column
            stored = name in ("RunRecord", "Judgment")
            picture.rectangle(x, y, 124, 56, fill=BAND, stroke=GREEN if stored else BLUE, corner=6)
            picture.text(x + 62, y + 25, name, weight="bold", anchor="middle")
            picture.text(x + 62, y + 45, f"{package}/", size=12, anchor="middle", fill=GREY)
        for column, step in enumerate(steps):
            x = 148 + 178 * column
            picture.line((x + 3, y + 28), (x + 50, y + 28))
            picture.area([(x + 54, y + 28), (x + 46, y + 24), (x + 46, y + 32)], fill=INK)
            picture.text(x + 27, y + 20, step, size=11, anchor="middle")
    picture.curve([(620, 132), (620, 163), (86, 163), (86, 186)], stroke=INK, width=1.5)
    picture.area([(86, 193), (82, 185), (90, 185)], fill=INK)
    picture.text(353, 158, "score, from here on by pure functions", size=12, anchor="middle")
    picture.text(24, 284, "Green: stored, and never changed. Blue: computed, so it can be computed again.", size=13)
    picture.text(24, 308, "app/ runs the steps; cli/, web/ and the Python API call app/.", size=13)
    return picture.svg()


def calibration_table(heading: str) -> list[list[str]]:
    """The rows of a table of docs/calibration.md."""
    page = (HERE.parent / "calibration.md").read_text()
    section = next(part for part in page.split("\n## ") if part.startswith(heading))
    lines = [line for line in section.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[2:]]


PICTURES: dict[str, Callable[[], str]] = {
    "1-task-is-the-unit": tasks_are_the_unit,
    "2-intervals-and-margins": intervals_and_margins,
    "3-two-populations": two_populations,
    "4-tasks-beat-repeats": tasks_beat_repeats,
    "5-averages-promote-noise": averages_promote_noise,
    "6-peeking": peeking,
    "7-all-passing": all_passing,
    "flow": flow,
}


def main() -> None:
    """Write every picture."""
    for name, draw in PICTURES.items():
        (HERE / f"{name}.svg").write_text(draw())


if __name__ == "__main__":
    main()
