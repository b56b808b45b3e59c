"""One run: how it ended, what it did step by step, what it changed, what checks and judges say."""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from outweigh.record.judgment import CriterionScore, Judgment
from outweigh.record.loaded import Loaded
from outweigh.record.run_record import RunRecord
from outweigh.report.run_diff.run_diff import RunSide
from outweigh.report.run_steps import ShownStep
from outweigh.report.wording import UNKNOWN, count, dollars, score, seconds
from outweigh.score.judged import judgment_score
from outweigh.web.before import checks_before
from outweigh.web.catalogue import Shelf
from outweigh.web.markup import Child, Html, address, element, joined
from outweigh.web.pages.layout import PageAddress, badge, notes, page, pages, row, table
from outweigh.web.pages.steps import TextAddress, step_markup
from outweigh.web.pages.trail import diff_address, of_runs, of_store, run_query, store_path
from outweigh.web.patch_markup import MOST_LINES, patch_markup
from outweigh.web.run_row import RunRow
from outweigh.web.run_texts import PATCH

STEPS = 50
"""How many steps a page shows."""

MOST_TWINS = 20


def run_page(shelf: Shelf, each: RunRow, number: int) -> Html:
    """The whole run, its steps by pages."""
    side = shelf.side(each)
    run = side.record
    return page(
        each.run_id,
        (of_store(shelf), of_runs(shelf)),
        _facts(run, each),
        element("p", run.status_detail) if run.status_detail else None,
        _twins(shelf, each),
        notes("Warnings", (*run.warnings, *side.warnings)),
        *_checks(run, checks_before(shelf.index.folder, run)),
        *_judgments(shelf.index.judgments(each.run_id)),
        *_patch(side, text_address(shelf, each)),
        *_steps(shelf, each, side, number),
        *_loaded(run.loaded),
        *_tokens(run),
        *_provenance(run),
    )


def text_address(shelf: Shelf, each: RunRow) -> TextAddress:
    """Where the long texts of a run are."""
    return lambda name: address(f"{store_path(shelf)}/text", run_query(each) | {"text": name})


def _facts(run: RunRecord, each: RunRow) -> Html:
    facts: list[tuple[str, Child]] = [
        ("outcome", badge(each.outcome)),
        ("status", run.status.value),
        ("arm", each.arm),
        ("task", each.task_id),
        ("repeat", str(each.repeat)),
        ("cost", f"{dollars(run.cost.usd)} ({run.cost.provenance.value})" if run.cost.usd is not None else UNKNOWN),
        ("time", seconds(run.duration_seconds)),
        ("tokens", count(each.tokens)),
        ("steps", count(run.step_count)),
        ("agent", " ".join(filter(None, (run.agent.name, run.agent.version, run.agent.model))) or UNKNOWN),
    ]
    cells = joined(element("div", element("dt", name), element("dd", value)) for name, value in facts)
    return element("dl", cells, class_="facts")


def _twins(shelf: Shelf, each: RunRow) -> Html | None:
    """Runs of the same task and repeat in other arms; the others of its own arm where there is none."""
    with shelf.index.lock:
        same_task = [other for other in shelf.index.rows if other.task_id == each.task_id and other is not each]
    twins = [other for other in same_task if other.repeat == each.repeat and other.arm != each.arm] or same_task
    if not twins:
        return None
    links = (element("li", _twin(shelf, each, other)) for other in twins[:MOST_TWINS])
    return element(
        "section", element("h2", "Side by side with"), element("ul", *links, class_="twins"), aria_label="Other runs"
    )


def _twin(shelf: Shelf, each: RunRow, other: RunRow) -> Html:
    words = f"{other.arm}, repeat {other.repeat}" + (f", attempt {other.attempt}" if other.attempt > 1 else "")
    return joined((element("a", words, href=diff_address(shelf, each, other)), " ", badge(other.outcome)))


def _checks(run: RunRecord, before: Mapping[str, bool | None]) -> Iterator[Child]:
    yield element("h2", "Checks")
    if run.checks is None:
        yield element("p", "The checks were not evaluated.")
    elif not run.checks:
        yield element("p", "The task has none.")
    else:
        words = {True: "passed", False: "failed", None: UNKNOWN}
        rows = (
            row(
                check.name,
                badge(words[before[check.name]]) if check.name in before else "",
                badge(words[check.passed]),
                "required" if check.required else "optional",
                "" if check.cases_total is None else f"{check.cases_passed} of {check.cases_total}",
                check.detail or "",
            )
            for check in run.checks
        )
        yield table("Checks", ("", "before", "after", "kind", "cases", "detail"), rows, data_wrap="yes")


