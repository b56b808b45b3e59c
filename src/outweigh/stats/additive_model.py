"""Missing ratings from the additive model rating = item + rater, fitted by least squares."""

import numpy as np
from numpy.typing import NDArray

from outweigh.stats.sample import Sample


def fill_missing_ratings(ratings: Sample) -> Sample:
    """A copy of ratings[item, rater] with the sum of both effects where a rating is missing (NaN).

    A rating stays missing where nothing tells it: an item that nobody rated, or a rater who shares no item, directly
    or through others, with those who rated this one.
    """
    known = ~np.isnan(ratings)
    rated = known.sum(axis=1)
    effects, linked = _rater_effects(ratings, known)
    residuals = np.where(known, ratings - effects, 0.0)
    items = residuals.sum(axis=1) / np.maximum(rated, 1)
    # An item links to a rater when one of those who rated it does.
    tells = (known.astype(np.int64) @ linked.astype(np.int64)) > 0
    filled: Sample = np.where(known, ratings, np.where(tells, items[:, None] + effects, np.nan))
    return filled


def _rater_effects(ratings: Sample, known: NDArray[np.bool_]) -> tuple[Sample, NDArray[np.bool_]]:
    """Each rater's effect, and which raters can be compared with each other.

    The items' effects are eliminated, which leaves one equation per rater: the sum of its deviations from the items'
    means. Effects are known up to a constant in each group of raters who share items; any choice fills in the same.
    """
    weights = 1 / np.maximum(known.sum(axis=1), 1)
    means = np.where(known, ratings, 0.0).sum(axis=1) * weights
    sums = np.where(known, ratings - means[:, None], 0.0).sum(axis=0)
    shared = known.T @ (known * weights[:, None])
    system = np.diag(known.sum(axis=0)) - shared
    effects = np.linalg.lstsq(system, sums, rcond=None)[0]
    return effects, _connect(shared > 0)


def _connect(adjacent: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Who reaches whom, directly or through others."""
    reached = adjacent.copy()
    for middle in range(len(reached)):
        reached |= reached[:, [middle]] & reached[[middle], :]
    return reached
