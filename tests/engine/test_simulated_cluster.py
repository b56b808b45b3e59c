"""A small cluster, simulated event by event under the real batch: what holds whatever the cluster does."""

from collections import Counter
from dataclasses import replace
from threading import Event as Signal

import pytest
from benchmarks.cluster.inputs import DAY, NEVER, ClusterInputs
from benchmarks.cluster.simulate import Outcome, plan_of, simulate
from benchmarks.cluster.simulated_cluster import SimulatedCluster

from outweigh.engine.batch import EndReason
from outweigh.engine.budget import Budget
from outweigh.engine.events import EngineEvent, EventKind
from outweigh.model.failure import EXCLUDED_STATUSES, Status
from outweigh.model.run_record import RunRecord

CALM = ClusterInputs(
    tasks=20,
    hosts=4,
    slots_per_host=8,
    share_that_fails=0.0,
    node_life_seconds=NEVER,
    seconds_between_cuts=NEVER,
)
ROUGH = replace(CALM, share_that_fails=0.02, node_life_seconds=DAY / 12, seconds_between_cuts=DAY / 24, cut_spread=2.0)


def run(inputs: ClusterInputs, budget: Budget | None = None) -> tuple[Outcome, list[RunRecord]]:
    records: list[RunRecord] = []
    return simulate(SimulatedCluster(inputs, records.append), plan_of(inputs), budget=budget), records


@pytest.mark.parametrize("seed", range(5))
def test_every_trial_ends_exactly_once_whatever_is_lost(seed: int) -> None:
    inputs = replace(ROUGH, seed=seed)

    outcome, records = run(inputs)

    results = Counter(record.trial.key for record in records if record.status not in EXCLUDED_STATUSES)
    last = {record.trial.key: record for record in records}
    attempts = Counter((record.trial.key, record.attempt) for record in records)
    assert outcome.totals.attempts_lost > 0
    assert outcome.end in (EndReason.DONE, EndReason.INCOMPLETE)
    assert last.keys() == {planned.trial.key for planned in plan_of(inputs)}
    assert set(results.values()) == {1}
    assert set(attempts.values()) == {1}
    assert all(record.attempt == 3 for record in last.values() if record.status in EXCLUDED_STATUSES)


@pytest.mark.parametrize("seed", range(5))
def test_a_budget_is_exceeded_by_no_more_than_what_hosts_could_not_report(seed: int) -> None:
    cap, worst = 60.0, CALM.usd_per_trial * CALM.timeout_seconds / CALM.trial_seconds

    outcome, records = run(replace(ROUGH, seed=seed), Budget(cap, worst))

    assert outcome.end is EndReason.BUDGET
    assert sum(record.cost.usd or 0.0 for record in records) <= cap + 1e-6
    assert outcome.totals.paid_usd <= cap + outcome.totals.unreported_usd + 1e-6
    assert outcome.totals.paid_usd > 0.8 * cap


def test_a_budget_without_a_cap_per_run_is_exceeded_by_no_more_than_what_was_in_flight() -> None:
    cap, worst = 60.0, CALM.usd_per_trial * CALM.timeout_seconds / CALM.trial_seconds

    outcome, _ = run(CALM, Budget(cap, None))

    assert outcome.end is EndReason.BUDGET
    assert outcome.totals.paid_usd <= cap + worst * CALM.hosts * CALM.slots_per_host


def test_a_pause_that_the_provider_asks_for_stops_all_starts() -> None:
    inputs = replace(CALM, tokens_per_minute=60_000.0, agents_give_up=True, retry_after_seconds=90.0)
    cluster = SimulatedCluster(inputs)
    paused_until, started_in_pause, pauses = 0.0, 0, 0

    def listen(event: EngineEvent) -> None:
        nonlocal paused_until, started_in_pause, pauses
        if event.kind is EventKind.PAUSED:
            pauses += 1
            paused_until = max(paused_until, cluster.now() + 90.0)
        started_in_pause += event.kind is EventKind.STARTED and cluster.now() < paused_until

    simulate(cluster, plan_of(inputs), listen=listen)

    assert pauses > 0
    assert started_in_pause == 0


@pytest.mark.parametrize("seed", range(3))
def test_a_lost_node_costs_at_most_what_ran_on_it(seed: int) -> None:
    inputs = replace(ROUGH, seed=seed, seconds_between_cuts=NEVER, share_that_fails=0.0)

    outcome, records = run(inputs)

    totals = outcome.totals
    worst = inputs.usd_per_trial * inputs.timeout_seconds / inputs.trial_seconds
    assert 0 < totals.attempts_lost <= totals.nodes_lost * inputs.slots_per_host
    assert totals.lost_with_nodes_usd <= totals.attempts_lost * worst
    assert totals.paid_usd == pytest.approx(sum(record.cost.usd or 0.0 for record in records) + totals.unreported_usd)


@pytest.mark.parametrize(("seconds", "lost"), [(100.0, False), (200.0, True)])
def test_a_lead_that_is_away_for_less_than_a_lease_costs_nothing(seconds: float, lost: bool) -> None:
    cluster = SimulatedCluster(CALM)
    cluster.cut_all(300.0, seconds)

    outcome = simulate(cluster, plan_of(CALM))

    assert outcome.end is EndReason.DONE
    assert (outcome.totals.attempts_lost > 0) is lost
    assert (outcome.totals.lost_by_cuts_usd > 0) is lost


def test_a_limit_of_tokens_that_all_share_makes_runs_slower_and_never_more_expensive() -> None:
    free, _ = run(CALM)
    limited, _ = run(replace(CALM, tokens_per_minute=100_000.0, timeout_seconds=DAY))

    assert limited.totals.most_tokens_per_minute <= 100_000.0 * (1 + 1e-9)
    assert limited.seconds > free.seconds
    assert limited.totals.completed == CALM.trials


def test_an_interrupt_starts_nothing_more_and_keeps_what_runs() -> None:
    drain, records = Signal(), list[RunRecord]()
    cluster = SimulatedCluster(CALM, records.append)

    def listen(event: EngineEvent) -> None:
        if len(records) >= 10:
            drain.set()

    outcome = simulate(cluster, plan_of(CALM), drain=drain, listen=listen)

    assert outcome.end is EndReason.INTERRUPTED
    assert outcome.events[EventKind.STARTED] == len(records) < CALM.trials
    assert {record.status for record in records} <= {Status.COMPLETED, Status.TIMEOUT}


def test_a_seed_gives_one_result() -> None:
    first, again, other = run(ROUGH), run(ROUGH), run(replace(ROUGH, seed=2))

    assert first[1] == again[1]
    assert replace(first[0], lead_seconds=0.0) == replace(again[0], lead_seconds=0.0)
    assert first[1] != other[1]


def test_a_suite_that_states_the_limit_has_no_more_time_outs_and_no_more_runs_at_once_than_it_serves() -> None:
    scarce = replace(CALM, tasks=50, tokens_per_minute=44_400.0)  # ten agents at once, where 32 have a place

    free, _ = run(replace(scarce, tokens_per_minute=NEVER))
    timed, _ = run(scarce)
    limited, _ = run(replace(scarce, is_setting=True))

    assert limited.totals.timed_out == free.totals.timed_out < timed.totals.timed_out
    assert limited.totals.paid_usd == pytest.approx(free.totals.paid_usd)
    assert limited.totals.running_seconds / limited.seconds < 14
    assert limited.totals.completed / limited.seconds > 0.9 * 10 / CALM.trial_seconds
