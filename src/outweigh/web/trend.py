"""Verdicts of the same comparison over time: the stores of one suite with the same baseline and candidate, and the
versions of that candidate in each.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from outweigh.store.arm_versions import ArmVersion, suite_arm
from outweigh.web.catalogue import ViewedStore
from outweigh.web.store_verdict import CandidateVerdict

MAX_TREND_POINTS = 12
"""The latest verdicts that a trend shows."""


@dataclass(frozen=True, slots=True)
class TrendPoint:
    """One verdict of a comparison, and the store that it is about."""

    store: ViewedStore
    verdict: CandidateVerdict

    def is_about(self, store: ViewedStore, candidate: str) -> bool:
        """Whether it is the verdict about this candidate of this store."""
        return self.store is store and self.verdict.name == candidate


class TrendTable:
    """The trends of all comparisons of some stores, each in the order in which the stores were run."""

    def __init__(self, stores: Sequence[ViewedStore]) -> None:
        self._points: dict[tuple[str, str, str], list[TrendPoint]] = {}
        for store in sorted(stores, key=lambda store: (latest_start(store), store.name)):
            experiment, verdict = store.index.experiment(), store.known_verdict()
            if experiment is None or verdict is None or verdict.baseline is None:
                continue
            versions = experiment.versions
            for candidate in sorted((*verdict.earlier, *verdict.candidates), key=partial(_version, versions)):
                key = experiment.suite, verdict.baseline, suite_arm(candidate.name, versions)
                self._points.setdefault(key, []).append(TrendPoint(store, candidate))

    def find(self, store: ViewedStore, candidate: str) -> Sequence[TrendPoint]:
        """The verdicts of a candidate up to that of this store, which is last."""
        experiment, verdict = store.index.experiment(), store.known_verdict()
        if experiment is None or verdict is None or verdict.baseline is None:
            return ()
        key = experiment.suite, verdict.baseline, suite_arm(candidate, experiment.versions)
        points = self._points.get(key, [])
        own = (number for number, point in enumerate(points, 1) if point.is_about(store, candidate))
        place = next(own, 0)
        return points[max(0, place - MAX_TREND_POINTS) : place]


def _version(versions: Mapping[str, ArmVersion], candidate: CandidateVerdict) -> int:
    return versions[candidate.name].number if candidate.name in versions else 1


def latest_start(store: ViewedStore) -> float:
    """When the last run of a store was started; 0 if no run says so."""
    return store.summary.current().total.latest or 0.0
