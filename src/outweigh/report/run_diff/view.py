"""The page of `outweigh diff`."""

from collections.abc import Iterator

from outweigh.report.document import Block, Bullets, Listing, Report, Table, Tone, notes
from outweigh.report.run_diff.alignment import AlignedStep, Likeness
from outweigh.report.run_diff.contract import diff_payload
from outweigh.report.run_diff.facts import check_outcomes, facts, outcome
from outweigh.report.run_diff.patches import PatchedFile, PatchPair
from outweigh.report.run_diff.run_diff import RunDiff, RunSide
from outweigh.report.run_steps import ShownStep
from outweigh.report.wording import visible

COLUMN = 54
"""How wide one side of the steps is."""

MOST_ALIKE = 3
"""Of a longer stretch of rows that are alike, so many are shown at its beginning and its end."""

_MARKS = {Likeness.SAME: "=", Likeness.CHANGED: "≠", Likeness.ONLY_A: "<", Likeness.ONLY_B: ">"}


def diff_report(diff: RunDiff) -> Report:
    """Where two runs part, what they cost, every step that differs, and what each did to the files."""
    blocks: list[Block] = [_numbers(diff)]
    if checks := check_outcomes(diff):
        blocks.append(Table(title="Checks", columns=("", "A", "B"), rows=checks))
    blocks.append(_steps(diff))
    blocks.append(_files(diff))
    blocks += notes("Warnings", tuple(dict.fromkeys((*diff.a.warnings, *diff.b.warnings))))
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
    return f"{parting}, at {place}; {diff.count(Likeness.SAME)} of {len(diff.rows)} steps are alike."


def gist(step: ShownStep) -> str:
    """A step in a line: its calls, else its words."""
    calls = "; ".join(f"{call.tool} {call.arguments or ''}".strip() for call in step.calls)
    return " ".join((calls or f"{step.source}: {step.message}")[: 20 * COLUMN].split())


def _numbers(diff: RunDiff) -> Table:
    a, b = diff.a.record, diff.b.record
    return Table(
        title="Outcome, cost and time",
        columns=("", "A", "B", "B against A"),
        rows=(
            ("arm", a.trial.arm, b.trial.arm, ""),
            ("task", a.trial.task_id, b.trial.task_id, ""),
            ("status", a.status.value, b.status.value, ""),
            ("outcome", outcome(a), outcome(b), ""),
            *((fact.title, fact.show(fact.a), fact.show(fact.b), fact.difference) for fact in facts(diff)),
        ),
    )


def _steps(diff: RunDiff) -> Block:
    if diff.rows is None:
        return Bullets(title="Steps", items=tuple(_without_steps(diff)), tone=Tone.UNSURE)
    title = "Steps (= alike, ≠ same tools called otherwise, < only A, > only B)"
    return Listing(title=title, lines=tuple(_lines(diff.rows)))


def _without_steps(diff: RunDiff) -> Iterator[str]:
    for name, side in (("A", diff.a), ("B", diff.b)):
        if side.steps is None:
            yield f"no step of {name} was kept."


def _lines(rows: tuple[AlignedStep, ...]) -> Iterator[str]:
    hidden = 0
    for place, row in enumerate(rows):
        nearby = rows[max(0, place - MOST_ALIKE) : place + MOST_ALIKE + 1]
        first, last = place < MOST_ALIKE, place >= len(rows) - MOST_ALIKE
        if first or last or any(other.likeness is not Likeness.SAME for other in nearby):
            if hidden:
                yield f"  … {hidden} steps alike …"
            hidden = 0
            yield f"{_MARKS[row.likeness]} {_cell(row.a):<{COLUMN}} | {_cell(row.b)}".rstrip()
        else:
            hidden += 1


def _cell(step: ShownStep | None) -> str:
    if step is None:
        return ""
    text = visible(f"{step.number:>3} {gist(step)}")
    return text if len(text) <= COLUMN else text[: COLUMN - 1] + "…"


def _files(diff: RunDiff) -> Block:
    if diff.files is None:
        gone = [f"the patch of {name} was not kept." for name, side in _sides(diff) if side.patch is None]
        return Bullets(title="Patches", items=tuple(gone), tone=Tone.UNSURE)
    if not diff.files:
        return Bullets(title="Patches", items=("neither run changed a file.",), tone=Tone.PLAIN)
    return Table(title="Patches", columns=("", "A", "B", "which"), rows=tuple(map(_file_row, diff.files)))


def _sides(diff: RunDiff) -> tuple[tuple[str, RunSide], ...]:
    return ("A", diff.a), ("B", diff.b)


def _file_row(pair: PatchPair) -> tuple[str, ...]:
    return pair.path, changed_lines(pair.a), changed_lines(pair.b), pair.likeness.value.replace("_", " ")


def changed_lines(file: PatchedFile | None) -> str:
    """Lines added and removed."""
    return "untouched" if file is None else f"+{file.added} -{file.removed}"
