"""Importer of ProjectScylla: the folders that its experiments write, or the tables that its analysis makes from them.

Runs are at `<experiment>/[completed/]<tier>/<subtest>/run_NN/run_result.json`, judgments below them at
`judge/judge_NN/judgment.json`.
"""

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from outweigh.errors import EvidenceError
from outweigh.interop.field_values import parse_time
from outweigh.interop.imported_run import field_origins, fingerprint
from outweigh.interop.result_files import read_head, read_json_object, walk_files
from outweigh.interop.scylla.run_folder import (
    RunFolder,
    ScyllaExperiment,
    make_folder_run,
    read_model_page,
)
from outweigh.interop.scylla.tables import (
    CriterionPoints,
    UnusableData,
    is_scylla_table,
    make_judgment,
    read_tables,
)
from outweigh.model.judgment import Judgment
from outweigh.model.run_record import RunRecord
from outweigh.model.untrusted_json import as_amount, as_count, as_dict, as_list, as_name, as_str
from outweigh.ports.importers import FieldOrigin, ImportNotes, ImportRequest

_JUDGE_FOLDER = re.compile(r"judge_(\d+)")
_EVIDENCE_CHARACTERS = 2000


def read_judge_folders(
    folder: RunFolder, result: Mapping[str, Any], run_id: str, notes: ImportNotes
) -> Iterator[Judgment]:
    """The judgment of every judge of a run; the same model asked again is its next pass."""
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
    file, timing = place / "judgment.json", read_json_object(place / "timing.json", notes)
    said = read_json_object(file, notes)
    return make_judgment(
        run_id=run_id,
        model=model,
        pass_index=pass_index,
        parts=list(_criterion_points(said)),
        valid=said.get("is_valid") is not False,
        stated_total=as_amount(said.get("score")),
        trouble=None if file.is_file() else _failure(timing),
        judged_at=parse_time(timing.get("measured_at")),
    )


def _judge_folders(folder: Path) -> Iterator[tuple[Path, int]]:
    for place in sorted(folder.glob("judge_*")):
        found = _JUDGE_FOLDER.fullmatch(place.name)
        if found is not None and place.is_dir():
            yield place, int(found[1])


def _model(place: Path, number: int, folder: RunFolder, result: Mapping[str, Any], notes: ImportNotes) -> str:
    """The judge's model: as its own page states, else the result, else the experiment's settings, else its number."""
    summaries = [as_dict(each) for each in as_list(result.get("judges"))]
    summary: dict[str, Any] = next((each for each in summaries if each.get("judge_number") == number), {})
    wanted = as_list(folder.experiment.config.get("judge_models"))[number - 1 : number] if number > 0 else []
    own = read_model_page(place / "MODEL.md", notes).get("Model")
    found = (as_name(each) for each in (own, summary.get("model"), *wanted))
    return next((each for each in found if each), f"judge {number}")


def _criterion_points(said: Mapping[str, Any]) -> Iterator[CriterionPoints]:
    for criterion, value in as_dict(said.get("criteria_scores")).items():
        score = as_dict(value)
        if criterion and score:
            yield CriterionPoints(
                criterion[:500], as_amount(score.get("achieved")), as_amount(score.get("max")), _evidence(score)
            )


def _evidence(score: Mapping[str, Any]) -> str | None:
    """The reasons for a criterion's items, each with its points."""
    reasons = [
        f"{item} {stated.get('achieved')}/{stated.get('max')}: {as_str(stated.get('reason')) or ''}"
        for item, stated in ((item, as_dict(value)) for item, value in as_dict(score.get("items")).items())
    ]
    return "\n".join(reasons)[:_EVIDENCE_CHARACTERS] or None


def _failure(timing: Mapping[str, Any]) -> str:
    return f"the judge failed: {as_str(timing.get('error')) or 'it left no judgment'}"[:500]


RUN_RESULT_FILE = "run_result.json"
_MARKS = frozenset({RUN_RESULT_FILE, "result.json", "timing.json"})
_SKIPPED_FOLDERS = frozenset({"workspace", "repo", "repos", ".git"})
"""Workspaces of agents: they may contain anything, even something that looks like a result."""

_PHASES = frozenset({"completed", "in_progress"})
_PLACE = re.compile(r"(?P<tier>T\d+)/(?P<subtest>\d+[\w-]*)/run_(?P<number>\d+)")
_STATED_PLACE = re.compile(
    r"(?:^|/)(?P<experiment>[^/]+)/(?:(?:completed|in_progress)/)?" + _PLACE.pattern + r"(?:/|$)"
)


def has_run_folder(root: Path) -> bool:
    """Whether a folder has the result of a run at the place where the project writes it."""
    if not root.is_dir():
        return False
    results = walk_files(root, lambda name: name == RUN_RESULT_FILE, skipped_folders=_SKIPPED_FOLDERS)
    return any(_locate_run(file.parent) is not None and b'"token_stats"' in read_head(file) for file in results)


