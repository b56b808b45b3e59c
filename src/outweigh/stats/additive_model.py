"""Missing ratings from the additive model rating = item + rater, fitted by least squares."""

import numpy as np
from numpy.typing import NDArray

from outweigh.stats.sample import Sample


def fill_missing_ratings(ratings: Sample, cells: NDArray[np.intp] | None = None) -> Sample:
    """A copy of ratings[item, rater] with the sum of both effects where a rating is missing (NaN).

    A rating stays missing where nothing tells it: an item that nobody rated, or a rater who shares no item, directly
    or through others, with those who rated this one. `cells` has the group of every item, whose items are alike, such
    as repeats of one trial: the effect of an item is then drawn towards the mean of its cell as far as raters differ
    more about one item than items of a cell do.
    """
    known = ~np.isnan(ratings)
    rated = known.sum(axis=1)
    effects, linked = _rater_effects(ratings, known)
    residuals = np.where(known, ratings - effects, 0.0)
    items = residuals.sum(axis=1) / np.maximum(rated, 1)
    if cells is not None:
        items = _shrink(items, np.where(known, residuals - items[:, None], 0.0), rated, cells)
    # An item links to a rater when one of those who rated it does.
    tells = (known.astype(np.int64) @ linked.astype(np.int64)) > 0
    filled: Sample = np.where(known, ratings, np.where(tells, items[:, None] + effects, np.nan))
    return filled


def _shrink(items: Sample, noise: Sample, rated: NDArray[np.intp], cells: NDArray[np.intp]) -> Sample:
    """The best linear prediction of each item's effect from its own ratings and from those of its cell."""
    groups = np.unique(cells, return_inverse=True)[1]
    weights = rated.astype(np.float64)
    totals = np.bincount(groups, weights)
    means = (np.bincount(groups, weights * items) / np.maximum(totals, 1))[groups]
    of_cell = np.bincount(groups, rated > 0)
    spare_ratings = int(rated.sum()) - int((rated > 0).sum()) - (noise.shape[1] - 1)
    spare_items = int((rated > 0).sum()) - int((of_cell > 0).sum())
    if spare_ratings < 1 or spare_items < 1:
        return items
    rating_variance = float((noise**2).sum()) / spare_ratings
    # Within a cell, items differ by their own variance and by what is left of the ratings' in their means.
    squares = float((weights * (items - means) ** 2).sum())
    effective = float((totals - np.bincount(groups, weights**2) / np.maximum(totals, 1)).sum())
    item_variance = max(0.0, (squares - spare_items * rating_variance) / effective) if effective > 0 else 0.0
    own = weights * item_variance
    share = np.divide(own, own + rating_variance, out=np.ones_like(own), where=own + rating_variance > 0)
    return np.where(rated > 0, means + share * (items - means), items)


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
