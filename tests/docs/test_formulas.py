"""docs/formulas.md is complete, points at real code, and its examples give the numbers it shows."""

import doctest
import inspect
import re
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path

import pytest

PAGE = Path(__file__).resolve().parents[2] / "docs" / "formulas.md"
TEXT = PAGE.read_text(encoding="utf-8")

FIELDS = ("Formula", "Source", "Function", "Undefined when")
FORMULA_MODULES = (
    "outweigh.score.composite",
    "outweigh.score.judge_scores",
    "outweigh.score.objective",
    "outweigh.score.resource_usage",
)
SINGLE_FORMULAS = (
    "outweigh.compare.ladder_contenders.pareto_frontier",
    "outweigh.compare.ladder_levels.uplift",
    "outweigh.compare.preferences.preference_margin",
    "outweigh.stats.sample.pass_at_k",
    "outweigh.stats.sample.pass_hat_k",
    "outweigh.stats.sample.reliability_curves",
    "outweigh.stats.effects.effect_contrasts",
    "outweigh.stats.effects.estimate_effects",
    "outweigh.verdict.promotion.may_drop",
    "outweigh.verdict.promotion.may_promote",
)
# It chooses which answers count, and computes nothing.
NO_FORMULAS = ("outweigh.score.judge_scores.latest_answers",)


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """One `###` entry of the page, and the line it starts on."""

    title: str
    line: int
    text: str

    def field(self, name: str) -> str:
        """What the bullet of that name says, empty where there is none."""
        found = re.search(rf"^- \*\*{name}\*\*: (.+?)(?=\n- \*\*|\n\n|\Z)", self.text, re.MULTILINE | re.DOTALL)
        return found[1].strip() if found else ""

    def example(self) -> doctest.DocTest:
        """All fenced Python of the section as one session, at its true line numbers."""
        # Everything else is blanked, not cut, so that a failure names the line to look at.
        inside, kept = False, []
        for row in self.text.splitlines():
            fence = row.startswith("```")
            kept.append(row if inside and not fence else "")
            inside = row.startswith("```python") if fence else inside
        parser = doctest.DocTestParser()
        return parser.get_doctest("\n".join(kept), {}, self.title, str(PAGE), self.line - 1)


def sections() -> Iterator[Section]:
    # A chapter's introduction stands before its first entry and belongs to none.
    for found in re.finditer(r"^### (.+?)\n(.*?)(?=^###? |\Z)", TEXT, re.MULTILINE | re.DOTALL):
        yield Section(title=found[1], line=TEXT.count("\n", 0, found.start(2)) + 1, text=found[2])


def public_functions(module: str) -> Iterator[str]:
    for name, function in inspect.getmembers(import_module(module), inspect.isfunction):
        if function.__module__ == module and not name.startswith("_"):
            yield f"{module}.{name}"


def resolves(path: str) -> bool:
    parts = path.split(".")
    for length in range(len(parts), 0, -1):
        try:
            found: object = import_module(".".join(parts[:length]))
        except ModuleNotFoundError:
            continue
        for attribute in parts[length:]:
            found = getattr(found, attribute, None)
        return found is not None
    return False


SECTIONS = tuple(sections())
FORMULAS = (
    *(name for module in FORMULA_MODULES for name in public_functions(module) if name not in NO_FORMULAS),
    *SINGLE_FORMULAS,
)
each_section = pytest.mark.parametrize("section", SECTIONS, ids=lambda section: section.title)


@each_section
def test_the_worked_example_gives_what_the_page_shows(section: Section) -> None:
    example, report = section.example(), list[str]()

    outcome = doctest.DocTestRunner(verbose=False).run(example, out=report.append)

    assert outcome.attempted > 0, f"{section.title} has no worked example"
    assert outcome.failed == 0, "".join(report)


@each_section
def test_an_entry_states_formula_source_function_and_when_it_is_undefined(section: Section) -> None:
    assert [name for name in FIELDS if not section.field(name)] == []


@each_section
def test_a_source_is_one_of_the_three_texts_or_ours(section: Section) -> None:
    assert re.match(r"S000|S001|S003|ours", section.field("Source"))


@each_section
def test_the_function_field_names_a_path_in_outweigh(section: Section) -> None:
    assert re.search(r"`outweigh\.[\w.]+`", section.field("Function"))


def test_every_path_on_the_page_leads_somewhere() -> None:
    paths = set(re.findall(r"`(outweigh\.[\w.]+)`", TEXT))

    assert paths
    assert sorted(path for path in paths if not resolves(path)) == []


@pytest.mark.parametrize("path", FORMULAS)
def test_every_public_formula_has_an_entry(path: str) -> None:
    assert any(f"`{path}`" in section.field("Function") for section in SECTIONS)


def test_no_two_entries_share_a_title() -> None:
    assert len({section.title for section in SECTIONS}) == len(SECTIONS)


def test_no_example_on_the_page_escapes_execution() -> None:
    executed = sum(len(section.example().examples) for section in SECTIONS)

    assert executed == len(re.findall(r"^\s*>>> ", TEXT, re.MULTILINE))
