"""A file that a harness wrote is read as its own format, and as no other."""

from pathlib import Path

import pytest
from tests.interop.imported import SAMPLES

from outweigh.plugins import adapter_names, load_adapter

FORMATS = {each.name: each.name.replace("_", "-") for each in sorted(SAMPLES.iterdir()) if each.is_dir()}


@pytest.mark.parametrize("folder", FORMATS)
def test_a_sample_is_of_one_format(folder: str) -> None:
    importers = [load_adapter("importer", name) for name in adapter_names("importer")]
    path = SAMPLES / folder
    sources = [path, *(file for file in path.rglob("*") if file.is_file())]

    found = {each: [importer.name for importer in importers if importer.recognises(each)] for each in sources}

    assert found[path] == [FORMATS[folder]]
    assert all(names in ([], [FORMATS[folder]]) for names in found.values())


def test_every_sample_is_described() -> None:
    described = Path(SAMPLES / "README.md").read_text()

    assert [folder for folder in FORMATS if f"| `{folder}` |" not in described] == []
