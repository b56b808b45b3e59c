"""A dataset as the stores that it was made of: their rules are copies, and their records are read from columns."""

import os
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

import msgspec

from outweigh.compare.evidence_part import EvidencePart
from outweigh.errors import EvidenceError, UsageError
from outweigh.model.codec import InvalidLine, LocatedRecord, OnInvalid
from outweigh.store.dataset_columns import PartFile, RowGroup
from outweigh.store.dataset_manifest import DatasetManifest, DatasetPart, dataset_refusal, read_manifest, verify_files
from outweigh.store.dataset_rows import COUNTED, EXCLUDED, SUPERSEDED
from outweigh.store.dataset_runs import DatasetReader, StoredRuns
from outweigh.store.store import Store
from outweigh.store.store_set import StoreSet

if TYPE_CHECKING:
    from outweigh.model.corrections import CorrectionSummary

_decode_summary = msgspec.json.Decoder(EvidencePart).decode


class DatasetStores(StoreSet):
    """The stores that a dataset was made of, as far as it keeps them."""

    def __init__(self, folder: Path, name: str) -> None:
        self.folder = self.dataset = folder
        self.name = name
        self.manifest = read_manifest(folder)
        super().__init__(_sources(folder, name, self.manifest))

    def reopened(self) -> "DatasetStores":
        """The same dataset, with nothing read yet."""
        return DatasetStores(self.folder, self.name)

    def refuse(self, why: str) -> NoReturn:
        """Say what a dataset is not good for, and what is."""
        raise dataset_refusal(self.name, why, self.manifest)

    def verify(self) -> None:
        """Refuse the dataset where a file is not what was written."""
        verify_files(self.folder, self.manifest)

    @cached_property
    def summaries(self) -> Sequence[EvidencePart]:
        """What every part says beside its runs."""
        return [self._summary(part) for part in self.manifest.parts]

    def _summary(self, part: DatasetPart) -> EvidencePart:
        place = self.folder / part.summary.path
        try:
            return _decode_summary(place.read_bytes())
        except (OSError, msgspec.MsgspecError, UnicodeDecodeError) as fault:
            raise EvidenceError(f"{place} cannot be read: {fault}. Export the records again.") from fault

    def runs(self, arm: str) -> Mapping[str, StoredRuns]:
        """The attempts of an arm by their role."""
        groups: dict[str, list[RowGroup | None]] = {role: [] for role in (COUNTED, EXCLUDED, SUPERSEDED)}
        for file, summary in zip(self._files, self.summaries, strict=True):
            index = 0
            for found in groups.values():
                found.append(None)
            for name in sorted(summary.arms):
                part = summary.arms[name]
                for role, rows in zip(groups, (part.runs, part.excluded, part.superseded), strict=True):
                    if rows and name == arm:
                        groups[role][-1] = RowGroup(file, index, rows)
                    index += rows > 0
        return {role: StoredRuns(found, self._reader) for role, found in groups.items()}

    @cached_property
    def _reader(self) -> DatasetReader:
        return DatasetReader()

    @cached_property
    def _files(self) -> list[PartFile]:
        return [PartFile(self.folder / part.runs.path) for part in self.manifest.parts]

    def unread_rows(self) -> list[InvalidLine]:
        """The rows that imports went on without."""
        return [line for source in self.manifest.sources for line in source.unread]

    def corrections(self) -> "tuple[CorrectionSummary, ...]":
        """What was put right before the records were exported."""
        return self.manifest.corrections

    def warnings(self) -> Iterator[str]:
        """What readers of the stores had to know."""
        yield from super().warnings()
        yield from dict.fromkeys(warning for source in self.manifest.sources for warning in source.warnings)


class DatasetRecords:
    """The records that a dataset keeps beside its columns."""

    def __init__(self, folder: Path, manifest: DatasetManifest) -> None:
        self._folder = folder
        self._manifest = manifest

    def records(self, on_invalid: OnInvalid) -> Iterator[LocatedRecord]:
        """Every record, part by part; refused where the dataset was made without them."""
        from outweigh.store.parquet import parquet_records  # noqa: PLC0415 - needs an extra

        for part in self._manifest.parts:
            if part.records is None:
                raise UsageError(
                    f"{self._folder} is a dataset without records, which `outweigh verdict` and `compare` read; for "
                    f"anything else name what it was made of: {' '.join(each.name for each in self._manifest.sources)}."
                )
            yield from parquet_records(self._folder / part.records.path, on_invalid)


class _NoRecords:
    """All records of a dataset are read with its first source."""

    def records(self, on_invalid: OnInvalid) -> Iterator[LocatedRecord]:  # noqa: ARG002 - there is none
        return iter(())


def _sources(folder: Path, name: str, manifest: DatasetManifest) -> list[Store]:
    records = DatasetRecords(folder, manifest)
    stores: list[Store] = []
    for number, source in enumerate(manifest.sources):
        # A file that was read by itself has no rules; its path only leads to the ledger that stood beside it.
        path = folder / (source.folder or f"{sources_folder(number)}/records.jsonl")
        shown = name if len(manifest.sources) == 1 else str(folder / sources_folder(number))
        stores.append(Store(shown, records if number == 0 else _NoRecords(), path))
    return stores


def open_dataset(paths: Sequence[str | os.PathLike[str]]) -> DatasetStores:
    """The dataset at a path; it is read alone."""
    if len(paths) > 1:
        raise UsageError("a dataset is read alone; export all stores into one dataset to read them together.")
    return DatasetStores(Path(paths[0]), os.fspath(paths[0]))


def sources_folder(number: int) -> str:
    """Where the rules of a source are kept."""
    return f"sources/{number}"
