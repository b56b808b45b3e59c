"""Graded runs of a skill's evals as run records: assertions are checks, and all of them must hold.

`benchmark.json` is read in four layouts: skill-creator's own and three that others wrote.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from outweigh.interop.field_values import milliseconds_to_seconds
from outweigh.interop.imported_run import extra_fields, fingerprint, imported_run, outcome_check, real_agent, stable_id
from outweigh.interop.skill_files import WITH_SKILL_ARM, WITHOUT_SKILL_ARM
from outweigh.model.failure import Status
from outweigh.model.run_record import CheckResult, RunRecord
from outweigh.model.untrusted_json import as_amount, as_count, as_dict, as_list, as_name, as_str
from outweigh.model.usage import NO_USAGE, Usage


@dataclass(frozen=True, slots=True, kw_only=True)
class GradedRun:
    """A graded run. `assertions` are those with a grade; if only counts are known, `passed` of `total` held."""

    skill: str
    task: str
    arm: str
    repeat: int
    model: str | None
    assertions: Sequence[Mapping[str, Any]] | None
    passed: int | None
    total: int | None
    seconds: float | None
    usage: Usage = NO_USAGE
    tool_calls: int | None = None
    status: Status = Status.COMPLETED
    status_detail: str | None = None
    extra: Mapping[str, Any] = field(default_factory=dict)

    @property
    def asserted(self) -> int | None:
        """The number of assertions; None if it is unknown."""
        return self.total if self.assertions is None else len(self.assertions)


def read_task_name(raw: Mapping[str, Any], fallback: str) -> str:
    """An evaluation's name, else its id, else `fallback`."""
    known = as_name(raw.get("eval_name")) or as_name(raw.get("name"))
    number = raw.get("eval_id", raw.get("id"))
    if known is None and isinstance(number, int) and not isinstance(number, bool):
        known = f"eval-{number}"
    return known or as_name(number) or fallback


def read_assertions(raw: object) -> list[dict[str, Any]] | None:
    """The assertions that state whether they held; None if there are none."""
    found = [as_dict(each) for each in as_list(raw)]
    return found if found and all(isinstance(each.get("passed"), bool) for each in found) else None


def read_counts(raw: Mapping[str, Any]) -> tuple[int | None, int | None]:
    """How many assertions held, of how many; both are None unless they are plausible."""
    passed = as_count(raw.get("passed", raw.get("assertions_passed")))
    total = as_count(raw.get("total", raw.get("assertions_total")))
    return (None, None) if passed is None or total is None or passed > total else (passed, total)


def make_skill_run(run: GradedRun) -> RunRecord:
    """The record of a run. The number of assertions is part of the checksum: another number is another task."""
    content = fingerprint([run.passed, run.total, run.seconds, list(run.assertions or ()), dict(run.extra)])
    return imported_run(
        run_id=stable_id("skill", run.skill, run.arm, run.task, run.repeat, content[:12]),
        task_id=run.task,
        arm=run.arm,
        repeat=run.repeat,
        status=run.status,
        status_detail=run.status_detail,
        agent=real_agent(None, None, run.model),
        task_checksum=None if run.asserted is None else fingerprint([run.skill, run.task, run.asserted]),
        duration_seconds=run.seconds,
        usage=run.usage,
        tool_call_count=run.tool_calls,
        checks=_checks(run),
        extra=extra_fields({"skill": run.skill, **run.extra}),
    )


def _checks(run: GradedRun) -> tuple[CheckResult, ...] | None:
    if run.assertions is not None:
        return tuple(_check(number, raw) for number, raw in enumerate(run.assertions, start=1))
    if run.passed is None or run.total is None:
        return None
    if not run.total:
        return ()
    return (
        CheckResult(
            name="assertions",
            required=True,
            passed=run.passed == run.total,
            cases_passed=run.passed,
            cases_total=run.total,
            exit_code=None,
            detail=None,
        ),
    )


def _check(number: int, raw: Mapping[str, Any]) -> CheckResult:
    evidence = as_str(raw.get("evidence"))
    shown = (as_name(raw.get("text")) or as_name(raw.get("name")) or "assertion")[:200]
    return outcome_check(f"{number} {shown}", raw["passed"], None if evidence is None else evidence[:500])


BENCHMARK_ARMS = (WITHOUT_SKILL_ARM, WITH_SKILL_ARM)


def read_benchmark_runs(document: Mapping[str, Any]) -> Iterator[GradedRun | None]:
    """The runs in any of the layouts; None for a row that cannot be read."""
    metadata = as_dict(document.get("metadata"))
    skill = as_name(metadata.get("skill_name")) or as_name(document.get("skill_name")) or "skill"
    model = as_name(metadata.get("executor_model"))
    shared = {"skill": skill, "model": None if model is None or model.startswith("<") else model}
    for layout in (_listed_layout, _paired_layout, _configured_layout, _scenario_layout):
        yield from (None if row.get("arm") is None else GradedRun(**(shared | row)) for row in layout(document))


