"""Copies of stores between folders: complete, resumable, verified, and never a mix of two."""

import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from tests.team_stores import contents, write_team_store

from outweigh.app.copy_store import CopyRequest, CopyResult, copy_store
from outweigh.app.show_store import show_store
from outweigh.errors import EvidenceError, OutweighError, UsageError
from outweigh.model.codec import encode
from outweigh.model.line_seal import seal
from outweigh.store.run_store import FolderRunStore
from outweigh.store.store import Store
from outweigh.store.store_set import StoreSet
from outweigh.store.unfinished_copy import UNFINISHED_COPY_FILE
from outweigh.testing.builders import a_run

RUNS = "runs-engine.jsonl"


@pytest.fixture
def source(tmp_path: Path) -> Path:
    return write_team_store(tmp_path / "source")


def copied(source: Path, target: Path, **options: bool) -> CopyResult:
    return copy_store(CopyRequest(source=str(source), target=str(target), **options), lambda _: None)


def grow(store: Path, repeat: int) -> None:
    with (store / RUNS).open("ab") as stream:
        stream.write(seal(encode(a_run("task-0", "plain", repeat))))


def swap_byte(file: Path) -> None:
    content = bytearray(file.read_bytes())
    content[len(content) // 2] ^= 1
    file.write_bytes(bytes(content))


def test_a_copy_is_the_store_byte_for_byte_and_no_mark_is_left(source: Path, tmp_path: Path) -> None:
    result = copied(source, tmp_path / "copy")

    assert contents(tmp_path / "copy") == contents(source)
    assert (result.artifacts, result.files, result.records) == (3, 2, 32)


def test_reports_locks_and_other_files_beside_a_store_stay_where_they_are(source: Path, tmp_path: Path) -> None:
    for name in ("lock", "report.html", "damaged-1.txt", ".hidden.jsonl"):
        (source / name).write_text("x", encoding="utf-8")
    (source / "artifacts" / "unfinished").mkdir(exist_ok=True)
    (source / "artifacts" / "unfinished" / "1-1").write_text("x", encoding="utf-8")

    copied(source, tmp_path / "copy")

    assert (
        not {"report.html", "damaged-1.txt", ".hidden.jsonl", "artifacts/unfinished/1-1"}
        & contents(tmp_path / "copy").keys()
    )


def test_a_second_copy_finds_everything_there_and_still_verifies_it(source: Path, tmp_path: Path) -> None:
    first = copied(source, tmp_path / "copy")
    second = copied(source, tmp_path / "copy")

    assert (second.artifacts, second.files, second.known_artifacts) == (0, 0, 3)
    assert second.evidence_sha256 == first.evidence_sha256


def test_runs_that_came_later_are_brought_to_an_older_copy(source: Path, tmp_path: Path) -> None:
    copied(source, tmp_path / "copy")
    grow(source, 2)

    result = copied(source, tmp_path / "copy")

    assert result.replaced == (RUNS,)
    assert contents(tmp_path / "copy") == contents(source)


def test_a_copy_with_more_runs_is_not_taken_back(source: Path, tmp_path: Path) -> None:
    copied(source, tmp_path / "copy")
    grow(tmp_path / "copy", 2)
    before = contents(tmp_path / "copy")

    with pytest.raises(UsageError, match="has more runs than"):
        copied(source, tmp_path / "copy")
    assert contents(tmp_path / "copy") == before


def test_a_copy_that_grew_differently_is_named_by_the_line_and_left_as_it_is(source: Path, tmp_path: Path) -> None:
    copied(source, tmp_path / "copy")
    grow(source, 2)
    grow(tmp_path / "copy", 3)
    before = contents(tmp_path / "copy")

    with pytest.raises(EvidenceError, match="from line 33 on"):
        copied(source, tmp_path / "copy")
    assert contents(tmp_path / "copy") == before


@pytest.mark.parametrize(
    "change", [{"suite": "another"}, {"baseline": "better"}, {"seed": 2}, {"arms": {"plain": "9"}}]
)
def test_two_experiments_are_never_put_into_one_store(source: Path, tmp_path: Path, change: dict[str, Any]) -> None:
    other = write_team_store(tmp_path / "other", **change)
    before = contents(other)

    with pytest.raises(UsageError, match="holds another experiment"):
        copied(source, other)
    assert contents(other) == before


def test_a_store_with_files_of_its_own_is_not_copied_over(source: Path, tmp_path: Path) -> None:
    copied(source, tmp_path / "copy")
    (tmp_path / "copy" / "runs-other.jsonl").write_bytes(seal(encode(a_run())))

    with pytest.raises(UsageError, match=r"holds 'runs-other\.jsonl'"):
        copied(source, tmp_path / "copy")


def test_labels_that_were_written_into_a_copy_are_not_lost(source: Path, tmp_path: Path) -> None:
    (source / "labels.csv").write_text("run_id,label\nold,pass\n", encoding="utf-8")
    copied(source, tmp_path / "copy")
    (tmp_path / "copy" / "labels.csv").write_text("run_id,label\nnew,pass\n", encoding="utf-8")

    with pytest.raises(UsageError, match="would lose what was written"):
        copied(source, tmp_path / "copy")


def test_an_edited_byte_of_a_copy_is_found(source: Path, tmp_path: Path) -> None:
    copied(source, tmp_path / "copy")
    swap_byte(tmp_path / "copy" / RUNS)

    with pytest.raises(EvidenceError, match="was damaged or edited"):
        copied(source, tmp_path / "copy")


def test_edited_rules_of_a_copy_are_put_back_and_named(source: Path, tmp_path: Path) -> None:
    copied(source, tmp_path / "copy")
    file = tmp_path / "copy" / "experiment.json"
    file.write_bytes(file.read_bytes().replace(b"objective_first", b"even"))

    assert copied(source, tmp_path / "copy").replaced == ("experiment.json",)
    assert contents(tmp_path / "copy") == contents(source)


def test_an_edited_byte_of_an_artifact_is_found_and_put_right_where_artifacts_are_checked(
    source: Path, tmp_path: Path
) -> None:
    copied(source, tmp_path / "copy")
    swap_byte(next(file for file in (tmp_path / "copy" / "artifacts").rglob("*") if file.is_file()))

    result = copied(source, tmp_path / "copy", check_artifacts=True)

    assert (result.artifacts, result.known_artifacts) == (1, 2)
    assert contents(tmp_path / "copy") == contents(source)


def test_an_artifact_that_is_damaged_in_the_source_is_copied_as_it_is_and_named(source: Path, tmp_path: Path) -> None:
    damaged = next(file for file in (source / "artifacts").rglob("*") if file.is_file())
    swap_byte(damaged)

    assert copied(source, tmp_path / "copy").damaged == (damaged.relative_to(source).as_posix(),)


def test_damaged_lines_are_copied_as_they_are(source: Path, tmp_path: Path) -> None:
    with (source / RUNS).open("ab") as stream:
        stream.write(b"not a record\n")

    assert copied(source, tmp_path / "copy").records == 32
    assert contents(tmp_path / "copy") == contents(source)


def test_a_folder_of_stores_does_not_become_a_store_itself(source: Path, tmp_path: Path) -> None:
    copied(source, tmp_path / "team" / "one")

    with pytest.raises(UsageError, match="holds other folders"):
        copied(source, tmp_path / "team")


def test_what_is_no_store_is_not_copied(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()

    for name in ("empty", "missing"):
        with pytest.raises(UsageError, match="is no store"):
            copied(tmp_path / name, tmp_path / "copy")
    assert not (tmp_path / "copy").exists()


def test_an_unfinished_copy_is_no_evidence_and_is_not_copied_on(source: Path, tmp_path: Path) -> None:
    copied(source, tmp_path / "copy")
    (tmp_path / "copy" / UNFINISHED_COPY_FILE).write_text("{}", encoding="utf-8")

    with pytest.raises(EvidenceError, match="is an unfinished copy"):
        list(StoreSet.open([tmp_path / "copy"]).read(skip_invalid=True))
    with pytest.raises(EvidenceError, match="is an unfinished copy"):
        show_store(Store.open(tmp_path / "copy"))
    with pytest.raises(EvidenceError, match="is an unfinished copy"):
        FolderRunStore.open(tmp_path / "copy")
    with pytest.raises(EvidenceError, match="is an unfinished copy itself"):
        copied(tmp_path / "copy", tmp_path / "next")

    copied(source, tmp_path / "copy")
    assert contents(tmp_path / "copy") == contents(source)


def test_a_copy_into_a_store_that_is_in_use_is_refused(source: Path, tmp_path: Path) -> None:
    copied(source, tmp_path / "copy")
    script = (
        "import sys\nfrom pathlib import Path\nfrom outweigh.store.store_lock import StoreLock\n"
        "held = StoreLock.take(Path(sys.argv[1]))\nprint('held', flush=True)\nsys.stdin.read()"
    )
    command = [sys.executable, "-c", script, str(tmp_path / "copy")]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as holder:
        assert holder.stdout is not None
        holder.stdout.readline()
        with pytest.raises(UsageError, match="is in use by process"):
            copied(source, tmp_path / "copy")
        holder.communicate(b"")


def test_a_copy_that_was_killed_is_refused_as_evidence_and_finished_by_the_next_one(tmp_path: Path) -> None:
    source, target = write_team_store(tmp_path / "source", artifacts=400), tmp_path / "copy"
    command = [sys.executable, "-m", "outweigh", "store", "copy", str(source), str(target)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as copying:
        while len(list(target.glob("artifacts/*/[0-9a-f]*"))) < 20 and copying.poll() is None:
            time.sleep(0.001)
        os.kill(copying.pid, signal.SIGKILL)
    there = len(list(target.glob("artifacts/*/[0-9a-f]*")))
    assert 20 <= there < 400
    shutil.copytree(target, tmp_path / "killed")
    (tmp_path / "killed" / RUNS).write_bytes((source / RUNS).read_bytes())
    with pytest.raises(OutweighError, match="is an unfinished copy of 'source'"):
        list(StoreSet.open([tmp_path / "killed"]).read(skip_invalid=False))

    result = copied(source, target)

    assert result.known_artifacts >= there
    assert {name: content for name, content in contents(target).items() if "/." not in name} == contents(source)
