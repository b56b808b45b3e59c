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
_QUIET = replace(A_DAY, tasks=2_000, node_life_seconds=NEVER, seconds_between_cuts=NEVER, share_that_fails=0.0)
"""40,000 trials on which nothing breaks but what a table adds."""


def tables() -> Iterator[str]:
    """Every table as Markdown, one after another, as it is found."""
    yield _table(
        "The lease", ("lease", "cuts that outlast it", "lost in 1,000 cuts", "idle after a node is lost"), _lease_rows()
    )
    yield _table(
        "Node life", ("mean life of a node", "nodes lost a day", "lost a day", "of what is paid"), _life_rows()
    )
    yield _table("The lead is away", ("away for", "attempts lost", "paid for nothing"), _away_rows())
    yield _table(
        "Tokens",
        ("limit a minute", "slots", "completed a day", "timed out", "no result", "paid per completed run"),
        _token_rows(),
    )
    yield _table("Images", ("where a block runs", "images a host keeps", "pulls per 1,000 trials"), _image_rows())
    yield _table("A day of 10^6 trials", ("what", "figure"), _day_rows(_run(A_DAY)))


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
    """Every host is cut off four times an hour, so that there are many cuts to count."""
    for lease in LEASES:
        seen = _run(replace(_QUIET, seconds_between_cuts=900.0, lease_seconds=lease))
        costing = seen.totals.leases_lost / seen.totals.cuts
        yield (
            f"{lease:.0f} s",
            f"{costing:.1%}",
            _dollars(1_000 * costing * _usd_of_full_host(seen)),
            f"{lease * A_DAY.slots_per_host / 60:.0f} slot-minutes",
        )


def _life_rows() -> Iterator[Sequence[str]]:
    """One simulation, in which nodes live for two hours, says what a full node takes along."""
    seen = _run(replace(_QUIET, node_life_seconds=2 * 3_600.0))
    paid = A_DAY.trials * seen.totals.paid_usd / seen.totals.begun
    for hours in LIVES:
        nodes = A_DAY.hosts * 24 / hours
        lost = nodes * _usd_of_full_host(seen)
        yield f"{hours:.0f} h", f"{nodes:,.0f}", _dollars(lost), f"{lost / paid:.1%}"


def _usd_of_full_host(seen: Outcome) -> float:
    """What was paid for the attempts on a host all of whose slots are taken, when it is lost."""
    return A_DAY.slots_per_host * seen.lost_usd / seen.totals.attempts_lost


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
    for limit, slots, way in (
        (NEVER, 6_944, ""),
        (PROVIDER_TOKENS, 6_944, "each agent alone"),
        (PROVIDER_TOKENS, 6_944, "waiting is timed"),
        (PROVIDER_TOKENS, of_limit, "waiting is timed"),
        (PROVIDER_TOKENS, 6_944, "`tokens_per_minute`"),
    ):
        hosts = slots // few.slots_per_host
        inputs = replace(
            few,
            tokens_per_minute=limit,
            agents_give_up=way == "each agent alone",
            is_setting=way == "`tokens_per_minute`",
            hosts=hosts,
        )
        seen = _run(inputs)
        totals, filled = seen.totals, hosts * few.slots_per_host
        at_once = min(filled, of_limit) if inputs.is_setting else filled
        shown = "none" if limit == NEVER else f"{limit / 1e6:.0f} million, {way}"
        yield (
            shown,
            f"{filled:,}",
            f"{DAY * (totals.begun - at_once) / totals.last_start * totals.completed / totals.begun:,.0f}",
            f"{totals.timed_out / totals.begun:.0%}",
            f"{1 - (totals.timed_out + totals.completed) / totals.begun:.0%}",
            _dollars(totals.paid_usd / totals.completed),
        )


def _image_rows() -> Iterator[Sequence[str]]:
    for together in (False, True):
        for kept in (25, 100, 500):
            seen = _run(replace(_QUIET, tasks=500, repeats=10, keep_blocks_together=together, images_per_host=kept))
            place = "one host where it has room" if together else "the next free slot"
            yield place, f"{kept:,}", f"{1_000 * seen.totals.image_pulls / seen.totals.begun:,.0f}"


def _dollars(usd: float) -> str:
    return f"${usd:,.2f}" if usd < 100 else f"${usd:,.0f}"
