"""Whether an arm still performs as it did when it was pinned: runs of the same arm and tasks, then and now.

Every check of a pin adds a few runs, and all of them are weighed together. The evidence of a metric is an e-process: if
nothing changed, it ever exceeds 1/alpha with a probability of at most alpha, however often and whenever somebody
checks (stats/exchangeability.py says why, and why the pin's own error is accounted for). The weighted mean of the
metrics' e-processes is one too, whatever the dependence between them, and it alone raises the alarm.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from hashlib import sha256
from math import exp, log

import numpy as np
from msgspec import Struct

from outweigh.model.pin_check import PASSED, CheckedRun
from outweigh.score.run_score import Score
from outweigh.stats.exchangeability import Floats, ScoredRow, log_evidence, score_row

FALSE_ALARMS = 0.05
"""How often a pin that never drifts is called drifted, over its whole life."""
ALARM_AT = 1 / FALSE_ALARMS
DRIFT_METRICS = {
    PASSED: "the pass rate",
    "duration_seconds": "the duration",
    "non_cache_tokens": "the non-cache tokens",
    "cost_usd": "the cost",
}
COMBINED = "combined"
FEWEST_TASKS = 2
_MOST_SHOWN = 1e9


class ArmDrift(Struct, frozen=True, kw_only=True):
    """What moved, in words, and the evidence by metric and combined; no finding is no proof that nothing moved.

    `alarm` is the number of the check that first raised it, None where none did; an alarm is never taken back. `runs`
    and `tasks` are those of all checks.
    """

    findings: tuple[str, ...]
    alarm: int | None
    evidence: Mapping[str, float]
    runs: int
    tasks: int


def checked_runs(pinned: Iterable[Score], now: Iterable[Score]) -> tuple[CheckedRun, ...]:
    """The counted runs of a check whose task has pinned runs, in figures."""
    usual = _usual_amounts(pinned)
    return tuple(_checked_run(run, usual[run.task_id]) for run in now if run.counted and run.task_id in usual)


def pinned_runs(pinned: Iterable[Score]) -> tuple[CheckedRun, ...]:
    """The pinned runs on the same scale."""
    runs = list(pinned)
    return checked_runs(runs, runs)


def weigh_drift(pinned: Sequence[CheckedRun], checks: Sequence[Sequence[CheckedRun]], seed: str) -> ArmDrift:
    """Weigh all checks of a pin, oldest first; there is at least one. The seed splits ties, the same way each time."""
    shares = _shares(pinned)
    paths = {metric: _evidence_path(metric, pinned, checks, seed) for metric in shares}
    parts = [log(share) + paths[metric] for metric, share in shares.items()]
    combined: Floats = np.logaddexp.reduce(parts) if parts else np.zeros(len(checks))
    runs = [run for check in checks for run in check]
    alarms = np.flatnonzero(combined >= log(ALARM_AT))
    alarm = int(alarms[0]) if len(alarms) else None
    return ArmDrift(
        findings=() if alarm is None else tuple(_findings(paths, alarm, pinned, runs)),
        alarm=None if alarm is None else alarm + 1,
        evidence={
            **{metric: _shown(path[-1]) for metric, path in paths.items()},
            COMBINED: _shown(combined[-1]),
        },
        runs=len(runs),
        tasks=len({run.task_id for run in runs}),
    )


def _evidence_path(
    metric: str, pinned: Sequence[CheckedRun], checks: Sequence[Sequence[CheckedRun]], seed: str
) -> Floats:
    """The log of the evidence of one metric after each check."""
    pools: dict[str, list[float]] = defaultdict(list)
    for run in pinned:
        if (value := run.value(metric)) is not None:
            pools[run.task_id].append(value)
    places = {task: place for place, task in enumerate(pools)}
    reference = [len(values) for values in pools.values()]
    rows: list[ScoredRow] = []
    ends = [0]
    for check in checks:
        for row in _rows(metric, check, places):
            random = np.random.default_rng(list(sha256(f"{seed} {metric} {len(rows)}".encode()).digest()))
            score = score_row(list(row.values()), [pools[task] for task in row], random)
            rows.append(ScoredRow(score=score, tasks=tuple(places[task] for task in row)))
            for task, value in row.items():
                pools[task].append(value)
        ends.append(len(rows))
    logs: Floats = np.concatenate([[0.0], log_evidence(rows, reference)])[ends[1:]]
    return logs


def _rows(metric: str, check: Sequence[CheckedRun], places: Mapping[str, int]) -> Iterator[dict[str, float]]:
    """The first run of each task, then the second of each, and so on."""
    rows: list[dict[str, float]] = []
    seen: Counter[str] = Counter()
    for run in check:
        value = run.value(metric)
        if value is None or run.task_id not in places:
            continue
        if seen[run.task_id] == len(rows):
            rows.append({})
        rows[seen[run.task_id]][run.task_id] = value
        seen[run.task_id] += 1
    yield from rows


def _shares(pinned: Sequence[CheckedRun]) -> dict[str, float]:
    """The weight of each metric that the pin knows: half for the pass rate, the rest in equal parts."""
    known = [metric for metric in DRIFT_METRICS if any(run.value(metric) is not None for run in pinned)]
    others = [metric for metric in known if metric != PASSED]
    if PASSED not in known or not others:
        return {metric: 1 / len(known) for metric in known}
    return {PASSED: 0.5, **{metric: 0.5 / len(others) for metric in others}}


def _findings(
    paths: Mapping[str, Floats], alarm: int, pinned: Sequence[CheckedRun], runs: Sequence[CheckedRun]
) -> Iterator[str]:
    """The metrics that raised the alarm, at the check that first did."""
    for metric, path in paths.items():
        if path[alarm] >= log(ALARM_AT):
            yield f"{_movement(metric, pinned, runs)} (evidence {_shown(path[alarm]):.3g}, alarm at {ALARM_AT:g})"


def _movement(metric: str, pinned: Sequence[CheckedRun], runs: Sequence[CheckedRun]) -> str:
    then: dict[str, list[float]] = defaultdict(list)
    for run in pinned:
        if (value := run.value(metric)) is not None:
            then[run.task_id].append(value)
    moves = [
        value - float(np.mean(then[run.task_id]))
        for run in runs
        if (value := run.value(metric)) is not None and run.task_id in then
    ]
    moved, words = float(np.mean(moves)), DRIFT_METRICS[metric]
    if metric == PASSED:
        return f"{words} moved by {100 * moved:+.1f} points over {len(moves)} runs"
    return f"{words} is {exp(moved):.2f} times what it was over {len(moves)} runs"


def _usual_amounts(pinned: Iterable[Score]) -> dict[str, dict[str, float]]:
    """The geometric mean of every resource, by task."""
    logs: dict[str, dict[str, list[float]]] = {}
    for run in pinned:
        if not run.counted:
            continue
        of_task = logs.setdefault(run.task_id, defaultdict(list))
        for metric, amount in _amounts(run).items():
            of_task[metric].append(log(amount))
    return {
        task: {metric: exp(float(np.mean(values))) for metric, values in found.items()} for task, found in logs.items()
    }


def _checked_run(run: Score, usual: Mapping[str, float]) -> CheckedRun:
    ratios = {metric: amount / usual[metric] for metric, amount in _amounts(run).items() if metric in usual}
    return CheckedRun(task_id=run.task_id, passed=run.passed, ratios=ratios)


def _amounts(run: Score) -> dict[str, float]:
    """The resources of a run that are known and above zero: only these have a ratio."""
    found = {metric: getattr(run, metric) for metric in DRIFT_METRICS if metric != PASSED}
    return {metric: float(amount) for metric, amount in found.items() if amount is not None and amount > 0}


def _shown(logarithm: float) -> float:
    return min(exp(min(logarithm, 700.0)), _MOST_SHOWN)
