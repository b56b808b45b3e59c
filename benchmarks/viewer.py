"""The viewer: lists under many readers, memory, and how soon a large experiment is seen."""

import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from http.client import HTTPConnection
from pathlib import Path
from statistics import quantiles
from time import perf_counter
from urllib.parse import urlsplit

from benchmarks.ratio import Ratio
from benchmarks.setting import Setting
from benchmarks.synthetic import write_records

_MANY, _SOME = 100_000, 10_000
_READERS, _REQUESTS = 20, 25
_WANTED_LISTING_SECONDS, _WANTED_MEGABYTES, _WANTED_PAINT_SECONDS = 0.2, 400, 1.0
_QUERIES = (
    "page={page}",
    "arm=baseline&page={page}",
    "outcome=failed&page={page}",
    "sort=cost&falling=1&page={page}",
    "q=task-1&page={page}",
)
_PAINTED = """() => new Promise((found) => new PerformanceObserver((list) => {
  for (const entry of list.getEntries()) if (entry.name === "first-contentful-paint") found(entry.startTime / 1000);
}).observe({type: "paint", buffered: true}))"""


def measure(setting: Setting) -> list[Ratio]:
    """Every page comes from a process of its own; all of its readers are in this one, on the same cores."""
    large = write_records(setting.folder / "viewer-large.jsonl", _MANY)
    with _viewing(large) as (url, process):
        seconds = sorted(_read_at_once(url))
        megabytes = _peak_megabytes(process.pid)
    slow = quantiles(seconds, n=20)[-1]
    ratios = [
        Ratio(
            name=f"a list of {_MANY:,} runs, 95th percentile of {_READERS} readers : {_WANTED_LISTING_SECONDS:g} s",
            measured=slow / _WANTED_LISTING_SECONDS,
            target=1,
            better="lower",
            note=f"{1000 * slow:.0f} ms, median {1000 * seconds[len(seconds) // 2]:.0f} ms, {len(seconds)} requests",
        )
    ]
    if megabytes is not None:
        ratios.append(
            Ratio(
                name=f"peak memory of the viewer with {_MANY:,} runs : {_WANTED_MEGABYTES} MB",
                measured=megabytes / _WANTED_MEGABYTES,
                target=1,
                better="lower",
                note=f"{megabytes:.0f} MB",
            )
        )
    return [*ratios, *_first_paint(setting)]


@contextmanager
def _viewing(runs: Path) -> Iterator[tuple[str, "subprocess.Popen[str]"]]:
    process = subprocess.Popen(
        [sys.executable, "-m", "outweigh", "view", str(runs)],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    assert process.stdout is not None
    try:
        yield process.stdout.readline().strip(), process
    finally:
        process.terminate()
        process.wait()
        process.stdout.close()


def _read_at_once(url: str) -> Iterator[float]:
    host = urlsplit(url).netloc
    found = re.search(r'href="(/e/[0-9a-f]+)"', _get(HTTPConnection(host), "/"))
    assert found is not None
    path = f"{found[1]}/runs"
    with ThreadPoolExecutor(_READERS) as readers:
        for seconds in readers.map(lambda number: _read(host, path, number), range(_READERS)):
            yield from seconds


def _read(host: str, path: str, number: int) -> Sequence[float]:
    """One reader who turns pages and changes filters."""
    connection, seconds = HTTPConnection(host), []
    for turn in range(_REQUESTS):
        query = _QUERIES[(number + turn) % len(_QUERIES)].format(page=1 + number * turn % 100)
        start = perf_counter()
        _get(connection, f"{path}?{query}")
        seconds.append(perf_counter() - start)
    connection.close()
    return seconds


def _get(connection: HTTPConnection, path: str) -> str:
    connection.request("GET", path)
    answer = connection.getresponse()
    text = answer.read().decode()
    if answer.status != 200:
        raise RuntimeError(f"{path} answered {answer.status}")
    return text


def _peak_megabytes(pid: int) -> float | None:
    try:
        status = Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return None
    found = re.search(r"VmHWM:\s+(\d+) kB", status)
    return None if found is None else int(found[1]) / 1000


def _first_paint(setting: Setting) -> list[Ratio]:
    """In the system's Chromium, the median of five visits; nothing where there is none."""
    program = shutil.which("chromium")
    if program is None:
        return []
    from playwright.sync_api import sync_playwright  # noqa: PLC0415 - a part of the development set-up

    runs = write_records(setting.folder / "viewer-some.jsonl", _SOME)
    with _viewing(runs) as (url, _), sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox", "--disable-gpu"])
        page = browser.new_page()
        page.goto(url)
        page.locator("main a").first.click()
        address = page.url
        seconds = []
        for _ in range(5):
            page = browser.new_page()
            page.goto(address)
            seconds.append(float(page.evaluate(_PAINTED)))
            page.close()
        browser.close()
    middle = sorted(seconds)[len(seconds) // 2]
    return [
        Ratio(
            name=f"first paint of an experiment of {_SOME:,} runs : {_WANTED_PAINT_SECONDS:g} s",
            measured=middle / _WANTED_PAINT_SECONDS,
            target=1,
            better="lower",
            note=f"{1000 * middle:.0f} ms",
        )
    ]
