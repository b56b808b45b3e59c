"""The page that compares two runs: facts, checks, aligned steps, patches."""

from collections.abc import Iterator

from outweigh.model.run_record import AgentKind, RunRecord
from outweigh.report.formatting import SIMULATED
from outweigh.report.run_alignment import AlignedStep
from outweigh.report.run_diff import (
    ComparedNumber,
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
    format_judge_score,
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
"""Aligned steps on one page."""

_LIKENESS_WORDS = {
    "same": "same step",
    "changed": "same tools, other arguments",
    "only_a": "only in A",
    "only_b": "only in B",
}


def diff_page(store: ViewedStore, a: RunRow, b: RunRow, number: int | None) -> Html:
    """Where two runs diverge, then everything else. Without a page number, the page on which they diverge."""
    diff = diff_runs(store.open_run(a), store.open_run(b))
    return render_page(
        "Side by side",
        (store_link(store), runs_link(store)),
        element("p", "A ", run_link(store, a), " against B ", run_link(store, b)),
        element("p", divergence_sentence(diff), class_="lead"),
        element("p", link("Swap", diff_url(store, b, a))),
        note_section("Warnings", tuple(dict.fromkeys((*diff.a.warnings, *diff.b.warnings)))),
        _facts_table(diff, _judge_row(store, a, b)),
        *_checks(diff),
        *_steps(store, (a, b), diff, number),
        *_patches(diff),
    )


def _judge_row(store: ViewedStore, a: RunRow, b: RunRow) -> Html | None:
    """The judge scores of both runs; None if neither was judged."""
    scores = [store.index.judge_score(row.run_id) for row in (a, b)]
    if scores == [None, None]:
        return None
    difference = "" if scores[0] is None or scores[1] is None else f"{scores[1] - scores[0]:+.2f}"
    return table_row("judge score", *map(format_judge_score, scores), difference)


def _facts_table(diff: RunDiff, judged: Html | None) -> Html:
    a, b = diff.a.record, diff.b.record
    rows = [
        table_row("arm", a.trial.arm, b.trial.arm, ""),
        table_row("status", a.status.value, b.status.value, ""),
        table_row("outcome", badge(describe_run_outcome(a)), badge(describe_run_outcome(b)), ""),
        *(() if judged is None else (judged,)),
        *(_number_row(fact, simulated=_are_simulated(a, b)) for fact in compared_numbers(diff)),
    ]
    return render_table("Outcome, cost and time", ("", "A", "B", "B against A"), rows)


def _are_simulated(*runs: RunRecord) -> bool:
    return all(run.agent.kind is AgentKind.SCRIPTED for run in runs)


def _number_row(fact: ComparedNumber, *, simulated: bool) -> Html:
    if simulated and fact.metric.unit == "dollars":
        return table_row(fact.metric.title, SIMULATED, SIMULATED, "")
    return table_row(fact.metric.title, *fact.shown, fact.difference)


def _checks(diff: RunDiff) -> Iterator[Child]:
    if checks := check_outcomes(diff):
        yield element("h2", "Checks")
        yield render_table("Checks", ("", "A", "B"), (table_row(name, badge(a), badge(b)) for name, a, b in checks))


def _steps(store: ViewedStore, runs: tuple[RunRow, RunRow], diff: RunDiff, number: int | None) -> Iterator[Child]:
    yield element("h2", "Steps", id="steps")
    if not diff.rows:
        yield element("p", divergence_sentence(diff) if diff.rows is None else "Neither run has a step.")
        return
    last = -(-len(diff.rows) // DIFF_ROWS_PER_PAGE)
    first = 1 if diff.divergence is None else diff.divergence // DIFF_ROWS_PER_PAGE + 1
    number = min(first if number is None else number, last)
    sides = _DiffSide("A", store, runs[0], diff.a), _DiffSide("B", store, runs[1], diff.b)
    path, _, _ = diff_url(store, *runs).partition("?")
    query: dict[str, str | int] = {"a": runs[0].run_id, "b": runs[1].run_id}
    query |= {"a_attempt": runs[0].attempt, "b_attempt": runs[1].attempt}
    links = page_links(number, last, NumberedPageAddress(path, query))
    yield links
    start = (number - 1) * DIFF_ROWS_PER_PAGE
    for position, aligned in enumerate(diff.rows[start : start + DIFF_ROWS_PER_PAGE], start=start):
        yield _row(aligned, sides, diverges=position == diff.divergence)
    yield links


class NumberedPageAddress(PageAddress):
    """An address that always has a page number, because the one without leads to where the runs diverge."""

    def __call__(self, number: int) -> str:
        """The address of a page, with its number even if it is the first."""
        return super().__call__(number) if number > 1 else f"{super().__call__(1)}&page=1"


class _DiffSide:
    """One run's column in the table of aligned steps."""

    def __init__(self, name: str, store: ViewedStore, run: RunRow, side: ComparedRun) -> None:
        self._name, self._store, self._run = name, store, run
        self._text_url = text_url_of(store, run)
        self._positions = {step.number: position for position, step in enumerate(side.steps or ())}

    def markup(self, step: ShownStep | None) -> Html:
        """A step of this run, or a note that it has none here."""
        if step is None:
            return element("div", element("p", f"no step of {self._name}", class_="quiet"), class_="side")
        url = step_url(self._store, self._run, self._positions[step.number], step.number)
        return element("div", render_step(step, url, self._text_url), class_="side")


def _row(aligned: AlignedStep, sides: tuple[_DiffSide, _DiffSide], *, diverges: bool) -> Html:
    likeness = aligned.likeness.value
    words = f"{_LIKENESS_WORDS[likeness]}{' – first difference' if diverges else ''}"
    return element(
        "section",
        element("p", words, class_="likeness"),
        element("div", sides[0].markup(aligned.a), sides[1].markup(aligned.b), class_="sides"),
        class_=f"aligned {likeness}",
        id="parting" if diverges else None,
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
    summary = "the same in both" if same else f"A {format_changed_lines(pair.a)}, B {format_changed_lines(pair.b)}"
    sides = (pair.a,) if same else (pair.a, pair.b)
    return element(
        "details",
        element("summary", pair.path, element("span", f" {summary}", class_="quiet")),
        element("div", *map(_file_side, sides), class_="sides"),
        open=not same,
    )


def _file_side(file: PatchedFile | None) -> Html:
    inner: Child = element("p", "untouched", class_="quiet") if file is None else render_patch(file.lines)
    return element("div", inner, class_="side")
