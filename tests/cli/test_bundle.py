"""A bundle: the same bytes for the same study, no secret in it, and every reading verb takes it like a store."""

import json
import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from tests.cli.bundles import members, small_bundle, small_store
from tests.cli.test_pasted_next_command import next_command
from tests.conftest import Outweigh
from tests.web.decided_store import decided_store

from outweigh.model.codec import encode
from outweigh.store.store_lock import StoreLock
from outweigh.store.zip_archive import MEMBER_LIMIT
from outweigh.testing.builders import a_run

KEY = "sk-ant-api03-" + "aZ9" * 20


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A judged store with transcripts, and its bundle beside it."""
    folder = tmp_path_factory.mktemp("study")
    decided_store(folder / "runs", folder / "suite", judged=True)
    command = [sys.executable, "-m", "outweigh", "store", "bundle", "runs", "-o", "study.outweigh.zip"]
    subprocess.run(command, cwd=folder, check=True, env={"PATH": os.environ["PATH"]})
    return folder


def test_the_same_store_at_another_place_on_another_day_gives_the_same_bytes(study: Path, tmp_path: Path) -> None:
    moved = tmp_path / "elsewhere" / "copied"
    shutil.copytree(study / "runs", moved)
    for file in moved.rglob("*"):
        os.utime(file, (1_000_000_000, 1_000_000_000))
    command = [sys.executable, "-m", "outweigh", "store", "bundle", "copied", "-o", "again.zip"]
    other = {"PATH": os.environ["PATH"], "TZ": "Asia/Tokyo", "COLUMNS": "50", "PYTHONHASHSEED": "7"}

    subprocess.run(command, cwd=moved.parent, check=True, env=other)

    assert (moved.parent / "again.zip").read_bytes() == (study / "study.outweigh.zip").read_bytes()


def test_a_bundle_names_neither_the_folder_nor_the_day_that_it_was_made(study: Path) -> None:
    with zipfile.ZipFile(study / "study.outweigh.zip") as opened:
        assert {member.date_time for member in opened.infolist()} == {(1980, 1, 1, 0, 0, 0)}
    for name, content in members(study / "study.outweigh.zip").items():
        assert str(study).encode() not in content, name
        assert b"outweigh-bundle-" not in content, name


def test_a_bundle_has_the_records_artifacts_and_rules_of_its_store(study: Path) -> None:
    packed = members(study / "study.outweigh.zip")

    kept = [file for file in (study / "runs").rglob("*") if file.is_file() and file.name != "lock"]

    assert kept
    for file in kept:
        assert packed[f"stores/answers/{file.relative_to(study / 'runs').as_posix()}"] == file.read_bytes()


def test_the_command_of_every_table_gives_the_same_bytes_in_the_unpacked_bundle(study: Path, tmp_path: Path) -> None:
    with zipfile.ZipFile(study / "study.outweigh.zip") as opened:
        opened.extractall(tmp_path)
    derived = json.loads((tmp_path / "bundle.json").read_text())["derived"]
    commands = [table["command"] for table in derived if table["command"] != "outweigh store bundle"]
    made = tables_in(tmp_path)
    shutil.rmtree(tmp_path / "derived")
    (tmp_path / "derived" / "answers").mkdir(parents=True)
    program = f'outweigh() {{ "{sys.executable}" -m outweigh "$@"; }}\n'

    # A verdict that allows nothing is printed all the same, and its exit code says so.
    script = program + "".join(f"{command} || true\n" for command in commands)
    subprocess.run(["sh", "-c", script], cwd=tmp_path, check=True, capture_output=True)

    assert len(made) > len(commands) >= 7
    assert tables_in(tmp_path) == made


def tables_in(root: Path) -> dict[str, bytes]:
    files = [file for file in (root / "derived" / "answers").rglob("*") if file.is_file()]
    return {str(file.relative_to(root)): file.read_bytes() for file in files}


@pytest.mark.parametrize(
    "words",
    [
        ("verdict", "RUNS", "--format", "json"),
        ("compare", "RUNS", "--format", "json"),
        ("ladder", "RUNS", "--format", "json"),
        ("suite", "check", "RUNS", "--format", "json"),
        ("suite", "aa", "RUNS", "--splits", "2", "--format", "json"),
        ("diff", "RUNS", "task-2/plain/1", "task-2/better/1", "--format", "json"),
        ("store", "scan", "RUNS", "--format", "json"),
        ("report", "RUNS"),
    ],
    ids=lambda words: " ".join(words[:2]),
)
def test_a_reading_verb_says_the_same_of_a_bundle_as_of_its_store(
    study: Path, outweigh: Outweigh, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...]
) -> None:
    monkeypatch.chdir(study)
    before = sorted(study.iterdir())

    of_store = outweigh(*(("runs" if word == "RUNS" else word) for word in words))
    of_bundle = outweigh(*(("study.outweigh.zip" if word == "RUNS" else word) for word in words))

    assert of_bundle.code == of_store.code, of_bundle.err
    assert of_bundle.out.replace("study.outweigh.zip", "runs") == of_store.out
    assert sorted(study.iterdir()) == before


def test_the_report_that_a_verdict_suggests_is_written_beside_the_bundle(
    outweigh: Outweigh, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    small_bundle(tmp_path)
    monkeypatch.chdir(tmp_path)
    bundle = "study.outweigh.zip"

    for runs, page in ((bundle, "study-report.html"), (f"{bundle}/small", "study-small-report.html")):
        command = next_command(outweigh("verdict", runs).out)

        assert command == ["outweigh", "report", runs, "-o", page]
        assert outweigh(*command[1:]).code == 0
        assert Path(page).is_file()


def test_an_export_of_a_bundle_is_that_of_its_store(study: Path, outweigh: Outweigh, tmp_path: Path) -> None:
    bundle = str(study / "study.outweigh.zip")
    for source, name in ((str(study / "runs"), "one"), (bundle, "two")):
        assert outweigh("store", "export", source, "-o", str(tmp_path / f"{name}.jsonl")).code == 0
        assert outweigh("store", "export", source, "--trajectories", "-o", str(tmp_path / name)).code == 0
        assert outweigh("store", "export", source, "--inspect", "-o", str(tmp_path / f"{name}-logs")).code == 0

    assert (tmp_path / "two.jsonl").read_bytes() == (tmp_path / "one.jsonl").read_bytes()
    for folder in ("one", "one-logs"):
        files = [file.relative_to(tmp_path / folder) for file in (tmp_path / folder).rglob("*") if file.is_file()]
        other = tmp_path / folder.replace("one", "two")
        assert files
        assert all((other / file).read_bytes() == (tmp_path / folder / file).read_bytes() for file in files)


def test_show_names_the_bundle(study: Path, outweigh: Outweigh) -> None:
    bundle = str(study / "study.outweigh.zip")

    shown = json.loads(outweigh("store", "show", bundle, "--format", "json").out)

    assert shown["store"] == bundle
    assert shown["arms"]["plain"]["done"] == 36


@pytest.mark.parametrize("words", [("judge",), ("run", "-o")], ids=" ".join)
def test_nothing_is_written_to_a_bundle(study: Path, outweigh: Outweigh, words: tuple[str, ...]) -> None:
    bundle = study / "study.outweigh.zip"
    before = bundle.read_bytes()
    suite = () if words == ("judge",) else ("-c", str(study / "suite"))

    answer = outweigh(*words, str(bundle), *suite)

    assert answer.code == 2
    assert "is a bundle, which is only read" in answer.err
    assert bundle.read_bytes() == before


def test_several_stores_in_a_bundle_are_read_together_or_by_name(outweigh: Outweigh, tmp_path: Path) -> None:
    one, two = small_store(tmp_path / "one"), small_store(tmp_path / "two")
    bundle = tmp_path / "both.zip"
    assert outweigh("store", "bundle", str(one), str(two), "-o", str(bundle)).code == 0

    verified = json.loads(outweigh("store", "verify", str(bundle), "--format", "json").out)
    together = outweigh("store", "show", str(bundle))
    second = outweigh("verdict", f"{bundle}/small-2", "--format", "json")

    assert verified["state"] == "same"
    assert verified["stores"] == ["small", "small-2"]
    assert "derived/prices.json" in members(bundle), "stores that cannot be read together have prices all the same"
    assert {path.split("/")[1] for path in (table["path"] for table in verified["tables"]) if path.count("/") > 1} == {
        "small",
        "small-2",
        "together",
    }
    assert together.code == 0
    assert f"{bundle}/small: " in together.out
    assert f"{bundle}/small-2: " in together.out
    assert second.out == outweigh("verdict", str(two), "--format", "json").out


def test_a_file_of_records_is_bundled_with_the_baseline_that_is_named(outweigh: Outweigh, tmp_path: Path) -> None:
    file = small_store(tmp_path / "store") / "runs-engine.jsonl"
    bundle = tmp_path / "records.zip"

    made = outweigh("store", "bundle", str(file), "-o", str(bundle), "--baseline", "plain")

    assert made.code == 0
    assert json.loads(members(bundle)["derived/runs/verdict.json"])["baseline"] == "plain"
    assert outweigh("store", "verify", str(bundle)).code == 0


def test_what_a_verb_refuses_is_listed_with_its_reason(outweigh: Outweigh, tmp_path: Path) -> None:
    file = small_store(tmp_path / "store") / "runs-engine.jsonl"
    bundle = tmp_path / "records.zip"

    made = outweigh("store", "bundle", str(file), "-o", str(bundle))

    assert made.code == 0
    assert "not made: derived/runs/verdict.json, derived/runs/report.html" in made.out
    assert "nothing says which arm is the baseline" in made.out
    verified = outweigh("store", "verify", str(bundle))
    assert verified.code == 0
    assert "same, not made" in verified.out


def test_a_secret_is_refused_with_its_place_and_without_its_value(outweigh: Outweigh, tmp_path: Path) -> None:
    store = small_store(tmp_path / "store")
    with (store / "runs-engine.jsonl").open("ab") as stream:
        stream.write(encode(a_run("task-4", "new", warnings=(f"the key is {KEY}",))) + b"\n")

    answer = outweigh("store", "bundle", str(store), "-o", str(tmp_path / "out.zip"))

    assert answer.code == 3
    assert "stores/small/runs-engine.jsonl:13 (a key of Anthropic)" in answer.err
    assert KEY not in answer.err
    assert not (tmp_path / "out.zip").exists()


def test_the_value_of_a_secret_variable_is_refused(
    outweigh: Outweigh, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = small_store(tmp_path / "store")
    (store / "labels.csv").write_text("run_id,note\ntask-1/new/1,it printed correct horse battery\n")
    monkeypatch.setenv("DATABASE_PASSWORD", "correct horse battery")

    answer = outweigh("store", "bundle", str(store), "-o", str(tmp_path / "out.zip"))

    assert answer.code == 3
    assert "stores/small/labels.csv:2 (the value of DATABASE_PASSWORD)" in answer.err


def test_a_secret_that_begins_with_a_slash_is_refused_and_the_path_of_a_file_is_not(
    outweigh: Outweigh, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store, words = small_store(tmp_path / "store"), ("-o", str(tmp_path / "out.zip"))
    file = tmp_path / "private-key.pem"
    file.write_text("")
    note = store / "labels.csv"
    monkeypatch.setenv("SIGNING_KEY", str(file))
    monkeypatch.setenv("ACCESS_KEY", "/bPxRfiCYzT9q+KLm3n")

    note.write_text(f"run_id,note\ntask-1/new/1,it read {file}\n")
    made = outweigh("store", "bundle", str(store), *words)
    note.write_text("run_id,note\ntask-1/new/1,it printed /bPxRfiCYzT9q+KLm3n\n")
    refused = outweigh("store", "bundle", str(store), *words)

    assert made.code == 0, made.err
    assert refused.code == 3
    assert "stores/small/labels.csv:2 (the value of ACCESS_KEY)" in refused.err


def test_a_secret_in_a_transcript_can_be_left_out_with_all_artifacts(outweigh: Outweigh, tmp_path: Path) -> None:
    store = small_store(tmp_path / "store")
    artifact = store / "artifacts" / "ab" / ("ab" * 32)
    artifact.parent.mkdir(parents=True)
    artifact.write_text(f"export KEY={KEY}")
    words = ("store", "bundle", str(store), "-o", str(tmp_path / "out.zip"))

    refused, made = outweigh(*words), outweigh(*words, "--without-artifacts")

    assert refused.code == 3
    assert "--without-artifacts" in refused.err
    assert made.code == 0
    assert not any("artifacts" in name for name in members(tmp_path / "out.zip"))
    assert outweigh("store", "verify", str(tmp_path / "out.zip")).code == 0


def test_a_store_with_an_unreadable_line_is_not_bundled(outweigh: Outweigh, tmp_path: Path) -> None:
    store = small_store(tmp_path / "store")
    with (store / "runs-engine.jsonl").open("ab") as stream:
        stream.write(b"{}\n")

    answer = outweigh("store", "bundle", str(store), "-o", str(tmp_path / "out.zip"))

    assert answer.code == 3
    assert "runs-engine.jsonl:13" in answer.err
    assert not (tmp_path / "out.zip").exists()


def test_a_store_that_is_too_large_is_refused_before_it_is_copied(outweigh: Outweigh, tmp_path: Path) -> None:
    store = small_store(tmp_path / "store")
    folder = store / "artifacts" / "ab"
    folder.mkdir(parents=True)
    for number in range(32):
        with (folder / f"{number:064}").open("wb") as stream:
            stream.truncate(MEMBER_LIMIT)

    answer = outweigh("store", "bundle", str(store), "-o", str(tmp_path / "out.zip"))

    assert answer.code == 2
    assert "16 GiB" in answer.err
    assert "--without-artifacts" in answer.err
    assert not (tmp_path / "out.zip").exists()


def test_a_bundle_is_a_zip_file(outweigh: Outweigh, tmp_path: Path) -> None:
    answer = outweigh("store", "bundle", str(small_store(tmp_path / "store")), "-o", str(tmp_path / "out.tar"))

    assert answer.code == 2
    assert "must end in .zip" in answer.err


def test_a_bundle_can_be_bundled_again_to_the_same_bytes(outweigh: Outweigh, tmp_path: Path) -> None:
    bundle = small_bundle(tmp_path / "first")
    prices = str(tmp_path / "first" / "prices.toml")

    made = outweigh("store", "bundle", str(bundle), "-o", str(tmp_path / "second.zip"), "--prices", prices)

    assert made.code == 0
    assert (tmp_path / "second.zip").read_bytes() == bundle.read_bytes()


def test_a_store_that_is_being_written_to_is_not_bundled(outweigh: Outweigh, tmp_path: Path) -> None:
    store = small_store(tmp_path / "store")
    lock = StoreLock.take(store)

    answer = outweigh("store", "bundle", str(store), "-o", str(tmp_path / "out.zip"))
    lock.release()

    assert answer.code == 2
    assert "bundle it when its run has ended" in answer.err
    assert outweigh("store", "bundle", str(store), "-o", str(tmp_path / "out.zip")).code == 0


def test_a_file_that_shrinks_like_a_zip_bomb_can_be_read_again(outweigh: Outweigh, tmp_path: Path) -> None:
    store = small_store(tmp_path / "store")
    artifact = store / "artifacts" / "ab" / ("ab" * 32)
    artifact.parent.mkdir(parents=True)
    artifact.write_bytes(bytes(3_000_000))

    assert outweigh("store", "bundle", str(store), "-o", str(tmp_path / "out.zip")).code == 0
    assert outweigh("store", "show", str(tmp_path / "out.zip")).code == 0
    assert outweigh("store", "verify", str(tmp_path / "out.zip")).code == 0


def test_a_table_of_another_program_is_imported_before_it_is_bundled(outweigh: Outweigh, tmp_path: Path) -> None:
    (tmp_path / "runs.csv").write_text("task,arm,passed\na,plain,1\n")

    answer = outweigh("store", "bundle", str(tmp_path / "runs.csv"), "-o", str(tmp_path / "out.zip"))

    assert answer.code == 2
    assert "Import it first" in answer.err