def read_folders(root: Path, notes: ImportNotes) -> Iterator[RunRecord | Judgment]:
    """Run by run, each with its judgments. Unfinished runs and copies are counted and reported."""
    tally, faults = _FolderCounts(), UnusableData()
    for folder in _run_folders(root, notes):
        try:
            if not (folder.path / RUN_RESULT_FILE).is_file():
                tally.unfinished[_state(folder)] += 1
                continue
            result = read_json_object(folder.path / RUN_RESULT_FILE, notes)
            found = _identify(folder, result)
            if not tally.is_copy(found, result):
                run = make_folder_run(found, result, notes)
                yield run
                for judgment in read_judge_folders(found, result, run.run_id, notes):
                    faults.count(judgment)
                    yield judgment
        except (EvidenceError, ValueError) as fault:
            notes.unread(folder.path, 0, str(fault))
    tally.tell(notes)
    faults.tell(notes)


class _FolderCounts:
    """Counts of copies and unfinished runs."""

    def __init__(self) -> None:
        self._seen: dict[tuple[str, ...], str] = {}
        self._doubled = 0
        self.unfinished: Counter[str] = Counter()

    def is_copy(self, folder: RunFolder, result: Mapping[str, Any]) -> bool:
        """Whether this result was seen before; a different one under the same name is not a copy, and is
        refused later.
        """
        content = fingerprint(result)
        copied = self._seen.get(folder.key) == content
        self._seen[folder.key] = content
        self._doubled += copied
        return copied

    def tell(self, notes: ImportNotes) -> None:
        """Report the counts once, at the end."""
        if self._doubled:
            notes.warn(f"{self._doubled:,} results are there twice, in copied folders; each counts once.")
        if self.unfinished:
            states = ", ".join(f"{number:,} {state}" for state, number in sorted(self.unfinished.items()))
            notes.warn(
                f"{self.unfinished.total():,} runs have no result and are left out ({states}): the experiment is still "
                "running, or was ended. Import it again, into another folder, when they have."
            )


@dataclass(frozen=True, slots=True)
class _RunLocation:
    experiment: Path
    tier: str
    subtest: str
    number: int


def _run_folders(root: Path, notes: ImportNotes) -> Iterator[RunFolder]:
    """Every folder of a run, with or without a result."""
    experiments: dict[Path, ScyllaExperiment | None] = {}
    seen: dict[Path, None] = {}
    for file in walk_files(root, _MARKS.__contains__, skipped_folders=_SKIPPED_FOLDERS):
        inner = next((each for each in file.parents if _locate_run(each) is not None), None)
        if inner is not None:
            seen.setdefault(inner)
    for path in seen:
        place = _locate_run(path)
        if place is None:
            continue
        if any(_locate_run(outer) is not None and outer.is_relative_to(root) for outer in path.parents):
            notes.warn(f"{path.relative_to(root)} is within another run, as a copy would; it is left out.")
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


def _experiment(folder: Path, notes: ImportNotes) -> ScyllaExperiment | None:
    """The experiment of a folder; None if its settings cannot be read, because they name the model of its runs."""
    try:
        return ScyllaExperiment.read(folder, notes)
    except EvidenceError as fault:
        notes.unread(folder, 0, f"{fault} None of its runs is read")
        return None


def _locate_run(folder: Path) -> _RunLocation | None:
    found = _PLACE.fullmatch("/".join(folder.absolute().parts[-3:]))
    if found is None:
        return None
    above = folder.absolute().parents[2]
    experiment = above.parent if above.name in _PHASES else above
    return _RunLocation(experiment, found["tier"], found["subtest"], int(found["number"]))


def _identify(folder: RunFolder, result: Mapping[str, Any]) -> RunFolder:
    """The run as its result states it: folders are renamed and copied, and results stay as they were."""
    stated = _STATED_PLACE.search((as_name(result.get("logs_path")) or "").replace("\\", "/"))
    number = as_count(result.get("run_number")) or folder.number
    if stated is None:
        return folder.called(folder.experiment_name, folder.tier, folder.subtest, number)
    return folder.called(stated["experiment"], stated["tier"], stated["subtest"], number)


def _state(folder: RunFolder) -> str:
    states = as_dict(folder.experiment.checkpoint.get("run_states"))
    runs = as_dict(as_dict(states.get(folder.tier)).get(folder.subtest))
    if (state := as_name(runs.get(str(folder.number)))) is not None:
        return state.replace("_", " ")
    return "without a judge's word" if (folder.path / "agent" / "result.json").is_file() else "without an answer"


class ScyllaImporter:
    """Reads an experiment as a task; an arm is a model with a tier and sub-test, because sub-tests differ in set-up.

    The project's duration includes its judges; a run's duration here is the agent's alone. Whether a run passed is what
    its judges agreed on, and their judgments are imported, too.
    """

    name = "scylla"
    reads_also = frozenset({"claude-code", "codex"})
    fields: Mapping[str, FieldOrigin] = field_origins(
        reported="status status_detail agent duration_seconds usage cost step_count checks",
        derived="arm_fingerprint family started_at task_checksum warnings extra",
    )

    def recognises(self, path: Path) -> bool:
        """Whether a path has the project's tables, or a folder the result of a run."""
        try:
            return is_scylla_table(path) or has_run_folder(path)
        except (EvidenceError, OSError):
            return False

    def read(self, request: ImportRequest, notes: ImportNotes) -> Iterator[RunRecord | Judgment]:
        """Read the tables if there are any; the folder of an experiment has none."""
        if not is_scylla_table(request.path) and has_run_folder(request.path):
            return read_folders(request.path, notes)
        return read_tables(request.path, notes)
