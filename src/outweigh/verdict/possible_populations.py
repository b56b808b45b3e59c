"""What a pilot leaves possible: the population that it estimates, and how estimates from pilots like it scatter."""

from msgspec import Struct
from numpy.random import Generator

from outweigh.verdict.run_scatter import PilotRuns
from outweigh.verdict.simulated_experiments import simulate_pilots
from outweigh.verdict.task_population import TaskPopulation, fit_population, fit_populations

REFITS = 20


class PossiblePopulations(Struct, frozen=True, kw_only=True, eq=False):
    """An estimate and others. Where `refitted`, the others are estimates from simulated pilots of the same size, drawn
    from the estimate: they show how far, and in which direction, an estimate from such a pilot is off. Else they are
    bounds.
    """

    estimate: TaskPopulation
    others: tuple[TaskPopulation, ...]
    refitted: bool


def populations_of_pilot(pilot: PilotRuns, random: Generator, refits: int = REFITS) -> PossiblePopulations:
    """Estimate the population, draw pilots from it, and estimate again from each (a parametric bootstrap)."""
    estimate = fit_population(pilot)
    again = fit_populations(simulate_pilots(estimate, refits, random)) if refits else []
    return PossiblePopulations(estimate=estimate, others=tuple(again), refitted=True)
