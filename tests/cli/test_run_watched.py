"""What a run tries before it starts, and what it tells while it goes."""

from pathlib import Path
from typing import Any

import msgspec
import pytest

from outweigh.app.starter_suite import starter_files


@pytest.fixture
def suite(tmp_path: Path) -> Path:
    folder = tmp_path / "suite"
    for name, content in starter_files().items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    return folder


def make_vacuous(suite: Path) -> str:
    task = next(path for path in sorted((suite / "tasks").iterdir()) if path.is_dir())
    (task / "tests" / "test.sh").parent.mkdir(exist_ok=True)
    text = (task / "task.toml").read_text().split("[metadata.outweigh]")[0].split("[[metadata.outweigh.checks]]")[0]
    check = '[[metadata.outweigh.checks]]\ntype = "command"\nname = "nothing"\nrun = "true"\n'
    (task / "task.toml").write_text(f"{text}\n{check}")
    return task.name


def test_tasks_are_tried_once_before_the_first_run_and_the_results_are_kept(
    outweigh: Any, suite: Path, tmp_path: Path
) -> None:
    store = tmp_path / "store"

    assert outweigh("run", "-c", str(suite), "-k", "1", "-o", str(store)).code == 0
    kept = (store / "preflight.json").read_bytes()
    assert outweigh("run", "-c", str(suite), "-k", "2", "-o", str(store)).code == 0

    assert {len(msgspec.json.decode(kept)["tasks"])} == {2}
    assert (store / "preflight.json").read_bytes() == kept


@pytest.mark.parametrize(
    "outdated",
    [
        ('"sandbox": "local"', '"sandbox": "container"'),
        (
            '"findings": []',
            '"findings": [{"kind": "sandbox_failed", "blocking": true, "message": "The disk is full."}]',
        ),
    ],
    ids=["of another sandbox", "of a fault that may be mended"],
)
def test_results_that_may_no_longer_hold_are_not_relied_on(
    outweigh: Any, suite: Path, tmp_path: Path, outdated: tuple[str, str]
) -> None:
    store = tmp_path / "store"
    outweigh("run", "-c", str(suite), "-k", "1", "-o", str(store))
    kept = (store / "preflight.json").read_text()
    assert outdated[0] in kept
    (store / "preflight.json").write_text(kept.replace(*outdated))

    assert outweigh("run", "-c", str(suite), "-k", "2", "-o", str(store)).code == 0
    assert (store / "preflight.json").read_text() == kept


def test_a_task_that_passes_untouched_stops_the_run_before_it_starts(
    outweigh: Any, suite: Path, tmp_path: Path
) -> None:
    name = make_vacuous(suite)

    answer = outweigh("run", "-c", str(suite), "-k", "1", "-o", str(tmp_path / "store"))

    assert answer.code == 3
    assert name in answer.err
    assert "continue anyway with -y" in answer.err
    assert not list((tmp_path / "store").glob("runs-*.jsonl"))


def test_who_insists_may_run_it_all_the_same(outweigh: Any, suite: Path, tmp_path: Path) -> None:
    make_vacuous(suite)

    assert outweigh("run", "-c", str(suite), "-k", "1", "-o", str(tmp_path / "store"), "-y").code == 0


def test_every_event_is_a_line_of_json(outweigh: Any, suite: Path, tmp_path: Path) -> None:
    events = tmp_path / "events.ndjson"

    outweigh("run", "-c", str(suite), "-k", "2", "-o", str(tmp_path / "store"), "--events", str(events))

    lines = [msgspec.json.decode(line) for line in events.read_bytes().splitlines()]
    kinds = [line["kind"] for line in lines]
    assert (kinds.count("started"), kinds.count("finished")) == (8, 8)
    assert {line["status"] for line in lines if line["kind"] == "finished"} == {"completed"}


def test_an_event_file_that_cannot_be_written_is_refused(outweigh: Any, suite: Path, tmp_path: Path) -> None:
    answer = outweigh("run", "-c", str(suite), "-o", str(tmp_path / "store"), "--events", str(tmp_path / "no" / "file"))

    assert answer.code == 2
    assert "cannot be written" in answer.err


def test_the_same_suite_and_seed_give_the_same_verdict_hash(outweigh: Any, suite: Path, tmp_path: Path) -> None:
    hashes = []
    for name in ("one", "two"):
        store = str(tmp_path / name)
        outweigh("run", "-c", str(suite), "-o", store, "-j", "1" if name == "one" else "3")
        hashes.append(outweigh("verdict", store, "--format", "json").json())

    assert hashes[0]["verdict_sha256"] == hashes[1]["verdict_sha256"]
    assert hashes[0]["evidence_sha256"] != hashes[1]["evidence_sha256"]


def test_a_task_that_is_mended_before_the_first_run_goes_into_the_same_store(
    outweigh: Any, suite: Path, tmp_path: Path
) -> None:
    store = tmp_path / "store"
    task = suite / "tasks" / make_vacuous(suite) / "task.toml"
    assert outweigh("run", "-c", str(suite), "-o", str(store)).code == 3

    task.write_text(task.read_text().replace('run = "true"', 'run = "false"'))
    mended = outweigh("run", "-c", str(suite), "-o", str(store), "-y")

    assert mended.code == 0, mended.err
    task.write_text(task.read_text().replace('run = "false"', 'run = "test -e answer.txt"'))
    assert "another experiment: tasks differ" in outweigh("run", "-c", str(suite), "-o", str(store)).err
