"""What one store says: its records, judgments, rules, import notes and artifacts.

No other package knows the names of a store's files. `store_set.py` reads several stores together.
"""

import os
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Self

from outweigh.errors import EvidenceError, UsageError, quote_names
from outweigh.model.codec import InvalidLine, LocatedRecord, OnInvalid, refuse_invalid
from outweigh.model.corrections import CORRECTIONS_FILE
from outweigh.model.run_record import RunRecord
from outweigh.ports.stores import RecordSource
from outweigh.store.artifact_folder import ArtifactFolder
from outweigh.store.bundled_stores import find_bundled_store
from outweigh.store.corrections_file import read_corrections, work_out, write_corrections
from outweigh.store.dataset_manifest import refuse_dataset
from outweigh.store.experiment_file import EXPERIMENT_FILE, ExperimentFile, read_experiment
from outweigh.store.fetched_artifacts import artifacts_of
from outweigh.store.judging_file import (
    JUDGING_FILE,
    JudgingFile,
    read_calibrations,
    read_judging,
)
from outweigh.store.records import STANDARD_INPUT, RecordReader, require_path, unread_rows
from outweigh.store.shard_files import ShardFile, read_shards
from outweigh.store.store_address import check_address, is_address, split_address
from outweigh.store.store_cache import FetchedOrigin, read_origin

if TYPE_CHECKING:
    from outweigh.model.choice import ChoiceRecord
    from outweigh.model.corrections import Corrections, CorrectionSteps
    from outweigh.model.judgment import Calibration
    from outweigh.model.scan_result import RunKey, RunScan
    from outweigh.report.run_diff import ComparedRun
    from outweigh.transcript.atif import AtifTrajectory


