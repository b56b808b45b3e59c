"""Reused runs of a baseline that are too old to be compared with a candidate's, and how far the baseline moved since.

Let c, f and s be a task's mean over the candidate's runs, the baseline's fresh (anchor) runs and its stale ones. The
candidate against the stale runs, corrected by the drift that the anchors estimate, is (c - s) - (f - s) = c - f. So the
correction and its variance are exactly what a comparison with the fresh runs alone has, for every metric and every
test; the stale runs are set aside, and tell how far the baseline moved.
"""

from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from math import expm1

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from outweigh.compare.arm_table import ArmTable
from outweigh.compare.evidence import Evidence
from outweigh.compare.run_columns import is_stored
from outweigh.compare.tabulate_arm import tabulate_arm
from outweigh.compare.task_alignment import align_tasks
from outweigh.compare.task_variance import task_moments
from outweigh.score.run_score import Score
from outweigh.stats.estimate import Estimate, Unit
from outweigh.stats.means import mean_interval

UNANCHORED_TOLERANCE = 0.05
"""So many tasks may lack fresh runs; they are left out of the comparison then, as tasks of one arm only are."""

DRIFT_LEVEL = 0.95

RISK_OF_DRIFT = (
    "if time, tokens and cost drifted by 10 % since, identical arms are called improved in about 14 % and regressed in "
    "about 20 % of experiments"
)
"""What `calibration.age_cells` measures for reused runs within their age limit, at 100 × 5."""

ANEW_BY_AGE = ", or lower reuse_max_age"
ANEW_BY_OPTION = " beside the next version (`outweigh run --fresh-baseline`)"
"""How the baseline is run anew: for runs of other experiments by their age limit, in the same store by an option."""

DRIFT_METRICS = {
    "passed": "pass rate",
    "duration_seconds": "duration",
    "non_cache_tokens": "non-cache tokens",
    "cost_usd": "cost",
}


class StaleDrift(Struct, frozen=True, kw_only=True):
    """How far one metric of an arm moved since its stale runs: in points for the pass rate, else as a log ratio."""

    metric: str
    moved: Estimate

    @property
    def words(self) -> str:
        """The change and its interval."""
        points, unit = self.metric == "passed", "points" if self.metric == "passed" else "%"

        def shown(value: float) -> str:
            # Adding 0 turns a negative zero, which would be shown as -0.0, into a positive one.
            return f"{round(100 * (value if points else expm1(value)), 1) + 0.0:+.1f}"

        interval = self.moved.interval
        span = "no interval" if interval is None else f"{shown(interval.low)} to {shown(interval.high)}"
        return f"{DRIFT_METRICS[self.metric]} {shown(self.moved.point or 0.0)} {unit} ({span})"


def mark_earlier_runs(evidence: Evidence, baseline: str, begun_at: datetime) -> Evidence:
    """The evidence about a version of an arm that was begun at some time: earlier runs of the baseline are reused.

    So their age is limited as that of runs from another experiment, and their order says nothing: they were not to be
    run among the version's own.
    """
    marked = [
        replace(score, reused=True) if score.started_at is None or score.started_at < begun_at else score
        for score in evidence.arms.get(baseline, ())
    ]
    return replace(evidence, arms={**evidence.arms, baseline: marked}) if marked else evidence


def changed_agents(evidence: Evidence, baseline: str, candidate: str, *, same_model: bool) -> str | None:
    """How the candidate's agent differs from the one that made reused runs of the baseline; None where it does not.

    The models that runs name are compared where both arms ask for the `same_model`; an alias may mean another by now.
    """
    if not any(score.reused and score.counted for score in evidence.arms.get(baseline, ())):
        return None
    for part in ("version", "model") if same_model else ("version",):
        before, after = (_agent_parts(evidence, arm, part) for arm in (baseline, candidate))
        for agent, found in after.items():
            known = before.get(agent, set())
            if known and not found <= known:
                return (
                    f"reused runs of {baseline} were made by {agent} {' and '.join(sorted(known))}, and runs of "
                    f"{candidate} by {agent} {' and '.join(sorted(found))}, so the agent's own changes count as a "
                    "difference between the arms."
                )
    return None


def _agent_parts(evidence: Evidence, arm: str, part: str) -> dict[str, set[str]]:
    """The known versions, or models, of each agent that made runs of an arm."""
    found: dict[str, set[str]] = {}
    for agent in evidence.setups[arm].agents if arm in evidence.setups else ():
        value = getattr(agent, part)
        if agent.name is not None and value is not None:
            found.setdefault(agent.name, set()).add(value)
    return found


