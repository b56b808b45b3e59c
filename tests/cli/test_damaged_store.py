"""A store whose lines are damaged: nothing of it is destroyed or paid for again unless its user says so."""

import json
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import duckdb
import pytest
from tests.cli.engines import Ended
from tests.cli.test_run import ARMS, Desk

from outweigh.cli.main import main
from outweigh.model.codec import decode, encode
from outweigh.model.line_seal import seal_behind

TASKS, REPEATS = 4, 2
TRIALS = TASKS * REPEATS * len(ARMS)


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    desk = Desk(tmp_path)
    with desk.held:
        desk.write(tasks=TASKS, repeats=REPEATS)
        assert desk.run("-j", "4").code == 0
        yield desk


def log(desk: Desk) -> Path:
    return desk.store / "runs-engine.jsonl"


def change_checksums(path: Path) -> bytes:
    """Give every line another checksum, and leave its JSON as it is."""
    changed = b"".join(
        line[:-4] + (b"1" if line[-4:-3] == b"0" else b"0") + line[-3:]
        for line in path.read_bytes().splitlines(keepends=True)
    )
    path.write_bytes(changed)
    return changed


def completed(lines: bytes) -> int:
    return sum(json.loads(line)["status"] == "completed" for line in lines.splitlines())


def ask(capsys: pytest.CaptureFixture[str], *words: str) -> Ended:
    capsys.readouterr()
    code = main(list(words))
    said = capsys.readouterr()
    return Ended(code, said.out, said.err)


def test_a_run_stops_at_damaged_lines_and_destroys_none(desk: Desk) -> None:
    changed = change_checksums(log(desk))

    ended = desk.run("-j", "4")

    assert ended.code == 3
    assert f"{log(desk)}:1: the line does not match its checksum" in ended.err
    assert f"and {TRIALS - 3} more lines" in ended.err
    assert "--go-on-without" in ended.err
    assert log(desk).read_bytes() == changed
    (copy,) = desk.store.glob("damaged-*")
    assert copy.read_bytes() == changed
    assert str(copy) in ended.err


def test_who_says_so_goes_on_without_them_and_the_lines_stay(desk: Desk, capsys: pytest.CaptureFixture[str]) -> None:
    changed = change_checksums(log(desk))

    ended = desk.run("-j", "4", "--go-on-without")

    assert ended.code == 0, ended.err
    content = log(desk).read_bytes()
    assert content.startswith(changed)
    assert completed(content[len(changed) :]) == TRIALS
    refused = ask(capsys, "verdict", str(desk.store))
    assert refused.code == 3
    assert ":1: the line does not match its checksum" in refused.err
    skipped = json.loads(ask(capsys, "verdict", str(desk.store), "--skip-invalid", "--format", "json").out)
    assert not skipped["may_promote"]
    assert any(f"{TRIALS} lines of the records could not be read" in blocker for blocker in skipped["blockers"])


def test_a_single_damaged_line_in_the_middle_blocks_too(desk: Desk) -> None:
    lines = log(desk).read_bytes().splitlines(keepends=True)
    lines[3] = lines[3].replace(b'"completed"', b'"timeout"')
    log(desk).write_bytes(b"".join(lines))

    assert desk.run("-j", "4").code == 3
    assert desk.run("-j", "4", "--go-on-without").code == 0
    content = log(desk).read_bytes()
    assert content.startswith(b"".join(lines))
    assert completed(content[len(b"".join(lines)) :]) == 1


def test_a_torn_end_is_cut_off_and_made_again_without_a_question(desk: Desk) -> None:
    content = log(desk).read_bytes()
    log(desk).write_bytes(content[:-40])

    ended = desk.run("-j", "4")

    assert ended.code == 0, ended.err
    assert "the file ends in the middle of a line; cut off" in ended.err
    assert completed(log(desk).read_bytes()) == TRIALS
    assert list(desk.store.glob("damaged-*")) == []


def test_a_store_of_an_earlier_release_is_read_and_goes_on_in_the_new_form(
    desk: Desk, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = log(desk).read_bytes().splitlines(keepends=True)
    verdict = ask(capsys, "verdict", str(desk.store), "--format", "json").out
    old = b"".join(seal_behind(encode(decode(line))) for line in lines)
    log(desk).write_bytes(old)
    assert ask(capsys, "verdict", str(desk.store), "--format", "json").out == verdict
    some = b"".join(old.splitlines(keepends=True)[:-5])
    log(desk).write_bytes(some)

    ended = desk.run("-j", "4")

    assert ended.code == 0, ended.err
    content = log(desk).read_bytes()
    assert content.startswith(some)
    assert completed(content[len(some) :]) == 5


def test_everybody_s_tools_read_the_runs_of_a_store(desk: Desk) -> None:
    path = log(desk)
    arms = [json.loads(line)["trial"]["arm"] for line in path.read_text().splitlines()]

    assert sorted(arms) == ["a"] * (TRIALS // 2) + ["b"] * (TRIALS // 2)


@pytest.mark.skipif(shutil.which("jq") is None, reason="jq is not installed")
def test_jq_reads_the_runs_of_a_store(desk: Desk) -> None:
    done = subprocess.run(
        ["jq", "-s", "map(.trial.arm) | group_by(.) | map(length)", "-c", str(log(desk))],
        check=True,
        capture_output=True,
    )

    assert json.loads(done.stdout) == [TRIALS // 2, TRIALS // 2]


def test_pandas_reads_the_runs_of_a_store(desk: Desk) -> None:
    pandas = pytest.importorskip("pandas")

    frame = pandas.read_json(log(desk), lines=True)

    assert len(frame) == TRIALS
    assert list(frame["crc32"].map(type).unique()) == [str]


def test_duckdb_reads_the_runs_of_a_store(desk: Desk) -> None:
    query = f"select trial.arm, count(*) from read_json_auto('{log(desk)}') group by 1 order by 1"
    with duckdb.connect() as connection:
        rows = connection.execute(query).fetchall()

    assert rows == [("a", TRIALS // 2), ("b", TRIALS // 2)]
