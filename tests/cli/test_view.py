"""`outweigh view` as a process: it answers where it says, and ends when told."""

import re
import signal
import sys
from pathlib import Path
from urllib.error import HTTPError
from urllib.request import HTTPCookieProcessor, build_opener, urlopen

import pytest
from tests.conftest import Outweigh
from tests.trajectories import store_of
from tests.web.viewer_process import PATIENCE_SECONDS, viewing

from outweigh.testing.builders import a_run


@pytest.fixture
def store(tmp_path: Path) -> str:
    return str(store_of(tmp_path / "store", [(a_run("fix", "plain", 1), {})]))


def test_it_answers_where_it_says_and_ends_on_ctrl_c(store: str) -> None:
    with viewing(store) as (url, process):
        assert re.fullmatch(r"http://127\.0\.0\.1:\d+/", url)
        with urlopen(url, timeout=PATIENCE_SECONDS) as answer:
            page = answer.read().decode()
        process.send_signal(signal.SIGINT)
        _, complaints = process.communicate(timeout=PATIENCE_SECONDS)

    assert ">store</a>" in page
    assert (process.returncode, complaints) == (0, "")


def test_beyond_loopback_the_address_has_a_token_and_nothing_is_shown_without(store: str) -> None:
    with viewing(store, "--host", "0.0.0.0") as (url, _):
        assert "?token=" in url
        local = url.replace("0.0.0.0", "127.0.0.1")
        with pytest.raises(HTTPError, match="401"):
            urlopen(local.partition("?")[0], timeout=PATIENCE_SECONDS)
        with build_opener(HTTPCookieProcessor()).open(local, timeout=PATIENCE_SECONDS) as answer:
            assert ">store</a>" in answer.read().decode()
            assert "token" not in answer.url


def test_a_store_that_is_not_there_is_refused(outweigh: Outweigh, tmp_path: Path) -> None:
    answer = outweigh("view", str(tmp_path / "nowhere"))

    assert answer.code == 2
    assert "there is no" in answer.err


def test_a_taken_port_is_named(outweigh: Outweigh, store: str) -> None:
    with viewing(store) as (url, _):
        answer = outweigh("view", store, "--port", url.rstrip("/").rpartition(":")[2])

    assert answer.code == 2
    assert "cannot be listened on" in answer.err


def test_a_port_that_is_none_is_refused(outweigh: Outweigh, store: str) -> None:
    assert outweigh("view", store, "--port", "70000").code == 2


@pytest.mark.parametrize("foreign", ["program", "text", "device"])
def test_a_file_without_runs_is_refused_at_once(outweigh: Outweigh, tmp_path: Path, foreign: str) -> None:
    paths = {"program": Path(sys.executable), "text": tmp_path / "notes.txt", "device": Path("/dev/zero")}
    (tmp_path / "notes.txt").write_text("no runs here\n")

    answer = outweigh("view", str(paths[foreign]))

    assert (answer.code, answer.out) == (2, "")
    assert str(paths[foreign]) in answer.err
    assert "name a store, a folder of stores, or a .jsonl file" in answer.err


def test_a_file_of_runs_of_which_some_cannot_be_read_is_shown(store: str) -> None:
    (file,) = Path(store).glob("runs-*.jsonl")
    file.write_bytes(b"no run\n" + file.read_bytes())

    with viewing(str(file)) as (url, _), urlopen(url, timeout=PATIENCE_SECONDS) as answer:
        assert answer.status == 200