class Store:
    """One place that records are read from: a folder, a file, standard input, or records in memory.

    Making one reads nothing. What it says about its runs is read when it is first asked for, and once: the answers of
    one object belong together. `reopened` gives one that looks again.
    """

    def __init__(self, name: str, source: RecordSource, path: Path | None) -> None:
        self.name = name
        self.path = path
        self._source = source

    @classmethod
    def open(cls, path: str | os.PathLike[str]) -> Self:
        """The store at a path or an address; `-` is standard input.

        A path that does not exist is refused when it is read, and a dataset or an address where nothing is at once.
        """
        name = os.fspath(path)
        if is_address(name):
            return cls._fetched(name)
        if (folder := find_bundled_store(name)) is not None:
            return cls.unpacked(name, folder)
        if name == STANDARD_INPUT:
            return cls(name, RecordReader(name), None)
        if (origin := read_origin(Path(name))) is not None:
            return cls.unpacked(origin.address, Path(name))
        refuse_dataset(Path(name))
        return cls(name, RecordReader(name), Path(name))

    @classmethod
    def _fetched(cls, address: str) -> Self:
        """A store elsewhere: what was fetched of it, or of one file of it, by its address."""
        from outweigh.store.fetched_stores import fetch_named  # noqa: PLC0415 - only for addresses

        name, found = check_address(address), fetch_named(address)
        if found.is_dir():
            return cls.unpacked(name, found)
        return cls(name, RecordReader(str(found), split_address(name)[0]), found)

    @classmethod
    def unpacked(cls, name: str, folder: Path) -> Self:
        """A store that people know by another name than its folder."""
        return cls(name, RecordReader(str(folder), name), folder)

    def reopened(self) -> Self:
        """The same place, with nothing read yet."""
        return type(self)(self.name, self._source, self.path)

    def require(self) -> Self:
        """This store; UsageError where there is nothing at its path."""
        if self.path is not None:
            require_path(self.path)
        return self

    def __repr__(self) -> str:
        return f"Store({self.name!r})"

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """Every record as a row for data frame libraries, with the columns that `outweigh store export` writes."""
        from outweigh.store.parquet import arrow_stream  # noqa: PLC0415 - needs an extra

        return arrow_stream((located.record for located in self.records(refuse_invalid)), requested_schema)

    @property
    def folder(self) -> Path | None:
        """The folder of a store; None where it is a single file, standard input or memory."""
        try:
            return self.path if self.path is not None and self.path.is_dir() else None
        except OSError:  # the system refuses the path: whoever reads its records says why
            return None

    def records(self, on_invalid: OnInvalid) -> Iterator[LocatedRecord]:
        """Every record in order, by the names that corrections give; what cannot be read goes to `on_invalid`."""
        records = self._source.records(on_invalid)
        return records if self.corrections is None else self.corrections.apply(records)

    def runs(self) -> Iterator[RunRecord]:
        """Every run; a line that cannot be read is refused."""
        return (located.record for located in self.records(refuse_invalid) if isinstance(located.record, RunRecord))

    def unread_rows(self) -> Sequence[InvalidLine]:
        """The rows that its imports went on without. The user agreed to that, and it still blocks a promotion."""
        return () if self.path is None else unread_rows(self.path)

    @cached_property
    def corrections(self) -> "Corrections | None":
        """What was put right about its arms and tasks; None where nothing was, EvidenceError where that is wrong."""
        content = None if self.folder is None else read_corrections(self.folder)
        if self.folder is None or content is None:
            return None
        return work_out(self.folder, self.name, content, self._source)

    def correct(self, steps: "CorrectionSteps") -> "Corrections":
        """Put its arms and tasks right from now on; `reopened` reads them so."""
        if self.folder is None:
            raise UsageError(f"{self.name} is no store, so nothing can be kept in it; import it into one first.")
        return write_corrections(self.folder, steps, self._source)

    @cached_property
    def experiment(self) -> ExperimentFile | None:
        """What the store was made for; None where nothing says so, EvidenceError where that is damaged."""
        if self.path is None:
            return None
        try:
            return read_experiment(self.path)
        except EvidenceError as fault:
            if not is_address(self.name):
                raise
            # What was fetched of an address is in a folder that nobody knows.
            raise EvidenceError(str(fault).replace(str(self.path), self.name)) from fault

    @cached_property
    def shards(self) -> tuple[ShardFile, ...]:
        """The shards of a divided plan that it holds; none where its plan was not divided."""
        return () if self.folder is None else read_shards(self.folder)

    @cached_property
    def judging(self) -> JudgingFile | None:
        """What its judges are told; None where nothing says so, EvidenceError where that is damaged."""
        return None if self.path is None else read_judging(self.path)

    @cached_property
    def calibrations(self) -> "tuple[Calibration, ...]":
        """How far its judges agree with people."""
        return () if self.folder is None else tuple(read_calibrations(self.folder))

    @cached_property
    def choices(self) -> "Mapping[str, ChoiceRecord]":
        """Which arms its inheriting arms are built on, by their names; EvidenceError where that is damaged."""
        from outweigh.store.choice_file import choices_by_arm, read_choices  # noqa: PLC0415 - only where arms inherit

        return {} if self.folder is None else choices_by_arm(read_choices(self.folder))

    def scans(self) -> "Mapping[RunKey, RunScan]":
        """What the scan for cheats found, by run; empty where nothing was scanned."""
        from outweigh.store.scan_file import read_scan  # noqa: PLC0415 - only where runs are compared

        found = None if self.folder is None else read_scan(self.folder)
        return {} if found is None else found.by_run()

    @property
    def artifacts(self) -> ArtifactFolder:
        """What was stored with its runs; beside the file where a single one is named."""
        if self.path is None:
            raise UsageError(f"{self.name} keeps nothing beside its records; name a store, or a file of records.")
        return artifacts_of(self.folder or self.path.parent)

    def find_runs(self, names: Sequence[str]) -> list[RunRecord]:
        """The runs of these names in one reading, by run_id or TASK/ARM/REPEAT; of several attempts, the last."""
        found: dict[str, RunRecord] = {}
        near: dict[str, None] = {}
        for run in self.runs():
            for name in names:
                if name in (run.run_id, _trial_name(run)):
                    known = found.get(name)
                    if known is None or run.attempt >= known.attempt:
                        found[name] = run
                elif name in run.run_id:
                    near[run.run_id] = None
        for name in names:
            if name not in found:
                raise UsageError(f"{self.name} holds no run {name!r}.{_suggest_runs(list(near))}")
        return [found[name] for name in names]

    def run_side(self, run: RunRecord) -> "ComparedRun":
        """A run with its steps and patch; what is missing or damaged becomes a warning."""
        from outweigh.store.run_artifacts import read_run_side  # noqa: PLC0415 - only where runs are shown one by one

        return read_run_side(run, self.artifacts)

    def trajectory(self, run: RunRecord) -> "AtifTrajectory | None":
        """A run's trajectory; None where the run has none."""
        from outweigh.store.run_artifacts import read_run_trajectory  # noqa: PLC0415 - see run_side

        return read_run_trajectory(run, self.artifacts)

    @property
    def is_fetched(self) -> bool:
        """Whether the store lies elsewhere, and what is read of it was fetched."""
        return self._origin is not None

    @property
    def _origin(self) -> "FetchedOrigin | None":
        return None if self.path is None else read_origin(self.folder or self.path.parent)

    def changing_at(self) -> str | None:
        """When a store elsewhere was read that was being written to at that moment; None for every other."""
        return None if self._origin is None else self._origin.changing_at

    def ignored_rules(self) -> tuple[str, tuple[str, ...]] | None:
        """The folder around a single file and its files of rules, which are not applied; None where there are none."""
        if self.path is None or not self.path.is_file():
            return None
        folder = self.path.parent
        names = (EXPERIMENT_FILE, JUDGING_FILE, CORRECTIONS_FILE)
        rules = tuple(name for name in names if (folder / name).is_file())
        return (str(folder) if self._origin is None else self._origin.address, rules) if rules else None


def _trial_name(run: RunRecord) -> str:
    return f"{run.trial.task_id}/{run.trial.arm}/{run.trial.repeat}"


def _suggest_runs(near: list[str]) -> str:
    if near:
        return f" It holds {quote_names(near)}."
    return " A run is named by its run_id, or by TASK/ARM/REPEAT; `outweigh store export` lists them."
