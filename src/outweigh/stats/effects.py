"""Main effects and two-way interactions of factors that are in an arm or left out of it, one number per task.

An effect is a contrast: weights over the arms, found by least squares, that turn the means of one task's arms into the
effect on that task. Its mean over tasks is the estimate. A main effect is the mean with the factor less the mean
without it. An interaction is half of what the effect of one factor gains when the other is there, so that an effect
and its aliases add up on one scale.
"""

from collections.abc import Hashable, Sequence
from itertools import combinations

import numpy as np
from msgspec import Struct
from numpy.typing import ArrayLike, NDArray

from outweigh.stats.max_t import MaxT, max_t

Floats = NDArray[np.float64]


class Term(Struct, frozen=True, kw_only=True):
    """One effect by the places of its factors: one for a main effect, two for an interaction.

    `sign` is -1 where the term is subtracted from the first one of its contrast.
    """

    factors: tuple[int, ...]
    sign: int = 1


class EffectContrast(Struct, frozen=True, kw_only=True):
    """What the arms can estimate: one effect, or several that no arm of the design tells apart, with their signs.

    `weights` has one number for each arm. `clear` says that no other main effect or two-way interaction is in it.
    """

    terms: tuple[Term, ...]
    weights: tuple[float, ...]
    clear: bool


class EffectContrasts(Struct, frozen=True, kw_only=True):
    """The contrasts of a design, main effects first, and the interactions that it cannot estimate.

    `ranking_only` says that there are fewer arms than effects: each main effect then has others in it.
    """

    contrasts: tuple[EffectContrast, ...]
    not_estimated: tuple[tuple[int, ...], ...]
    ranking_only: bool


def effect_contrasts(levels: ArrayLike) -> EffectContrasts:
    """The effects that a design can estimate; `levels` has arms × factors, true where the arm has the factor.

    Effects whose columns are equal up to their sign are one contrast. An interaction is estimated where no combination
    of the other effects looks like it. A factor that is in every arm or in none has no effect here.
    """
    signs = np.where(np.asarray(levels, dtype=bool), 1.0, -1.0)
    if signs.ndim != 2 or not signs.size:
        raise ValueError("a design needs at least one arm and one factor")
    groups, columns = _group_aliases(signs)
    mains = [place for place, terms in enumerate(groups) if len(terms[0].factors) == 1]
    constant = np.ones(len(signs))
    everything = np.column_stack([constant, *columns])
    rank = _rank(everything)
    strict = [_rank(np.delete(everything, place + 1, axis=1)) < rank for place in range(len(groups))]
    base = np.column_stack([constant, *(columns[place] for place in mains)])
    if _rank(base) < base.shape[1]:
        return _marginal(signs, groups, mains)
    chosen = [*mains, *(place for place in range(len(groups)) if place not in mains and strict[place])]
    solved = np.linalg.pinv(np.column_stack([constant, *(columns[place] for place in chosen)]))
    return EffectContrasts(
        contrasts=tuple(
            EffectContrast(terms=groups[place], weights=tuple((2 * row).tolist()), clear=strict[place])
            for place, row in zip(chosen, solved[1:], strict=True)
        ),
        not_estimated=_pairs(groups, [place for place in range(len(groups)) if place not in chosen]),
        ranking_only=False,
    )


def _group_aliases(signs: Floats) -> tuple[list[tuple[Term, ...]], list[Floats]]:
    """The effects by what the arms show of them: main effects first, then pairs, each with its column."""
    varied = [factor for factor in range(signs.shape[1]) if len(set(signs[:, factor].tolist())) > 1]
    groups: list[list[Term]] = []
    columns: list[Floats] = []
    for names in (*((one,) for one in varied), *combinations(varied, 2)):
        column = signs[:, names].prod(axis=1)
        if (column == column[0]).all():
            continue
        for group, known in zip(groups, columns, strict=True):
            if (column == known).all() or (column == -known).all():
                group.append(Term(factors=names, sign=1 if column[0] == known[0] else -1))
                break
        else:
            groups.append([Term(factors=names)])
            columns.append(column)
    return [tuple(group) for group in groups], columns


def _rank(columns: Floats) -> int:
    return int(np.linalg.matrix_rank(columns))


def _marginal(signs: Floats, groups: Sequence[tuple[Term, ...]], mains: Sequence[int]) -> EffectContrasts:
    """Mean with less mean without, factor by factor, where there are fewer arms than effects."""
    contrasts = []
    for place in mains:
        column = signs[:, groups[place][0].factors[0]]
        weights = np.where(column > 0, 1 / (column > 0).sum(), -1 / (column < 0).sum())
        contrasts.append(EffectContrast(terms=groups[place], weights=tuple(weights.tolist()), clear=False))
    others = [place for place in range(len(groups)) if place not in mains]
    return EffectContrasts(contrasts=tuple(contrasts), not_estimated=_pairs(groups, others), ranking_only=True)


def _pairs(groups: Sequence[tuple[Term, ...]], places: Sequence[int]) -> tuple[tuple[int, ...], ...]:
    return tuple(term.factors for place in places for term in groups[place])


def estimate_effects(
    means: ArrayLike,
    contrasts: Sequence[EffectContrast],
    *,
    families: Sequence[Hashable] | None = None,
    level: float = 0.95,
    seed: int = 0,
) -> MaxT:
    """Every effect with its interval, and with intervals that hold together; `means` has tasks × arms.

    With `families`, one label per task, whole families of tasks are the units instead of tasks.
    """
    deltas = task_effects(means, contrasts)
    return max_t(deltas.mean(axis=0), _units(deltas, families), level=level, seed=seed)


def task_effects(means: ArrayLike, contrasts: Sequence[EffectContrast]) -> Floats:
    """Every effect on every task (tasks × effects)."""
    weights = np.array([contrast.weights for contrast in contrasts], dtype=np.float64).T
    effects: Floats = np.asarray(means, dtype=np.float64) @ weights
    return effects


def _units(deltas: Floats, families: Sequence[Hashable] | None) -> Floats:
    """One row for each unit, whose mean is the estimate: tasks, or families with what their tasks add together."""
    if families is None:
        return deltas
    labels = {label: place for place, label in enumerate(dict.fromkeys(families))}
    places = np.array([labels[label] for label in families])
    centre = deltas.mean(axis=0)
    sums = np.zeros((len(labels), deltas.shape[1]))
    np.add.at(sums, places, deltas - centre)
    units: Floats = centre + sums * (len(labels) / len(deltas))
    return units
