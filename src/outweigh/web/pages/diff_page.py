"""Two runs side by side: facts, checks, aligned steps, patches."""

from collections.abc import Iterator

from outweigh.report.run_alignment import AlignedStep
from outweigh.report.run_diff import (
    ComparedRun,
    PatchedFile,
    PatchLikeness,
    PatchPair,
    RunDiff,
    check_outcomes,
    compared_numbers,
    describe_run_outcome,
    diff_runs,
)
from outweigh.report.run_diff_page import divergence_sentence, format_changed_lines
from outweigh.report.run_steps import ShownStep
from outweigh.web.catalogue import ViewedStore
from outweigh.web.markup import Child, Html, element, link
from outweigh.web.pages.layout import (
    PageAddress,
    badge,
    diff_url,
    note_section,
    page_links,
    render_page,
    render_table,
    run_link,
    runs_link,
    store_link,
    table_row,
)
from outweigh.web.pages.run_page import step_url, text_url_of
from outweigh.web.pages.step_view import render_step
from outweigh.web.patch_view import render_patch
from outweigh.web.run_row import RunRow

DIFF_ROWS_PER_PAGE = 40
"""How many rows of steps a page shows."""

_LIKENESS_WORDS = {"same": "alike", "changed": "same tools, called otherwise", "only_a": "only A", "only_b": "only B"}


def diff_page(shelf: ViewedStore, a: RunRow, b: RunRow, number: int | None) -> Html:
    """Where they part first, then everything; without a number, the page on which they part."""
    diff = diff_runs(shelf.side(a), shelf.side(b))
    return render_page(
        "Side by side",
        (store_link(shelf), runs_link(shelf)),
        element("p", "A ", run_link(shelf, a), " against B ", run_link(shelf, b)),
        element("p", divergence_sentence(diff), class_="lead"),
        element("p", link("Swap", diff_url(shelf, b, a))),
        note_section("Warnings", tuple(dict.fromkeys((*diff.a.warnings, *diff.b.warnings)))),
        _facts_table(diff),
        *_checks(diff),
        *_steps(shelf, (a, b), diff, number),
        *_patches(diff),
    )


def _facts_table(diff: RunDiff) -> Html:
    a, b = diff.a.record, diff.b.record
    rows = [
        table_row("arm", a.trial.arm, b.trial.arm, ""),
        table_row("status", a.status.value, b.status.value, ""),
        table_row("outcome", badge(describe_run_outcome(a)), badge(describe_run_outcome(b)), ""),
        *(
            table_row(fact.metric.title, fact.show(fact.a), fact.show(fact.b), fact.difference)
            for fact in compared_numbers(diff)
        ),
    ]
    return render_table("Outcome, cost and time", ("", "A", "B", "B against A"), rows)


def _checks(diff: RunDiff) -> Iterator[Child]:
    if checks := check_outcomes(diff):
        yield element("h2", "Checks")
        yield render_table("Checks", ("", "A", "B"), (table_row(name, badge(a), badge(b)) for name, a, b in checks))


def _steps(shelf: ViewedStore, runs: tuple[RunRow, RunRow], diff: RunDiff, number: int | None) -> Iterator[Child]:
    yield element("h2", "Steps", id="steps")
    if not diff.rows:
        yield element("p", divergence_sentence(diff) if diff.rows is None else "Neither run has a step.")
        return
    last = -(-len(diff.rows) // DIFF_ROWS_PER_PAGE)
    first = 1 if diff.divergence is None else diff.divergence // DIFF_ROWS_PER_PAGE + 1
    number = min(first if number is None else number, last)
    halves = _DiffSide("A", shelf, runs[0], diff.a), _DiffSide("B", shelf, runs[1], diff.b)
    path, _, _ = diff_url(shelf, *runs).partition("?")
    query: dict[str, str | int] = {"a": runs[0].run_id, "b": runs[1].run_id}
    query |= {"a_attempt": runs[0].attempt, "b_attempt": runs[1].attempt}
    around = page_links(number, last, NumberedPageAddress(path, query))
    yield around
    start = (number - 1) * DIFF_ROWS_PER_PAGE
    for place, aligned in enumerate(diff.rows[start : start + DIFF_ROWS_PER_PAGE], start=start):
        yield _row(aligned, halves, parting=place == diff.divergence)
    yield around


class NumberedPageAddress(PageAddress):
    """Pages that all have a number: the plain address leads to where the runs part."""

    def __call__(self, number: int) -> str:
        """The first page too is named."""
        return super().__call__(number) if number > 1 else f"{super().__call__(1)}&page=1"


class _DiffSide:
    """One run's side of the rows."""

    def __init__(self, name: str, shelf: ViewedStore, run: RunRow, side: ComparedRun) -> None:
        self._name, self._shelf, self._run = name, shelf, run
        self._whole = text_url_of(shelf, run)
        self._places = {step.number: place for place, step in enumerate(side.steps or ())}

    def markup(self, step: ShownStep | None) -> Html:
        """A step, or that there is none."""
        if step is None:
            return element("div", element("p", f"no step of {self._name}", class_="quiet"), class_="side")
        place = step_url(self._shelf, self._run, self._places[step.number], step.number)
        return element("div", render_step(step, place, self._whole), class_="side")


def _row(aligned: AlignedStep, halves: tuple[_DiffSide, _DiffSide], *, parting: bool) -> Html:
    likeness = aligned.likeness.value
    words = f"{_LIKENESS_WORDS[likeness]}{' – here they part' if parting else ''}"
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
    told = "the same in both" if same else f"A {format_changed_lines(pair.a)}, B {format_changed_lines(pair.b)}"
    sides = (pair.a,) if same else (pair.a, pair.b)
    return element(
        "details",
        element("summary", pair.path, element("span", f" {told}", class_="quiet")),
        element("div", *map(_file_side, sides), class_="sides"),
        open=not same,
    )


def _file_side(file: PatchedFile | None) -> Html:
    inner: Child = element("p", "untouched", class_="quiet") if file is None else render_patch(file.lines)
    return element("div", inner, class_="side")