def read_arm_summaries(document: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """The summary of each arm that a file states."""
    found = {arm: as_dict(each) for arm, each in as_dict(document.get("run_summary")).items() if arm != "delta"}
    for each in map(as_dict, as_list(document.get("configs"))):
        if (arm := as_name(each.get("name"))) is not None:
            found[arm] = as_dict(each.get("summary"))
    return {arm: each for arm, each in found.items() if each}


def read_pass_rate(summary: Mapping[str, Any]) -> float | None:
    """The mean share of assertions that held, under any of its names."""
    rate = summary.get("pass_rate", summary.get("mean_pass_rate"))
    return as_amount(as_dict(rate).get("mean") if isinstance(rate, dict) else rate)


def _listed_layout(document: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """skill-creator's own layout: one entry per run, whose `configuration` is its arm."""
    for number, raw in enumerate(map(as_dict, as_list(document.get("runs"))), start=1):
        if WITH_SKILL_ARM in raw or WITHOUT_SKILL_ARM in raw:
            continue
        result = as_dict(raw.get("result"))
        passed, total = read_counts(result)
        yield {
            "task": read_task_name(raw, f"run {number}"),
            "arm": as_name(raw.get("configuration")),
            "repeat": as_count(raw.get("run_number")) or 1,
            "assertions": read_assertions(raw.get("expectations")),
            "passed": passed,
            "total": total,
            "seconds": as_amount(result.get("time_seconds")) or None,
            "tool_calls": as_count(result.get("tool_calls")) or None,
            "extra": {
                "total_tokens": as_count(result.get("tokens")) or None,
                "pass_rate": as_amount(result.get("pass_rate")),
            },
        }


def _paired_layout(document: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """One entry per pair of runs, by arm; indices start at 0."""
    for number, raw in enumerate(map(as_dict, as_list(document.get("runs"))), start=1):
        for arm in BENCHMARK_ARMS:
            side = as_dict(raw.get(arm))
            if not side:
                continue
            metrics = as_dict(side.get("execution_metrics"))
            yield {
                "task": read_task_name(raw, f"run {number}"),
                "arm": arm,
                "repeat": (as_count(raw.get("run_index")) or 0) + 1,
                "assertions": read_assertions(side.get("assertion_results")),
                "passed": None,
                "total": None,
                "seconds": as_amount(as_dict(side.get("timing")).get("elapsed_seconds")),
                "usage": _usage(as_dict(metrics.get("token_counts"))),
                "tool_calls": as_count(metrics.get("tool_calls")) or None,
                "extra": {"pass_rate": as_amount(side.get("pass_rate"))},
            }


def _configured_layout(document: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """A list of evaluations per arm, with counts instead of assertions."""
    for configuration in map(as_dict, as_list(document.get("configs"))):
        for number, raw in enumerate(map(as_dict, as_list(configuration.get("evals"))), start=1):
            passed, total = read_counts(raw)
            yield {
                "task": read_task_name(raw, f"eval {number}"),
                "arm": as_name(configuration.get("name")),
                "repeat": as_count(raw.get("run_number")) or 1,
                "assertions": None,
                "passed": passed,
                "total": total,
                "seconds": milliseconds_to_seconds(raw.get("duration_ms")),
                "extra": {
                    "total_tokens": as_count(raw.get("total_tokens")),
                    "pass_rate": as_amount(raw.get("pass_rate")),
                },
            }


def _scenario_layout(document: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Scenarios by name; graded assertions, if any, are in a place of their own."""
    grading = as_dict(document.get("grading"))
    for scenario, raw in as_dict(document.get("scenarios")).items():
        for arm in BENCHMARK_ARMS:
            side = as_dict(as_dict(raw).get(arm))
            if not side:
                continue
            passed, total = read_counts(side)
            assertions = read_assertions(as_dict(grading.get(scenario)).get(arm))
            yield {
                "task": as_name(scenario) or "scenario",
                "arm": arm,
                "repeat": 1,
                "assertions": assertions if assertions is not None and len(assertions) == total else None,
                "passed": passed,
                "total": total,
                "seconds": None,
                "extra": {"pass_rate": as_amount(side.get("pass_rate")), "label": as_name(as_dict(raw).get("label"))},
            }


def _usage(raw: Mapping[str, Any]) -> Usage:
    """The tokens; a cache count of 0 means that the cache was not counted."""
    if not raw:
        return NO_USAGE
    return Usage(
        input_tokens=as_count(raw.get("input_tokens")),
        output_tokens=as_count(raw.get("output_tokens")),
        cache_read_tokens=as_count(raw.get("cache_read_input_tokens")) or None,
        cache_write_tokens=as_count(raw.get("cache_creation_input_tokens")) or None,
    )
