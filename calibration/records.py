"""Experiments as records, for what depends on more than the tasks' deltas: missing runs, unknown costs, policies."""

from collections.abc import Iterator

import numpy as np

from calibration.worlds import Draw, Runs
from outweigh.compare.comparison import Comparison, compare_arms
from outweigh.model.run_record import RunRecord
from outweigh.model.usage import UNKNOWN_COST, Usage, reported_cost
from outweigh.testing.builders import a_run, evidence_of

ARMS = ("baseline", "candidate")
_TOKENS = 100_000


def comparison_of(experiment: Draw) -> Comparison:
    """The experiment as two arms of records. A run whose pass is NaN was lost, and a cost that is NaN is unknown."""
    return compare_arms(evidence_of(records_of(experiment)), *ARMS)


def records_of(experiment: Draw) -> Iterator[RunRecord]:
    """Every run that was not lost."""
    for place, arm in enumerate(ARMS):
        passes, times, tokens, costs = (
            values[place] for values in (experiment.passes, experiment.times, experiment.tokens, experiment.costs)
        )
        for repeat, task in zip(*np.nonzero(~np.isnan(passes)), strict=True):
            yield a_run(
                f"task-{task}",
                arm,
                int(repeat) + 1,
                passed=bool(passes[repeat, task]),
                duration_seconds=60 * _amount(times, repeat, task),
                usage=Usage(
                    input_tokens=round(_TOKENS * _amount(tokens, repeat, task)),
                    output_tokens=0,
                    cache_read_tokens=0,
                    cache_write_tokens=0,
                ),
                cost=UNKNOWN_COST
                if np.isnan(costs[repeat, task])
                else reported_cost(0.1 * _amount(costs, repeat, task)),
                family=None if experiment.families is None else experiment.families[task],
                step_count=None,
                tool_call_count=None,
            )


def _amount(logs: Runs, repeat: int, task: int) -> float:
    return float(np.exp(logs[repeat, task]))
