"""Worlds that plans are checked in, other than those of `plan_worlds` that their method was chosen in.

None of them is built as plans simulate. Runs are made of steps, caps cut them off, pass rates come from beta laws or
from a few kinds of task, noise has heavy tails, and effects touch some tasks only.
"""

from collections.abc import Callable
from dataclasses import dataclass
from math import log

import numpy as np
from numpy.random import Generator

from calibration.plan_worlds import PlanDraw, Values

Shape = tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Shapes:
    """Tasks and runs of many experiments: experiments × 1 × tasks, and experiments × repeats × tasks."""

    task: Shape
    run: Shape


DrawChances = Callable[[Shapes, Generator], tuple[Values, Values]]
"""The chance of every task to pass in both arms."""
DrawResources = Callable[[Shapes, tuple[Values, Values], Generator], tuple[Values, Values, Values, Values]]
"""The logs of time and tokens of all runs, baseline and candidate by turns, given their passes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class UnseenWorld:
    """A world by how its passes and its resources are drawn. `cost_noise` is of the log of a run's dollars."""

    name: str
    chances: DrawChances
    resources: DrawResources
    cost_noise: float = 0.2

    def __reduce__(self) -> "tuple[Callable[[str], UnseenWorld], tuple[str]]":
        """How another process gets it: by its name, because the functions it is made of cannot be sent."""
        return world_named, (self.name,)

    def draw(self, experiments: int, tasks: int, repeats: int, dice: Generator) -> PlanDraw:
        """Run many experiments."""
        shapes = Shapes(task=(experiments, 1, tasks), run=(experiments, repeats, tasks))
        rates = self.chances(shapes, dice)
        before, after = ((dice.random(shapes.run) < rate).astype(np.float64) for rate in rates)
        times, other_times, tokens, other_tokens = self.resources(shapes, (before, after), dice)
        costs = [
            0.3 * time + 0.7 * token + dice.normal(0, self.cost_noise, shapes.run)
            for time, token in ((times, tokens), (other_times, other_tokens))
        ]
        return PlanDraw(
            arms=((before, after), (times, other_times), (tokens, other_tokens), (costs[0], costs[1])),
        )


def beta_rates(first: float, second: float, share: float, gain: float) -> DrawChances:
    """Chances from a beta law; the share of tasks that gain at all lose that part of their failures."""

    def chances(shapes: Shapes, dice: Generator) -> tuple[Values, Values]:
        rates = dice.beta(first, second, shapes.task)
        touched = dice.random(shapes.task) < share
        return rates, rates + np.where(touched, gain * (1 - rates), 0.0)

    return chances


def kinds_of_task(shares: tuple[float, float, float], repaired: float) -> DrawChances:
    """Tasks that always pass, flaky ones, and tasks that never pass, of which a share is repaired."""

    def chances(shapes: Shapes, dice: Generator) -> tuple[Values, Values]:
        kind = np.searchsorted(np.cumsum(shares)[:2], dice.random(shapes.task))
        flaky = dice.uniform(0.2, 0.8, shapes.task)
        rates = np.choose(kind, [np.full(shapes.task, 0.99), flaky, np.full(shapes.task, 0.01)])
        better = (kind > 0) & (dice.random(shapes.task) < repaired)
        return rates, np.where(better, np.maximum(rates, 0.85), rates)

    return chances


def mixed_gains(mean: float, gain: float, losing: float) -> DrawChances:
    """Uniform chances around a mean that rise on most tasks, and fall by as much on the share that loses."""

    def chances(shapes: Shapes, dice: Generator) -> tuple[Values, Values]:
        rates = np.clip(mean + dice.uniform(-0.4, 0.4, shapes.task), 0.01, 0.99)
        change = np.where(dice.random(shapes.task) < losing, -gain, gain)
        return rates, np.clip(rates + change, 0.01, 0.99)

    return chances


def logs(
    change: float,
    *,
    size: float = 0.6,
    by_task: float = 0.15,
    noise: Callable[[Shape, Generator], Values],
    heavy_size: float | None = None,
    change_by_size: float = 0.0,
    failing: float = 0.0,
) -> DrawResources:
    """Logs around a task's size. `heavy_size` are degrees of freedom of the sizes, `change_by_size` how much larger
    the change is per unit of size, `failing` what a failed run takes more.
    """

    def resources(
        shapes: Shapes, passes: tuple[Values, Values], dice: Generator
    ) -> tuple[Values, Values, Values, Values]:
        base = dice.standard_normal(shapes.task)
        if heavy_size is not None:
            base = np.clip(dice.standard_t(heavy_size, shapes.task), -5, 5)
        sizes = size * base
        found = []
        for place in range(2):
            own = sizes + dice.normal(0, 0.3, shapes.task) if place else sizes
            for passed, moved in zip(passes, (0.0, change), strict=True):
                change_here = moved + (change_by_size * base if moved else 0.0)
                task = own + change_here + dice.normal(0, by_task, shapes.task)
                found.append(task + noise(shapes.run, dice) + failing * (1 - passed))
        return found[0], found[1], found[2], found[3]

    return resources


