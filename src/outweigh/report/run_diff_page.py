"""The page and the JSON of `outweigh diff`: where two runs diverge, what they cost, and what each changed."""

from collections.abc import Iterator

import msgspec

from outweigh.compare.scan_summary import describe_finding
from outweigh.report.document import Block, BulletList, CodeBlock, Report, Table, Tone, optional_bullets
from outweigh.report.formatting import escape_controls
from outweigh.report.json_output import Payload
from outweigh.report.run_alignment import AlignedStep, StepLikeness
from outweigh.report.run_diff import (
    ComparedRun,
    PatchedFile,
    PatchPair,
    RunDiff,
    check_outcomes,
    compared_numbers,
    describe_run_outcome,
)
from outweigh.report.run_steps import ShownStep

MESSAGE_LENGTH = 2_000
"""Of a longer message the beginning is given: the whole is in the trajectory."""


def diff_payload(diff: RunDiff) -> Payload:
    """Keys are added, never renamed, within a schema version."""
    rows = diff.rows
    return {
        "schema": "outweigh.diff/1",
        "a": _run_payload(diff.a),
        "b": _run_payload(diff.b),
        "facts": {number.metric.name: {"a": number.a, "b": number.b} for number in compared_numbers(diff)},
        "checks": [{"name": name, "a": a, "b": b} for name, a, b in check_outcomes(diff)],
        "first_divergence": diff.divergence,
        "alike": None if rows is None else diff.count(StepLikeness.SAME),
        "steps": None if rows is None else list(map(_row_payload, rows)),
        "files": None if diff.files is None else list(map(_file_payload, diff.files)),
        "warnings": list(dict.fromkeys((*diff.a.warnings, *diff.b.warnings))),
    }


def _run_payload(side: ComparedRun) -> Payload:
    run = side.record
    return {
        "run_id": run.run_id,
        "task_id": run.trial.task_id,
        "arm": run.trial.arm,
        "repeat": run.trial.repeat,
        "attempt": run.attempt,
        "status": run.status.value,
        "outcome": describe_run_outcome(run),
        "findings": None if side.findings is None else msgspec.to_builtins(side.findings),
    }


def _row_payload(row: AlignedStep) -> Payload:
    return {"likeness": row.likeness.value, "a": _step_payload(row.a), "b": _step_payload(row.b)}


def _step_payload(step: ShownStep | None) -> Payload | None:
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


def _file_payload(pair: PatchPair) -> Payload:
    return {"path": pair.path, "likeness": pair.likeness.value, "a": _line_counts(pair.a), "b": _line_counts(pair.b)}


def _line_counts(file: PatchedFile | None) -> Payload | None:
    return None if file is None else {"added": file.added, "removed": file.removed}


COLUMN_WIDTH = 54
"""How wide one side of the steps is."""

CONTEXT_ROWS = 3
"""Of a longer stretch of rows that are alike, so many are shown at its beginning and its end."""

_MARKS = {StepLikeness.SAME: "=", StepLikeness.CHANGED: "≠", StepLikeness.ONLY_A: "<", StepLikeness.ONLY_B: ">"}


def diff_report(diff: RunDiff) -> Report:
    """Where two runs part, what they cost, every step that differs, and what each did to the files."""
    blocks: list[Block] = [_number_table(diff)]
    if checks := check_outcomes(diff):
        blocks.append(Table(title="Checks", columns=("", "A", "B"), rows=checks))
    blocks.append(_step_block(diff))
    blocks.append(_patch_block(diff))
    for name, side in _sides(diff):
        found = (escape_controls(describe_finding(finding)) for finding in side.findings or ())
        blocks += optional_bullets(f"Signs of cheating in {name}", tuple(found))
    blocks += optional_bullets("Warnings", tuple(dict.fromkeys((*diff.a.warnings, *diff.b.warnings))))
    return Report(
        headline=f"A {diff.a.record.run_id} against B {diff.b.record.run_id}",
        tone=Tone.PLAIN,
        lead=divergence_sentence(diff),
        blocks=tuple(blocks),
        payload=diff_payload(diff),
    )


