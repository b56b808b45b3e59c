"""Sections that only the page of `outweigh report` has: cost and cache, the set-up check, and tasks down to single
runs.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence

import numpy as np

from outweigh.compare.arm_summary import ArmSummary
from outweigh.compare.arm_table import ArmTable
from outweigh.compare.comparison import Comparison
from outweigh.compare.setup_summary import ExcludedAttempt, SetupItem, SetupSummary
from outweigh.model.failure import Status, detail_line
from outweigh.model.run_record import AgentIdentity
from outweigh.report.document import Block, BulletList, Details, Table, Tone, optional_bullets
from outweigh.report.formatting import (
    NO_CHECKS,
    SIMULATED,
    UNKNOWN,
    format_count,
    format_dollars,
    format_estimate,
    format_percent,
    format_seconds,
)
from outweigh.report.model_use_table import model_blocks
from outweigh.report.setup_use_lines import use_blocks
from outweigh.score.run_score import Score
from outweigh.verdict.confounding import cost_confounded

CostRow = tuple[str, Callable[[ArmSummary, ArmTable], str]]


def cost_blocks(comparison: Comparison) -> list[Block]:
    """A table, and what must be kept in mind with it; nothing where no run knows its cost or nothing was spent."""
    arms = (comparison.baseline, comparison.candidate)
    if comparison.simulated or not any(arm.metrics["cost_usd"].count for arm in arms):
        return []
    tables = (comparison.baseline_table, comparison.candidate_table)
    rows = tuple((title, *(show(*pair) for pair in zip(arms, tables, strict=True))) for title, show in _COST_ROWS)
    table = Table(title="Cost and cache", columns=("", *(arm.name for arm in arms)), rows=rows)
    return [table, BulletList(title="About the cost", items=tuple(_cost_remarks(comparison)), tone=Tone.PLAIN)]


def _cost_sources(_: ArmSummary, table: ArmTable) -> str:
    found = Counter(run.cost_provenance.phrase for run in table.runs)
    return ", ".join(f"{source} {number}" for source, number in found.most_common())


def _paid_cost(arm: ArmSummary, table: ArmTable) -> str:
    """What to look for on a bill; the part that is known where some attempts do not know theirs."""
    attempts = [attempt.paid_usd for attempt in table.attempts]
    silent = attempts.count(None)
    if silent == len(attempts):
        return UNKNOWN
    return _about(arm) + format_dollars(arm.known_paid_usd) + (f" and {silent} of unknown cost" if silent else "")


_COST_ROWS: tuple[CostRow, ...] = (
    ("cost of a run, mean", lambda arm, _: _about(arm) + format_dollars(arm.metrics["cost_usd"].mean)),
    ("without a prompt cache, mean", lambda arm, _: format_dollars(arm.metrics["cache_normalised_cost_usd"].mean)),
    ("share of the prompt read from a cache", lambda arm, _: format_percent(arm.metrics["cache_read_share"].mean)),
    ("cost, total of counted runs", lambda arm, _: format_estimate(arm.total_cost_usd.value, arm.total_cost_ends)),
    ("paid for all attempts", _paid_cost),
    ("source of the cost, runs", _cost_sources),
    ("runs of estimated cost", lambda arm, _: str(arm.estimated_costs)),
    ("runs of unknown cost", lambda arm, _: str(arm.metrics["cost_usd"].unknown)),
)


def _about(arm: ArmSummary) -> str:
    return "about " if arm.estimated_costs else ""


def _cost_remarks(comparison: Comparison) -> Iterator[str]:
    doubt = cost_confounded(comparison.baseline_table, comparison.candidate_table)
    yield "the costs of the arms can be compared." if doubt is None else f"the costs do not compare: {doubt}."
    shares = [arm.metrics["cache_read_share"].mean for arm in (comparison.baseline, comparison.candidate)]
    if UNKNOWN in map(format_percent, shares):
        yield "how much was read from a cache is not known of both arms; part of a difference may come from the cache."
    yield "metered: measured between agent and model; reported: stated by the agent; priced: tokens times list prices."


MOST_LOADED_ITEMS = 40
MOST_FAILED_ATTEMPTS = 20
MOST_RUN_WARNINGS = 12


def setup_check_blocks(comparison: Comparison) -> list[Block]:
    """Agents, proof of what was loaded, attempts that do not count, and the runs' own warnings."""
    arms = [
        (arm, comparison.setups[arm.name])
        for arm in (comparison.baseline, comparison.candidate)
        if arm.name in comparison.setups
    ]
    seen = {arm.name: setup for arm, setup in arms}
    return [
        BulletList(title="Who ran, and with what", items=tuple(_agent_lines(arms)), tone=Tone.PLAIN),
        *use_blocks(comparison.changed_use),
        *model_blocks(seen),
        *_loaded_table(seen),
        *optional_bullets("Attempts that do not count", tuple(_failed_attempts(seen))),
        *optional_bullets("Warnings of the runs themselves", tuple(_run_warnings(seen))),
    ]


