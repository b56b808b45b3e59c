"""Labels given in the browser: what `judge --calibrate` takes, kept whatever happens, and changed by nobody else."""

import os
import re
import signal
import subprocess
import sys
from pathlib import Path
from urllib.parse import urlencode

import pytest
from tests.conftest import Outweigh
from tests.web.decided_store import decided_store
from tests.web.page_reader import Answer, Reader

from outweigh.app.calibrate import read_labels
from outweigh.store.label_file import RunLabel, change_run_label, read_run_labels

RUN = "task-2/better/1"
OWN = "http://localhost:1234"


@pytest.fixture
def reader(tmp_path: Path) -> Reader:
    decided_store(tmp_path / "runs" / "one", tmp_path / "suite", judged=True)
    return Reader(tmp_path / "runs")


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "runs" / "one" / "labels.csv"


def form_token(reader: Reader, run: str = RUN) -> str:
    found = re.search(r'name="token" value="([^"]+)"', reader.ask(reader.store(f"/run?{urlencode({'run': run})}")).text)
    assert found is not None
    return found[1]


def send(reader: Reader, *, origin: str = OWN, token: str | None = None, run: str = RUN, **fields: str) -> Answer:
    """Send the form as the browser would."""
    sent = {"token": form_token(reader) if token is None else token, "run": run, "attempt": "1", **fields}
    return reader.ask(reader.store("/label"), "POST", urlencode(sent).encode(), origin=origin)


def test_a_label_and_a_note_are_kept_and_shown_again(reader: Reader, file: Path) -> None:
    answer = send(reader, label="fail", note="It guessed.\nTwice.")

    assert answer.status == 303
    assert answer.headers["location"].endswith("#label")
    assert read_run_labels(file) == {(RUN, ""): RunLabel(run_id=RUN, label="fail", note="It guessed.\nTwice.")}
    page = reader.ask(reader.store(f"/run?run={RUN}")).text
    assert '<input type="radio" name="label" value="fail" checked>' in page
    assert "It guessed.\nTwice.</textarea>" in page


def test_a_note_is_changed_and_a_label_taken_back(reader: Reader, file: Path) -> None:
    send(reader, label="pass", note="first")
    send(reader, label="pass", note="second")
    assert read_run_labels(file)[RUN, ""].note == "second"

    send(reader, label="", note="")

    assert read_run_labels(file) == {}


def test_agreeing_takes_the_side_of_the_judge_and_keeps_the_note(reader: Reader, file: Path) -> None:
    send(reader, label="", note="look again")
    page = reader.ask(reader.store(f"/run?run={RUN}")).text
    assert "judge says pass" in page
    found = re.search(r'value="(\w+)" aria-pressed="false" aria-label="Disagree about quality"', page)
    assert found is not None

    send(reader, label=found[1], criterion="quality")
    send(reader, label="pass")

    labels = read_run_labels(file)
    assert labels[RUN, "quality"].label == "fail"
    assert (labels[RUN, ""].label, labels[RUN, ""].note) == ("pass", "look again")
    assert "✗ disagree" in reader.ask(reader.store(f"/run?run={RUN}")).text


def test_judge_calibrate_takes_the_file(reader: Reader, file: Path, outweigh: Outweigh) -> None:
    for number in range(1, 13):
        for arm, label in (("better", "pass"), ("plain", "fail")):
            send(reader, run=f"task-{number}/{arm}/1", label=label, note='a note, with "quotes" and\na line')
    send(reader, run="task-1/better/2", label="", note="only a note")

    answer = outweigh("judge", str(file.parent), "--calibrate", str(file))

    assert answer.code == 0, answer.err
    assert len(read_labels(str(file)).labels) == 24
    assert f"outweigh judge {file.parent} --calibrate {file}" in reader.ask(reader.store(f"/run?run={RUN}")).text


