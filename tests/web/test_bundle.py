"""The viewer shows a bundle like a store, and writes nothing to it."""

import shutil
from pathlib import Path
from urllib.parse import urlencode

import pytest
from tests.web.decided_store import decided_store
from tests.web.page_reader import Reader

from outweigh.cli.main import main

RUN = urlencode({"run": "task-2/better/1"})


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("bundle")
    decided_store(folder / "runs", folder / "suite", judged=True)
    assert main(("store", "bundle", str(folder / "runs"), "-o", str(folder / "study.outweigh.zip"))) == 0
    return folder / "study.outweigh.zip"


@pytest.fixture
def bundle(original: Path, tmp_path: Path) -> Path:
    return Path(shutil.copy(original, tmp_path))


def test_a_bundle_has_the_pages_of_its_store(bundle: Path) -> None:
    reader = Reader(bundle)

    home, run = reader.decided("/"), reader.ask(reader.store(f"/run?{RUN}"))

    assert "study.outweigh.zip" in home.text
    assert "improved" in home.text
    assert run.status == 200
    assert "I compute the answer of task 2 exactly." in run.text


def test_the_report_of_a_bundle_names_the_bundle(bundle: Path) -> None:
    reader = Reader(bundle)

    page = reader.ask(reader.store("/report"))

    assert f"outweigh report {bundle}" in page.text
    assert "outweigh-bundle-" not in page.text


def test_a_run_of_a_bundle_cannot_be_labelled(bundle: Path) -> None:
    reader = Reader(bundle)
    page = reader.ask(reader.store(f"/run?{RUN}"))
    before = bundle.read_bytes()

    assert "is a bundle, which is only read" in page.text
    assert 'name="label"' not in page.text
    assert bundle.read_bytes() == before
    assert [file.name for file in bundle.parent.iterdir()] == [bundle.name]
