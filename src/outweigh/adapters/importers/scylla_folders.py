"""Experiments of ProjectScylla on the disk: `<experiment>/[completed/]<tier>/<subtest>/run_NN/run_result.json`."""

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from outweigh.adapters.importers.folders import files_below
from outweigh.adapters.importers.identity import fingerprint
from outweigh.adapters.importers.scylla_files import document
from outweigh.adapters.importers.scylla_judge_folders import judge_records
from outweigh.adapters.importers.scylla_run_folder import Experiment, RunFolder, folder_run
from outweigh.adapters.importers.source_text import head
from outweigh.errors import EvidenceError
from outweigh.ports.importers import ImportNotes
from outweigh.record.judgment import Judgment
from outweigh.record.run_record import RunRecord
from outweigh.transcript.foreign import count, mapping, name

RESULT = "run_result.json"
_MARKS = frozenset({RESULT, "result.json", "timing.json"})
_PASSED_BY = frozenset({"workspace", "repo", "repos", ".git"})
"""What an agent worked on: it could hold anything, even something that looks like a result."""

_PHASES = frozenset({"completed", "in_progress"})
_PLACE = re.compile(r"(?P<tier>T\d+)/(?P<subtest>\d+[\w-]*)/run_(?P<number>\d+)")
_TOLD_PLACE = re.compile(r"(?:^|/)(?P<experiment>[^/]+)/(?:(?:completed|in_progress)/)?" + _PLACE.pattern + r"(?:/|$)")


def has_run_folder(root: Path) -> bool:
    """Whether a folder has the result of a run, where the project puts it."""
    if not root.is_dir():
        return False
    results = files_below(root, lambda name: name == RESULT, passed_by=_PASSED_BY)
    return any(_place_of(file.parent) is not None and b'"token_stats"' in head(file) for file in results)


def folder_records(root: Path, notes: ImportNotes) -> Iterator[RunRecord | Judgment]:
    """Run by run, each with its judgments. What has no result yet, and what is there twice, is counted and said."""
    tally = _Tally()
    for folder in _run_folders(root, notes):
        try:
            if not (folder.path / RESULT).is_file():
                tally.unfinished[_state(folder)] += 1
                continue
            result = document(folder.path / RESULT, notes)
            found = _identified(folder, result)
            if not tally.is_copy(found, result):
                run = folder_run(found, result, notes)
                yield run
                yield from judge_records(found, result, run.run_id, notes)
        except (EvidenceError, ValueError) as fault:
            notes.unread(folder.path, 0, str(fault))
    tally.tell(notes)


class _Tally:
    """What was seen of the folders beside their results."""

    def __init__(self) -> None:
        self._seen: dict[tuple[str, ...], str] = {}
        self._doubled = 0
        self.unfinished: Counter[str] = Counter()

    def is_copy(self, folder: RunFolder, result: Mapping[str, Any]) -> bool:
        """Whether this very result was seen before; another one under the same name is handed on, to be refused."""
        content = fingerprint(result)
        copied = self._seen.get(folder.key) == content
        self._seen[folder.key] = content
        self._doubled += copied
        return copied

    def tell(self, notes: ImportNotes) -> None:
        """Say it once, at the end."""
        if self._doubled:
            notes.warn(f"{self._doubled:,} results are there twice, in copied folders; each counts once.")
        if self.unfinished:
            states = ", ".join(f"{number:,} {state}" for state, number in sorted(self.unfinished.items()))
            notes.warn(
                f"{self.unfinished.total():,} runs have no result and are left out ({states}): the experiment is still "
                "running, or was ended. Import it again, into another folder, when they have."
            )


@dataclass(frozen=True, slots=True)
class _Place:
    experiment: Path
    tier: str
    subtest: str
    number: int


def _run_folders(root: Path, notes: ImportNotes) -> Iterator[RunFolder]:
    """Every folder of a run that something was written to, whether or not it has a result."""
    experiments: dict[Path, Experiment | None] = {}
    seen: dict[Path, None] = {}
    for file in files_below(root, _MARKS.__contains__, passed_by=_PASSED_BY):
        inner = next((each for each in file.parents if _place_of(each) is not None), None)
        if inner is not None:
            seen.setdefault(inner)
    for path in seen:
        place = _place_of(path)
        if place is None:
            continue
        if any(_place_of(outer) is not None and outer.is_relative_to(root) for outer in path.parents):
            notes.warn(f"{path.relative_to(root)} lies within another run, as a copy would; it is left out.")
            continue
        if place.experiment not in experiments:
            experiments[place.experiment] = _experiment(place.experiment, notes)
        experiment = experiments[place.experiment]
        if experiment is None:
            continue
        yield RunFolder(
            path=path,
            experiment=experiment,
            experiment_name=place.experiment.resolve().name,
            tier=place.tier,
            subtest=place.subtest,
            number=place.number,
        )


def _experiment(folder: Path, notes: ImportNotes) -> Experiment | None:
    """None where its settings cannot be read: they say which model its runs are of, so none of them has a name."""
    try:
        return Experiment.read(folder, notes)
    except EvidenceError as fault:
        notes.unread(folder, 0, f"{fault} None of its runs is read")
        return None


def _place_of(folder: Path) -> _Place | None:
    found = _PLACE.fullmatch("/".join(folder.absolute().parts[-3:]))
    if found is None:
        return None
    above = folder.absolute().parents[2]
    experiment = above.parent if above.name in _PHASES else above
    return _Place(experiment, found["tier"], found["subtest"], int(found["number"]))


def _identified(folder: RunFolder, result: Mapping[str, Any]) -> RunFolder:
    """Which run a result is of, by its own word: folders are renamed and copied, and the result stays what it was."""
    told = _TOLD_PLACE.search((name(result.get("logs_path")) or "").replace("\\", "/"))
    number = count(result.get("run_number")) or folder.number
    if told is None:
        return folder.called(folder.experiment_name, folder.tier, folder.subtest, number)
    return folder.called(told["experiment"], told["tier"], told["subtest"], number)


def _state(folder: RunFolder) -> str:
    states = mapping(folder.experiment.checkpoint.get("run_states"))
    runs = mapping(mapping(states.get(folder.tier)).get(folder.subtest))
    if (state := name(runs.get(str(folder.number)))) is not None:
        return state.replace("_", " ")
    return "without a judge's word" if (folder.path / "agent" / "result.json").is_file() else "without an answer"
