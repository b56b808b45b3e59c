"""How the runs of a store are spread, arm by arm, as the report draws it; drawn again when the store has changed."""

from threading import Lock

from outweigh.report.charts.strips import Strip, strip_chart
from outweigh.report.charts.ticks import dollar_tick, second_tick
from outweigh.report.wording import dollars, seconds
from outweigh.web.markup import Html
from outweigh.web.store_index import StoreIndex
from outweigh.web.store_summary import KeptSummary, StoreSummary

MOST_ARMS = 8
"""Of more arms a drawing would tell nothing."""


class KeptSpread:
    """Drawings of a store's durations and costs. What comes from the records was escaped by who drew it."""

    def __init__(self, index: StoreIndex, summary: KeptSummary) -> None:
        self._index, self._summary = index, summary
        self._version = -1
        self._drawn: tuple[Html, ...] = ()
        self._drawing = Lock()

    def now(self) -> tuple[Html, ...]:
        """The current ones; none where nothing is known, or too many arms are."""
        with self._drawing:
            if self._version != self._index.version:
                self._version = self._index.version
                self._drawn = tuple(_drawings(self._summary.now(), self._index.baseline()))
            return self._drawn


def _drawings(summary: StoreSummary, baseline: str | None) -> list[Html]:
    """The baseline first, for that is what charts show in grey."""
    arms = sorted(summary.arms.items(), key=lambda arm: (arm[0] != baseline, arm[0]))
    if not 0 < len(arms) <= MOST_ARMS:
        return []
    times = [
        Strip(name=name, values=tally.durations, unknown=tally.runs - len(tally.durations)) for name, tally in arms
    ]
    costs = [Strip(name=name, values=tally.costs, unknown=tally.runs - len(tally.costs)) for name, tally in arms]
    drawn = []
    if all(strip.values for strip in times):
        drawn.append(Html(strip_chart("Duration of every run", times, seconds, second_tick)))
    if all(strip.values for strip in costs):
        drawn.append(Html(strip_chart("Cost of every run", costs, dollars, dollar_tick)))
    return drawn