def steps(change: float, *, cap: int | None = None, clumping: float = 3.0) -> DrawResources:
    """Runs of so many steps, a failing run twice as many, at most `cap`; time has a fixed part besides."""

    def resources(
        shapes: Shapes, passes: tuple[Values, Values], dice: Generator
    ) -> tuple[Values, Values, Values, Values]:
        means = 12 * np.exp(dice.normal(0, 0.5, shapes.task))
        times, tokens = [], []
        for passed, moved in zip(passes, (0.0, change), strict=True):
            arm = means * np.exp(moved + dice.normal(0, 0.1, shapes.task)) * (2 - passed)
            taken = 1 + dice.poisson(arm * dice.gamma(clumping, 1 / clumping, shapes.run))
            taken = taken if cap is None else np.minimum(taken, cap)
            speed = dice.gamma(8.0, 1 / 8, shapes.run)
            times.append(np.log(20 + 6 * taken * speed))
            tokens.append(np.log(taken * (2_000 + 60 * taken)))
        return times[0], times[1], tokens[0], tokens[1]

    return resources


def normal(deviation: float) -> Callable[[Shape, Generator], Values]:
    """Normal noise."""
    return lambda shape, dice: dice.normal(0, deviation, shape)


def heavy(deviation: float, freedom: float) -> Callable[[Shape, Generator], Values]:
    """Noise from a t law, at most 12 times as much or as little: no run goes on for ever."""
    return lambda shape, dice: np.clip(deviation * dice.standard_t(freedom, shape), -log(12), log(12))


def skewed(deviation: float, shape_parameter: float) -> Callable[[Shape, Generator], Values]:
    """Noise whose upper tail is longer: a centred gamma law."""
    scale = deviation / np.sqrt(shape_parameter)
    return lambda shape, dice: scale * (dice.gamma(shape_parameter, 1.0, shape) - shape_parameter)


def loops(deviation: float, share: float) -> Callable[[Shape, Generator], Values]:
    """Normal noise, and a share of runs that go in circles and take 4 to 20 times as much."""

    def noise(shape: Shape, dice: Generator) -> Values:
        away = np.where(dice.random(shape) < share, dice.uniform(log(4), log(20), shape), 0.0)
        return dice.normal(0, deviation, shape) + away

    return noise


def two_scatters(quiet: float, wild: float, share: float) -> Callable[[Shape, Generator], Values]:
    """Quiet tasks, and a share of wild ones."""

    def noise(shape: Shape, dice: Generator) -> Values:
        wild_task = dice.random((shape[0], 1, shape[2])) < share
        return np.where(wild_task, wild, quiet) * dice.standard_normal(shape)

    return noise


SEEN_LATER = (
    UnseenWorld(
        name="pass rates near 0 or 1",
        chances=beta_rates(0.4, 0.3, 0.6, 0.35),
        resources=logs(log(0.95), noise=normal(0.35)),
    ),
    UnseenWorld(
        name="a few tasks repaired",
        chances=kinds_of_task((0.5, 0.2, 0.3), 0.22),
        resources=logs(log(0.97), noise=skewed(0.4, 2.0)),
    ),
)
"""Unseen at first: what they showed changed the method, so that they check nothing any more."""

UNSEEN_WORLDS = (
    UnseenWorld(
        name="gains on every task",
        chances=mixed_gains(0.35, 0.1, 0.0),
        resources=logs(log(0.97), noise=skewed(0.35, 1.5)),
    ),
    UnseenWorld(
        name="half of the tasks gain",
        chances=beta_rates(1.2, 1.0, 0.5, 0.35),
        resources=logs(log(0.94), noise=normal(0.4), size=1.0, by_task=0.25, failing=0.4),
    ),
    UnseenWorld(
        name="runs of steps", chances=beta_rates(1.5, 1.5, 1.0, 0.14), resources=steps(log(0.88)), cost_noise=0.1
    ),
    UnseenWorld(
        name="runs cut off by a cap",
        chances=beta_rates(1.0, 1.5, 1.0, 0.15),
        resources=steps(log(0.85), cap=30),
        cost_noise=0.1,
    ),
    UnseenWorld(
        name="runs with heavy tails",
        chances=beta_rates(2.0, 2.0, 1.0, 0.15),
        resources=logs(log(0.88), noise=heavy(0.3, 3.0)),
    ),
    UnseenWorld(
        name="task sizes with heavy tails",
        chances=beta_rates(2.0, 1.5, 1.0, 0.18),
        resources=logs(log(0.9), noise=normal(0.3), heavy_size=4.0),
    ),
    UnseenWorld(
        name="runs that go in circles",
        chances=beta_rates(2.0, 1.0, 1.0, 0.25),
        resources=logs(log(0.88), noise=loops(0.3, 0.02)),
    ),
    UnseenWorld(
        name="wild and quiet tasks",
        chances=mixed_gains(0.5, 0.09, 0.1),
        resources=logs(log(0.92), noise=two_scatters(0.2, 0.9, 0.25)),
    ),
    UnseenWorld(
        name="large tasks save more",
        chances=beta_rates(2.0, 2.0, 1.0, 0.1),
        resources=logs(log(0.9), noise=normal(0.35), change_by_size=-0.08),
    ),
    UnseenWorld(
        name="few tasks pass",
        chances=beta_rates(0.4, 2.5, 1.0, 0.09),
        resources=logs(log(0.92), noise=normal(0.4), failing=0.3),
    ),
    UnseenWorld(
        name="failures take longer",
        chances=beta_rates(4.0, 0.8, 1.0, 0.4),
        resources=logs(0.0, noise=normal(0.3), failing=0.7),
    ),
    UnseenWorld(
        name="gains and losses",
        chances=mixed_gains(0.5, 0.22, 0.25),
        resources=logs(log(0.93), noise=normal(0.5), by_task=0.3),
        cost_noise=0.5,
    ),
)


def world_named(name: str) -> UnseenWorld:
    """The world of that name."""
    return next(world for world in (*SEEN_LATER, *UNSEEN_WORLDS) if world.name == name)
