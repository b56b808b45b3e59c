"""Verdicts of the same comparison over time: the stores of one suite with the same baseline and candidate."""

from collections.abc import Sequence
from dataclasses import dataclass

from outweigh.web.catalogue import ViewedStore
from outweigh.web.store_verdict import CandidateVerdict

MAX_TREND_POINTS = 12
"""The latest verdicts that a trend shows."""


@dataclass(frozen=True, slots=True)
class TrendPoint:
    """One verdict of a comparison, and the store that it is about."""

    store: ViewedStore
    verdict: CandidateVerdict


class TrendTable:
    """The trends of all comparisons of some stores, each in the order in which the stores were run."""

    def __init__(self, stores: Sequence[ViewedStore]) -> None:
        self._points: dict[tuple[str, str, str], list[TrendPoint]] = {}
        for store in sorted(stores, key=lambda store: (latest_start(store), store.name)):
            experiment, verdict = store.index.experiment(), store.known_verdict()
            if experiment is None or verdict is None or verdict.baseline is None:
                continue
            for candidate in verdict.candidates:
                key = experiment.suite, verdict.baseline, candidate.name
                self._points.setdefault(key, []).append(TrendPoint(store, candidate))

    def find(self, store: ViewedStore, candidate: str) -> Sequence[TrendPoint]:
        """The verdicts of a candidate up to that of this store, which is last."""
        experiment, verdict = store.index.experiment(), store.known_verdict()
        if experiment is None or verdict is None or verdict.baseline is None:
            return ()
        points = self._points.get((experiment.suite, verdict.baseline, candidate), [])
        place = next((number for number, point in enumerate(points, 1) if point.store is store), 0)
        return points[max(0, place - MAX_TREND_POINTS) : place]


def latest_start(store: ViewedStore) -> float:
    """When the last run of a store was started; 0 if no run says so."""
    return store.summary.current().total.latest or 0.0
