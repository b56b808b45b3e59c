"""The page of `outweigh report` over 10,000 runs: its size, and how soon and how steadily a browser shows it."""

import gzip
import shutil
import subprocess
import sys
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks.ratio import Ratio
from benchmarks.setting import Setting
from benchmarks.synthetic import BASELINE, CANDIDATE, write_records

_RUNS = 10_000
_VISITS = 5
_WANTED_MEGABYTES, _WANTED_PAINT_SECONDS, _WANTED_SHIFT = 2.0, 1.0, 0.1
# The largest paint comes last, and shifts of the layout are over when the page has been still for a moment.
_FIGURES = """() => new Promise((found) => {
  const figures = {first: 0, largest: 0, shift: 0, nodes: document.querySelectorAll("*").length};
  const watch = (type, take) => new PerformanceObserver((list) => list.getEntries().forEach(take))
    .observe({type, buffered: true});
  watch("paint", (entry) => { if (entry.name === "first-contentful-paint") figures.first = entry.startTime / 1000; });
  watch("largest-contentful-paint", (entry) => { figures.largest = entry.startTime / 1000; });
  watch("layout-shift", (entry) => { figures.shift += entry.value; });
  setTimeout(() => found(figures), 500);
})"""


def measure(setting: Setting) -> list[Ratio]:
    """One page, written once by the command line, and opened as a file."""
    runs, page = write_records(setting.folder / "report.jsonl", _RUNS), setting.folder / "report.html"
    arms = ("--baseline", BASELINE, "--candidate", CANDIDATE)
    subprocess.run(
        [sys.executable, "-m", "outweigh", "report", str(runs), *arms, "-o", str(page)],
        check=True,
        stdout=subprocess.DEVNULL,
    )
    content = page.read_bytes()
    size = Ratio(
        name=f"bytes of a report over {_RUNS:,} runs : {_WANTED_MEGABYTES:g} MB",
        measured=len(content) / 1e6 / _WANTED_MEGABYTES,
        target=1,
        better="lower",
        note=f"{len(content) / 1e3:.0f} kB, {len(gzip.compress(content)) / 1e3:.0f} kB compressed, one request",
    )
    return [size, *_seen(page)]


def _seen(page: Path) -> list[Ratio]:
    """In the system's Chromium, the medians of five visits; nothing where there is none."""
    program = shutil.which("chromium")
    if program is None:
        return []
    from playwright.sync_api import sync_playwright  # noqa: PLC0415 - a part of the development set-up

    visits: list[dict[str, Any]] = []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox", "--disable-gpu"])
        for _ in range(_VISITS):
            opened = browser.new_page(viewport={"width": 1280, "height": 900})
            opened.goto(page.as_uri())
            visits.append(opened.evaluate(_FIGURES))
            opened.close()
        browser.close()
    first, largest, shift = (median(visit[name] for visit in visits) for name in ("first", "largest", "shift"))
    return [
        Ratio(
            name=f"first paint of a report over {_RUNS:,} runs : {_WANTED_PAINT_SECONDS:g} s",
            measured=first / _WANTED_PAINT_SECONDS,
            target=1,
            better="lower",
            note=f"{1000 * first:.0f} ms, largest paint {1000 * largest:.0f} ms, {visits[0]['nodes']:,} elements",
        ),
        Ratio(
            name=f"shift of its layout while it loads : {_WANTED_SHIFT:g}",
            measured=shift / _WANTED_SHIFT,
            target=1,
            better="lower",
            note=f"{shift:.3f}",
        ),
    ]
