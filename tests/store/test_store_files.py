"""Where the stores below a folder are, and which runs of a store a name stands for."""

from pathlib import Path

import pytest

from outweigh.errors import EvidenceError, UsageError
from outweigh.model.codec import encode, refuse_invalid
from outweigh.store.find_stores import find_stores
from outweigh.store.records import RecordReader
from outweigh.store.run_store import PreferenceLog, read_preferences
from outweigh.store.store import Store
from outweigh.testing.builders import a_preference, a_run


def a_store(folder: Path) -> Path:
    folder.mkdir(parents=True)
    (folder / "runs.jsonl").write_bytes(encode(a_run()) + b"\n")
    return folder


def test_stores_are_found_below_folders_and_not_in_links_or_artifacts(tmp_path: Path) -> None:
    found = [a_store(tmp_path / "a"), a_store(tmp_path / "b" / "c")]
    for name in ("artifacts", "node_modules", "__pycache__"):
        a_store(tmp_path / name / "hidden")
    (tmp_path / "link").symlink_to(found[0])
    (tmp_path / "notes.txt").write_text("no store", encoding="utf-8")

    assert find_stores(tmp_path) == found


def test_stores_inside_a_store_belong_to_it(tmp_path: Path) -> None:
    outer = a_store(tmp_path / "outer")
    a_store(outer / "inner")

    assert find_stores(tmp_path) == [outer]


def test_a_folder_is_a_store_by_its_experiment_alone(tmp_path: Path) -> None:
    (tmp_path / "begun").mkdir()
    (tmp_path / "begun" / "experiment.json").write_text("{}", encoding="utf-8")

    assert find_stores(tmp_path) == [tmp_path / "begun"]


def test_stores_are_looked_for_five_folders_deep_and_no_deeper(tmp_path: Path) -> None:
    near = a_store(tmp_path.joinpath(*"abcd"))
    a_store(tmp_path.joinpath(*"vwxyz"))

    assert find_stores(tmp_path) == [near]
    assert find_stores(near / "runs.jsonl") == [near / "runs.jsonl"]
    assert find_stores(tmp_path / "missing") == []


def test_a_run_is_found_by_its_id_or_its_trial_and_its_last_attempt_counts(tmp_path: Path) -> None:
    runs = [a_run(run_id="one", attempt=2), a_run(run_id="one", attempt=1), a_run(repeat=2, run_id="two")]
    (tmp_path / "runs.jsonl").write_bytes(b"".join(encode(run) + b"\n" for run in runs))
    store = Store.open(tmp_path)

    assert [run.attempt for run in store.find_runs(["one", "task-1/baseline/1"])] == [2, 2]
    assert [run.run_id for run in store.find_runs(["task-1/baseline/2", "one"])] == ["two", "one"]
    with pytest.raises(UsageError, match="holds no run 'on'"):
        store.find_runs(["one", "on"])


def test_a_file_of_records_that_cannot_be_read_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "runs.jsonl").mkdir()

    with pytest.raises(EvidenceError, match="cannot be read"):
        list(RecordReader(str(tmp_path)).records(refuse_invalid))


def test_artifacts_lie_in_the_folder_of_a_store_and_beside_a_single_file(tmp_path: Path) -> None:
    folder = a_store(tmp_path / "store")
    digest = Store.open(folder).artifacts.keep(b"transcript")

    assert Store.open(folder / "runs.jsonl").artifacts.read(digest) == b"transcript"


def test_preferences_are_appended_and_read_again(tmp_path: Path) -> None:
    old, new = a_run(), a_run(arm="candidate")
    answers = [a_preference(old, new, pass_index=number) for number in (1, 2)]
    for answer in answers:
        log = PreferenceLog(tmp_path)
        log.append(answer)
        log.close()

    assert list(read_preferences(tmp_path)) == answers
    assert [path.name for path in tmp_path.iterdir()] == ["preferences-engine.jsonl"]