def set_stale_aside(
    evidence: Evidence,
    baseline: str,
    max_age_days: float | None,
    first_start: datetime | None = None,
    *,
    remedy: str = ANEW_BY_AGE,
) -> Evidence:
    """Leave the baseline's stale runs out where fresh ones stand beside them; say so where too few do.

    Reused runs within the limit stay, and a warning says what their age may do. `first_start` is the start of the first
    fresh run, where the evidence is a part of the experiment alone. `remedy` is how to have the baseline run anew.
    """
    scores = evidence.arms.get(baseline, ())
    if is_stored(scores):
        return evidence  # an arm with reused runs is read run by run
    stale = find_stale(evidence, baseline, max_age_days, first_start)
    held = set(map(id, stale))
    if max_age_days is None:
        return evidence
    if young := [score.started_at for score in scores if score.reused and id(score) not in held and score.started_at]:
        age = (first_start or _first_fresh_start(evidence) or min(young)) - min(young)
        evidence = replace(evidence, warnings=(*evidence.warnings, _age_warning(baseline, len(young), age, remedy)))
    if not stale:
        return evidence
    fresh = [score for score in scores if id(score) not in held]
    tasks = {score.task_id for score in stale}
    lacking = tasks - {score.task_id for score in fresh if score.counted}
    if len(lacking) > UNANCHORED_TOLERANCE * len(tasks):
        why = (
            f"{len(stale)} reused runs of {baseline} are older than {max_age_days:g} days, and {len(lacking)} of their "
            f"{len(tasks)} tasks have no fresh run of {baseline}, so what changed since then counts as a difference "
            "between the arms. Continue the run until it is complete, or run the suite into a new store"
        )
        return replace(evidence, unanchored={baseline: why})
    return replace(
        evidence,
        arms={**evidence.arms, baseline: fresh},
        stale={baseline: stale},
        warnings=(*evidence.warnings, _note(baseline, stale, fresh, max_age_days)),
    )


def find_stale(
    evidence: Evidence, arm: str, max_age_days: float | None, first_start: datetime | None = None
) -> list[Score]:
    """Reused runs that were older than the limit when the first fresh run of any arm started, or of unknown age."""
    if max_age_days is None:
        return []
    reused = [score for score in evidence.arms.get(arm, ()) if score.reused]
    if not reused:
        return []
    first, limit = first_start or _first_fresh_start(evidence), timedelta(days=max_age_days)
    return [score for score in reused if _is_stale(score.started_at, first, limit)]


def _first_fresh_start(evidence: Evidence) -> datetime | None:
    starts = (
        score.started_at
        for scores in evidence.arms.values()
        for score in scores
        if not score.reused and score.started_at is not None
    )
    return min(starts, default=None)


def _is_stale(started_at: datetime | None, first: datetime | None, limit: timedelta) -> bool:
    return started_at is None or first is None or first - started_at > limit


def stale_drift(stale: Sequence[Score], fresh: Sequence[Score]) -> Iterator[StaleDrift]:
    """Fresh runs against stale ones of the same arm and tasks, for every metric that both know on two tasks or more."""
    before, after = (_table(scores) for scores in (stale, fresh))
    rows = align_tasks(before, after)
    for metric in DRIFT_METRICS:
        logs = metric != "passed"
        then = task_moments(before, metric, logs=logs).means[rows[:, 0]]
        now = task_moments(after, metric, logs=logs).means[rows[:, 1]]
        with np.errstate(invalid="ignore"):
            moved = now - then
        known = moved[np.isfinite(moved)]
        if len(known) > 1:
            yield StaleDrift(metric=metric, moved=mean_interval(known, level=DRIFT_LEVEL, unit=Unit.TASK))


def _table(scores: Sequence[Score]) -> ArmTable:
    return tabulate_arm("", scores, composite=lambda _: None, composite_even=lambda _: None)


def _note(arm: str, stale: Sequence[Score], fresh: Sequence[Score], max_age_days: float) -> str:
    moved = "; ".join(drift.words for drift in stale_drift(stale, fresh))
    since = f" Since then {arm} moved, with {DRIFT_LEVEL:.0%} intervals: {moved}." if moved else ""
    return (
        f"{len(stale)} reused runs of {arm} are older than {max_age_days:g} days and are left out: the candidate is "
        f"compared with the fresh runs of {arm} that were made beside its own.{since}"
    )


def _describe_age(age: timedelta) -> str:
    if age >= timedelta(days=1):
        return f"up to {age / timedelta(days=1):.1f} days"
    if age >= timedelta(minutes=90):
        return f"up to {age / timedelta(hours=1):.0f} h"
    minutes = age / timedelta(minutes=1)
    return f"up to {minutes:.0f} min" if minutes >= 1 else "less than a minute"


def _age_warning(arm: str, runs: int, age: timedelta, remedy: str) -> str:
    return (
        f"{runs} runs of {arm} are reused, {_describe_age(age)} old: {RISK_OF_DRIFT}, not in 2 and 7 %. What "
        "changed since then in models, agents or machines counts as a difference between the arms, because these runs "
        f"are within their age limit. Run {arm} again{remedy}, to rule that out."
    )
