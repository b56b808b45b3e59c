"""How tasks and their runs vary, estimated from a pilot: what simulated experiments are drawn from.

A task has a level and an effect on every gate, both correlated between gates, and a run scatters around them as the
pilot's runs do. Pass rates live on the logit scale and resources on logs. The noise of runs is taken out of the
variances and covariances between tasks, so that the number of repeats can change.
"""

from collections.abc import Sequence

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from outweigh.stats.logit_normal import spread_of_effects, spread_of_logits
from outweigh.stats.variance import TaskMoments
from outweigh.verdict.evidence_settings import PASS_RATE
from outweigh.verdict.run_scatter import PilotRuns, RunScatter, fit_scatter, no_scatter

Values = NDArray[np.float64]

EDGE = 0.002
"""Mean pass rates are kept so far from 0 and 1, where logits end."""
USUAL_EFFECTS = 0.024
"""How much effects on a pass rate p differ between tasks where the set-up of an agent changes a little: a variance of
so much times p (1 − p), between what public records of agents call little and usual.
"""
LARGEST_SHARE = 0.5
"""No more of the failures or passes are taken to be changed by the mean effect of a pilot."""
LEAST_SHARE = 0.1
"""Effects differ at least by this share of the usual variance."""


class GateVariation(Struct, frozen=True, kw_only=True):
    """One gate: both arms' means, and the deviations between tasks, which are of logits for the pass rate."""

    baseline: float
    candidate: float
    level_deviation: float
    effect_deviation: float


class TaskPopulation(Struct, frozen=True, kw_only=True, eq=False):
    """`variations` has one entry per gate. Correlations are those of the tasks' levels and effects between gates;
    the joint ones have all levels before all effects. Without repeats, `separated` is false: what varies between
    runs and what varies between tasks is then one, and only experiments without repeats can be simulated.
    """

    gates: tuple[str, ...]
    variations: tuple[GateVariation, ...]
    correlations: Values
    scatter: RunScatter
    tasks: int
    repeats: int
    separated: bool


def fit_population(pilot: PilotRuns) -> TaskPopulation:
    """Estimate the variation by the method of moments."""
    (population,) = fit_populations([pilot])
    return population


def fit_populations(pilots: Sequence[PilotRuns]) -> list[TaskPopulation]:
    """The same for many pilots of the same gates; what takes long is done for all at once."""
    moments = [[pilot.moments(place) for place in range(len(pilot.gates))] for pilot in pilots]
    separated = [all(int(arm.counts.max()) > 1 for arm in gates[0]) for gates in moments]
    variations: list[list[GateVariation]] = [[] for _ in pilots]
    for place, gate in enumerate(pilots[0].gates):
        parts = [_Parts(*gates[place], separated=apart) for gates, apart in zip(moments, separated, strict=True)]
        fitted = _fit_passes(parts) if gate == PASS_RATE else [part.of_numbers() for part in parts]
        for found, variation in zip(variations, fitted, strict=True):
            found.append(variation)
    return [
        TaskPopulation(
            gates=pilot.gates,
            variations=tuple(found),
            correlations=_correlations(pilot, gates, separated=apart),
            scatter=fit_scatter(pilot) if apart else no_scatter(len(pilot.gates)),
            tasks=pilot.tasks,
            repeats=int(np.median(np.concatenate([arm.counts for arm in gates[0]]))),
            separated=apart,
        )
        for pilot, gates, found, apart in zip(pilots, moments, variations, separated, strict=True)
    ]


class _Parts:
    """The variances of one gate, by the method of moments."""

    def __init__(self, before: TaskMoments, after: TaskMoments, *, separated: bool) -> None:
        self.arms, self.separated = (before, after), separated
        self.tasks = len(before.means)
        self.noise = [_noise(arm) if separated else 0.0 for arm in self.arms]
        self.observed_effects = float((after.means - before.means).var(ddof=1))

    @property
    def effects(self) -> float:
        return max(self.observed_effects - sum(self.noise), 0.0)

    def of_numbers(self) -> GateVariation:
        """A gate whose tasks and runs add up: a score, or the log of a resource."""
        before, after = self.arms
        levels = float(((after.means + before.means) / 2).var(ddof=1)) - sum(self.noise) / 4
        return GateVariation(
            baseline=float(before.means.mean()),
            candidate=float(after.means.mean()),
            level_deviation=float(np.sqrt(max(levels, 0.0))),
            effect_deviation=float(np.sqrt(self.effects)),
        )

    def pass_variances(self) -> tuple[float, float]:
        """Of pass rates between tasks, and of their effects."""
        within = [float(arm.means.var(ddof=1)) for arm in self.arms]
        if self.separated:
            return max((sum(within) - sum(self.noise)) / 2, self.effects / 4), self.effects
        # One run per task shows only how the arms agree; how that is split does not matter for one run.
        return max((sum(within) - self.observed_effects) / 2, 0.0), 0.0

    def around_the_mean(self) -> float:
        """How much effects on the pass rate differ beyond what their mean explains; below 0 by chance.

        A gain repairs the share g of the failures of every task. Effects with the variance v around none then have
        (1 − g) v, and g² of the variance between tasks on top.
        """
        before, after = (float(arm.means.mean()) for arm in self.arms)
        gain = after - before
        share = min(LARGEST_SHARE, gain / max(1 - before, EDGE) if gain > 0 else -gain / max(before, EDGE))
        between = float(self.arms[0].means.var(ddof=1)) - self.noise[0]
        return (self.observed_effects - sum(self.noise) - share**2 * max(between, 0.0)) / (1 - share)

    def temper(self, usual: float) -> float:
        """The variance of effects on the pass rate, drawn towards a usual one as far as chance may have made it.

        With few tasks the noise of passes hides how much effects differ. What is left after the noise is taken out may
        be negative; it is averaged as it is, because to cut it off first would be too much on average.
        """
        if not self.separated:
            return 0.0
        chance = self.observed_effects * np.sqrt(2 / max(self.tasks - 1, 1))
        beyond = self.around_the_mean() - usual
        trust = beyond**2 / max(beyond**2 + chance**2, 1e-12)
        return float(max(usual + trust * beyond, LEAST_SHARE * usual))


