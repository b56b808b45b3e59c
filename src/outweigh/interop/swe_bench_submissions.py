"""Which results of SWE-bench a file or folder holds: the arm of each, and the outcomes of its instances.

A submission is one arm on one benchmark. A folder may hold many, each with a report, a map or a list of what was
resolved, and the predictions that were evaluated.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from os.path import commonpath
from pathlib import Path
from shlex import quote
from typing import Any, NamedTuple

import msgspec

from outweigh.errors import EvidenceError, UsageError
from outweigh.interop.imported_run import decode_file_name
from outweigh.interop.result_files import read_bytes, read_head, read_json, read_json_lines, walk_files
from outweigh.interop.swe_bench_reports import (
    FAILURE_LISTS,
    InstanceOutcome,
    count_mismatches,
    is_final_report,
    is_result_line,
    join_predictions,
    missing_outcomes,
    named_failures,
    outcomes_of_list,
    prediction_model,
    prediction_outcome,
    read_predictions,
    read_resolved_list,
    report_outcomes,
    single_outcomes,
    unnamed_entries,
)
from outweigh.interop.swe_bench_suites import NamedSuites
from outweigh.model.untrusted_json import as_amount, as_dict, as_list, as_name
from outweigh.ports.importers import ImportNotes, ImportRequest

INSTANCE_REPORT_FILE = "report.json"
_SAMPLED_FILES = 200
_NO_RESULTS_BELOW = frozenset({"trajs", "trajectories", "logs", "run_evaluation", "traj"})
_GENERIC_FOLDERS = frozenset({"results", "instance_results", "evaluation", "eval", "output", "outputs"})
_GENERIC_STEM = re.compile(r"(per_instance_details|per_instance|instance_results|results?|report|resolved|details)")
_DATE = re.compile(r"^\d{8}[_-]")
_INSTANCE = rb'"(?:[\w.-]+__[\w.-]+-\w[\w.-]*|[\w.-]+/[\w.-]+:pr-\d+)"'
# Strings and what is between them begin differently, so that no text is tried in two ways.
_MAP_START = re.compile(
    rb'^\s*\{\s*"[^"\\]{1,200}"\s*:\s*\{(?:"(?:[^"\\]|\\.)*+"|[^{}\[\]"])*?(?<=[{,\s])"resolved"\s*:\s*[tfn]', re.DOTALL
)
_OUTCOME_START = re.compile(rb"^\s*\{\s*" + _INSTANCE + rb"\s*:\s*(true|false)\b")
_FACTS_OF_ARMS = {"resolved_instances": "resolved", "score": "score"}
"""The facts that tell submissions of one folder apart, by their names in a table of arms."""

_FACTS = ("total_instances", "submitted_instances", "resolved_instances", "unresolved_instances", "score")


class Submission(NamedTuple):
    """One arm on one benchmark. `folder` may hold trajectories; `benchmark` is named if the arm has several.

    `stated` is what the source says about itself. `lines` are result lines to read instead of the outcomes, which name
    their arm themselves if `arm` is empty.
    """

    arm: str
    folder: Path
    outcomes: list[InstanceOutcome]
    benchmark: str | None = None
    stated: Mapping[str, float] = {}
    lines: Path | None = None


def is_results_file(path: Path) -> bool:
    """Whether a file is a report, a map of outcomes, a list of what was resolved, or a leaderboard with outcomes."""
    if path.suffix != ".json" or path.name == INSTANCE_REPORT_FILE or path.name.endswith(".traj.json"):
        return False
    start = read_head(path)
    if _MAP_START.match(start) or _OUTCOME_START.match(start):
        return True
    if not any(mark in start for mark in (b'"resolved', b'"total_instances"', b'"leaderboards"', b'"model_patch"')):
        return False
    keys = _top_level(path)
    if isinstance(keys.get("results"), list):
        return False  # terminal-bench lists what was resolved, too, beside its trials
    return (
        isinstance(keys.get("resolved_ids", keys.get("resolvedIds")), list)
        or (isinstance(keys.get("resolved"), list) and keys.keys() <= _LIST_KEYS)
        or "per_instance_details" in str(keys.get("leaderboards"))
        or any("model_patch" in as_dict(each) for each in [next(iter(keys.values()), None)])
    )


_LIST_KEYS = frozenset({"resolved", "generated", "with_logs", "applied", "system", "name", *FAILURE_LISTS})


def _top_level(path: Path) -> Mapping[str, Any]:
    """The document, of which only the outer keys are looked at; a list by its first entry."""
    try:
        found = msgspec.json.decode(read_bytes(path))
    except (ValueError, EvidenceError, RecursionError):
        return {}
    return {"": found[0]} if isinstance(found, list) and found else as_dict(found)


def is_predictions_file(path: Path) -> bool:
    """Whether a file has lines of predictions."""
    if path.suffix != ".jsonl":
        return False
    start = read_head(path)
    return b'"instance_id"' in start and b'"model_patch"' in start


def is_result_lines_file(path: Path) -> bool:
    """Whether the first line of a file says whether an instance was resolved."""
    if path.suffix != ".jsonl" or b'"resolved"' not in read_head(path):
        return False
    try:
        first = next(read_json_lines(path, ImportNotes()), None)
    except EvidenceError:
        return False
    return first is not None and is_result_line(first.value)


def results_below(folder: Path) -> Iterator[Path]:
    """Files that may be results or predictions; those of single instances and trajectories are not visited."""
    return walk_files(folder, lambda name: name.endswith((".json", ".jsonl")), skipped_folders=_NO_RESULTS_BELOW)


def holds_results(folder: Path) -> bool:
    """Whether results are below a folder."""
    for number, file in enumerate(results_below(folder)):
        if number == _SAMPLED_FILES:
            return False
        if is_results_file(file):
            return True
    return False


def read_document(request: ImportRequest, path: Path, notes: ImportNotes) -> Iterator[Submission]:
    """The submissions of one file."""
    document = read_json(path, notes)
    table = as_dict(document)
    if isinstance(table.get("leaderboards"), list):
        yield from _leaderboard(table, path, request, notes)
        return
    facts = {fact: table.get(fact) for fact in _FACTS}
    stated = {fact: value for fact, value in facts.items() if isinstance(value, int | float) and value is not True}
    outcomes = list(_outcomes(path, document, request, notes))
    yield Submission(_arm_of(path, document), path.parent, outcomes, stated=stated)


def _outcomes(path: Path, document: object, request: ImportRequest, notes: ImportNotes) -> Iterable[InstanceOutcome]:
    table = as_dict(document)
    if is_final_report(document):
        for fault in unnamed_entries(table):
            notes.unread(path, 0, fault)
        for doubt in count_mismatches(table):
            notes.warn(f"{path.name} does not agree with itself: {doubt}. What it names is read.")
        found: Iterable[InstanceOutcome] = report_outcomes(table)
    elif (resolved := read_resolved_list(document)) is not None:
        if request.tasks is None:
            raise UsageError(
                f"{path} says what was resolved, and nothing about the rest: name all instances of the suite with "
                f"`outweigh import swe-bench {quote(str(request.path))} -o RUNS --tasks FILE`."
            )
        found = outcomes_of_list(resolved, request.tasks)
    elif predictions := read_predictions(document):
        found = map(prediction_outcome, predictions)
    else:
        found = list(single_outcomes(table))
        for instance in table.keys() - {each.instance for each in found}:
            notes.unread(path, 0, f"{instance[:100]!r} does not say whether it was resolved")
    return select_suite(found, request.tasks)


def select_suite(found: Iterable[InstanceOutcome], tasks: frozenset[str] | None) -> Iterator[InstanceOutcome]:
    """The outcomes of exactly the instances of a fixed suite."""
    seen = set()
    for each in found:
        if tasks is None or each.instance in tasks:
            seen.add(each.instance)
            yield each
    if tasks is not None:
        yield from missing_outcomes(frozenset(seen), tasks)


def _leaderboard(
    table: Mapping[str, Any], path: Path, request: ImportRequest, notes: ImportNotes
) -> Iterator[Submission]:
    """The entries of a leaderboard that list their instances; the others have only sums."""
    known: dict[str, list[InstanceOutcome]] = {}
    for board in map(as_dict, as_list(table.get("leaderboards"))):
        for entry in map(as_dict, as_list(board.get("results"))):
            arm = as_name(entry.get("name"))
            outcomes = list(select_suite(single_outcomes(as_dict(entry.get("per_instance_details"))), request.tasks))
            if arm is None or not as_dict(entry.get("per_instance_details")):
                notes.aggregates.append({key: value for key, value in entry.items() if not isinstance(value, dict)})
                continue
            if known.get(arm) == outcomes:
                continue
            if arm in known:
                arm = f"{arm}, {as_name(board.get('name')) or 'leaderboard'}"
            known[arm] = outcomes
            if (share := as_amount(entry.get("resolved"))) is not None:
                notes.state(arm, "pass_rate", share / 100)
            if (cost := as_amount(entry.get("cost"))) is not None:
                notes.state(arm, "cost_usd", cost)
            yield Submission(arm, path.parent, outcomes)


def read_folder(request: ImportRequest, notes: ImportNotes) -> Iterator[Submission]:
    """The submissions below a folder: each folder with results is an arm, or each file of a single folder."""
    results: dict[Path, list[Path]] = defaultdict(list)
    predictions: dict[Path, list[Path]] = defaultdict(list)
    for file in results_below(request.path):
        if is_results_file(file) or is_result_lines_file(file):
            results[_submission_folder(file, request.path)].append(file)
        elif is_predictions_file(file):
            predictions[_submission_folder(file, request.path)].append(file)
    stems = Counter(file.stem for files in results.values() for file in files)
    is_benchmark = len(results) > 1 and any(len(files) > 1 for files in results.values()) and max(stems.values()) > 1
    arms = _folder_arms(list(results), request.path)
    named = None if request.tasks is not None else NamedSuites(results, predictions, is_benchmark=is_benchmark)
    for folder, files in results.items():
        joined = predictions.pop(folder, []) if len(files) == 1 else []
        for file in files:
            tasks = request.tasks if named is None or joined else named.suite_of(file, folder, request.path, notes)
            for found in _submission(file, joined, replace(request, tasks=tasks), notes):
                arm = found.arm if len(results) == 1 else arms[folder]
                for fact in found.stated.keys() & _FACTS_OF_ARMS.keys():
                    notes.state(request.arm or arm, _FACTS_OF_ARMS[fact], found.stated[fact])
                yield found._replace(arm=arm, benchmark=file.stem if is_benchmark else None)
    for files in predictions.values():
        for file in files:
            notes.warn(f"{file} has predictions and no report beside it, so whether they resolve is unknown.")


def _submission(
    file: Path, predictions: Sequence[Path], request: ImportRequest, notes: ImportNotes
) -> Iterator[Submission]:
    """What a file states, with the predictions that were evaluated: an instance that has one and is not resolved
    failed.
    """
    if file.suffix == ".jsonl":
        yield Submission("", file.parent, [], lines=file)
        return
    submitted = [line.value for path in predictions for line in read_json_lines(path, notes)]
    submitted = [each for each in submitted if "model_patch" in each and as_name(each.get("instance_id"))]
    if not submitted:
        yield from read_document(request, file, notes)
        return
    document = read_json(file, notes)
    if (resolved := read_resolved_list(document)) is not None and not is_final_report(document):
        named = named_failures(as_dict(document))
        stated: Iterable[InstanceOutcome] = outcomes_of_list(
            resolved, resolved | named | {str(each["instance_id"]) for each in submitted}
        )
    else:
        stated = _outcomes(file, document, request, notes)
    arm = _arm_of(file, document)
    if not is_final_report(document):
        arm = prediction_model(submitted[0]) or arm
    yield Submission(arm, file.parent, list(select_suite(join_predictions(stated, submitted), request.tasks)))


def _submission_folder(file: Path, root: Path) -> Path:
    folder = file.parent
    while folder != root and folder.name in _GENERIC_FOLDERS:
        folder = folder.parent
    return folder


def _folder_arms(folders: Sequence[Path], root: Path) -> dict[Path, str]:
    """The arm of each folder: the folders below what all have in common, without those that only say that results
    follow. Dates are left out unless they tell two arms apart.
    """
    common = Path(commonpath(folders)) if len(folders) > 1 else root
    dated = {
        folder: [part for part in folder.relative_to(common).parts if part not in _GENERIC_FOLDERS]
        or [folder.resolve().name]
        for folder in folders
    }
    undated = {folder: [_DATE.sub("", part) for part in parts] for folder, parts in dated.items()}
    times = Counter(map(tuple, undated.values()))
    chosen = {folder: parts if times[tuple(parts)] == 1 else dated[folder] for folder, parts in undated.items()}
    return {folder: decode_file_name("/".join(parts))[:200] for folder, parts in chosen.items()}


def _arm_of(path: Path, document: object) -> str:
    table = as_dict(document)
    if is_final_report(document):
        # SWE-bench calls a report `<model>.<run id>.json`, with two underscores for a slash.
        model, dot, _ = path.name.removesuffix(".json").rpartition(".")
        return decode_file_name(model if dot else path.stem).replace("__", "/")
    if predictions := read_predictions(document):
        return prediction_model(predictions[0]) or decode_file_name(path.stem)
    if (named := as_name(table.get("system"))) is not None:
        return named
    if _GENERIC_STEM.fullmatch(path.stem) is None:
        return decode_file_name(path.stem)
    folder = path.resolve().parent
    if path.name == INSTANCE_REPORT_FILE:
        folder = folder.parent
    while folder.name in _GENERIC_FOLDERS:
        folder = folder.parent
    return decode_file_name(_DATE.sub("", folder.name) or path.stem)
