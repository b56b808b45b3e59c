"""Two runs side by side."""

from collections.abc import Iterator

from outweigh.report.run_diff.alignment import AlignedStep
from outweigh.report.run_diff.facts import check_outcomes, facts, outcome
from outweigh.report.run_diff.patches import PatchedFile, PatchLikeness, PatchPair
from outweigh.report.run_diff.run_diff import RunDiff, RunSide, diff_runs
from outweigh.report.run_diff.view import changed_lines, divergence_sentence
from outweigh.report.run_steps import ShownStep
from outweigh.web.catalogue import Shelf
from outweigh.web.markup import Child, Html, element, link
from outweigh.web.pages.layout import PageAddress, badge, notes, page, pages, row, table
from outweigh.web.pages.run import step_address, text_address
from outweigh.web.pages.steps import step_markup
from outweigh.web.pages.trail import diff_address, of_run, of_runs, of_store
from outweigh.web.patch_markup import patch_markup
from outweigh.web.run_row import RunRow

ROWS = 40
"""How many rows of steps a page shows."""

_WORDS = {"same": "alike", "changed": "same tools, called otherwise", "only_a": "only A", "only_b": "only B"}


def diff_page(shelf: Shelf, a: RunRow, b: RunRow, number: int | None) -> Html:
    """Where they part first, then everything; without a number, the page on which they part."""
    diff = diff_runs(shelf.side(a), shelf.side(b))
    return page(
        "Side by side",
        (of_store(shelf), of_runs(shelf)),
        element("p", "A ", of_run(shelf, a), " against B ", of_run(shelf, b)),
        element("p", divergence_sentence(diff), class_="lead"),
        element("p", link("Swap", diff_address(shelf, b, a))),
        notes("Warnings", tuple(dict.fromkeys((*diff.a.warnings, *diff.b.warnings)))),
        _numbers(diff),
        *_checks(diff),
        *_steps(shelf, (a, b), diff, number),
        *_patches(diff),
    )


def _numbers(diff: RunDiff) -> Html:
    a, b = diff.a.record, diff.b.record
    rows = [
        row("arm", a.trial.arm, b.trial.arm, ""),
        row("status", a.status.value, b.status.value, ""),
        row("outcome", badge(outcome(a)), badge(outcome(b)), ""),
        *(row(fact.title, fact.show(fact.a), fact.show(fact.b), fact.difference) for fact in facts(diff)),
    ]
    return table("Outcome, cost and time", ("", "A", "B", "B against A"), rows)


def _checks(diff: RunDiff) -> Iterator[Child]:
    if checks := check_outcomes(diff):
        yield element("h2", "Checks")
        yield table("Checks", ("", "A", "B"), (row(name, badge(a), badge(b)) for name, a, b in checks))


def _steps(shelf: Shelf, runs: tuple[RunRow, RunRow], diff: RunDiff, number: int | None) -> Iterator[Child]:
    yield element("h2", "Steps", id="steps")
    if not diff.rows:
        yield element("p", divergence_sentence(diff) if diff.rows is None else "Neither run has a step.")
        return
    last = -(-len(diff.rows) // ROWS)
    first = 1 if diff.divergence is None else diff.divergence // ROWS + 1
    number = min(first if number is None else number, last)
    halves = _Half("A", shelf, runs[0], diff.a), _Half("B", shelf, runs[1], diff.b)
    path, _, _ = diff_address(shelf, *runs).partition("?")
    query: dict[str, str | int] = {"a": runs[0].run_id, "b": runs[1].run_id}
    query |= {"a_attempt": runs[0].attempt, "b_attempt": runs[1].attempt}
    around = pages(number, last, EveryPage(path, query))
    yield around
    start = (number - 1) * ROWS
    for place, aligned in enumerate(diff.rows[start : start + ROWS], start=start):
        yield _row(aligned, halves, parting=place == diff.divergence)
    yield around


class EveryPage(PageAddress):
    """Pages that all have a number: the plain address leads to where the runs part."""

    def __call__(self, number: int) -> str:
        """The first page too is named."""
        return super().__call__(number) if number > 1 else f"{super().__call__(1)}&page=1"


class _Half:
    """One run's side of the rows."""

    def __init__(self, name: str, shelf: Shelf, run: RunRow, side: RunSide) -> None:
        self._name, self._shelf, self._run = name, shelf, run
        self._whole = text_address(shelf, run)
        self._places = {step.number: place for place, step in enumerate(side.steps or ())}

    def markup(self, step: ShownStep | None) -> Html:
        """A step, or that there is none."""
        if step is None:
            return element("div", element("p", f"no step of {self._name}", class_="quiet"), class_="side")
        place = step_address(self._shelf, self._run, self._places[step.number], step.number)
        return element("div", step_markup(step, place, self._whole), class_="side")


def _row(aligned: AlignedStep, halves: tuple[_Half, _Half], *, parting: bool) -> Html:
    likeness = aligned.likeness.value
    words = f"{_WORDS[likeness]}{' – here they part' if parting else ''}"
    return element(
        "section",
        element("p", words, class_="likeness"),
        element("div", halves[0].markup(aligned.a), halves[1].markup(aligned.b), class_="sides"),
        class_=f"aligned {likeness}",
        id="parting" if parting else None,
        data_entry=True,
    )


def _patches(diff: RunDiff) -> Iterator[Child]:
    yield element("h2", "Patches")
    if diff.files is None:
        yield element("p", "Patches were not kept for both runs.")
    elif not diff.files:
        yield element("p", "Neither run changed a file.")
    for pair in diff.files or ():
        yield _file(pair)


def _file(pair: PatchPair) -> Html:
    same = pair.likeness is PatchLikeness.SAME
    told = "the same in both" if same else f"A {changed_lines(pair.a)}, B {changed_lines(pair.b)}"
    sides = (pair.a,) if same else (pair.a, pair.b)
    return element(
        "details",
        element("summary", pair.path, element("span", f" {told}", class_="quiet")),
        element("div", *map(_file_side, sides), class_="sides"),
        open=not same,
    )


def _file_side(file: PatchedFile | None) -> Html:
    inner: Child = element("p", "untouched", class_="quiet") if file is None else patch_markup(file.lines)
    return element("div", inner, class_="side")
