"""Importer of `claude plugin eval`: one `aggregate-result.json`, or a folder with results of a plugin's versions."""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from outweigh.errors import EvidenceError, quote_names
from outweigh.interop.imported_run import field_origins, fingerprint, with_repeat_numbers
from outweigh.interop.plugin_eval.result_document import (
    RESULT_FILE,
    WITH_ARM,
    WITHOUT_ARM,
    ResultDocument,
    ResultSource,
    looks_like_result,
    read_document,
)
from outweigh.interop.plugin_eval.result_run import RunLabels, read_case_runs
from outweigh.model.run_record import RunRecord
from outweigh.model.untrusted_json import amount_at
from outweigh.ports.importers import FieldOrigin, ImportNotes, ImportRequest

_PLACES = ("", "*/", "results/*/", "*/results/*/", "*/*/results/*/")
"""Where a folder may have results: its own, those of a results folder, of a plugin, of a folder of plugins."""

_NUMBER = re.compile(r"\d+")


class PluginEvalImporter:
    """Reads a case as a task, a run as a repeat, a grader as a check; the arms are with and without the plugin.

    Results of several versions of a plugin become one arm for each version, and share the arm without it.
    """

    name = "plugin-eval"
    reads_also = frozenset({"claude-code"})
    fields: Mapping[str, FieldOrigin] = field_origins(
        reported="agent status_detail started_at duration_seconds cost step_count checks",
        derived="arm_fingerprint task_checksum usage tool_call_count steps loaded warnings artifacts extra",
    )

    def recognises(self, path: Path) -> bool:
        """Whether a path is a result file, or a folder with results of plugins."""
        try:
            return bool(_result_files(path)) if path.is_dir() else looks_like_result(path)
        except (EvidenceError, OSError):
            return False

    def read(self, request: ImportRequest, notes: ImportNotes) -> Iterator[RunRecord]:
        """Read every result file; the runs without the plugin come first."""
        files = _result_files(request.path) if request.path.is_dir() else [request.path]
        sources = sorted(_without_copies(files, request.path, notes), key=_by_version_and_time)
        names = ArmNames(sources, request.arm)
        return with_repeat_numbers(
            run for source in sources for run in _runs(read_document(source.file, notes), names, request, notes)
        )


def _result_files(folder: Path) -> list[Path]:
    """The files by their usual name; without any, all JSON files of the folder, if each is a result."""
    found = {file for place in _PLACES for file in folder.glob(f"{place}{RESULT_FILE}") if looks_like_result(file)}
    if found:
        return sorted(found)
    others = sorted(file for file in folder.iterdir() if file.suffix in (".json", ".jsonl"))
    return others if others and all(map(looks_like_result, others)) else []


def _without_copies(files: Sequence[Path], root: Path, notes: ImportNotes) -> Iterator[ResultSource]:
    """The files that can be read; `--json` writes a copy of the file in the results folder."""
    seen: dict[str, Path] = {}
    for file in files:
        try:
            document = read_document(file, ImportNotes())
        except EvidenceError as fault:
            if file == root:
                raise
            notes.unread(file, 0, str(fault))
            continue
        first = seen.setdefault(fingerprint(document.content), file)
        if first == file:
            yield document.source
        else:
            notes.warn(f"{file} is a copy of {first} and was not counted again.")


def _by_version_and_time(source: ResultSource) -> tuple[tuple[int, ...], str, str, str]:
    """The order of sources; of versions, 0.9 comes before 0.10."""
    version = source.version or ""
    numbers = tuple(int(number[:9]) for number in _NUMBER.findall(version)[:6])
    return numbers, version, source.started_at or "", str(source.file)


class ArmNames:
    """The names of arms. They say only what differs between the results: the version, the model."""

    def __init__(self, sources: Sequence[ResultSource], named: str | None) -> None:
        self._named = named
        plugins = {each.plugin for each in sources}
        self._by_plugin = len(plugins) > 1
        self._by_version = len({(each.plugin, each.version) for each in sources}) > len(plugins)
        self._by_model = len({each.model for each in sources}) > 1

    def arm(self, source: ResultSource, arm: str) -> str:
        """The name of one of the two arms of a source."""
        stem = arm
        if self._named is not None:
            stem = self._named if arm == WITH_ARM else f"{self._named}-{arm}"
        parts = [stem]
        if self._by_version and arm == WITH_ARM:
            parts.append(source.version or "no-version")
        if self._by_model:
            parts.append(source.model or "default-model")
        return "-".join(parts)

    def task(self, source: ResultSource, case: str) -> str:
        """The name of a case; with that of its plugin, if there are results of several."""
        return f"{source.plugin or 'no-plugin'}/{case}" if self._by_plugin else case


def _runs(document: ResultDocument, names: ArmNames, request: ImportRequest, notes: ImportNotes) -> Iterator[RunRecord]:
    _note_document(document, names, notes)
    counts = Counter(case.name for case in document.cases)
    repeated = sorted(name for name, count in counts.items() if count > 1)
    if repeated:
        notes.warn(
            f"{document.source.file}: several cases are called {quote_names(repeated)}; they are told apart by their "
            "folders."
        )
    for arm in (WITHOUT_ARM, WITH_ARM):
        for case in document.cases:
            task = names.task(document.source, (case.folder or case.name) if counts[case.name] > 1 else case.name)
            labels = RunLabels(task=task, arm=names.arm(document.source, arm), had_plugin=arm == WITH_ARM)
            yield from read_case_runs(document, case, labels, request, notes)


def _note_document(document: ResultDocument, names: ArmNames, notes: ImportNotes) -> None:
    """What the source states about itself, and what readers of its figures must know."""
    file = document.source.file
    for arm, figures in document.figures.items():
        for name, value in figures.items():
            notes.state(names.arm(document.source, arm), name, value)
    if document.stopped is not None:
        notes.warn(f"{file} is partial ({document.stopped}): what was not run any more is missing.")
    threshold = amount_at(document.content, "suite", "threshold")
    if threshold is not None and threshold < 1:
        notes.warn(
            f"{file}: cases passed there from a score of {threshold:g} on (--threshold); here a run passes if it meets "
            "all graders that are scored."
        )
    if not document.has_baseline:
        notes.warn(
            f"{file} has no runs without the plugin, so there is nothing to compare in it. Evaluate with "
            "`--ablation with-without`, or import it together with results of another version."
        )
    for problem in document.plugin_problems:
        notes.warn(f"{file}: {problem}")