def _noise(arm: TaskMoments) -> float:
    """What the runs add to the variance of an arm's task means."""
    return float(arm.variances[arm.counts > 1].mean() * (1 / arm.counts).mean())


def _fit_passes(parts: Sequence[_Parts]) -> list[GateVariation]:
    """The pass rate: logits whose pass rates vary between tasks and between arms as the pilot's do."""
    rates = np.clip([[float(arm.means.mean()) for arm in part.arms] for part in parts], EDGE, 1 - EDGE)
    variances = np.array([part.pass_variances() for part in parts])
    middle = rates.mean(axis=1)
    deviations = spread_of_logits(middle, variances[:, 0])
    usual = USUAL_EFFECTS * middle * (1 - middle)
    tempered = np.array([part.temper(variance) for part, variance in zip(parts, usual.tolist(), strict=True)])
    effects = spread_of_effects(middle, deviations, tempered).tolist()
    return [
        GateVariation(
            baseline=baseline,
            candidate=candidate,
            level_deviation=float(np.sqrt(max(deviation**2 - effect**2 / 4, 0.0))),
            effect_deviation=effect,
        )
        for (baseline, candidate), deviation, effect in zip(rates.tolist(), deviations.tolist(), effects, strict=True)
    ]


def _correlations(pilot: PilotRuns, moments: Sequence[tuple[TaskMoments, TaskMoments]], *, separated: bool) -> Values:
    """Between the tasks' levels and effects on all gates; what runs have in common is taken out."""
    before, after = (np.stack([arms[arm].means for arms in moments]) for arm in range(2))
    rows = np.concatenate([(before + after) / 2, after - before])
    observed = np.atleast_2d(np.cov(rows))
    shared = observed
    if separated:
        noise = [_noise_covariance(pilot, arm) for arm in range(2)]
        both, between = noise[0] + noise[1], (noise[1] - noise[0]) / 2
        shared = observed - np.block([[both / 4, between], [between, both]])
    # Where the runs' noise hides the tasks, little can be told about these, and what is observed is the better guess.
    reliable = np.sqrt(np.clip(np.diag(shared) / np.maximum(np.diag(observed), 1e-12), 0.0, 1.0))
    trust = np.outer(reliable, reliable)
    found = trust * _scaled(shared) + (1 - trust) * _scaled(observed)
    np.fill_diagonal(found, 1.0)
    return nearest_correlations(found)


def _scaled(covariances: Values) -> Values:
    """Correlations; 0 with what does not vary."""
    scales = np.sqrt(np.maximum(np.diag(covariances), 0.0))
    varies = np.outer(scales > 0, scales > 0)
    found: Values = np.where(varies, covariances, 0.0) / np.where(varies, np.outer(scales, scales), 1.0)
    return np.clip(found, -1.0, 1.0)


def nearest_correlations(found: Values) -> Values:
    """Correlations that can be, near these: without negative eigenvalues, and 1 on the diagonal."""
    values, vectors = np.linalg.eigh(found)
    possible = (vectors * np.maximum(values, 0.0)) @ vectors.T
    scales = np.sqrt(np.maximum(np.diag(possible), 1e-12))
    near: Values = possible / np.outer(scales, scales)
    return near


def _noise_covariance(pilot: PilotRuns, arm: int) -> Values:
    """What the runs of an arm add to the covariances of its task means."""
    values, owners = pilot.values[arm], pilot.owners[arm]
    counts = np.bincount(owners, minlength=pilot.tasks)
    sums = np.stack([np.bincount(owners, weights=column, minlength=pilot.tasks) for column in values.T], axis=1)
    within = values - (sums / np.maximum(counts, 1)[:, None])[owners]
    freedom = float(np.maximum(counts - 1, 0).sum())
    covariance: Values = within.T @ within / max(freedom, 1.0) * float((1 / np.maximum(counts, 1)).mean())
    return covariance
