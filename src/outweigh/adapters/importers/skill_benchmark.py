"""`benchmark.json` of skill-creator and of those who wrote their own: runs in four layouts, or sums alone."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from outweigh.adapters.importers.skill_run import SkillRun, counted, graded, task_name
from outweigh.adapters.importers.source_time import seconds_of_milliseconds
from outweigh.record.usage import NO_USAGE, Usage
from outweigh.transcript.foreign import amount, count, mapping, name, sequence

WITH, WITHOUT = "with_skill", "without_skill"
ARMS = (WITHOUT, WITH)

Layout = Callable[[Mapping[str, Any]], Iterator[dict[str, Any]]]


def benchmark_runs(document: Mapping[str, Any]) -> Iterator[SkillRun | None]:
    """The runs, in whatever layout; None for a row that is none."""
    metadata = mapping(document.get("metadata"))
    skill = name(metadata.get("skill_name")) or name(document.get("skill_name")) or "skill"
    model = name(metadata.get("executor_model"))
    shared = {"skill": skill, "model": None if model is None or model.startswith("<") else model}
    for layout in (_listed, _paired, _configured, _scenarios):
        yield from (None if row.get("arm") is None else SkillRun(**(shared | row)) for row in layout(document))


def stated_summaries(document: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """What a file says about each arm as a whole."""
    found = {arm: mapping(each) for arm, each in mapping(document.get("run_summary")).items() if arm != "delta"}
    for each in map(mapping, sequence(document.get("configs"))):
        if (arm := name(each.get("name"))) is not None:
            found[arm] = mapping(each.get("summary"))
    return {arm: each for arm, each in found.items() if each}


def stated_pass_rate(summary: Mapping[str, Any]) -> float | None:
    """The mean share of assertions that held, under any of its names."""
    rate = summary.get("pass_rate", summary.get("mean_pass_rate"))
    return amount(mapping(rate).get("mean") if isinstance(rate, dict) else rate)


def _listed(document: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """skill-creator's own: one entry for a run, `configuration` is its arm."""
    for number, raw in enumerate(map(mapping, sequence(document.get("runs"))), start=1):
        if WITH in raw or WITHOUT in raw:
            continue
        result = mapping(raw.get("result"))
        passed, total = counted(result)
        yield {
            "task": task_name(raw, f"run {number}"),
            "arm": name(raw.get("configuration")),
            "repeat": count(raw.get("run_number")) or 1,
            "assertions": graded(raw.get("expectations")),
            "passed": passed,
            "total": total,
            "seconds": amount(result.get("time_seconds")) or None,
            "tool_calls": count(result.get("tool_calls")) or None,
            "extra": {
                "total_tokens": count(result.get("tokens")) or None,
                "pass_rate": amount(result.get("pass_rate")),
            },
        }


def _paired(document: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """One entry for a pair of runs, with the arms in it; indices start at 0."""
    for number, raw in enumerate(map(mapping, sequence(document.get("runs"))), start=1):
        for arm in ARMS:
            side = mapping(raw.get(arm))
            if not side:
                continue
            metrics = mapping(side.get("execution_metrics"))
            yield {
                "task": task_name(raw, f"run {number}"),
                "arm": arm,
                "repeat": (count(raw.get("run_index")) or 0) + 1,
                "assertions": graded(side.get("assertion_results")),
                "passed": None,
                "total": None,
                "seconds": amount(mapping(side.get("timing")).get("elapsed_seconds")),
                "usage": _usage(mapping(metrics.get("token_counts"))),
                "tool_calls": count(metrics.get("tool_calls")) or None,
                "extra": {"pass_rate": amount(side.get("pass_rate"))},
            }


def _configured(document: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """A list of evaluations for each arm, with counts instead of assertions."""
    for configuration in map(mapping, sequence(document.get("configs"))):
        for number, raw in enumerate(map(mapping, sequence(configuration.get("evals"))), start=1):
            passed, total = counted(raw)
            yield {
                "task": task_name(raw, f"eval {number}"),
                "arm": name(configuration.get("name")),
                "repeat": count(raw.get("run_number")) or 1,
                "assertions": None,
                "passed": passed,
                "total": total,
                "seconds": seconds_of_milliseconds(raw.get("duration_ms")),
                "extra": {"total_tokens": count(raw.get("total_tokens")), "pass_rate": amount(raw.get("pass_rate"))},
            }


def _scenarios(document: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Scenarios by name; the graded assertions, where there are some, stand apart."""
    grading = mapping(document.get("grading"))
    for scenario, raw in mapping(document.get("scenarios")).items():
        for arm in ARMS:
            side = mapping(mapping(raw).get(arm))
            if not side:
                continue
            passed, total = counted(side)
            assertions = graded(mapping(grading.get(scenario)).get(arm))
            yield {
                "task": name(scenario) or "scenario",
                "arm": arm,
                "repeat": 1,
                "assertions": assertions if assertions is not None and len(assertions) == total else None,
                "passed": passed,
                "total": total,
                "seconds": None,
                "extra": {"pass_rate": amount(side.get("pass_rate")), "label": name(mapping(raw).get("label"))},
            }


def _usage(raw: Mapping[str, Any]) -> Usage:
    """A cache that gave and took nothing was not looked at."""
    if not raw:
        return NO_USAGE
    return Usage(
        input_tokens=count(raw.get("input_tokens")),
        output_tokens=count(raw.get("output_tokens")),
        cache_read_tokens=count(raw.get("cache_read_input_tokens")) or None,
        cache_write_tokens=count(raw.get("cache_creation_input_tokens")) or None,
    )
