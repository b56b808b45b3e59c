"""The table of what was spent month by month, for pages about many stores."""

from collections.abc import Iterator

from outweigh.report.document import Block, BulletList, Table, Tone
from outweigh.report.formatting import SIMULATED, UNKNOWN, count_of, format_count, format_dollars
from outweigh.report.json_output import Payload
from outweigh.score.monthly_spend import MonthSpend, SpendTally

SPEND_COLUMNS = ("month", "runs", "spent on runs", "judges' answers", "spent on judges", "together")
_TITLE = "Spend by month (every attempt, also those that do not count; by UTC)"


def spend_blocks(spend: SpendTally) -> Iterator[Block]:
    """The table, and what it leaves out; nothing where there is nothing to sum."""
    if not spend.months() and not spend.simulated_runs:
        return
    if spend.months():
        yield Table(title=_TITLE, columns=SPEND_COLUMNS, rows=tuple(spend_rows(spend)))
    if left_out := tuple(describe_unsummed(spend)):
        yield BulletList(title="Not in the sums", items=left_out, tone=Tone.PLAIN)


def spend_rows(spend: SpendTally) -> Iterator[tuple[str, ...]]:
    """A row for each month, and one for all of them where there are several."""
    months = spend.months()
    for month in months:
        yield (month.month or "no date", *_cells(month))
    if len(months) > 1:
        yield ("all", *_cells(spend.total()))


def _cells(month: MonthSpend) -> tuple[str, ...]:
    runs, answers = format_count(month.runs), format_count(month.judge_answers)
    on_runs = format_dollars(month.run_usd) if month.runs else "–"
    on_judges = format_dollars(month.judging_usd) if month.judge_answers else "–"
    return runs, on_runs, answers, on_judges, describe_spend(month)


def describe_spend(month: MonthSpend) -> str:
    """What was spent, with what is estimated or not known of it."""
    if not (month.runs or month.judge_answers):
        return SIMULATED
    known = month.known_usd
    if known is None:
        return UNKNOWN
    about = "about " if month.estimated_costs else ""
    unknown = f" and {format_count(month.unknown_costs)} {UNKNOWN}" if month.unknown_costs else ""
    return f"{about}{format_dollars(known)}{unknown}"


def describe_unsummed(spend: SpendTally) -> Iterator[str]:
    """What no sum has: costs that are not known, and runs that cost nothing."""
    if unknown := spend.total().unknown_costs:
        yield f"{count_of(unknown, 'cost')} of runs or judges' answers {'is' if unknown == 1 else 'are'} unknown."
    if spend.simulated_runs:
        yield f"{count_of(spend.simulated_runs, 'simulated run')} cost nothing."


def spend_payload(spend: SpendTally) -> Payload:
    """The same for JSON; an amount is null where no cost is known."""
    return {
        "months": [
            {
                "month": month.month,
                "runs": month.runs,
                "run_usd": month.run_usd,
                "judge_answers": month.judge_answers,
                "judging_usd": month.judging_usd,
                "unknown_costs": month.unknown_costs,
                "estimated_costs": month.estimated_costs,
            }
            for month in spend.months()
        ],
        "simulated_runs": spend.simulated_runs,
    }