def test_rows_that_were_written_by_hand_stay(reader: Reader, file: Path) -> None:
    file.write_text("run_id,criterion,score\ntask-1/plain/1,,0.25\n")

    send(reader, label="pass")

    assert read_run_labels(file)["task-1/plain/1", ""].score == "0.25"
    assert [label.score for label in read_labels(str(file)).labels] == [0.25, None]


@pytest.mark.parametrize("damage", [b"\xff\xfe", b'run_id,label\n"open', b"run_id,verdict\nx,y\n"])
def test_a_damaged_file_is_never_written_over(reader: Reader, file: Path, damage: bytes) -> None:
    token = form_token(reader)
    file.write_bytes(damage)
    page = reader.ask(reader.store(f"/run?run={RUN}"))

    answer = send(reader, token=token, label="pass")

    assert page.status == 200
    assert "move it away" in page.text
    assert answer.status == 500
    assert file.read_bytes() == damage


@pytest.mark.parametrize(
    "fields",
    [
        {"label": "maybe"},
        {"label": "pass", "criterion": "no such criterion"},
        {"label": "pass", "note": "x" * 2001},
        {"label": "pass", "run": "no such run"},
    ],
)
def test_what_is_no_label_is_refused(reader: Reader, file: Path, fields: dict[str, str]) -> None:
    assert send(reader, **fields).status in (400, 404)
    assert not file.exists()


def test_more_than_a_label_can_hold_is_refused(reader: Reader, file: Path) -> None:
    assert send(reader, label="pass", note="x" * 70_000).status == 413
    assert not file.exists()


@pytest.mark.parametrize(
    "origin",
    [
        "",
        "null",
        "http://evil.example",
        "http://localhost:99",
        "http://localhost:1234.evil.example",
        "localhost:1234",
    ],
)
def test_a_page_of_another_site_changes_nothing(reader: Reader, file: Path, origin: str) -> None:
    assert send(reader, origin=origin, label="pass").status == 403
    assert not file.exists()


def test_a_request_without_an_origin_changes_nothing(reader: Reader, file: Path) -> None:
    body = urlencode({"token": form_token(reader), "run": RUN, "label": "pass"}).encode()

    assert reader.ask(reader.store("/label"), "POST", body).status == 403
    assert not file.exists()


def test_a_browser_that_says_that_the_request_is_from_elsewhere_is_believed(reader: Reader, file: Path) -> None:
    body = urlencode({"token": form_token(reader), "run": RUN, "label": "pass"}).encode()

    answer = reader.ask(reader.store("/label"), "POST", body, origin=OWN, sec_fetch_site="same-site")

    assert answer.status == 403
    assert not file.exists()


@pytest.mark.parametrize("token", ["", "guess"])
def test_a_form_that_this_viewer_did_not_make_changes_nothing(reader: Reader, file: Path, token: str) -> None:
    assert send(reader, token=token, label="pass").status == 403
    assert not file.exists()


def test_another_name_for_this_machine_changes_nothing(tmp_path: Path, reader: Reader, file: Path) -> None:
    rebound = Reader(tmp_path / "runs", host="evil.example")
    body = urlencode({"token": form_token(reader), "run": RUN, "label": "pass"}).encode()

    assert rebound.ask(rebound.store("/label"), "POST", body, origin="http://evil.example").status == 421
    assert not file.exists()


def test_beyond_loopback_a_label_needs_the_token_of_the_address(tmp_path: Path, reader: Reader, file: Path) -> None:
    guarded = Reader(tmp_path / "runs", token="secret", host="machine.example")
    body = urlencode({"token": form_token(reader), "run": RUN, "label": "pass"}).encode()

    assert guarded.ask(guarded.store("/label"), "POST", body, origin="http://machine.example").status == 401
    assert not file.exists()


def test_only_the_page_with_forms_tells_where_a_request_comes_from(reader: Reader) -> None:
    assert reader.ask(reader.store(f"/run?run={RUN}")).headers["referrer-policy"] == "same-origin"
    assert reader.ask("/").headers["referrer-policy"] == "no-referrer"


