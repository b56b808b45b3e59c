"""Who may see the pages, and what a browser may do with them."""

from pathlib import Path

import pytest
from tests.trajectories import store_of
from tests.web.page_reader import Reader

from outweigh.testing.builders import a_run


@pytest.fixture
def store(tmp_path: Path) -> Path:
    return store_of(tmp_path / "store", [(a_run(), {})])


@pytest.mark.parametrize("path", ["/", "/static/viewer.js", "/static/viewer.css", "/nowhere"])
def test_every_answer_forbids_inline_scripts_and_foreign_sources(store: Path, path: str) -> None:
    headers = Reader(store).ask(path).headers

    policy = headers["content-security-policy"]
    assert policy.startswith("default-src 'none'")
    assert "unsafe" not in policy
    assert "http" not in policy
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["referrer-policy"] == "no-referrer"


def test_no_page_needs_what_the_policy_forbids(store: Path) -> None:
    reader = Reader(store)

    for path in ("/", reader.store(), reader.store("/runs"), reader.store("/run?run=task-1/baseline/1")):
        page = reader.ask(path).text
        assert " style=" not in page
        assert " onclick=" not in page
        assert "<script>" not in page


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH"])
def test_nothing_can_be_changed(store: Path, method: str) -> None:
    assert Reader(store).ask("/", method).status == 405


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1:80", "[::1]:8080", "LOCALHOST:1"])
def test_loopback_is_answered_under_its_own_names(store: Path, host: str) -> None:
    assert Reader(store, host=host).ask("/").status == 200


@pytest.mark.parametrize("host", ["evil.example", "localhost.evil.example:80", "", "127.0.0.1.evil.example"])
def test_another_name_for_this_machine_is_refused(store: Path, host: str) -> None:
    assert Reader(store, host=host).ask("/").status == 421


def test_with_a_token_nothing_is_shown_without_it(store: Path) -> None:
    reader = Reader(store, token="secret", host="machine.example")

    for path in ("/", "/?token=wrong", reader.store("/live"), "/static/viewer.js"):
        assert reader.ask(path).status == 401
    assert reader.ask("/", cookie="outweigh_token=wrong").status == 401


def test_the_token_leaves_the_address_and_stays_in_a_cookie(store: Path) -> None:
    reader = Reader(store, token="secret", host="machine.example")

    first = reader.ask("/?token=secret&page=2")

    assert (first.status, first.headers["location"]) == (303, "/?page=2")
    cookie = first.headers["set-cookie"]
    assert "HttpOnly" in cookie
    assert reader.ask("/", cookie=cookie.partition(";")[0]).status == 200


def test_a_redirect_never_leads_elsewhere(store: Path) -> None:
    reader = Reader(store, token="secret", host="machine.example")

    target = reader.ask("http://machine.example//evil.example/x?token=secret").headers["location"]

    assert target == "/evil.example/x"


@pytest.mark.parametrize("path", ["/static/../app.py", "/static/%2e%2e/app.py", "/static/viewer.py"])
def test_only_the_viewers_own_files_are_served(store: Path, path: str) -> None:
    assert Reader(store).ask(path).status == 404
