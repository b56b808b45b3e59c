"""The page and the JSON of `outweigh suite prune`: what was kept, how it was chosen, and why it is unbiased."""

from collections.abc import Iterator, Mapping
from math import sqrt

from msgspec import Struct

from outweigh.errors import quote_names
from outweigh.report.document import Block, BulletList, Report, Table, Tone
from outweigh.report.formatting import format_percent, pluralize
from outweigh.report.json_output import Payload
from outweigh.stats.task_selection import LEAST_STRATUM_SHARE, HeldOut

SHOWN_ARMS = 5
SHOWN_TASKS = 8

WORTH_CHOOSING = 0.05
"""A choice that keeps no more than this beyond what a random one keeps is not worth making."""


class PrunedSuite(Struct, frozen=True, kw_only=True):
    """The tasks that were kept and dropped, and what is known about the choice.

    `expected` is the share of the t statistic that the choosing runs suggest, `measured` what runs show that were held
    out. `families` has the kept and all tasks of each; `asked` is the share that was wanted, None where a number was.
    """

    kept: tuple[str, ...]
    dropped: tuple[str, ...]
    expected: float
    measured: HeldOut | None
    cost_share: float | None
    arms: tuple[str, ...]
    judged: tuple[str, ...]
    odd_only: bool
    families: Mapping[str, tuple[int, int]]
    without_outcome: tuple[str, ...]
    asked: float | None

    @property
    def at_random(self) -> float:
        """What as many tasks keep that are drawn at random: the root of their share."""
        return sqrt(len(self.kept) / (len(self.kept) + len(self.dropped)))

    @property
    def share(self) -> float:
        """What is kept as far as is known: the lower of what is expected and what was measured."""
        return min(1.0, self.expected, *(() if self.measured is None else (self.measured.share,)))

    @property
    def is_hardly_better_than_random(self) -> bool:
        """Whether as many tasks drawn at random would keep about as much."""
        return bool(self.dropped) and self.share < min(1.0, self.at_random + WORTH_CHOOSING)


def prune_report(pruned: PrunedSuite, folder: str, next_commands: tuple[str, ...]) -> Report:
    """The page of `outweigh suite prune`."""
    blocks: list[Block] = [
        BulletList(title="What is kept", items=tuple(_kept(pruned)), tone=Tone.PLAIN),
        BulletList(title="How it was chosen, and why it is unbiased", items=tuple(_reasons(pruned)), tone=Tone.PLAIN),
    ]
    if pruned.families:
        blocks.append(
            Table(
                title="Families",
                columns=("", "kept", "of"),
                rows=tuple((name, str(kept), str(of)) for name, (kept, of) in pruned.families.items()),
            )
        )
    blocks.append(BulletList(title=f"Written to {folder}", items=next_commands, tone=Tone.PLAIN))
    total = len(pruned.kept) + len(pruned.dropped)
    return Report(
        headline=f"{len(pruned.kept)} of {pluralize(total, 'task')} kept",
        tone=Tone.PLAIN,
        blocks=tuple(blocks),
        payload=_payload(pruned, folder),
    )


def _kept(pruned: PrunedSuite) -> Iterator[str]:
    if pruned.cost_share is not None:
        yield f"{format_percent(pruned.cost_share)} of what the whole suite costs per repeat."
    yield f"{format_percent(min(1.0, pruned.expected))} of the t statistic is expected to be kept."
    if pruned.measured is None:
        yield "it could not be measured: no runs could be held out, or the arms in them do not differ."
    else:
        pairs = pluralize(pruned.measured.pairs, "pair")
        share = format_percent(max(0.0, pruned.measured.share))
        yield f"{share} was kept on runs that the tasks were not chosen by ({pairs} of arms)."
    yield f"as many tasks drawn at random keep {format_percent(pruned.at_random)}."
    if pruned.is_hardly_better_than_random:
        yield (
            "hardly more than at random: as far as these runs show, the tasks tell about equally much, and then no "
            f"choice among them can keep more. Keep the whole suite: on these tasks an effect must be "
            f"{_larger(pruned.share)} as large for the same verdict."
        )
    if pruned.asked is not None and not pruned.dropped:
        yield f"no task can go: without any one of them less than {format_percent(pruned.asked)} would be kept."
    if pruned.without_outcome:
        names = quote_names(pruned.without_outcome, SHOWN_TASKS)
        yield f"tasks without an outcome in these runs are not among them: {names}."


def _larger(share: float) -> str:
    return f"{1 / share:.1f} times" if share > 0 else "many times"


def _reasons(pruned: PrunedSuite) -> Iterator[str]:
    arms = quote_names(pruned.arms, SHOWN_ARMS)
    if pruned.odd_only:
        yield (
            f"by the odd repeats of {arms}. Only their even repeats judge the chosen tasks, and no run does both, so "
            "what the odd ones showed by chance favours no arm."
        )
    elif pruned.judged:
        judged = quote_names(pruned.judged, SHOWN_ARMS)
        yield (
            f"by the runs of {arms}. No run of {judged} was looked at, so the choice favours none of them, and their "
            "runs on the chosen tasks can judge."
        )
    else:
        yield (
            f"by all runs of {arms}. These runs do not count for a verdict on the chosen tasks: new runs judge, which "
            "no one could look at when the tasks were chosen. Name arms with --judge to judge them by these records."
        )
    yield "tasks leave in the order of how little the t statistic loses without them, for their price; ties at random."
    if pruned.families:
        least = format_percent(LEAST_STRATUM_SHARE)
        yield f"no family disappears, and each keeps at least {least} of the tasks that an even cut would leave it."
    yield "an effect on the chosen tasks is an effect on tasks like these: undecided ones. On all tasks it is smaller."


def _payload(pruned: PrunedSuite, folder: str) -> Payload:
    measured = pruned.measured
    return {
        "schema": "outweigh.suite_prune/1",
        "folder": folder,
        "tasks": list(pruned.kept),
        "dropped": list(pruned.dropped),
        "chosen_by": {"arms": list(pruned.arms), "repeats": "odd" if pruned.odd_only else "all"},
        "judged": list(pruned.judged),
        "expected_share": pruned.expected,
        "measured_share": None if measured is None else measured.share,
        "hardly_better_than_random": pruned.is_hardly_better_than_random,
        "measured_pairs": 0 if measured is None else measured.pairs,
        "random_share": pruned.at_random,
        "cost_share": pruned.cost_share,
        "families": {name: {"kept": kept, "of": of} for name, (kept, of) in pruned.families.items()},
        "without_outcome": list(pruned.without_outcome),
    }
