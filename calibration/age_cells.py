"""Identical arms of which the baseline was run earlier, at another pace: reused, or simply run first."""

from collections import Counter
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from math import log

import msgspec
import numpy as np
from numpy.random import Generator

from calibration.cells import FALSE_DECISIONS, Cell, Promise, Readings, Section, share_of
from calibration.records import ARMS, records_of
from calibration.worlds import NULLS, Draw, Runs, draw
from outweigh.compare.comparison import compare_arms
from outweigh.compare.stale_runs import set_stale_aside
from outweigh.model.run_record import REUSED_LABEL, RunRecord
from outweigh.testing.builders import evidence_of
from outweigh.verdict.decision import Decision
from outweigh.verdict.evidence_settings import evidence_settings
from outweigh.verdict.weigh_evidence import weigh_evidence

NOW = datetime(2026, 1, 31, tzinfo=UTC)
MAX_AGE_DAYS = 7.0

Drift = Callable[[Generator], float]
"""What a run of then takes, as the log of its ratio to a run of now."""


def random_drift(dice: Generator) -> float:
    """About 10 % up or down."""
    return float(dice.normal(0.0, 0.1))


def faster_now(_: Generator) -> float:
    """10 % less now than then."""
    return -log(0.9)


def slower_now(_: Generator) -> float:
    """10 % more now than then."""
    return -log(1.1)


def drifted(experiment: Draw, drift: float, old_runs: int) -> Draw:
    """The first runs of the baseline take so much more of every resource."""

    def moved(runs: tuple[Runs, Runs]) -> tuple[Runs, Runs]:
        before = runs[0].copy()
        before[:old_runs] += drift
        return before, runs[1]

    return Draw(
        passes=experiment.passes,
        times=moved(experiment.times),
        tokens=moved(experiment.tokens),
        costs=moved(experiment.costs),
        families=experiment.families,
    )


def dated(runs: Iterator[RunRecord], old_runs: int, days: float, *, reused: bool) -> Iterator[RunRecord]:
    """The first runs of the baseline were made so many days ago; the others of both arms took turns today."""
    for place, run in enumerate(runs):
        if run.trial.arm == ARMS[0] and run.trial.repeat <= old_runs:
            extra = {REUSED_LABEL: {"run_id": run.run_id}} if reused else {}
            yield msgspec.structs.replace(run, started_at=NOW - timedelta(days=days), extra=extra)
        else:
            yield msgspec.structs.replace(run, started_at=NOW + timedelta(minutes=7919 * place % 1440))


def age_readings(
    drift: Drift, old_share: float, days: float, reused: bool, tasks: int, repeats: int, draws: int, seed: int
) -> Readings:
    """Decisions about identical arms; this share of the baseline's runs is so many days old."""
    dice, settings = np.random.default_rng(seed), evidence_settings()
    old_runs, decisions = int(old_share * repeats), Counter[Decision]()
    for _ in range(draws):
        experiment = drifted(draw(NULLS[0], tasks, repeats, dice), drift(dice), old_runs)
        runs = dated(records_of(experiment), old_runs, days, reused=reused)
        evidence = set_stale_aside(evidence_of(runs), ARMS[0], MAX_AGE_DAYS)
        decisions[weigh_evidence([compare_arms(evidence, *ARMS)], settings)[0].decision] += 1
    return {decision.value: share_of(decisions[decision], draws) for decision in Decision}


def _cell(
    name: str, drift: Drift, setting: tuple[float, float, bool], tasks: int, promises: tuple[Promise, ...] = ()
) -> Cell:
    return Cell(
        name=f"{name}, {tasks} × 5",
        measure=age_readings,
        arguments=(drift, *setting, tasks, 5),
        draws=400,
        promises=promises,
    )


_ANCHORED, _UNANCHORED, _YOUNG, _FIRST = (0.5, 30.0, True), (1.0, 30.0, True), (1.0, 6.0, True), (1.0, 6.0, False)

AGE_SECTIONS = (
    Section(
        title="Order and age",
        words="Identical arms; the old runs of the baseline took about 10 % more or less of every resource (normal on "
        "the log scale), or exactly 10 %. Four gates. Where reused runs are older than `reuse_max_age`, half of the "
        "baseline is repeated among the candidate's runs, and the candidate is compared with that half. Nothing is "
        "promised for reused runs within the limit: their drift counts as a difference, as the verdict warns.",
        cells=(
            _cell("30 days old, half made anew", random_drift, _ANCHORED, 50, FALSE_DECISIONS),
            _cell("30 days old, half made anew", random_drift, _ANCHORED, 100, FALSE_DECISIONS),
            _cell("30 days old, half made anew, 10 % faster now", faster_now, _ANCHORED, 100, FALSE_DECISIONS),
            _cell("30 days old, half made anew, 10 % slower now", slower_now, _ANCHORED, 100, FALSE_DECISIONS),
            _cell("30 days old, nothing made anew", random_drift, _UNANCHORED, 100, FALSE_DECISIONS),
            _cell("one arm after the other, not reused", random_drift, _FIRST, 100, FALSE_DECISIONS),
            _cell("6 days old, within the limit", random_drift, _YOUNG, 100),
        ),
    ),
)
