"""What the trigger cases of recorded runs show, by skill and arm."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import msgspec

from outweigh.app.evidence import EvidenceRequest
from outweigh.compare.trigger_outcomes import CaseTable, gather_triggers
from outweigh.errors import EvidenceError, UsageError
from outweigh.model.base import Name, Spec
from outweigh.model.run_record import RunRecord
from outweigh.model.source_document import SourceDocument
from outweigh.model.trigger_case import TriggerCase
from outweigh.report.document import Report
from outweigh.report.triggers_page import triggers_report


class ExpectedTrigger(Spec, frozen=True, kw_only=True):
    """What a task of the records expects."""

    task: Name
    skill: Name
    should_fire: bool


class ExpectedTriggers(Spec, frozen=True, kw_only=True):
    """A file that says which tasks are trigger cases."""

    case: list[ExpectedTrigger]


@dataclass(frozen=True, slots=True, kw_only=True)
class TriggersRequest:
    """Which records; `cases` is a file that says what their tasks expect, where the records do not."""

    evidence: EvidenceRequest
    cases: str | None = None


def examine_triggers(request: TriggersRequest) -> Report:
    """The page about all skills that the records have trigger cases for."""
    cases = None if request.cases is None else read_cases(request.cases)
    stream = request.evidence.stores.read(skip_invalid=request.evidence.skip_invalid)
    aside = {each.task for each in request.evidence.stores.quarantine()}

    def runs() -> Iterator[RunRecord]:
        for located in stream:
            if isinstance(located.record, RunRecord) and located.record.trial.task_id not in aside:
                yield located.record

    outcomes = gather_triggers(runs(), cases)
    if not outcomes.skills:
        raise EvidenceError(
            "the records have no counted run of a trigger case. Write prompts under [[triggers]] of a suite and run "
            "it, or say with --cases FILE which tasks should make which skill fire."
        )
    skipped = tuple(f"{line} could not be read and was skipped." for line in stream.skipped)
    return triggers_report(outcomes, (*skipped, *request.evidence.stores.warnings()))


def read_cases(path: str) -> CaseTable:
    """What tasks expect, from a file with `[[case]]` tables of `task`, `skill` and `should_fire`."""
    try:
        content = Path(path).read_bytes()
    except OSError as fault:
        raise UsageError(f"--cases {path} cannot be read: {fault.strerror}.") from fault
    found = SourceDocument(content, path).convert(ExpectedTriggers)
    table: dict[str, TriggerCase] = {}
    for each in found.case:
        if each.task in table:
            raise UsageError(f"--cases {path} names the task {each.task!r} twice; list every task once.")
        try:
            table[each.task] = msgspec.convert({"skill": each.skill, "should_fire": each.should_fire}, TriggerCase)
        except msgspec.ValidationError as fault:
            raise UsageError(f"--cases {path}: {fault}.") from None
    return table
