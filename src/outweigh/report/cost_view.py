"""What the runs cost, who says so, and how much of it is the state of a prompt cache."""

from collections import Counter
from collections.abc import Callable, Iterator

from outweigh.compare.arm_summary import ArmSummary
from outweigh.compare.arm_table import ArmTable
from outweigh.compare.comparison import Comparison
from outweigh.report.document import Block, Bullets, Table, Tone
from outweigh.report.wording import UNKNOWN, dollars, percent
from outweigh.verdict.confounding import cost_confounded

Row = tuple[str, Callable[[ArmSummary, ArmTable], str]]


def cost_blocks(comparison: Comparison) -> list[Block]:
    """A table, and what must be kept in mind with it; nothing where no run knows its cost."""
    arms = (comparison.baseline, comparison.candidate)
    if not any(arm.metrics["cost_usd"].count for arm in arms):
        return []
    tables = (comparison.baseline_table, comparison.candidate_table)
    rows = tuple((title, *(show(*pair) for pair in zip(arms, tables, strict=True))) for title, show in _ROWS)
    table = Table(title="Cost and cache", columns=("", *(arm.name for arm in arms)), rows=rows)
    return [table, Bullets(title="About the cost", items=tuple(_remarks(comparison)), tone=Tone.PLAIN)]


def _sources(_: ArmSummary, table: ArmTable) -> str:
    found = Counter(run.cost_provenance.value for run in table.runs)
    return ", ".join(f"{source} {number}" for source, number in found.most_common())


def _bill(arm: ArmSummary, table: ArmTable) -> str:
    """What to look for on a bill; the part that is known where some attempts do not know theirs."""
    attempts = [attempt.paid_usd for attempt in table.attempts]
    silent = attempts.count(None)
    if silent == len(attempts):
        return UNKNOWN
    return dollars(arm.known_paid_usd) + (f" and {silent} of unknown cost" if silent else "")


_ROWS: tuple[Row, ...] = (
    ("cost of a run, mean", lambda arm, _: dollars(arm.metrics["cost_usd"].mean)),
    ("without a prompt cache, mean", lambda arm, _: dollars(arm.metrics["cache_normalised_cost_usd"].mean)),
    ("share of the prompt read from a cache", lambda arm, _: percent(arm.metrics["cache_read_share"].mean)),
    ("cost, total of counted runs", lambda arm, _: dollars(arm.total_cost_usd.value)),
    ("paid for all attempts", _bill),
    ("who says so, runs", _sources),
    ("runs of unknown cost", lambda arm, _: str(arm.metrics["cost_usd"].unknown)),
)


def _remarks(comparison: Comparison) -> Iterator[str]:
    doubt = cost_confounded(comparison.baseline_table, comparison.candidate_table)
    yield "nothing speaks against comparing the costs." if doubt is None else f"the costs do not compare: {doubt}."
    shares = [arm.metrics["cache_read_share"].mean for arm in (comparison.baseline, comparison.candidate)]
    if UNKNOWN in map(percent, shares):
        yield "how much was read from a cache is not known of both arms; part of a difference may be the cache's."
    yield "metered: measured between agent and model; reported: the agent's own word; priced: tokens times list prices."
