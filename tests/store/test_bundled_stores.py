"""A path of a bundle leads to its stores, and nothing can be written there."""

from pathlib import Path

import pytest
from tests.cli.bundles import small_bundle

import outweigh
from outweigh.errors import UsageError
from outweigh.store.bundled_stores import expand_bundle, find_bundled_store, refuse_bundle, split_bundle_path
from outweigh.store.label_file import change_run_label, label_file
from outweigh.store.run_store import FolderRunStore


@pytest.fixture(scope="module")
def bundle(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return small_bundle(tmp_path_factory.mktemp("original"))


def test_a_path_leads_to_a_bundle_or_to_a_store_in_it(bundle: Path) -> None:
    assert split_bundle_path(bundle) == (bundle, None)
    assert split_bundle_path(bundle / "small") == (bundle, "small")
    assert split_bundle_path(bundle.parent / "store") is None
    assert split_bundle_path("-") is None


def test_a_folder_whose_name_ends_in_zip_is_no_bundle(tmp_path: Path) -> None:
    (tmp_path / "runs.zip" / "small").mkdir(parents=True)

    assert split_bundle_path(tmp_path / "runs.zip") is None
    assert split_bundle_path(tmp_path / "runs.zip" / "small") is None


def test_a_bundle_of_one_store_stands_for_it(bundle: Path) -> None:
    assert expand_bundle(str(bundle)) == [str(bundle)]
    assert find_bundled_store(bundle) == find_bundled_store(bundle / "small")


def test_a_store_that_the_bundle_does_not_hold_is_refused(bundle: Path) -> None:
    with pytest.raises(UsageError, match="holds no store 'other'; it holds 'small'"):
        find_bundled_store(bundle / "other")


def test_an_unpacked_store_can_be_read_by_nobody_else(bundle: Path) -> None:
    folder = find_bundled_store(bundle)

    assert folder is not None
    assert folder.parent.parent.stat().st_mode & 0o077 == 0


def test_nothing_is_written_to_an_unpacked_store(bundle: Path) -> None:
    folder = find_bundled_store(bundle)
    assert folder is not None

    with pytest.raises(UsageError, match="only read"):
        FolderRunStore.open(folder)
    with pytest.raises(UsageError, match="only read"):
        change_run_label(label_file(folder), ("task-1/new/1", ""), lambda label: label)
    with pytest.raises(UsageError, match="only read"):
        refuse_bundle(bundle / "small")


def test_python_reads_a_bundle(bundle: Path) -> None:
    store = bundle.parent / "store"

    assert outweigh.verdict(bundle).only.verdict == outweigh.verdict(store).only.verdict
    assert [run.run_id for run in outweigh.open_store(bundle).runs()] == [
        run.run_id for run in outweigh.open_store(store).runs()
    ]
