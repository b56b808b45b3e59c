"""Every figure of a report has one interval, wherever the page shows it: in a chart, a table, a list, the sentence."""

import re
from html import unescape
from itertools import combinations
from pathlib import Path

import pytest

from outweigh.cli.main import main

RECORDED = str(Path(__file__).resolve().parents[2] / "examples" / "recorded" / "runs.jsonl")
NUMBER = r"[+-]?[\d,.]+"
SPAN = re.compile(rf"({NUMBER})(?: points| %| s)? to ({NUMBER})")

Found = dict[str, set[tuple[str, str]]]


def quantity(name: str) -> str:
    """`pass_rate`, `pass rate holds` and `cost, typical run` under one name each; a resource by itself is its total."""
    plain = re.sub(r" (holds|not shown|worse|better|unknown|~)$", "", name.strip()).replace("_", " ").replace("-", " ")
    plain = plain.removesuffix(", total").removesuffix(" run")
    return plain.lower()


def note(found: Found, name: str, told: str) -> None:
    for low, high in SPAN.findall(told):
        found.setdefault(quantity(name), set()).add((low.lstrip("+"), high.lstrip("+")))


def text_of(markup: str) -> str:
    return unescape(re.sub(r"<[^>]+>", "", markup))


def intervals(page: str) -> Found:
    """All intervals on a page by the quantity that they are about."""
    found: Found = {}
    for row in re.findall(r"<g><title>.*?</g>", page, re.DOTALL):
        texts = [text_of(text) for text in re.findall(r"<text[^>]*>(.*?)</text>", row, re.DOTALL)]
        for label in texts[1:]:
            note(found, texts[0], label)
    for row in re.findall(r'<tr><th scope="row">.*?</tr>', page):
        head, *cells = [text_of(cell) for cell in re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", row)]
        for cell in cells:
            note(found, head, cell)
    for item in re.findall(r"<li>(.*?)</li>", page):
        name, colon, told = text_of(item).partition(": ")
        readings = re.split(r", total ", told) if colon and "90 % interval" in told else []
        for reading in readings:
            typical = ", typical" if reading.startswith("typical run ") else ""
            note(found, f"{name}{typical}", reading.split("interval", 1)[-1])
    return found


def contradictions(found: Found) -> Found:
    """Quantities with intervals that are not the same number, rounded to fewer or more digits."""
    return {name: spans for name, spans in found.items() if not all(_agree(one, other) for one, other in _pairs(spans))}


def _pairs(spans: set[tuple[str, str]]) -> list[tuple[str, str]]:
    return [ends for one, other in combinations(spans, 2) for ends in zip(one, other, strict=True)]


def _agree(one: str, other: str) -> bool:
    decimals = min(len(text.partition(".")[2]) for text in (one, other))
    return bool(abs(float(one.replace(",", "")) - float(other.replace(",", ""))) <= 0.5001 * 10.0**-decimals)


def written(tmp_path: Path, *arguments: str) -> str:
    target = tmp_path / "report.html"
    arms = ("--baseline", "T0-plain", "--candidate", "T1-skill")
    assert main(["report", RECORDED, *arms, *arguments, "-o", str(target)]) == 0
    return target.read_text()


def test_the_reader_of_pages_finds_two_intervals_that_contradict_each_other() -> None:
    chart = "<g><title>t</title><text>pass_rate not shown</text><text>+13 points (-58 to +85)</text></g>"
    table = '<tr><th scope="row">pass rate</th><td>+13 points</td><td>-15 points to +42 points</td></tr>'

    assert contradictions(intervals(chart + table)) == {"pass rate": {("-58", "85"), ("-15", "42")}}
    assert contradictions({"cost": {("19", "31"), ("18.8", "31.4")}}) == {}


@pytest.mark.parametrize(
    "arguments",
    [(), ("--gates", "pass_rate"), ("--gates", "cost,duration"), ("--policy", "gates"), ("--infer", "runs")],
    ids=lambda words: " ".join(words) or "default",
)
def test_no_figure_of_a_report_has_two_intervals(tmp_path: Path, arguments: tuple[str, ...]) -> None:
    found = intervals(written(tmp_path, *arguments))

    assert contradictions(found) == {}
    assert len(found) >= 8


def test_the_sentence_has_the_interval_of_the_gate(tmp_path: Path) -> None:
    page = written(tmp_path, "--gates", "cost")

    lead = text_of(re.findall(r'<p class="lead">(.*?)</p>', page)[0])
    [told] = re.findall(rf"per run \(({NUMBER}) to ({NUMBER})\)", lead)
    assert told in intervals(page)["cost"]
