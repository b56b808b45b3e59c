"""Exporter of runs as an `aggregate-result.json` of `claude plugin eval`, by its own definitions.

The candidate is the arm with the plugin. Its format has no unknown numbers: a cost or a time that nobody knows is 0
there, an advisory of the case lists the places, and whoever exports is told how many there are.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from math import isclose
from statistics import fmean
from typing import Any

from outweigh.interop.plugin_eval.result_document import SCHEMA_VERSION, WITH_ARM, WITHOUT_ARM
from outweigh.interop.plugin_eval.unknown_figures import describe_unknown
from outweigh.model.failure import EXCLUDED_STATUSES, Status
from outweigh.model.run_record import CheckResult, RunRecord
from outweigh.score.objective import objective

THRESHOLD = 1.0
_DEFAULT_SECONDS, _DEFAULT_TURNS = 300, 10


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportedCase:
    """A task with its counted and excluded runs by arm; the prompt is empty where nobody kept it."""

    name: str
    prompt: str
    runs: Mapping[str, Sequence[RunRecord]]


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportedResult:
    """All that a result file says: two arms of a suite, under the names of its arms."""

    suite: str
    candidate: str
    version: str
    agent_version: str
    model: str | None
    cases: Sequence[ExportedCase]


def make_result(result: ExportedResult) -> dict[str, Any]:
    """The whole document."""
    cases = [_case(case) for case in result.cases]
    runs = [run for case in result.cases for arm in case.runs.values() for run in arm]
    starts = [run.started_at for run in runs if run.started_at is not None]
    deltas = [each["aggregates"]["delta"] for each in cases if "delta" in each["aggregates"]]
    model = {} if result.model is None else {"modelOverride": result.model}
    return {
        "schemaVersion": SCHEMA_VERSION,
        "claudeVersion": result.agent_version,
        "startedAt": _time(min(starts)) if starts else "1970-01-01T00:00:00.000Z",
        "durationSeconds": round(sum(run.duration_seconds or 0.0 for run in runs)),
        "costUsd": sum(run.cost.usd or 0.0 for run in runs),
        "partial": False,
        "suite": {
            "root": result.suite,
            "ablation": "with-without",
            **model,
            "threshold": THRESHOLD,
            "plugins": [{"name": result.candidate, "version": result.version, "path": result.suite}],
        },
        "cases": cases,
        "aggregates": {
            "casesTotal": len(cases),
            "casesPassed": sum(each["aggregates"]["score"] >= THRESHOLD for each in cases),
            "overallScore": _mean([each["aggregates"]["score"] for each in cases]),
            "overallPassRate": _mean([each["aggregates"]["passRate"] for each in cases]),
            **({"meanDelta": fmean(deltas)} if deltas else {}),
        },
    }


def _mean(values: Sequence[float]) -> float:
    """Its mean of nothing is 0."""
    return fmean(values) if values else 0.0


def _case(case: ExportedCase) -> dict[str, Any]:
    records = {arm: case.runs.get(arm, ()) for arm in (WITH_ARM, WITHOUT_ARM)}
    arms = {arm: [make_run(run) for run in runs] for arm, runs in records.items()}
    unknown = describe_unknown(records)
    checks = {check.name: check for arm in case.runs.values() for run in arm for check in run.checks or ()}
    return {
        "name": case.name,
        "dir": f"evals/{case.name}",
        "source": "yaml",
        "promptMarkdown": case.prompt,
        "runsPerCase": max(map(len, arms.values())),
        "timeoutSeconds": _DEFAULT_SECONDS,
        "maxTurns": _DEFAULT_TURNS,
        "graders": [
            {"name": check.name, "type": "check", "weight": check.weight or 1.0, "config": {}}
            for check in checks.values()
        ],
        "arms": arms,
        "aggregates": _aggregates(arms),
        **({} if unknown is None else {"advisories": [unknown]}),
    }


def _aggregates(arms: Mapping[str, Sequence[Mapping[str, Any]]]) -> dict[str, float]:
    """The figures of a case. It states no difference where a run ended without being graded, as an overload does."""
    (score, rate), (score_without, rate_without) = (
        (_mean([run["score"] for run in arms[arm]]), _mean([float(run["passed"]) for run in arms[arm]]))
        for arm in (WITH_ARM, WITHOUT_ARM)
    )
    found = {"score": score, "passRate": rate, "passRateWithout": rate_without}
    if all(run["graders"] for runs in arms.values() for run in runs):
        found |= {"scoreWithout": score_without, "delta": score - score_without}
    return found


def make_run(run: RunRecord) -> dict[str, Any]:
    """One run. What says nothing about the agent is an error without graders, as it writes it."""
    is_excluded = run.status in EXCLUDED_STATUSES
    share = objective(run).share.value
    score = 0.0 if is_excluded or share is None else share
    return {
        "score": score,
        "passed": isclose(score, 1.0),
        "turns": run.step_count or 0,
        "costUsd": run.cost.usd or 0.0,
        "judgeCostUsd": 0.0,
        "durationSeconds": round(run.duration_seconds or 0.0),
        **({} if run.started_at is None else {"startedAt": _time(run.started_at)}),
        "error": None if run.status is Status.COMPLETED else (run.status_detail or run.status.value),
        "tracePath": "",
        "skippedPaidGraders": False,
        "graders": [] if is_excluded else [_grade(check) for check in run.checks or ()],
    }


def _grade(check: CheckResult) -> dict[str, Any]:
    is_scored = check.weight > 0
    outcome = {True: "passed", False: "failed", None: "not evaluated"}[check.passed]
    return {
        "name": check.name,
        "passed": check.passed is True,
        "weight": check.weight or 1.0,
        "explanation": check.detail or outcome,
        "withOnly": not is_scored,
        "scored": is_scored,
    }


def _time(moment: datetime) -> str:
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")
