"""What SWE-bench's files say about each instance: reports of all versions, and lines with one result each."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from outweigh.interop.field_values import known_sum, milliseconds_to_seconds, parse_time
from outweigh.interop.imported_run import extra_fields, imported_run, outcome_check, real_agent, stable_id
from outweigh.model.failure import Status
from outweigh.model.run_record import RunRecord
from outweigh.model.untrusted_json import as_amount, as_count, as_dict, as_list, as_name, as_str
from outweigh.model.usage import Usage, reported_cost
from outweigh.transcript.token_counts import usage_unless_empty

_RawReport = Mapping[str, Any]


class InstanceOutcome(NamedTuple):
    """The outcome of an instance. `resolved` is None if it is unknown; `status` says whether the attempt counts.

    `patch` is what the agent submitted, where the source has it. `figures` are what else the source states about the
    instance, such as its cost.
    """

    instance: str
    resolved: bool | None
    status: Status
    detail: str | None
    patch: str | None = None
    figures: Mapping[str, Any] = {}

    @property
    def cost_usd(self) -> float | None:
        """The cost of the instance in US dollars."""
        return next(
            (found for key in _COST_KEYS if (found := as_amount(self.figures.get(key))) is not None),
            None,
        )


_COST_KEYS = ("cost", "cost_usd", "total_cost", "total_cost_usd", "instance_cost")


def report_outcomes(report: _RawReport) -> Iterator[InstanceOutcome]:
    """The outcome of every instance in the final report of a run, version 1 or 2.

    An instance without a prediction, or with an empty one, is failed. Version 2 blames some failures on the
    environment: those say nothing about the agent. Others it calls ambiguous, and they stay unknown here.
    """
    lists = {key: _ids(report.get(key)) for key in _LISTS}
    reasons = as_dict(report.get("failure_reasons"))
    for instance in sorted(frozenset[str]().union(*lists.values())):
        within = {key for key, ids in lists.items() if instance in ids}
        reason = as_str(reasons.get(instance))
        if "resolved_ids" in within and within & _FAILED:
            yield InstanceOutcome(instance, None, Status.COMPLETED, "the report calls it resolved, and also failed")
        elif "resolved_ids" in within:
            yield InstanceOutcome(instance, True, Status.COMPLETED, None)
        elif "infra_failure_ids" in within:
            yield InstanceOutcome(instance, None, Status.INFRA_ERROR, reason or "infrastructure failure")
        elif "ambiguous_failure_ids" in within:
            yield InstanceOutcome(instance, None, Status.COMPLETED, reason or "ambiguous failure")
        elif "empty_patch_ids" in within:
            yield InstanceOutcome(instance, False, Status.COMPLETED, "empty patch")
        elif "unresolved_ids" in within:
            yield InstanceOutcome(instance, False, Status.COMPLETED, reason)
        elif "error_ids" in within:
            yield InstanceOutcome(instance, False, Status.COMPLETED, reason or "the evaluation ended in an error")
        else:
            yield InstanceOutcome(instance, False, Status.COMPLETED, NO_PREDICTION)


def unnamed_entries(report: _RawReport) -> Iterator[str]:
    """A sentence for each list of a final report with entries that name no instance."""
    for key in _LISTS:
        if unnamed := sum(as_name(each) is None for each in as_list(report.get(key))):
            yield f"{unnamed:,} of the entries of {key} name no instance"


def count_mismatches(report: _RawReport) -> Iterator[str]:
    """A sentence for each list of a final report whose stated count differs from its length."""
    for key in _LISTS:
        named, stated = _ids(report.get(key)), as_count(report.get(key.replace("_ids", "_instances")))
        if stated is not None and isinstance(report.get(key), list) and stated != len(named):
            yield f"it counts {stated:,} and names {len(named):,} in {key}"


def single_outcomes(report: _RawReport) -> Iterator[InstanceOutcome]:
    """The outcomes in a map by instance, `{id: {resolved: …, cost: …}}` or `{id: true}`."""
    for key, each in report.items():
        instance, figures = as_name(key), as_dict(each)
        resolved = figures.get("resolved", each)
        if instance is not None and isinstance(resolved, bool):
            known = {name: value for name, value in figures.items() if isinstance(value, int | float | str)}
            known.pop("resolved", None)
            yield InstanceOutcome(instance, resolved, Status.COMPLETED, None, None, known)


def without_empty_costs(found: Sequence[InstanceOutcome]) -> tuple[list[InstanceOutcome], bool]:
    """The outcomes without their costs if every one is 0, because no model is free; and whether that was so."""
    if not found or any(each.cost_usd != 0 for each in found):
        return list(found), False
    return [
        each._replace(figures={name: value for name, value in each.figures.items() if name not in _COST_KEYS})
        for each in found
    ], True


def read_predictions(document: object) -> list[Mapping[str, Any]]:
    """A list of predictions, or a table of them by instance; empty if the document is something else."""
    rows = document if isinstance(document, list) else list(as_dict(document).values())
    found: list[Mapping[str, Any]] = [as_dict(row) for row in rows]
    return found if found and all("model_patch" in row and as_name(row.get("instance_id")) for row in found) else []


def prediction_outcome(raw: Mapping[str, Any]) -> InstanceOutcome:
    """An empty patch is a failure; whether any other resolves the instance is unknown."""
    empty = not raw.get("model_patch")
    detail = "empty patch" if empty else "not evaluated"
    resolved = False if empty else None
    return InstanceOutcome(
        as_name(raw.get("instance_id")) or "", resolved, Status.COMPLETED, detail, as_str(raw.get("model_patch"))
    )


def prediction_model(prediction: Mapping[str, Any]) -> str | None:
    """The model or system that a prediction names."""
    return as_name(prediction.get("model_name_or_path"))


def join_predictions(
    stated: Iterable[InstanceOutcome], predictions: Sequence[Mapping[str, Any]]
) -> Iterator[InstanceOutcome]:
    """The outcomes with their patches; a prediction that the report leaves out keeps an unknown outcome."""
    patches = {as_name(each.get("instance_id")): each for each in predictions}
    for each in stated:
        prediction = patches.pop(each.instance, None)
        yield each if prediction is None else each._replace(patch=as_str(prediction.get("model_patch")))
    yield from map(prediction_outcome, patches.values())


def named_failures(table: _RawReport) -> frozenset[str]:
    """The instances that a list of what was resolved names as not generated, not evaluated or failed."""
    return frozenset().union(*(_ids(table.get(key)) for key in FAILURE_LISTS))


FAILURE_LISTS = ("no_generation", "no_logs", "install_fail", "reset_failed", "test_errored", "test_timeout")


def outcomes_of_list(resolved: frozenset[str], tasks: frozenset[str]) -> Iterator[InstanceOutcome]:
    """The outcomes of a suite from a list of resolved instances: all others were not resolved."""
    for instance in sorted(tasks):
        yield InstanceOutcome(instance, instance in resolved, Status.COMPLETED, None)


def missing_outcomes(seen: frozenset[str], tasks: frozenset[str]) -> Iterator[InstanceOutcome]:
    """The outcomes of instances that the source leaves out: nothing was submitted for them."""
    for instance in sorted(tasks - seen):
        yield InstanceOutcome(instance, False, Status.COMPLETED, NO_PREDICTION)


def read_resolved_list(document: object) -> frozenset[str] | None:
    """The ids in a list of resolved instances; None if the document is something else."""
    if isinstance(document, list):
        return _ids(document) if document and all(isinstance(each, str) for each in document) else None
    for key in ("resolvedIds", "resolved_ids", "resolved"):
        found = as_dict(document).get(key)
        if isinstance(found, list) and all(isinstance(each, str) for each in found):
            return _ids(found)
    return None


def is_final_report(document: object) -> bool:
    """Whether a document is the final report of a run."""
    return isinstance(as_dict(document).get("resolved_ids"), list) and "total_instances" in as_dict(document)


NO_PREDICTION = "no prediction"
_FAILED = frozenset({"unresolved_ids", "error_ids", "empty_patch_ids"})
_LISTS = (
    "resolved_ids",
    "infra_failure_ids",
    "ambiguous_failure_ids",
    "unresolved_ids",
    "error_ids",
    "empty_patch_ids",
    "incomplete_ids",
)


def _ids(value: object) -> frozenset[str]:
    return frozenset(found for each in as_list(value) if (found := as_name(each)) is not None)


_RawLine = Mapping[str, Any]


def is_result_line(raw: _RawLine) -> bool:
    """Whether a line states whether an instance was resolved."""
    return line_instance(raw) is not None and isinstance(raw.get("resolved"), bool)


def line_run(raw: _RawLine, arm: str | None) -> RunRecord:
    """The run of a result line. Its input tokens exclude the cache if the cache has fields of its own."""
    instance, who, model = line_instance(raw) or "", as_name(raw.get("agent")), as_name(raw.get("model"))
    named = stable_id(arm or " ".join(part for part in (who, model) if part) or "agent")
    calls = [as_count(times) for times in as_dict(raw.get("toolCalls")).values()]
    return imported_run(
        run_id=stable_id("swe-bench", named, instance),
        task_id=instance,
        arm=named,
        repeat=1,
        agent=real_agent(who, None, model),
        family=as_name(raw.get("repo")),
        started_at=parse_time(raw.get("timestamp")),
        duration_seconds=milliseconds_to_seconds(raw.get("durationMs")),
        usage=usage_unless_empty(_usage(raw)),
        cost=reported_cost(as_amount(raw.get("costUsd"))),
        tool_call_count=known_sum(calls),
        checks=(outcome_check("resolved", raw.get("resolved") is True),),
        extra=extra_fields({key: raw.get(key) for key in ("commitHash", "numTurns", "toolCalls")}),
    )


def _usage(raw: _RawLine) -> Usage:
    read, written = as_count(raw.get("cacheReadTokens")), as_count(raw.get("cacheCreationTokens"))
    return Usage(
        input_tokens=None if read is None else as_count(raw.get("inputTokens")),
        output_tokens=as_count(raw.get("outputTokens")),
        cache_read_tokens=read,
        cache_write_tokens=written,
    )


def line_instance(raw: _RawLine) -> str | None:
    """The instance that a line of predictions or results is about."""
    return as_name(raw.get("instanceId")) or as_name(raw.get("instance_id"))