def _judgments(judgments: Sequence[Judgment]) -> Iterator[Child]:
    if judgments:
        yield element("h2", "Judgments")
    for judgment in judgments:
        who = " ".join(filter(None, (judgment.judge.name, judgment.judge.model)))
        said = judgment.invalid_reason or score(judgment_score(judgment).value)
        yield element("h3", f"{who}, pass {judgment.pass_index}: {said}")
        if judgment.criteria:
            rows = joined_rows(judgment.criteria)
            yield table(f"Judgment by {who}", ("", "score", "weight", "evidence"), rows, data_wrap="yes")
        yield notes("What the judge was warned about", judgment.warnings)


def joined_rows(criteria: Iterable[CriterionScore]) -> Iterator[Html]:
    """Criteria, each with its items."""
    for criterion in criteria:
        given = "does not apply" if criterion.score is None else score(criterion.score)
        yield row(criterion.criterion, given, f"{criterion.weight:g}", criterion.evidence or "")
        for item in criterion.items:
            points = "does not apply" if item.points is None else f"{item.points:g} of {item.most_points:g}"
            yield row(f"– {item.item}", points, "", item.evidence or "")


def _patch(side: RunSide, whole: TextAddress) -> Iterator[Child]:
    yield element("h2", "Patch")
    if side.patch is None:
        yield element("p", "No patch was kept.")
    elif not side.patch:
        yield element("p", "Nothing was changed.")
    else:
        lines = side.patch.removesuffix("\n").split("\n")
        yield patch_markup(lines)
        more = f"All {len(lines):,} lines" if len(lines) > MOST_LINES else "As plain text"
        yield element("a", more, href=whole(PATCH), class_="more")


def _steps(shelf: Shelf, each: RunRow, side: RunSide, number: int) -> Iterator[Child]:
    yield element("h2", "Steps", id="steps")
    if not side.steps:
        yield element("p", "No step was kept.")
        return
    last = -(-len(side.steps) // STEPS)
    number = min(number, last)
    shown = side.steps[(number - 1) * STEPS : number * STEPS]
    whole = text_address(shelf, each)
    around = pages(number, last, PageAddress(f"{store_path(shelf)}/run", run_query(each)))
    yield around
    yield element("ol", *(_step(step, whole) for step in shown), class_="steps")
    yield around


def _step(step: ShownStep, whole: TextAddress) -> Html:
    name, kind = f"step-{step.number}", f"step {step.source}"
    return element("li", step_markup(step, f"#{name}", whole), id=name, class_=kind, data_entry=True)


def step_address(shelf: Shelf, each: RunRow, place: int, number: int) -> str:
    """Where a step is shown: the page that its place among the steps falls on, and its number there."""
    page_number = place // STEPS + 1
    at = PageAddress(f"{store_path(shelf)}/run", run_query(each))
    return f"{at(page_number)}#step-{number}"


def _loaded(loaded: Loaded | None) -> Iterator[Child]:
    if loaded is None:
        return
    yield element("h2", "What was loaded")
    servers = None if loaded.mcp_servers is None else [f"{each.name} ({each.state})" for each in loaded.mcp_servers]
    kinds: tuple[tuple[str, Sequence[str] | None], ...] = (
        ("skills", loaded.skills),
        ("skills used", loaded.skills_used),
        ("tool servers", servers),
        ("tools", loaded.tools),
        ("memory files", loaded.memory_files),
        ("seen by", loaded.seen_by),
    )
    rows = (row(name, UNKNOWN if found is None else ", ".join(found) or "none") for name, found in kinds)
    yield table("What was loaded", ("", "seen"), rows, data_wrap="yes")


def _tokens(run: RunRecord) -> Iterator[Child]:
    yield element("h2", "Tokens")
    usage = run.usage
    kinds = (
        ("input", usage.input_tokens),
        ("output", usage.output_tokens),
        ("read from the cache", usage.cache_read_tokens),
        ("written to the cache", usage.cache_write_tokens),
    )
    yield table("Tokens", ("", "tokens"), (row(name, count(tokens)) for name, tokens in kinds))
    if run.components:
        rows = (
            row(each.component.value, count(each.input_tokens), count(each.output_tokens)) for each in run.components
        )
        yield table("Tokens by component", ("", "input", "output"), rows)


def _provenance(run: RunRecord) -> Iterator[Child]:
    kept = (("arm's fingerprint", run.arm_fingerprint), ("task's checksum", run.task_checksum))
    rows = [row(name, value or UNKNOWN) for name, value in (*kept, *run.artifacts.items())]
    started = UNKNOWN if run.started_at is None else run.started_at.isoformat()
    yield element(
        "details",
        element("summary", "Where this comes from"),
        table("Provenance", ("", "value"), [row("started", started), *rows], data_wrap="yes"),
    )
