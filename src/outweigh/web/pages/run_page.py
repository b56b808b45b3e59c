"""The page of one run (outcome, checks before and after, judgments, patch, steps), and the page of one long
text of it.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path

from outweigh.compare.scan_summary import describe_finding
from outweigh.model.failure import detail_line
from outweigh.model.judgment import CriterionScore, Judgment
from outweigh.model.run_record import ObservedSetup, RunRecord
from outweigh.model.usage import NO_USAGE, usage_ends
from outweigh.report.formatting import (
    SIMULATED,
    UNKNOWN,
    format_count,
    format_dollars,
    format_estimate,
    format_score,
    format_seconds,
)
from outweigh.report.model_use_table import MODEL_COLUMNS, run_model_rows
from outweigh.report.run_diff import ComparedRun
from outweigh.report.run_steps import ShownStep
from outweigh.score.judge_scores import judgment_score
from outweigh.score.resource_usage import total_tokens
from outweigh.store.preflight_file import read_preflight
from outweigh.web.catalogue import ViewedStore
from outweigh.web.markup import Child, Html, build_url, element, escape_lines, join_markup
from outweigh.web.pages.label_form import LabelForms
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
    run_query,
    runs_link,
    store_link,
    store_path,
    table_row,
    task_link,
)
from outweigh.web.pages.step_view import PATCH_TEXT, TextAddress, render_step
from outweigh.web.patch_view import MAX_PATCH_LINES, render_patch
from outweigh.web.run_row import RunRow


def preflight_checks(folder: Path, run: RunRecord) -> Mapping[str, bool | None]:
    """What each check said about the untouched workspace; empty if it was not tried, or the task has changed since."""
    kept = read_preflight(folder)
    for task in () if kept is None else kept.tasks:
        if task.task_id == run.trial.task_id and task.task_checksum == run.task_checksum:
            return {check.name: check.passed for check in task.untouched or ()}
    return {}


CHARACTERS_PER_PAGE = 100_000
"""Characters of a long text on one page."""


def text_page(store: ViewedStore, row: RunRow, name: str, text: str, number: int) -> Html:
    """One page of a long text."""
    last = max(1, -(-len(text) // CHARACTERS_PER_PAGE))
    number = min(number, last)
    links = page_links(number, last, PageAddress(f"{store_path(store)}/text", run_query(row) | {"text": name}))
    shown = text[(number - 1) * CHARACTERS_PER_PAGE : number * CHARACTERS_PER_PAGE]
    return render_page(
        f"Text {name}",
        (store_link(store), runs_link(store), run_link(store, row)),
        element("p", f"{len(text):,} characters", class_="quiet"),
        links,
        element("pre", escape_lines(shown), class_="words", tabindex="0"),
        links,
    )


STEPS_PER_PAGE = 50
"""Steps on one page."""

MAX_RELATED_RUNS = 20


def run_page(store: ViewedStore, row: RunRow, number: int, token: str) -> Html:
    """The page of one run; `token` lets its forms change labels."""
    opened, forms = store.open_run(row), LabelForms(store, row, token)
    run = opened.record
    return render_page(
        row.run_id,
        (store_link(store), runs_link(store)),
        _facts(store, run, row),
        _status_detail(run.status_detail),
        _related_runs(store, row),
        note_section("Warnings", (*run.warnings, *opened.warnings)),
        note_section("Signs of cheating", [describe_finding(finding) for finding in opened.findings or ()]),
        *_checks(run, preflight_checks(store.index.folder, run)),
        *_judgments(store.index.judgments(row.run_id), forms),
        *forms.section(),
        *_patch(opened, text_url_of(store, row)),
        *_steps(store, row, opened, number),
        *_observed_setup(run.loaded),
        *_tokens(run),
        *_provenance(run),
    )


def _status_detail(detail: str | None) -> Html | None:
    """One line, and all of it on demand where that is more."""
    if not detail:
        return None
    line = detail_line(detail)
    if line == detail:
        return element("p", line)
    return element("details", element("summary", line), element("pre", detail))


def text_url_of(store: ViewedStore, row: RunRow) -> TextAddress:
    """A function from the name of a long text to the address of its page."""
    return lambda name: build_url(f"{store_path(store)}/text", run_query(row) | {"text": name})


def _facts(store: ViewedStore, run: RunRecord, row: RunRow) -> Html:
    facts: list[tuple[str, Child]] = [
        ("outcome", badge(row.outcome)),
        ("judge score", format_judge_score(store.index.judge_score(row.run_id))),
        ("status", run.status.value),
        ("arm", row.arm),
        ("task", task_link(row.task_id)),
        ("repeat", str(row.repeat)),
        ("cost", _cost(run, row)),
        *_simulated_user(run),
        ("time", format_seconds(run.duration_seconds)),
        ("tokens", _token_count(run)),
        ("steps", format_count(run.step_count)),
        ("agent", " ".join(filter(None, (run.agent.name, run.agent.version, run.agent.model))) or UNKNOWN),
    ]
    cells = join_markup(element("div", element("dt", name), element("dd", value)) for name, value in facts if value)
    return element("dl", cells, class_="facts")


def _simulated_user(run: RunRecord) -> Iterator[tuple[str, str]]:
    """The model that played the user, and what it cost beside the run."""
    if (user := run.simulated_user) is not None:
        usd = "cost unknown" if user.cost.usd is None else f"{format_dollars(user.cost.usd)}, not part of the cost"
        messages = "1 message" if user.messages == 1 else f"{user.messages} messages"
        yield "simulated user", f"{user.model}, {messages}, {usd}"


def _cost(run: RunRecord, row: RunRow) -> str:
    if row.simulated:
        return SIMULATED
    if run.cost.usd is None:
        return UNKNOWN
    if run.cost.low_usd is not None and run.cost.high_usd is not None:
        amount = format_estimate(run.cost.usd, (run.cost.low_usd, run.cost.high_usd))
        return f"{amount}, {run.cost.provenance.phrase} and in part estimated"
    return f"{format_dollars(run.cost.usd)} ({run.cost.provenance.phrase})"


def _token_count(run: RunRecord) -> str:
    low, high = (total_tokens(usage).value for usage in usage_ends(run.metering) or (NO_USAGE, NO_USAGE))
    ends = None if low is None or high is None else (low, high)
    return format_estimate(total_tokens(run.usage).value, ends, format_count)


def _related_runs(store: ViewedStore, row: RunRow) -> Html | None:
    """Links to runs of the same task and repeat in other arms; without any, to the other runs of its own arm."""
    with store.index.lock:
        same_task = [other for other in store.index.rows if other.task_id == row.task_id and other is not row]
    related = [other for other in same_task if other.repeat == row.repeat and other.arm != row.arm] or same_task
    if not related:
        return None
    links = (element("li", _related_run(store, row, other)) for other in related[:MAX_RELATED_RUNS])
    return element(
        "section", element("h2", "Side by side with"), element("ul", *links, class_="twins"), aria_label="Other runs"
    )


def _related_run(store: ViewedStore, row: RunRow, other: RunRow) -> Html:
    words = f"{other.arm}, repeat {other.repeat}" + (f", attempt {other.attempt}" if other.attempt > 1 else "")
    score = format_judge_score(store.index.judge_score(other.run_id))
    judged = f" judge {score}" if score else None
    return join_markup((element("a", words, href=diff_url(store, row, other)), " ", badge(other.outcome), judged))


def _checks(run: RunRecord, before: Mapping[str, bool | None]) -> Iterator[Child]:
    yield element("h2", "Checks")
    if run.checks is None:
        yield element("p", "The checks were not evaluated.")
    elif not run.checks:
        yield element("p", "The task has no checks.")
    else:
        words = {True: "passed", False: "failed", None: UNKNOWN}
        rows = (
            table_row(
                check.name,
                badge(words[before[check.name]]) if check.name in before else "",
                badge(words[check.passed]),
                "required" if check.required else "optional",
                "" if check.cases_total is None else f"{check.cases_passed} of {check.cases_total}",
                check.detail or "",
            )
            for check in run.checks
        )
        yield render_table("Checks", ("", "before", "after", "kind", "cases", "detail"), rows, data_wrap="yes")


def _judgments(judgments: Sequence[Judgment], forms: LabelForms) -> Iterator[Child]:
    if judgments:
        yield element("h2", "Judgments")
    for judgment in judgments:
        who = " ".join(filter(None, (judgment.judge.name, judgment.judge.model)))
        said = judgment.invalid_reason or format_score(judgment_score(judgment).value)
        yield element("h3", f"{who}, pass {judgment.pass_index}: {said}")
        yield forms.verdict_on(judgment)
        if judgment.criteria:
            columns = ("", "score", "weight", "evidence", "you")
            rows = criterion_rows(judgment.criteria, partial(forms.verdict_on_criterion, judgment))
            yield render_table(f"Judgment by {who}, pass {judgment.pass_index}", columns, rows, data_wrap="yes")
        yield note_section("What the judge was warned about", judgment.warnings)


def criterion_rows(
    criteria: Iterable[CriterionScore], opinion: Callable[[CriterionScore], Child] = lambda _: None
) -> Iterator[Html]:
    """A row for each criterion, followed by its items; `opinion` is what the reader says about a criterion."""
    for criterion in criteria:
        given = "does not apply" if criterion.score is None else format_score(criterion.score)
        evidence = criterion.evidence or ""
        yield table_row(criterion.criterion, given, f"{criterion.weight:g}", evidence, opinion(criterion))
        for item in criterion.items:
            points = "does not apply" if item.points is None else f"{item.points:g} of {item.most_points:g}"
            yield table_row(f"– {item.item}", points, "", item.evidence or "", "")


def _patch(opened: ComparedRun, text_url: TextAddress) -> Iterator[Child]:
    yield element("h2", "Patch")
    if opened.patch is None:
        yield element("p", "No patch was kept.")
    elif not opened.patch:
        yield element("p", "Nothing was changed.")
    else:
        lines = opened.patch.removesuffix("\n").split("\n")
        yield render_patch(lines)
        more = f"All {len(lines):,} lines" if len(lines) > MAX_PATCH_LINES else "As plain text"
        yield element("a", more, href=text_url(PATCH_TEXT), class_="more")


def _steps(store: ViewedStore, row: RunRow, opened: ComparedRun, number: int) -> Iterator[Child]:
    yield element("h2", "Steps", id="steps")
    if not opened.steps:
        yield element("p", "No step was kept.")
        return
    last = -(-len(opened.steps) // STEPS_PER_PAGE)
    number = min(number, last)
    shown = opened.steps[(number - 1) * STEPS_PER_PAGE : number * STEPS_PER_PAGE]
    text_url = text_url_of(store, row)
    links = page_links(number, last, PageAddress(f"{store_path(store)}/run", run_query(row)))
    yield links
    yield element("ol", *(_step(step, text_url) for step in shown), class_="steps")
    yield links


def _step(step: ShownStep, text_url: TextAddress) -> Html:
    name, kind = f"step-{step.number}", f"step {step.source}"
    return element("li", render_step(step, f"#{name}", text_url), id=name, class_=kind, data_entry=True)


def step_url(store: ViewedStore, row: RunRow, position: int, number: int) -> str:
    """The address of a step: the page that its position falls on, and its number there."""
    page_number = position // STEPS_PER_PAGE + 1
    at = PageAddress(f"{store_path(store)}/run", run_query(row))
    return f"{at(page_number)}#step-{number}"


def _observed_setup(loaded: ObservedSetup | None) -> Iterator[Child]:
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
        ("sub-agents", loaded.agents),
        ("commands", loaded.commands),
        ("plugins", loaded.plugins),
        ("hooks", loaded.hooks),
        ("seen by", loaded.seen_by),
    )
    rows = (table_row(name, UNKNOWN if found is None else ", ".join(found) or "none") for name, found in kinds)
    yield render_table("What was loaded", ("", "seen"), rows, data_wrap="yes")


def _tokens(run: RunRecord) -> Iterator[Child]:
    yield element("h2", "Tokens")
    usage = run.usage
    kinds = (
        ("input", usage.input_tokens),
        ("output", usage.output_tokens),
        ("read from the cache", usage.cache_read_tokens),
        ("written to the cache", usage.cache_write_tokens),
    )
    yield render_table("Tokens", ("", "tokens"), (table_row(name, format_count(tokens)) for name, tokens in kinds))
    if run.metering is not None and run.metering.models:
        by_model = (table_row(*row) for row in run_model_rows(run.metering.models))
        yield render_table("Tokens by model that answered", MODEL_COLUMNS, by_model)
    if run.components:
        rows = (
            table_row(each.component.value, format_count(each.input_tokens), format_count(each.output_tokens))
            for each in run.components
        )
        yield render_table("Tokens by component", ("", "input", "output"), rows)


def _provenance(run: RunRecord) -> Iterator[Child]:
    kept = (("arm's fingerprint", run.arm_fingerprint), ("task's checksum", run.task_checksum))
    rows = [table_row(name, value or UNKNOWN) for name, value in (*kept, *run.artifacts.items())]
    started = UNKNOWN if run.started_at is None else run.started_at.isoformat()
    yield element(
        "details",
        element("summary", "Where this comes from"),
        render_table("Provenance", ("", "value"), [table_row("started", started), *rows], data_wrap="yes"),
    )
