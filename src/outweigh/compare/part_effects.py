"""Main effects and interactions of parts, from the runs of all arms of a design."""

from collections.abc import Mapping, Sequence

import numpy as np
from msgspec import Struct

from outweigh.compare.composite_scores import CompositeScorer
from outweigh.compare.evidence import Evidence
from outweigh.compare.task_variance import task_moments
from outweigh.score.composite import Profile
from outweigh.stats.effects import EffectContrasts, Term, effect_contrasts, estimate_effects
from outweigh.stats.max_t import Contrast

RATIO_METRICS = ("cost_usd", "non_cache_tokens", "duration_seconds")


class PartEffect(Struct, frozen=True, kw_only=True):
    """One effect, or several that the design cannot tell apart, with its interval.

    `terms` are the parts of each: one for a main effect, two for an interaction; `signs` has -1 where a term is
    subtracted. `clear` says that no other effect is in it. Of a ratio, the estimate is on the scale of logarithms.
    """

    terms: tuple[tuple[str, ...], ...]
    signs: tuple[int, ...]
    clear: bool
    contrast: Contrast

    @property
    def label(self) -> str:
        """The effect as people read it, with its aliases."""
        names = [" × ".join(term) for term in self.terms]
        rest = (f" {'+' if sign > 0 else '-'} {name}" for name, sign in zip(names[1:], self.signs[1:], strict=True))
        return names[0] + "".join(rest)


class MetricEffects(Struct, frozen=True, kw_only=True):
    """The effects of all parts on one metric; `reason` says why there are none."""

    metric: str
    ratio: bool
    tasks: int
    left_out: int
    effects: tuple[PartEffect, ...] = ()
    reason: str | None = None


class DesignEffects(Struct, frozen=True, kw_only=True):
    """What the arms of a design say about parts: one entry for each metric, the quality first.

    `not_estimated` are interactions that the design cannot estimate. With `ranking_only` there are fewer arms than
    effects, so the figures rank parts and estimate nothing.
    """

    arms: tuple[str, ...]
    metrics: tuple[MetricEffects, ...]
    not_estimated: tuple[tuple[str, ...], ...]
    ranking_only: bool


def estimate_part_effects(
    evidence: Evidence,
    sets: Mapping[str, frozenset[str]],
    parts: Sequence[str],
    quality: str,
    profile: Profile,
    seed: int = 0,
) -> DesignEffects | None:
    """Estimate the effects of parts from the arms in `sets`, the first of which is the reference.

    None where no part is in one arm and missing from another.
    """
    arms = tuple(sets)
    varied = [part for part in parts if 0 < sum(part in held for held in sets.values()) < len(arms)]
    if not varied:
        return None
    contrasts = effect_contrasts([[part in sets[arm] for part in varied] for arm in arms])
    scorer = CompositeScorer(arms[0], {arm: evidence.arm(arm) for arm in arms}, profile, evidence.metrics)
    tables = [scorer.tabulate_with_composites(arm) for arm in arms]
    families = {run.task_id: run.family for table in tables for run in table.runs}
    metrics = []
    for metric in (quality, *RATIO_METRICS):
        ratio = metric != quality
        means = [
            dict(zip(table.tasks, task_moments(table, metric, logs=ratio).means.tolist(), strict=True))
            for table in tables
        ]
        metrics.append(_estimate(metric, means, contrasts, varied, families, ratio=ratio, seed=seed))
    return DesignEffects(
        arms=arms,
        metrics=tuple(metrics),
        not_estimated=tuple(tuple(varied[place] for place in pair) for pair in contrasts.not_estimated),
        ranking_only=contrasts.ranking_only,
    )


def _estimate(
    metric: str,
    means: Sequence[Mapping[str, float]],
    found: EffectContrasts,
    parts: Sequence[str],
    families: Mapping[str, str | None],
    *,
    ratio: bool,
    seed: int,
) -> MetricEffects:
    """Over the tasks that every arm has a known value of."""
    every = dict.fromkeys(task for arm in means for task in arm)
    complete = [task for task in every if all(np.isfinite(arm.get(task, np.nan)) for arm in means)]
    left_out = len(every) - len(complete)
    if not complete:
        reason = "no task has a known value in every arm of the design"
        return MetricEffects(metric=metric, ratio=ratio, tasks=0, left_out=left_out, reason=reason)
    labels = [families[task] for task in complete]
    named = [label if label is not None else task for label, task in zip(labels, complete, strict=True)]
    estimated = estimate_effects(
        [[arm[task] for arm in means] for task in complete],
        found.contrasts,
        families=named if any(label is not None for label in labels) else None,
        seed=seed,
    )
    return MetricEffects(
        metric=metric,
        ratio=ratio,
        tasks=len(complete),
        left_out=left_out,
        effects=tuple(
            PartEffect(
                terms=tuple(_names(term, parts) for term in contrast.terms),
                signs=tuple(term.sign for term in contrast.terms),
                clear=contrast.clear,
                contrast=each,
            )
            for contrast, each in zip(found.contrasts, estimated.contrasts, strict=True)
        ),
    )


def _names(term: Term, parts: Sequence[str]) -> tuple[str, ...]:
    return tuple(parts[place] for place in term.factors)