def divergence_sentence(diff: RunDiff) -> str:
    """Where the runs part, in one sentence."""
    if diff.rows is None:
        return "The steps cannot be compared: they were not kept for both runs."
    if diff.divergence is None:
        return f"All {len(diff.rows)} steps are alike."
    row = diff.rows[diff.divergence]
    place = f"A's step {row.a.number}" if row.a else f"B's step {row.b.number}" if row.b else ""
    alike = "1 step" if diff.divergence == 1 else f"{diff.divergence} steps"
    parting = f"After {alike} alike they part" if diff.divergence else "The runs part at once"
    return f"{parting}, at {place}; {diff.count(StepLikeness.SAME)} of {len(diff.rows)} steps are alike."


def summarize_step(step: ShownStep) -> str:
    """A step in a line: its calls, else its words."""
    calls = "; ".join(f"{call.tool} {call.arguments or ''}".strip() for call in step.calls)
    return " ".join((calls or f"{step.source}: {step.message}")[: 20 * COLUMN_WIDTH].split())


def _number_table(diff: RunDiff) -> Table:
    a, b = diff.a.record, diff.b.record
    return Table(
        title="Outcome, cost and time",
        columns=("", "A", "B", "B against A"),
        rows=(
            ("arm", a.trial.arm, b.trial.arm, ""),
            ("task", a.trial.task_id, b.trial.task_id, ""),
            ("status", a.status.value, b.status.value, ""),
            ("outcome", describe_run_outcome(a), describe_run_outcome(b), ""),
            *((fact.metric.title, *fact.shown, fact.difference) for fact in compared_numbers(diff)),
        ),
    )


def _step_block(diff: RunDiff) -> Block:
    if diff.rows is None:
        return BulletList(title="Steps", items=tuple(_without_steps(diff)), tone=Tone.UNSURE)
    title = "Steps (= alike, ≠ same tools called otherwise, < only A, > only B)"
    return CodeBlock(title=title, lines=tuple(_step_lines(diff.rows)))


def _without_steps(diff: RunDiff) -> Iterator[str]:
    for name, side in (("A", diff.a), ("B", diff.b)):
        if side.steps is None:
            yield f"no step of {name} was kept."


def _step_lines(rows: tuple[AlignedStep, ...]) -> Iterator[str]:
    hidden = 0
    for place, row in enumerate(rows):
        nearby = rows[max(0, place - CONTEXT_ROWS) : place + CONTEXT_ROWS + 1]
        first, last = place < CONTEXT_ROWS, place >= len(rows) - CONTEXT_ROWS
        if first or last or any(other.likeness is not StepLikeness.SAME for other in nearby):
            if hidden:
                yield f"  … {hidden} steps alike …"
            hidden = 0
            yield f"{_MARKS[row.likeness]} {_step_cell(row.a):<{COLUMN_WIDTH}} | {_step_cell(row.b)}".rstrip()
        else:
            hidden += 1


def _step_cell(step: ShownStep | None) -> str:
    if step is None:
        return ""
    text = escape_controls(f"{step.number:>3} {summarize_step(step)}")
    return text if len(text) <= COLUMN_WIDTH else text[: COLUMN_WIDTH - 1] + "…"


def _patch_block(diff: RunDiff) -> Block:
    if diff.files is None:
        gone = [f"the patch of {name} was not kept." for name, side in _sides(diff) if side.patch is None]
        return BulletList(title="Patches", items=tuple(gone), tone=Tone.UNSURE)
    if not diff.files:
        return BulletList(title="Patches", items=("neither run changed a file.",), tone=Tone.PLAIN)
    return Table(title="Patches", columns=("", "A", "B", "which"), rows=tuple(map(_file_row, diff.files)))


def _sides(diff: RunDiff) -> tuple[tuple[str, ComparedRun], ...]:
    return ("A", diff.a), ("B", diff.b)


def _file_row(pair: PatchPair) -> tuple[str, ...]:
    return pair.path, format_changed_lines(pair.a), format_changed_lines(pair.b), pair.likeness.value.replace("_", " ")


def format_changed_lines(file: PatchedFile | None) -> str:
    """Lines added and removed."""
    return "untouched" if file is None else f"+{file.added} -{file.removed}"
