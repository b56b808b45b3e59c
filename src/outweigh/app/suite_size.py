"""How many tasks a question takes, before there is any run: by the rule that will decide, simulated.

Agents are taken to vary as those of public records do, as `outweigh plan -c SUITE` takes them.
"""

from collections.abc import Mapping

from outweigh.app.plan import gates_to_plan
from outweigh.verdict.evidence_settings import MINIMUM_TASKS, PASS_RATE, evidence_settings
from outweigh.verdict.experiment_plan import ExperimentPlanner
from outweigh.verdict.pilot_gates import gates_without_pilot
from outweigh.verdict.planned_experiment import OfferedSizes
from outweigh.verdict.public_variation import public_populations
from outweigh.verdict.rule_on_arrays import rule_of_version


def tasks_to_see(points: float, repeats: int, power: float = 0.8) -> int | None:
    """How many tasks show a gain of so many points of the pass rate, with the variation of public agents.

    None where more would be needed than can be planned for.
    """
    planner = _public_planner({PASS_RATE: points / 100})
    sizes = planner.sizes(OfferedSizes(tasks=(20, 40, 80), repeats=(repeats,)))
    found = planner.designs(sizes, power)
    return found[0].tasks if found else None


def points_to_see(tasks: int, repeats: int, power: float = 0.8) -> float | None:
    """The smallest gain, in points of the pass rate, that so many tasks show; None where they show none."""
    if tasks < MINIMUM_TASKS:
        return None
    gain = _public_planner({}).visible(PASS_RATE, tasks, repeats, power).gain
    return None if gain is None else 100 * gain


def _public_planner(effects: Mapping[str, float]) -> ExperimentPlanner:
    settings = evidence_settings()
    names = gates_to_plan(settings, PASS_RATE)
    gates, rule = gates_without_pilot(names, settings), rule_of_version(settings.version)
    return ExperimentPlanner(public_populations(names, {}), gates.limits, effects, rule, None, seed=0)
