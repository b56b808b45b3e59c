"""The JSON of `outweigh diff`."""

from outweigh.report.payload import Payload
from outweigh.report.run_diff.alignment import AlignedStep, Likeness
from outweigh.report.run_diff.facts import check_outcomes, facts, outcome
from outweigh.report.run_diff.patches import PatchedFile, PatchPair
from outweigh.report.run_diff.run_diff import RunDiff, RunSide
from outweigh.report.run_steps import ShownStep

MESSAGE_LENGTH = 2_000
"""Of a longer message the beginning is given: the whole is in the trajectory."""


def diff_payload(diff: RunDiff) -> Payload:
    """Keys are added, never renamed, within a schema version."""
    rows = diff.rows
    return {
        "schema": "outweigh.diff/1",
        "a": _side(diff.a),
        "b": _side(diff.b),
        "facts": {fact.key: {"a": fact.a, "b": fact.b} for fact in facts(diff)},
        "checks": [{"name": name, "a": a, "b": b} for name, a, b in check_outcomes(diff)],
        "first_divergence": diff.divergence,
        "alike": None if rows is None else diff.count(Likeness.SAME),
        "steps": None if rows is None else list(map(_row, rows)),
        "files": None if diff.files is None else list(map(_file, diff.files)),
        "warnings": list(dict.fromkeys((*diff.a.warnings, *diff.b.warnings))),
    }


def _side(side: RunSide) -> Payload:
    run = side.record
    return {
        "run_id": run.run_id,
        "task_id": run.trial.task_id,
        "arm": run.trial.arm,
        "repeat": run.trial.repeat,
        "attempt": run.attempt,
        "status": run.status.value,
        "outcome": outcome(run),
    }


def _row(row: AlignedStep) -> Payload:
    return {"likeness": row.likeness.value, "a": _step(row.a), "b": _step(row.b)}


def _step(step: ShownStep | None) -> Payload | None:
    if step is None:
        return None
    return {
        "number": step.number,
        "source": step.source,
        "message": step.message[:MESSAGE_LENGTH],
        "calls": [
            {
                "tool": call.tool,
                "arguments": None if call.arguments is None else call.arguments[:MESSAGE_LENGTH],
                "succeeded": call.succeeded,
            }
            for call in step.calls
        ],
        "cost_usd": step.cost_usd,
    }


def _file(pair: PatchPair) -> Payload:
    return {"path": pair.path, "likeness": pair.likeness.value, "a": _lines(pair.a), "b": _lines(pair.b)}


def _lines(file: PatchedFile | None) -> Payload | None:
    return None if file is None else {"added": file.added, "removed": file.removed}
