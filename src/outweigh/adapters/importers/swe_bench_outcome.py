"""What SWE-bench's files say about each instance, whichever of their shapes they have."""

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from outweigh.record.status import Status
from outweigh.transcript.foreign import count, mapping, name, sequence, text

Raw = Mapping[str, Any]


class Outcome(NamedTuple):
    """One instance. `resolved` is None where nobody can tell; `status` says whether the attempt was a fair one."""

    instance: str
    resolved: bool | None
    status: Status
    detail: str | None


def report_outcomes(report: Raw) -> Iterator[Outcome]:
    """The final report of a run, version 1 or 2. Every instance that it speaks of, once.

    An instance of the suite without a prediction or with an empty one was failed. Version 2 says of some failures that
    the environment was to blame: those say nothing about the agent. Of others it cannot tell, and neither can we.
    """
    lists = {key: _ids(report.get(key)) for key in _LISTS}
    reasons = mapping(report.get("failure_reasons"))
    for instance in sorted(frozenset[str]().union(*lists.values())):
        within = {key for key, ids in lists.items() if instance in ids}
        reason = text(reasons.get(instance))
        if "resolved_ids" in within and within & _FAILED:
            yield Outcome(instance, None, Status.COMPLETED, "the report calls it resolved, and also failed")
        elif "resolved_ids" in within:
            yield Outcome(instance, True, Status.COMPLETED, None)
        elif "infra_failure_ids" in within:
            yield Outcome(instance, None, Status.INFRA_ERROR, reason or "infrastructure failure")
        elif "ambiguous_failure_ids" in within:
            yield Outcome(instance, None, Status.COMPLETED, reason or "ambiguous failure")
        elif "empty_patch_ids" in within:
            yield Outcome(instance, False, Status.COMPLETED, "empty patch")
        elif "unresolved_ids" in within:
            yield Outcome(instance, False, Status.COMPLETED, reason)
        elif "error_ids" in within:
            yield Outcome(instance, False, Status.COMPLETED, reason or "the evaluation ended in an error")
        else:
            yield Outcome(instance, False, Status.COMPLETED, NO_PREDICTION)


def unnamed_entries(report: Raw) -> Iterator[str]:
    """Lists of a final report in which something stands that names no instance."""
    for key in _LISTS:
        if unnamed := sum(name(each) is None for each in sequence(report.get(key))):
            yield f"{unnamed:,} of the entries of {key} name no instance"


def contradictions(report: Raw) -> Iterator[str]:
    """Where a final report counts other instances than it names."""
    for key in _LISTS:
        named, stated = _ids(report.get(key)), count(report.get(key.replace("_ids", "_instances")))
        if stated is not None and isinstance(report.get(key), list) and stated != len(named):
            yield f"it counts {stated:,} and names {len(named):,} in {key}"


def single_outcomes(report: Raw) -> Iterator[Outcome]:
    """The report of a single instance, `{id: {resolved: …}}`."""
    for key, each in report.items():
        instance, resolved = name(key), mapping(each).get("resolved")
        if instance is not None and isinstance(resolved, bool):
            yield Outcome(instance, resolved, Status.COMPLETED, None)


def listed_outcomes(resolved: frozenset[str], tasks: frozenset[str]) -> Iterator[Outcome]:
    """A list of what was resolved: all other instances of the suite were not."""
    for instance in sorted(tasks):
        yield Outcome(instance, instance in resolved, Status.COMPLETED, None)


def missing_outcomes(seen: frozenset[str], tasks: frozenset[str]) -> Iterator[Outcome]:
    """Instances of a fixed suite that the source leaves out: nothing was handed in for them."""
    for instance in sorted(tasks - seen):
        yield Outcome(instance, False, Status.COMPLETED, NO_PREDICTION)


def resolved_list(document: object) -> frozenset[str] | None:
    """The ids of a list of resolved instances; None where the document is none."""
    if isinstance(document, list):
        return _ids(document) if document and all(isinstance(each, str) for each in document) else None
    for key in ("resolvedIds", "resolved_ids", "resolved"):
        found = mapping(document).get(key)
        if isinstance(found, list) and all(isinstance(each, str) for each in found):
            return _ids(found)
    return None


def is_report(document: object) -> bool:
    """Whether this is a run's final report."""
    return isinstance(mapping(document).get("resolved_ids"), list) and "total_instances" in mapping(document)


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
    return frozenset(found for each in sequence(value) if (found := name(each)) is not None)