def describe_agent(agent: AgentIdentity) -> str:
    """Name, version and model, and what kind of agent it is."""
    name = " ".join(part for part in (agent.name or "unnamed agent", agent.version) if part)
    return f"{name}, {agent.model or 'model unknown'} ({agent.kind.value})"


def _agent_lines(arms: list[tuple[ArmSummary, SetupSummary]]) -> Iterator[str]:
    for arm, setup in arms:
        agents = "; ".join(f"{describe_agent(agent)}, {runs} runs" for agent, runs in setup.agents.items())
        yield f"{arm.name}: {agents or 'no counted run'}"
    for arm, setup in arms:
        misapplied = arm.excluded.get(Status.ARM_NOT_APPLIED, 0)
        wrong = f"; {misapplied} runs did not have what the arm declares and do not count" if misapplied else ""
        yield f"{arm.name}: what was loaded was seen in {setup.with_setup} of {arm.runs} runs{wrong}"


def _loaded_table(seen: Mapping[str, SetupSummary]) -> list[Block]:
    items = sorted({item for setup in seen.values() for item in setup.items})
    if not items:
        return []
    rows = [_loaded_row(item, seen) for item in items[:MOST_LOADED_ITEMS]]
    if len(items) > MOST_LOADED_ITEMS:
        rows.append((f"and {len(items) - MOST_LOADED_ITEMS} more", *[""] * (len(seen) + 1)))
    columns = ("", "kind", *(f"runs, {arm}" for arm in seen))
    return [Table(title="What the agents had available", columns=columns, rows=tuple(rows))]


def _loaded_row(item: SetupItem, seen: Mapping[str, SetupSummary]) -> tuple[str, ...]:
    return item.name, item.kind, *(str(setup.items.get(item, 0)) for setup in seen.values())


def _failed_attempts(seen: Mapping[str, SetupSummary]) -> Iterator[str]:
    found = [(arm, attempt) for arm, setup in seen.items() for attempt in setup.excluded_attempts]
    for arm, attempt in found[:MOST_FAILED_ATTEMPTS]:
        yield _failed_attempt(arm, attempt)
    if len(found) > MOST_FAILED_ATTEMPTS:
        yield f"and {len(found) - MOST_FAILED_ATTEMPTS} more"


def _failed_attempt(arm: str, attempt: ExcludedAttempt) -> str:
    why = attempt.status.value if attempt.detail is None else f"{attempt.status.value}, {detail_line(attempt.detail)}"
    return f"{attempt.task_id}, {arm}, repeat {attempt.repeat}, attempt {attempt.attempt}: {why}"


def _run_warnings(seen: Mapping[str, SetupSummary]) -> Iterator[str]:
    found = sorted(
        ((number, arm, words) for arm, setup in seen.items() for words, number in setup.warnings.items()),
        key=lambda item: (-item[0], item[1], item[2]),
    )
    for number, arm, words in found[:MOST_RUN_WARNINGS]:
        yield f"{arm}, {number} runs: {words}"
    if len(found) > MOST_RUN_WARNINGS:
        yield f"and {len(found) - MOST_RUN_WARNINGS} more"


MOST_TASK_ROWS = 2_400
MOST_TASKS_WITH_RUNS = 300
MOST_RUN_ROWS = 2_000
"""Rows of tasks, tasks with runs, and rows of runs on a page, shared by its candidates: it has to fit into a mail."""

TASK_COLUMNS = ("passes", "duration, mean", "non-cache tokens, mean", "cost, mean")


