"""The whole study: which worlds, at which sizes, how often; and what came out."""

import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from multiprocessing import Pool
from typing import Any

from calibration.cells import Measurement, measure
from calibration.coverage import Coverage, bootstrap_coverage, t_coverage
from calibration.looks import Looks, looks_rates
from calibration.pitfalls import Rejections, RuleRates, rejections, rule_rates
from calibration.power import PUBLISHED, Power, power
from calibration.rates import Rates, rates
from calibration.sections import SECTIONS
from calibration.wider import QUESTIONS, Answer, answer
from calibration.worlds import MIXED_EFFECTS, NULLS, ON_THE_MARGIN, SMALL_WIN, TRAP, WIN

SEED = 20_000
TASKS = (10, 15, 20, 30, 50, 100)
REPEATS = (1, 2, 5, 10)
COVERAGE_TASKS = (10, 20, 50, 100)
COVERAGE_REPEATS = (1, 5)
ORDINARY = (NULLS[0], SMALL_WIN, WIN, TRAP)
"""Worlds in which a good share of tasks passes and a good share fails."""
NEAR_THE_EDGE = (NULLS[3], NULLS[5])
WIDER_SIZES = ((15, 5), (20, 1), (30, 5), (60, 5), (100, 5))
PLANNED_TASKS = 100
LOOKS = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Study:
    """Everything that was measured."""

    nulls: tuple[Rates, ...]
    margins: tuple[Rates, ...]
    power: tuple[Power, ...]
    coverage: tuple[Coverage, ...]
    bootstrap: tuple[Coverage, ...]
    looks: tuple[Looks, ...]
    rules: tuple[RuleRates, ...]
    units: tuple[Rejections, ...]
    wider: tuple[Answer, ...]
    cells: tuple[Measurement, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """One cell of the study; `part` is the field of the study that its result belongs to."""

    part: str
    measure: Callable[..., Any]
    arguments: tuple[Any, ...]
    draws: int
    seed: int


def conduct(share: float, processes: int) -> Study:
    """Measure every cell, with this share of the draws that the full study makes."""
    found: dict[str, list[Any]] = {name: [] for name in Study.__dataclass_fields__}
    for job, result in perform_all(list(plan(share)), processes):
        found[job.part].extend(result if isinstance(result, list) else [result])
    return Study(**{name: tuple(results) for name, results in found.items()})


def perform_all(jobs: list[Job], processes: int) -> Iterator[tuple[Job, Any]]:
    """Every job with its result, in their order."""
    with Pool(processes) as pool:
        for number, (job, result) in enumerate(zip(jobs, pool.imap(perform, jobs), strict=True), start=1):
            yield job, result
            if number % 10 == 0:
                print(f"{number} of {len(jobs)} cells, now at {job.part} …", file=sys.stderr, flush=True)


def perform(job: Job) -> Any:
    """Measure one cell."""
    return job.measure(*job.arguments, job.draws, job.seed)


def plan(share: float) -> Iterator[Job]:
    """Every cell with a seed of its own, so that their errors are independent."""
    # The slow cells come first, so that no process is left alone with one at the end.
    yield from cell_jobs(share)
    for place, (part, function, arguments, draws) in enumerate(_cells()):
        yield Job(
            part=part, measure=function, arguments=arguments, draws=max(20, round(share * draws)), seed=SEED + place
        )


def cell_jobs(share: float, word: str = "") -> Iterator[Job]:
    """The cells of all sections, or of those with a word in their title."""
    for section in SECTIONS:
        if word.lower() in section.title.lower():
            for cell in section.cells:
                yield Job(
                    part="cells",
                    measure=measure,
                    arguments=(section, cell),
                    draws=max(20, round(share * cell.draws)),
                    seed=section.seed(cell),
                )


_Cell = tuple[str, Callable[..., Any], tuple[Any, ...], int]


def _cells() -> Iterator[_Cell]:
    yield from _rule_cells()
    yield from _interval_cells()
    yield from (("looks", looks_rates, (world, PLANNED_TASKS, LOOKS, 1), 200) for world in NULLS)
    yield from (
        ("looks", looks_rates, (world, PLANNED_TASKS, LOOKS, 5), 200) for world in (*NULLS, SMALL_WIN, WIN, TRAP)
    )
    yield from (
        ("rules", rule_rates, (world, *size), 2_000)
        for world, sizes in ((NULLS[1], ((10, 1), (20, 1), (50, 1), (20, 5), (100, 5))), (NULLS[2], ((20, 5),)))
        for size in sizes
    )
    yield from (("units", rejections, (MIXED_EFFECTS, 20, repeats), 4_000) for repeats in (1, 5, 10))
    yield from (("wider", answer, (question, *size), 1_000) for question in QUESTIONS for size in WIDER_SIZES)


def _rule_cells() -> Iterator[_Cell]:
    yield from (
        ("nulls", rates, (world, tasks, repeats), 2_000) for world in NULLS for tasks in TASKS for repeats in REPEATS
    )
    yield from (
        ("margins", rates, (world, tasks, repeats), 2_000)
        for world in ON_THE_MARGIN
        for tasks in (20, 50, 60, 100)
        for repeats in (1, 5)
    )
    yield from (("power", power, (line,), 1_000) for line in PUBLISHED)


def _interval_cells() -> Iterator[_Cell]:
    yield from (
        ("coverage", t_coverage, (world, tasks, repeats), 2_000)
        for world in (*ORDINARY, *NEAR_THE_EDGE)
        for tasks in COVERAGE_TASKS
        for repeats in COVERAGE_REPEATS
    )
    yield from (("bootstrap", bootstrap_coverage, (SMALL_WIN, tasks, 5), 500) for tasks in COVERAGE_TASKS)
