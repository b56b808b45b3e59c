"""Take a label from a form: check every field, then write it to the file of labels."""

from collections.abc import Mapping

from msgspec.structs import replace

from outweigh.errors import UsageError
from outweigh.report.formatting import escape_controls
from outweigh.store.label_file import FAIL_LABEL, PASS_LABEL, RunLabel, change_run_label, label_file
from outweigh.web.catalogue import ViewedStore
from outweigh.web.pages.label_form import MAX_NOTE_CHARACTERS
from outweigh.web.run_row import RunRow

MAX_FORM_BYTES = 64_000


def change_label(store: ViewedStore, row: RunRow, fields: Mapping[str, str]) -> None:
    """Write what a form says about a run, or about one of its criteria; without a note in it, the note stays."""
    criterion, label, note = fields.get("criterion", ""), fields.get("label", ""), fields.get("note")
    if label not in (PASS_LABEL, FAIL_LABEL, ""):
        raise UsageError(f"a label is {PASS_LABEL}, {FAIL_LABEL} or nothing.")
    judged = {each.criterion for judgment in store.index.judgments(row.run_id) for each in judgment.criteria}
    if criterion and criterion not in judged:
        raise UsageError("no judge scored this run on that criterion.")
    if note is not None and len(note) > MAX_NOTE_CHARACTERS:
        raise UsageError(f"a note has at most {MAX_NOTE_CHARACTERS:,} characters.")

    def change(given: RunLabel) -> RunLabel:
        # --calibrate takes either a label or a score, which somebody may have written by hand.
        score = "" if label else given.score
        return replace(given, label=label, score=score, note=given.note if note is None else _clean(note))

    change_run_label(label_file(store.index.path), (row.run_id, criterion), change)


def _clean(note: str) -> str:
    """A note with plain line feeds, and without characters that could not be seen."""
    lines = note.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    return "\n".join("\t".join(map(escape_controls, line.split("\t"))) for line in lines).strip()
