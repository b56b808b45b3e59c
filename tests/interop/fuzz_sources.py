"""The sources to fuzz: for every importer the examples of its contract, the examples of this project, and
public data.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from outweigh.plugins import adapter_names, load_adapter
from outweigh.ports.importers import Importer
from outweigh.testing.corrupt_source import SourceFiles, read_source_files
from outweigh.testing.importer_contract import ImporterContract

ROOT = Path(__file__).resolve().parents[2]
PUBLIC = (ROOT.parent / "shared" / "data", ROOT.parent / "shared" / "samples")
MOST_BYTES = 120_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """A source, its importer, and the options that a user must give to import it."""

    label: str
    importer: Importer
    source: SourceFiles
    options: dict[str, Any]
    alternatives: frozenset[str] = frozenset()


@cache
def samples() -> dict[str, list[Sample]]:
    """Samples by the name of their importer; empty for an importer without any."""
    found: dict[str, list[Sample]] = {name: [] for name in adapter_names("importer")}
    for sample in _of_contracts():
        found.setdefault(sample.importer.name, []).append(sample)
    for sample in _recognised(ROOT / "examples", *PUBLIC):
        contracted = found[sample.importer.name]
        alternatives = frozenset[str]().union(*(each.alternatives for each in contracted))
        contracted.append(replace(sample, alternatives=alternatives))
    return found


def _of_contracts() -> Iterator[Sample]:
    root = Path(__file__).parent
    for file in sorted(root.rglob("test_*.py")):
        module = import_module(".".join(("tests", "interop", *file.relative_to(root).with_suffix("").parts)))
        for kind in vars(module).values():
            if isinstance(kind, type) and issubclass(kind, ImporterContract) and kind is not ImporterContract:
                with TemporaryDirectory() as folder:
                    contract = kind()
                    source = read_source_files(contract.example(Path(folder)))
                    yield Sample(
                        label=f"{file.stem}.{kind.__name__}",
                        importer=contract.importer(),
                        source=source,
                        options=contract.options(),
                        alternatives=contract.alternatives,
                    )


def _recognised(*roots: Path) -> Iterator[Sample]:
    """A sample for every small file or folder, and every importer that recognises it."""
    importers: list[Importer] = [load_adapter("importer", name) for name in adapter_names("importer")]
    for root in roots:
        for path in sorted(root.rglob("*")) if root.is_dir() else ():
            if "LICENSE" in path.name or path.suffix == ".py" or _size(path) > MOST_BYTES:
                continue
            for importer in importers:
                if importer.recognises(path):
                    yield Sample(
                        label=str(path.relative_to(root)), importer=importer, source=read_source_files(path), options={}
                    )


def _size(path: Path) -> int:
    if path.is_file():
        return path.stat().st_size
    return sum(file.stat().st_size for file in path.rglob("*") if file.is_file())