def task_details(comparison: Comparison, candidates: int) -> list[Block]:
    """A table of all tasks, then the runs of each; of very many, those that changed the most."""
    tasks = _tasks_by_change(comparison)
    if not tasks:
        return []
    blocks: list[Block] = [_task_table(comparison, tasks[: MOST_TASK_ROWS // candidates])]
    runs = _runs_by_task(comparison)
    remaining = MOST_RUN_ROWS // candidates
    for task in tasks[: MOST_TASKS_WITH_RUNS // candidates]:
        remaining -= len(runs[task])
        if remaining < 0:
            break
        blocks.append(_run_details(task, runs[task], simulated=comparison.simulated))
    opened = len(blocks) - 1
    left = f"; the runs of the {opened} that changed the most" if opened < len(tasks) else ", each with its runs"
    title = f"Task by task: {len(tasks)} tasks{left}"
    fallback = "The page for the browser has every task with its runs (`outweigh report … -o report.html`)."
    return [Details(title=title, fallback=fallback, blocks=tuple(blocks), long=True)]


def _tasks_by_change(comparison: Comparison) -> list[str]:
    """Tasks with the largest change of passes first, worse before better; unknown ones last."""
    before, after = _pass_rates(comparison.baseline_table), _pass_rates(comparison.candidate_table)

    def rank(task: str) -> tuple[float, float]:
        mine, theirs = after.get(task, np.nan), before.get(task, np.nan)
        change = mine - theirs
        return (1.0, 0.0) if np.isnan(change) else (-abs(change), change)

    return sorted((task.task_id for task in comparison.tasks), key=rank)


def _pass_rates(arm: ArmTable) -> dict[str, float]:
    return dict(zip(arm.tasks, arm.mean_per_task("passed").tolist(), strict=True))


def _runs_by_task(comparison: Comparison) -> dict[str, list[Score]]:
    found: dict[str, list[Score]] = {task.task_id: [] for task in comparison.tasks}
    for arm in (comparison.baseline_table, comparison.candidate_table):
        for run in (*arm.runs, *arm.excluded):
            found[run.task_id].append(run)
    return found


def _task_table(comparison: Comparison, tasks: Sequence[str]) -> Table:
    arms = (comparison.baseline_table, comparison.candidate_table)
    figures = [_task_figures(arm) for arm in arms]
    titles = TASK_COLUMNS[:-1] if comparison.simulated else TASK_COLUMNS
    none = (UNKNOWN,) * len(TASK_COLUMNS)
    rows = tuple(
        (task, *(side.get(task, none)[place] for place in range(len(titles)) for side in figures)) for task in tasks
    )
    some = "" if len(tasks) == len(comparison.tasks) else f", {len(tasks)} of {len(comparison.tasks)}"
    return Table(
        title=f"Tasks, the largest change of passes first{some}",
        columns=("", *(f"{column}, {arm.name}" for column in titles for arm in arms)),
        rows=rows,
    )


def _task_figures(arm: ArmTable) -> dict[str, tuple[str, ...]]:
    known, won = arm.known_per_task("passed").tolist(), arm.sum_per_task("passed").tolist()
    columns = [arm.mean_per_task(name).tolist() for name in ("duration_seconds", "non_cache_tokens", "cost_usd")]
    vacuous = {run.task_id for run in arm.runs if run.vacuous}
    return {
        task: (
            _passes(won[place], known[place], has_checks=task not in vacuous),
            format_seconds(_none_if_nan(columns[0][place])),
            format_count(_none_if_nan(columns[1][place])),
            format_dollars(_none_if_nan(columns[2][place])),
        )
        for place, task in enumerate(arm.tasks)
    }


def _passes(won: float, known: int, *, has_checks: bool) -> str:
    if known:
        return f"{won:.0f}/{known}"
    return UNKNOWN if has_checks else NO_CHECKS


def _none_if_nan(value: float) -> float | None:
    return None if np.isnan(value) else value


def _run_result(run: Score) -> str:
    if run.passed is None:
        return NO_CHECKS if run.vacuous else UNKNOWN
    return "passed" if run.passed else "failed"


def _run_details(task: str, runs: Sequence[Score], *, simulated: bool) -> Details:
    rows = tuple(
        (
            f"{run.arm}, {run.repeat}",
            run.status.value,
            _run_result(run),
            format_seconds(run.duration_seconds),
            format_estimate(run.non_cache_tokens, run.ranges.get("non_cache_tokens"), format_count),
            SIMULATED if simulated else format_estimate(run.cost_usd, run.ranges.get("cost_usd")),
            run.run_id,
        )
        for run in runs
    )
    columns = ("arm, repeat", "status", "result", "duration", "non-cache tokens", "cost", "run")
    return Details(title=task, fallback="", blocks=(Table(title=f"Runs of {task}", columns=columns, rows=rows),))
