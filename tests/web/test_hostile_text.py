"""Whatever a store contains is shown as text."""

from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import urlencode

import pytest
from tests.trajectories import a_step, a_trajectory, store_of
from tests.web.page_reader import Reader

from outweigh.model.judgment import CriterionScore
from outweigh.store.label_file import RunLabel, change_run_label
from outweigh.testing.builders import a_check, a_run

EVIL = "<script>alert(1)</script>\"' onload=alert(2) <img src=x onerror=alert(3)>\x1b[31m\u202e\x00&lt;"
PATCH = b"diff --git a/<b> b/<b>\n--- a/<b>\n+++ b/<b>\n@@ -1 +1 @@\n-\xff\xfe\n+</pre><script>alert(4)</script>\n"


class Tags(HTMLParser):
    """Every tag of a page with its attributes."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))


def hostile_store(folder: Path) -> Path:
    task, arm = EVIL.replace("\x00", ""), "arm" + EVIL.replace("\x00", "")
    step = a_step("bash" + EVIL, {"command": EVIL, EVIL: 1}, said=EVIL, output=EVIL)
    found = a_step("bash", {"command": f"git reflog {EVIL}"})
    kept = {"trajectory.json": a_trajectory(step, found), "diff.patch": PATCH, "other": b"x"}
    checks = (a_check(EVIL, passed=False, detail=EVIL),)
    run = a_run(task, arm, 1, checks=checks, warnings=(EVIL,), status_detail=EVIL)
    twin = a_run(task, "other", 1)
    store_of(folder, [(run, kept), (twin, kept)])
    return folder


def assert_harmless(page: str) -> None:
    tags = Tags(page).found
    assert [attributes.get("src") for tag, attributes in tags if tag == "script"] == ["/static/viewer.js"]
    assert not [tag for tag, _ in tags if tag in ("img", "iframe", "object", "embed", "style", "base")]
    assert not [name for _, attributes in tags for name in attributes if name.startswith("on")]
    assert not any(char in page for char in "\x1b\u202e\x00")


def test_no_page_takes_a_word_for_markup(tmp_path: Path) -> None:
    reader = Reader(hostile_store(tmp_path / "store"))
    (store,) = reader.catalogue.stores()
    store.index.refresh()
    run, twin = (row.run_id for row in store.index.rows)
    pages = [
        "/",
        reader.store(),
        reader.store("/runs"),
        reader.store(f"/runs?{urlencode({'q': EVIL, 'arm': EVIL, 'task': EVIL, 'sort': EVIL, 'page': EVIL})}"),
        reader.store(f"/run?{urlencode({'run': run})}"),
        reader.store(f"/diff?{urlencode({'a': run, 'b': twin})}"),
        reader.store(f"/text?{urlencode({'run': run, 'text': '1.message'})}"),
        reader.store(f"/text?{urlencode({'run': run, 'text': 'patch'})}"),
        reader.store(f"/run?{urlencode({'run': EVIL})}"),
        reader.store(f"?{urlencode({'q': EVIL, 'change': EVIL})}"),
        f"/?{urlencode({'q': EVIL, 'show': EVIL})}",
        f"/task?{urlencode({'task': EVIL.replace(chr(0), '')})}",
        f"/task?{urlencode({'task': EVIL})}",
        f"/search?{urlencode({'q': EVIL})}",
        f"/search?{urlencode({'q': 'script', 'in': EVIL, 'from': EVIL})}",
    ]

    for path in pages:
        answer = reader.decided(path)
        assert answer.status in (200, 404)
        assert_harmless(answer.text)


def test_what_is_no_text_is_shown_by_its_codes(tmp_path: Path) -> None:
    reader = Reader(hostile_store(tmp_path / "store"))
    (store,) = reader.catalogue.stores()
    store.index.refresh()

    page = reader.ask(reader.store(f"/run?{urlencode({'run': store.index.rows[0].run_id})}")).text

    assert "\\x1b[31m\\x202e" in page
    assert "Signs of cheating" in page
    assert "\\xff\\xfe" in page


def test_a_line_of_ten_megabytes_makes_no_page_of_ten_megabytes(tmp_path: Path) -> None:
    step = a_step("bash", {"command": "x" * 10_000_000}, said="y" * 10_000_000, output="z" * 10_000_000)
    patch = b"diff --git a/a b/a\n--- a/a\n+++ b/a\n@@ -0,0 +1 @@\n+" + b"w" * 10_000_000 + b"\n"
    kept = {"trajectory.json": a_trajectory(step), "diff.patch": patch}
    runs = [(a_run("fix", "plain", 1), kept), (a_run("fix", "better", 1), kept)]
    reader = Reader(store_of(tmp_path / "store", runs))

    run = reader.ask(reader.store("/run?run=fix/plain/1"))
    diff = reader.ask(reader.store("/diff?a=fix/plain/1&b=fix/better/1"))

    assert len(run.text) < 50_000
    assert len(diff.text) < 100_000


def test_a_damaged_trajectory_is_a_warning_and_no_fault(tmp_path: Path) -> None:
    kept = {"trajectory.json": b'{"steps": \xff'}
    reader = Reader(store_of(tmp_path / "store", [(a_run("fix", "plain", 1), kept)]))

    answer = reader.ask(reader.store("/run?run=fix/plain/1"))

    assert answer.status == 200
    assert "is not a trajectory in the ATIF format" in answer.text


def test_evidence_of_a_judge_stays_text() -> None:
    from outweigh.web.pages.run_page import criterion_rows  # noqa: PLC0415

    (row,) = criterion_rows([CriterionScore(criterion="c", weight=1.0, score=1.0, evidence="<script>")])

    assert "<script>" not in row


def test_a_hostile_note_label_and_experiment_stay_text(tmp_path: Path) -> None:
    store = hostile_store(tmp_path / "runs" / "store")
    reader = Reader(tmp_path / "runs")
    reader.ask(reader.store())
    run = reader.catalogue.stores()[0].index.rows[0].run_id
    change_run_label(store / "labels.csv", (run, ""), lambda given: RunLabel(run_id=given.run_id, note=EVIL))

    page = reader.ask(reader.store(f"/run?{urlencode({'run': run})}")).text

    assert_harmless(page)
    assert "</textarea>" in page


def test_a_name_of_an_experiment_is_no_markup_on_any_page(tmp_path: Path) -> None:
    name = "<img src=x onerror=alert(1)>"
    store_of(tmp_path / name, [(a_run(), {"trajectory.json": a_trajectory(a_step(said="hello"))})])
    reader = Reader(tmp_path)

    for path in ("/", "/search?q=hello", "/task?task=task-1", reader.store(), reader.store("/runs")):
        answer = reader.decided(path)
        assert answer.status == 200
        assert_harmless(answer.text)


@pytest.mark.parametrize(
    "path", ["/e/../x", "/e/%2e%2e/report", "/e/..%2f..%2fetc/report", "/search/../../etc", "/e//run"]
)
def test_no_address_leads_out_of_the_viewer(tmp_path: Path, path: str) -> None:
    reader = Reader(store_of(tmp_path / "store", [(a_run(), {})]))

    assert reader.ask(path).status == 404
