"""How easily the decision would have been another: missing or estimated values, other margins, single tasks."""

from collections.abc import Callable, Iterator, Mapping, Sequence

import numpy as np
from msgspec.structs import replace

from outweigh.compare.run_columns import find_tasks
from outweigh.verdict.decision import Decision, Sensitivity
from outweigh.verdict.evidence_rule import CandidateTests
from outweigh.verdict.gate_sample import GateSample
from outweigh.verdict.gate_test import with_margin
from outweigh.verdict.missing_values import MissingValues

Outcome = tuple[Decision, Decision | None]
"""A decision, and the alarm behind it if there is one."""

Examine = Callable[[Sequence[GateSample]], CandidateTests]
"""Tests changed gates."""

Decide = Callable[[CandidateTests, str | None], Outcome]
"""Applies the whole rule to changed tests, without one task."""

FACTORS = np.logspace(-1, 1, 41)
"""Margins from a tenth to ten times their value are tried."""

EXTREMES = 25
"""At most so many tasks per gate and side are left out in turn."""

HARMLESS = 2
"""The farther out a task is, the more it matters alone: after so many in turn that change nothing, the rest is left."""


def sensitivity(
    tests: CandidateTests,
    suspects: Sequence[str],
    decision: Decision,
    examine: Examine,
    decide: Decide,
    missing: MissingValues | None,
) -> Sensitivity:
    """Decide again with missing and estimated values filled in, at other margins, and without single tasks.

    `suspects` are the tasks to leave out first.
    """
    gates = [test.sample for test in tests.gates]

    def filled(*, against: bool) -> Decision:
        if missing is None:
            return decision
        return decide(examine([missing.fill(gate, against=against) for gate in gates]), None)[0]

    def without(samples: Sequence[GateSample], task: str) -> Decision:
        return decide(examine(samples), task)[0]

    return Sensitivity(
        missing_runs=0 if missing is None else missing.most,
        estimated_runs=0 if missing is None else missing.most_estimated,
        if_missing_hurt=filled(against=True),
        if_missing_helped=filled(against=False),
        margins=_margins(tests, decide),
        tasks_that_decide=_tasks_that_decide(
            gates, suspects, decision, lambda samples, task: decide(examine(samples), task)[0]
        ),
    )


def _margins(tests: CandidateTests, decide: Decide) -> Mapping[str, tuple[float, float]]:
    """For each gate alone, the margins around its own over which the decision stays."""
    outcome = decide(tests, None)
    return {
        test.sample.gated.name: _margin_range(tests, place, outcome, decide) for place, test in enumerate(tests.gates)
    }


def _margin_range(tests: CandidateTests, place: int, outcome: Outcome, decide: Decide) -> tuple[float, float]:
    margin = tests.gates[place].sample.margin

    def stays(factor: float) -> bool:
        changed = with_margin(tests.gates[place], margin * factor)
        gates = (*tests.gates[:place], changed, *tests.gates[place + 1 :])
        return decide(replace(tests, gates=gates), None) == outcome

    middle = len(FACTORS) // 2
    low = _last_true(stays, FACTORS[middle::-1].tolist())
    high = _last_true(stays, FACTORS[middle:].tolist())
    return margin * low, margin * high


def _last_true(stays: Callable[[float], bool], factors: Sequence[float]) -> float:
    """The last factor at which the outcome stays, by bisection.

    As a margin grows, alarms fall silent and claims come to hold, and never the other way round, so that every
    outcome has one range of margins.
    """
    if stays(factors[-1]):
        return factors[-1]
    known, lost = 0, len(factors) - 1
    while lost - known > 1:
        middle = (known + lost) // 2
        known, lost = (middle, lost) if stays(factors[middle]) else (known, middle)
    return factors[known]


def _tasks_that_decide(
    gates: Sequence[GateSample],
    suspects: Sequence[str],
    decision: Decision,
    decide: Callable[[Sequence[GateSample], str], Decision],
) -> Mapping[str, Decision]:
    """Tasks whose absence alone would have led to another decision."""
    tried: dict[str, Decision] = {}

    def changes(task: str) -> bool:
        if task not in tried:
            tried[task] = decide(list(_without(gates, task)), task)
        return tried[task] is not decision

    for task in suspects:
        changes(task)
    for side in _from_outside_in(gates):
        harmless = 0
        for task in side:
            harmless = 0 if changes(task) else harmless + 1
            if harmless == HARMLESS:
                break
    return {task: left for task, left in tried.items() if left is not decision}


def _without(gates: Sequence[GateSample], task: str) -> Iterator[GateSample]:
    """The gates with one task left out. Those about the same tasks share what is left of them."""
    found: list[tuple[tuple[str, ...], int | None, tuple[str, ...]]] = []
    for gate in gates:
        known = next((each for each in found if each[0] is gate.tasks), None)
        if known is None:
            place = find_tasks(gate.tasks, [task])[0]
            others = () if place is None else gate.tasks[:place] + gate.tasks[place + 1 :]
            known = gate.tasks, place, others
            found.append(known)
        yield gate if known[1] is None else gate.without(known[1], known[2])


def _from_outside_in(gates: Sequence[GateSample]) -> Iterator[list[str]]:
    """For every gate, by the typical run and by the total, its lowest and its highest tasks, the farthest first."""
    for gate in gates:
        for sample in (gate,) if gate.total is None else (gate, gate.total):
            order = np.argsort(sample.benefits, kind="stable").tolist()
            for side in (order[:EXTREMES], order[: -EXTREMES - 1 : -1]):
                yield [sample.tasks[place] for place in side]
