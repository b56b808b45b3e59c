"""The tables of docs/scale.md: what a day of a million trials needs, loses and breaks."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from benchmarks.cluster.inputs import DAY, NEVER, ClusterInputs
from benchmarks.cluster.simulate import Outcome, plan_of, simulate
from benchmarks.cluster.simulated_cluster import SimulatedCluster

Rows = Iterable[Sequence[str]]

A_DAY = ClusterInputs()
"""10^6 trials, on 6,944 slots."""

PROVIDER_TOKENS = 2_000_000.0
LEASES = (15.0, 30.0, 60.0, 120.0, 300.0, 600.0)
LIVES = (2.0, 8.0, 24.0, 168.0)
LEAD_AWAY = (60.0, 110.0, 130.0, 300.0)
_QUIET = replace(A_DAY, tasks=5_000, node_life_seconds=NEVER, seconds_between_cuts=NEVER, share_that_fails=0.0)
"""A tenth of the day on which nothing breaks but what a table adds."""


def tables() -> Iterator[str]:
    """Every table as Markdown, one after another, as it is found."""
    yield _table("A day of 10^6 trials", ("what", "figure"), _day_rows(_run(A_DAY)))
    yield _table("The lease", ("lease", "cuts that cost", "paid per 1,000 cuts", "per lost node"), _lease_rows())
    yield _table("Node life", ("mean life", "nodes lost a day", "lost a day", "of what is paid"), _life_rows())
    yield _table("The lead is away", ("away for", "attempts lost", "paid for nothing"), _away_rows())
    yield _table(
        "Tokens",
        ("limit a minute", "slots", "completed a day", "timed out", "no result", "paid per completed run"),
        _token_rows(),
    )
    yield _table("Images", ("where a block runs", "images a host keeps", "pulls per 1,000 trials"), _image_rows())


def _run(inputs: ClusterInputs) -> Outcome:
    return simulate(SimulatedCluster(inputs), plan_of(inputs))


def _table(title: str, head: Sequence[str], rows: Rows) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return f"### {title}\n\n" + "\n".join("| " + " | ".join(line) + " |" for line in lines) + "\n"


def _day_rows(day: Outcome) -> Rows:
    totals = day.totals
    return [
        ("how it ended", f"{day.end.value}, after {day.seconds / 3600:.1f} h"),
        ("attempts", f"{totals.begun:,}, of which {totals.begun - A_DAY.trials:,} were retries"),
        (
            "at once, on average",
            f"{totals.running_seconds / day.seconds:,.0f} of {A_DAY.hosts * A_DAY.slots_per_host:,}",
        ),
        ("results in one second, at most", f"{totals.most_results_in_a_second:,}"),
        ("uncached input tokens a minute, at most", f"{totals.most_tokens_per_minute / 1e6:.1f} million"),
        ("paid", f"${totals.paid_usd:,.0f}"),
        ("nodes lost", f"{totals.nodes_lost:,}, with {_dollars(totals.lost_with_nodes_usd)} of work"),
        (
            "cuts longer than the lease",
            f"{totals.leases_lost - totals.nodes_lost:,}, {_dollars(totals.lost_by_cuts_usd)}",
        ),
        ("paid and never reported to the budget", _dollars(totals.unreported_usd)),
        ("artifacts through the lead's connections", f"{totals.inline_bytes / 1e9:.1f} GB"),
        ("artifacts through a shared folder", f"{totals.shared_bytes / 1e9:.1f} GB"),
        ("images pulled", f"{totals.image_pulls:,}"),
        ("processor time of the lead's decisions", f"{day.lead_seconds:.0f} s"),
    ]


def _lease_rows() -> Iterator[Sequence[str]]:
    cuts_only = replace(_QUIET, seconds_between_cuts=3_600.0)
    nodes_only = replace(_QUIET, node_life_seconds=8 * 3_600.0)
    for lease in LEASES:
        cut = _run(replace(cuts_only, lease_seconds=lease))
        lost = _run(replace(nodes_only, lease_seconds=lease))
        cuts = cut.totals.cuts
        yield (
            f"{lease:.0f} s",
            f"{cut.totals.leases_lost / cuts:.1%}",
            _dollars(1_000 * cut.lost_usd / cuts),
            f"{_dollars(lost.lost_usd / lost.totals.nodes_lost)}, {lease * A_DAY.slots_per_host / 60:.0f} slot-minutes",
        )


def _life_rows() -> Iterator[Sequence[str]]:
    for hours in LIVES:
        seen = _run(replace(_QUIET, node_life_seconds=hours * 3_600.0))
        a_day = DAY / seen.seconds
        yield (
            f"{hours:.0f} h",
            f"{a_day * seen.totals.nodes_lost:,.0f}",
            _dollars(a_day * seen.lost_usd),
            f"{seen.lost_usd / seen.totals.paid_usd:.2%}",
        )


def _away_rows() -> Iterator[Sequence[str]]:
    for seconds in LEAD_AWAY:
        inputs = replace(_QUIET, tasks=1_000)
        cluster = SimulatedCluster(inputs)
        cluster.cut_all(900.0, seconds)
        seen = simulate(cluster, plan_of(inputs))
        yield f"{seconds:.0f} s", f"{seen.totals.attempts_lost:,}", _dollars(seen.lost_usd)


def _token_rows() -> Iterator[Sequence[str]]:
    few = replace(_QUIET, tasks=1_000)
    of_limit = round(PROVIDER_TOKENS / 60 / (few.tokens_per_trial / few.trial_seconds))
    for limit, slots, gives_up in (
        (NEVER, 6_944, False),
        (PROVIDER_TOKENS, 6_944, True),
        (PROVIDER_TOKENS, 6_944, False),
        (PROVIDER_TOKENS, of_limit, False),
    ):
        hosts = slots // few.slots_per_host
        inputs = replace(few, tokens_per_minute=limit, agents_give_up=gives_up, hosts=hosts)
        seen = _run(inputs)
        totals, filled = seen.totals, hosts * few.slots_per_host
        shown = "none" if limit == NEVER else f"{limit / 1e6:.0f} million" + (", each agent alone" if gives_up else "")
        yield (
            shown,
            f"{filled:,}",
            f"{DAY * (totals.begun - filled) / totals.last_start * totals.completed / totals.begun:,.0f}",
            f"{totals.timed_out / totals.begun:.0%}",
            f"{1 - (totals.timed_out + totals.completed) / totals.begun:.0%}",
            _dollars(totals.paid_usd / totals.completed),
        )


def _image_rows() -> Iterator[Sequence[str]]:
    for together in (False, True):
        for kept in (50, 250, 1_000):
            seen = _run(replace(_QUIET, tasks=1_000, repeats=25, keep_blocks_together=together, images_per_host=kept))
            place = "one host where it has room" if together else "the next free slot"
            yield place, f"{kept:,}", f"{1_000 * seen.totals.image_pulls / seen.totals.begun:,.0f}"


def _dollars(usd: float) -> str:
    return f"${usd:,.2f}" if usd < 100 else f"${usd:,.0f}"
