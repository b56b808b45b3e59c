"""Which runs of a baseline a version of an arm is compared with, where the store has more of them than of the version.

Baselines are run anew for later versions, so a store may hold ten runs of a task by the baseline and five by each
version. A version is compared with as many as it has itself: those nearest in time. The others are not missing from
it, and what is said about it does not change when the baseline is run again for another version.
"""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta

from msgspec.structs import replace

from outweigh.compare.evidence import Evidence
from outweigh.score.run_score import Score


def keep_nearest_runs(evidence: Evidence, baseline: str, candidate: str) -> Evidence:
    """The evidence with at most as many runs of the baseline per task as the candidate has of the task it ran most.

    Only the time of a run decides whether it is kept, never its outcome. Runs that are set aside as stale fill up what
    the others leave.
    """
    own = evidence.arms.get(candidate, ())
    starts = sorted(score.started_at for score in own if score.started_at is not None)
    if not starts:
        return evidence
    most = max(Counter(score.task_id for score in own).values())
    middle = starts[len(starts) // 2]
    kept = _nearest(evidence.arms.get(baseline, ()), middle, most, Counter())
    stale = _nearest(evidence.stale.get(baseline, ()), middle, most, Counter(score.task_id for score in kept))
    return replace(
        evidence,
        arms={**evidence.arms, baseline: kept},
        stale={**evidence.stale, baseline: stale} if baseline in evidence.stale else evidence.stale,
    )


def _nearest(scores: Sequence[Score], middle: datetime, most: int, taken: Mapping[str, int]) -> list[Score]:
    """Of every task the runs nearest to a moment, as many as are left beside those that are `taken`."""
    by_task: dict[str, list[Score]] = defaultdict(list)
    for score in scores:
        by_task[score.task_id].append(score)
    kept = {
        (score.task_id, score.repeat)
        for task, runs in by_task.items()
        for score in sorted(runs, key=lambda run: _distance(run.started_at, middle))[
            : max(0, most - taken.get(task, 0))
        ]
    }
    return [score for score in scores if (score.task_id, score.repeat) in kept]


def _distance(started_at: datetime | None, middle: datetime) -> timedelta:
    """What has no time is farthest."""
    return timedelta.max if started_at is None else abs(started_at - middle)