@pytest.mark.parametrize("key", ["../../etc", "%2e%2e", "..%2f..%2fx", "0" * 12])
def test_no_label_is_written_outside_of_a_store(reader: Reader, tmp_path: Path, key: str) -> None:
    before = sorted(tmp_path.rglob("*"))
    body = urlencode({"token": form_token(reader), "run": RUN, "label": "pass"}).encode()

    answer = reader.ask(f"/e/{key}/label", "POST", body, origin=OWN)

    assert answer.status in (404, 405)
    assert sorted(tmp_path.rglob("*")) == before


def test_characters_that_cannot_be_seen_are_shown_by_their_codes(reader: Reader, file: Path) -> None:
    send(reader, label="pass", note="a\x00b\u202ec</textarea><script>1</script>")

    assert read_run_labels(file)[RUN, ""].note == "a\\x00b\\x202ec</textarea><script>1</script>"
    assert "<script>1" not in reader.ask(reader.store(f"/run?run={RUN}")).text


def test_labels_of_a_single_file_of_records_are_beside_it(tmp_path: Path) -> None:
    store = decided_store(tmp_path / "runs" / "one", tmp_path / "suite")
    (records,) = store.glob("runs-*.jsonl")
    reader = Reader(records)

    assert send(reader, label="pass").status == 303
    assert read_run_labels(records.with_name(f"{records.stem}.labels.csv"))[RUN, ""].label == "pass"


def test_labels_change_neither_the_records_nor_the_verdict(reader: Reader, file: Path) -> None:
    (store,) = reader.catalogue.stores()
    reader.decided("/")
    before = store.verdict()

    send(reader, label="fail")
    store.index.refresh()

    assert store.index.error_count == 0
    assert store.verdict() is before


def test_the_next_judged_run_without_a_label_is_offered(reader: Reader) -> None:
    page = reader.ask(reader.store("/run?run=task-1/plain/1")).text
    assert re.search(r'href="[^"]+run=task-1%2Fplain%2F2">Next judged run', page)

    send(reader, run="task-1/plain/2", label="pass")

    after = reader.ask(reader.store("/run?run=task-1/plain/1")).text
    assert re.search(r'href="[^"]+run=task-1%2Fplain%2F3">Next judged run', after)


_WRITER = """
import sys
from pathlib import Path
from msgspec.structs import replace
from outweigh.store.label_file import change_run_label
file, who, count = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])
for number in range(count):
    change_run_label(file, (f"{who}-{number}", ""), lambda given: replace(given, label="pass", note="x" * 500))
    print(number, flush=True)
"""


def test_two_writers_lose_none_of_each_others_labels(tmp_path: Path) -> None:
    file = tmp_path / "labels.csv"
    command = [sys.executable, "-c", _WRITER, str(file)]
    writers = [
        subprocess.Popen([*command, who, "40"], stdout=subprocess.DEVNULL, env=os.environ) for who in ("one", "two")
    ]

    assert [writer.wait() for writer in writers] == [0, 0]
    assert len(read_run_labels(file)) == 80


def test_a_writer_that_is_killed_loses_no_label_that_was_kept(tmp_path: Path) -> None:
    file = tmp_path / "labels.csv"
    command = [sys.executable, "-c", _WRITER, str(file), "one", "100000"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=os.environ) as writer:
        assert writer.stdout is not None
        for _ in range(30):
            kept = int(writer.stdout.readline())
        writer.send_signal(signal.SIGKILL)

    labels = read_run_labels(file)
    assert {(f"one-{number}", "") for number in range(kept + 1)} <= labels.keys()
    change_run_label(file, ("after", ""), lambda given: RunLabel(run_id=given.run_id, label="fail"))
    assert read_run_labels(file).keys() == labels.keys() | {("after", "")}
