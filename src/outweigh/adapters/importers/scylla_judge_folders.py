"""Judgments of a run from its folder: `judge/judge_NN/judgment.json`, or the sign that there is none."""

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from outweigh.adapters.importers.scylla_files import about_model, document
from outweigh.adapters.importers.scylla_judgments import Part, scylla_judgment
from outweigh.adapters.importers.scylla_run_folder import RunFolder
from outweigh.adapters.importers.source_time import moment
from outweigh.errors import EvidenceError
from outweigh.ports.importers import ImportNotes
from outweigh.record.judgment import Judgment
from outweigh.transcript.foreign import amount, mapping, name, sequence, text

_JUDGE = re.compile(r"judge_(\d+)")
_EVIDENCE_CHARACTERS = 2000


def judge_records(folder: RunFolder, result: Mapping[str, Any], run_id: str, notes: ImportNotes) -> Iterator[Judgment]:
    """Every judge that was asked; the same model asked again about a run is its next pass."""
    passes: Counter[str] = Counter()
    for place, number in _judge_folders(folder.path / "judge"):
        try:
            model = _model(place, number, folder, result, notes)
            passes[model] += 1
            judgment = _judgment(place, model, passes[model], run_id, notes)
        except (EvidenceError, ValueError) as fault:
            notes.unread(place, 0, str(fault))
            continue
        yield judgment


def _judgment(place: Path, model: str, pass_index: int, run_id: str, notes: ImportNotes) -> Judgment:
    file, timing = place / "judgment.json", document(place / "timing.json", notes)
    said = document(file, notes)
    return scylla_judgment(
        run_id=run_id,
        model=model,
        pass_index=pass_index,
        parts=list(_parts(said)),
        valid=said.get("is_valid") is not False,
        stated_total=amount(said.get("score")),
        trouble=None if file.is_file() else _failure(timing),
        judged_at=moment(timing.get("measured_at")),
    )


def _judge_folders(folder: Path) -> Iterator[tuple[Path, int]]:
    for place in sorted(folder.glob("judge_*")):
        found = _JUDGE.fullmatch(place.name)
        if found is not None and place.is_dir():
            yield place, int(found[1])


def _model(place: Path, number: int, folder: RunFolder, result: Mapping[str, Any], notes: ImportNotes) -> str:
    """Its own word, else the result's, else what the experiment asked for; at last its number."""
    summaries = [mapping(each) for each in sequence(result.get("judges"))]
    summary: dict[str, Any] = next((each for each in summaries if each.get("judge_number") == number), {})
    wanted = sequence(folder.experiment.config.get("judge_models"))[number - 1 : number] if number > 0 else []
    own = about_model(place / "MODEL.md", notes).get("Model")
    found = (name(each) for each in (own, summary.get("model"), *wanted))
    return next((each for each in found if each), f"judge {number}")


def _parts(said: Mapping[str, Any]) -> Iterator[Part]:
    for criterion, value in mapping(said.get("criteria_scores")).items():
        score = mapping(value)
        if criterion and score:
            yield Part(criterion[:500], amount(score.get("achieved")), amount(score.get("max")), _evidence(score))


def _evidence(score: Mapping[str, Any]) -> str | None:
    """The reasons of a criterion's items, each with its points."""
    reasons = [
        f"{item} {told.get('achieved')}/{told.get('max')}: {text(told.get('reason')) or ''}"
        for item, told in ((item, mapping(value)) for item, value in mapping(score.get("items")).items())
    ]
    return "\n".join(reasons)[:_EVIDENCE_CHARACTERS] or None


def _failure(timing: Mapping[str, Any]) -> str:
    return f"the judge failed: {text(timing.get('error')) or 'it left no judgment'}"[:500]
