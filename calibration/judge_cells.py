"""Judges: how often intervals of their agreement hold the truth, and what lost answers do to their gate."""

from collections import Counter

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from calibration.cells import FALSE_DECISIONS, Cell, Readings, Section, at_least, share_of
from outweigh.compare.comparison import compare_arms
from outweigh.stats.agreement import MeasurementScale, alphas_by_task, krippendorff_alpha
from outweigh.stats.estimate import Estimate
from outweigh.testing.builders import a_judgment, a_run, evidence_of
from outweigh.verdict.decision import Decision
from outweigh.verdict.evidence_settings import evidence_settings
from outweigh.verdict.weigh_evidence import weigh_evidence

Floats = NDArray[np.float64]

JUDGES, RUNS, NOISE = 3, 6, 0.5
LEVEL = 0.95
HELD, HELD_WITHIN, HELD_BY_RUNS = "alpha holds", "within tasks holds", "if runs were independent"


def agreement_readings(between: float, within: float, tasks: int, draws: int, seed: int) -> Readings:
    """How often the intervals hold the alphas of infinitely many tasks; `between` and `within` are deviations."""
    dice = np.random.default_rng(seed)
    # Of the pairs of ratings in a task this share are of one run, which differ by the noise alone.
    same_run = (JUDGES - 1) / (RUNS * JUDGES - 1)
    overall = 1 - NOISE**2 / (between**2 + within**2 + NOISE**2)
    inside = 1 - NOISE**2 / ((1 - same_run) * within**2 + NOISE**2)
    names = [str(task) for task in range(tasks) for _ in range(RUNS)]
    each_run = [str(run) for run in range(tasks * RUNS)]
    held: Counter[str] = Counter()
    for _ in range(draws):
        ratings = _ratings(dice, between, within, tasks)
        found = alphas_by_task(ratings, names, scale=MeasurementScale.INTERVAL, level=LEVEL)
        by_runs = krippendorff_alpha(ratings, each_run, scale=MeasurementScale.INTERVAL, level=LEVEL)
        held[HELD] += _holds(found.overall, overall)
        held[HELD_WITHIN] += _holds(found.within, inside)
        held[HELD_BY_RUNS] += _holds(by_runs, overall)
    return {name: share_of(held[name], draws) for name in (HELD, HELD_WITHIN, HELD_BY_RUNS)}


def _ratings(dice: Generator, between: float, within: float, tasks: int) -> Floats:
    task, run = dice.normal(0, between, (tasks, 1)), dice.normal(0, within, (tasks, RUNS))
    ratings: Floats = (task + run + dice.normal(0, NOISE, (JUDGES, tasks, RUNS))).reshape(JUDGES, -1)
    return ratings


def _holds(estimate: Estimate, truth: float) -> bool:
    return estimate.interval is not None and estimate.interval.low <= truth <= estimate.interval.high


REPEATS = 5
JUDGE_LEVELS = {"strict": 0.0, "mild": 0.25}


def lost_answer_readings(tasks: int, lost: int, draws: int, seed: int) -> Readings:
    """Decisions by judge scores about identical arms, whose strict judge failed on the candidate's worst runs."""
    dice = np.random.default_rng(seed)
    settings = evidence_settings(gates=("judge_score",))
    trials = [
        (task, arm, repeat) for task in range(tasks) for arm in ("old", "new") for repeat in range(1, REPEATS + 1)
    ]
    runs = [a_run(f"task-{task}", arm, repeat, checks=()) for task, arm, repeat in trials]
    decisions: Counter[Decision] = Counter()
    for _ in range(draws):
        ease = dice.uniform(0.2, 0.55, tasks)
        merits = {run.run_id: ease[trial[0]] + dice.normal(0, 0.08) for run, trial in zip(runs, trials, strict=True)}
        worst = sorted((run.run_id for run in runs if run.trial.arm == "new"), key=merits.__getitem__)[:lost]
        answers = [
            a_judgment(run, float(np.clip(merits[run.run_id] + level + dice.normal(0, 0.05), 0, 1)), judge=judge)
            for run in runs
            for judge, level in JUDGE_LEVELS.items()
            if judge == "mild" or run.run_id not in worst
        ]
        comparison = compare_arms(evidence_of(runs, answers), "old", "new")
        decisions[weigh_evidence([comparison], settings)[0].decision] += 1
    return {decision.value: share_of(decisions[decision], draws) for decision in Decision}


def _agreement_cell(name: str, between: float, within: float, tasks: int) -> Cell:
    return Cell(
        name=f"{name}, {tasks} tasks",
        measure=agreement_readings,
        arguments=(between, within, tasks),
        draws=400,
        promises=(at_least(HELD, 0.9), at_least(HELD_WITHIN, 0.9)),
    )


def _lost_cell(tasks: int, lost: int) -> Cell:
    return Cell(
        name=f"{lost} of {2 * tasks * REPEATS} answers lost, {tasks} × {REPEATS}",
        measure=lost_answer_readings,
        arguments=(tasks, lost),
        draws=300,
        promises=FALSE_DECISIONS,
    )


JUDGE_SECTIONS = (
    Section(
        title="Agreement of judges",
        words="Three judges score six runs of every task. 95 % intervals of Krippendorff's alpha are over tasks, by "
        "leaving out one at a time; the last column takes all runs to be independent. Where judges agree on tasks "
        "alone, such an interval is far too narrow.",
        cells=tuple(
            _agreement_cell(name, between, within, tasks)
            for name, between, within in (
                ("agreed on tasks alone", 1.0, 0.1),
                ("agreed on tasks and runs", 0.5, 0.5),
                ("agreed on runs alone", 0.1, 1.0),
            )
            for tasks in (5, 10, 20, 40)
        ),
    ),
    Section(
        title="Lost answers of a judge",
        words="Identical arms that only judges score. The strict one of two judges, who gives .25 less, has no answer "
        "about the candidate's worst runs. Few lost answers are filled in by additive judge effects; where they are "
        "one-sided beyond chance (Fisher, 1 %), the gate is unknown.",
        cells=(_lost_cell(20, 0), _lost_cell(20, 5), _lost_cell(20, 10), _lost_cell(40, 5)),
    ),
)
