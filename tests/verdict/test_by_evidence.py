from collections.abc import Mapping
from datetime import datetime
from types import MappingProxyType
from typing import Any

import msgspec
import numpy as np
import pytest
from tests.verdict.two_arms import decide, experiment

from outweigh.compare.comparison import compare_arms
from outweigh.compare.evidence import gather
from outweigh.errors import UsageError
from outweigh.model.codec import LocatedRecord
from outweigh.model.failure import Status
from outweigh.model.pricing import PRICES_NOT_INSTALLED, ModelPrices, PriceTables
from outweigh.model.run_record import AgentIdentity, AgentKind, RunRecord
from outweigh.model.usage import NO_USAGE, UNKNOWN_COST, Cost, CostProvenance
from outweigh.testing.builders import a_check, a_run, evidence_of
from outweigh.verdict.decision import Decision, GateState, RegressionKind
from outweigh.verdict.evidence_policy import decide_by_evidence
from outweigh.verdict.evidence_settings import evidence_settings
from outweigh.verdict.promotion import may_promote


def test_a_real_gain_is_found_and_may_be_promoted() -> None:
    verdict = decide(experiment(0.25, speed=0.9))

    assert verdict.decision is Decision.IMPROVED
    assert [gate.state for gate in verdict.gates] == [GateState.HOLDS] * 4
    assert verdict.blockers == ()
    assert may_promote(verdict, verdict.evidence_sha256)


def test_the_mirror_image_is_a_regression() -> None:
    records = experiment(0.25, speed=0.8)
    swapped = compare_arms(evidence_of(records), "new", "old")

    assert decide_by_evidence([swapped], evidence_settings())[0].decision is Decision.REGRESSED


def test_identical_arms_are_not_promoted() -> None:
    assert decide(experiment(0.0)).decision in (Decision.INCONCLUSIVE, Decision.NEUTRAL)


def test_a_cheaper_but_worse_candidate_is_a_regression() -> None:
    assert decide(experiment(-0.25, speed=0.7)).decision is Decision.REGRESSED


@pytest.mark.parametrize("gain", [0.25, 0.0, -0.25])
def test_numbering_the_repeats_and_ordering_the_records_anew_changes_nothing(gain: float) -> None:
    records = experiment(gain)
    dice = np.random.default_rng(3)
    relabelled = []
    for record in records:
        trial = record.trial
        relabelled.append(
            a_run(
                trial.task_id,
                trial.arm,
                6 - trial.repeat if trial.arm == "new" else trial.repeat,
                checks=record.checks,
                duration_seconds=record.duration_seconds,
                usage=record.usage,
                cost=record.cost,
            )
        )
    shuffled = [relabelled[place] for place in dice.permutation(len(relabelled))]

    before, after = decide(records), decide(shuffled)

    assert (before.decision, before.needs) == (after.decision, after.needs)
    for one, other in zip(before.gates, after.gates, strict=True):
        assert one.evidence is not None
        assert other.evidence is not None
        assert one.evidence.p_values == pytest.approx(other.evidence.p_values)


def test_fewer_than_six_tasks_are_inconclusive_and_say_what_is_needed() -> None:
    verdict = decide(experiment(0.3, tasks=5))

    assert verdict.decision is Decision.INCONCLUSIVE
    assert "5 tasks have counted runs in both arms" in verdict.reasons[0]
    assert verdict.needs is not None
    assert (verdict.needs.more_tasks or 0) >= 1


def test_tasks_that_only_one_arm_ran_make_the_evidence_unusable_beyond_one_in_twenty() -> None:
    records = experiment(0.3)
    without = [
        record for record in records if not (_arm(record) == "new" and _task(record) in ("task-1", "task-2", "task-3"))
    ]

    verdict = decide(without)

    assert verdict.decision is Decision.INCONCLUSIVE
    assert {item.kind for item in verdict.regressions} == {RegressionKind.MISSING_TASK}


def test_one_missing_task_of_many_does_not_stop_the_decision_but_the_promotion() -> None:
    records = [record for record in experiment(0.3) if not (_arm(record) == "new" and _task(record) == "task-1")]

    verdict = decide(records)

    assert verdict.decision is Decision.IMPROVED
    assert not may_promote(verdict, verdict.evidence_sha256)


def test_fewer_than_three_repeats_of_few_tasks_block_the_promotion_not_the_decision() -> None:
    few, many = decide(experiment(0.8, tasks=29, repeats=2)), decide(experiment(0.8, tasks=30, repeats=2))

    assert few.decision is many.decision is Decision.IMPROVED
    assert any("3 counted repeats per task and arm, or 30 tasks" in blocker for blocker in few.blockers)
    assert not any("repeats" in blocker for blocker in many.blockers)


def test_fewer_than_twelve_tasks_block_the_promotion_not_the_decision() -> None:
    few, enough = decide(experiment(0.8, tasks=11, repeats=5)), decide(experiment(0.8, tasks=12, repeats=5))

    assert few.decision is enough.decision is Decision.IMPROVED
    assert any("at least 12 tasks; both arms share 11" in blocker for blocker in few.blockers)
    assert not any("tasks" in blocker for blocker in enough.blockers)


def test_scripted_agents_improve_but_never_promote() -> None:
    agent = AgentIdentity(kind=AgentKind.SCRIPTED, name=None, version=None, model=None)

    verdict = decide(experiment(0.25, speed=0.9, agent=agent))

    assert verdict.decision is Decision.IMPROVED
    assert not may_promote(verdict, verdict.evidence_sha256)


def test_unknown_tokens_make_the_default_gates_unknown_and_name_the_way_out() -> None:
    records = [_changed(record, usage=NO_USAGE) for record in experiment(0.3)]

    verdict = decide(records)

    assert verdict.decision is Decision.INCONCLUSIVE
    assert verdict.gates[2].state is GateState.UNKNOWN
    assert "--gates pass_rate,duration,cost decides without it, and says nothing about" in verdict.gates[2].detail
    assert decide(records, gates=["pass_rate", "duration"]).decision is Decision.IMPROVED


def test_a_way_out_keeps_every_gate_that_was_asked_for_and_is_known() -> None:
    records = [_changed(record, usage=NO_USAGE, duration_seconds=None) for record in experiment(0.3)]

    details = [gate.detail for gate in decide(records, gates=["pass_rate", "duration", "non_cache_tokens"]).gates]

    words = "--gates pass_rate decides without it, and says nothing about duration and non_cache_tokens"
    assert [words in detail for detail in details] == [False, True, True]


def test_no_way_out_leads_to_a_gate_that_is_unknown_for_another_reason() -> None:
    records = [_changed(record, usage=NO_USAGE) for record in experiment(0.3)]
    at_once = [_changed(record, duration_seconds=0.0) if _arm(record) == "old" else record for record in records]

    details = [gate.detail for gate in decide(at_once).gates]

    words = "--gates pass_rate,cost decides without it, and says nothing about duration and non_cache_tokens"
    assert [words in detail for detail in details] == [False, True, True, False]


def test_no_way_out_leads_away_from_the_pass_rate() -> None:
    records = [_changed(record, checks=()) for record in experiment(0.3)]
    without_tokens = [_changed(record, usage=NO_USAGE) for record in records]

    for gate in (*decide(records).gates, *decide(without_tokens).gates):
        assert "--gates" not in gate.detail
    assert "add checks to their tasks" in decide(records).gates[0].detail


def test_an_unknown_cost_is_left_out_of_the_default_gates_and_told() -> None:
    verdict = decide([_changed(record, cost=UNKNOWN_COST) for record in experiment(0.3, speed=0.9)])

    assert [gate.name for gate in verdict.gates] == ["pass_rate", "duration", "non_cache_tokens"]
    assert any("cost is not a gate" in warning for warning in verdict.warnings)


@pytest.mark.parametrize("silent", ["old", "new"])
def test_a_cost_that_only_one_arm_knows_does_not_escape_its_gate(silent: str) -> None:
    records = experiment(0.3, speed=0.9)
    hidden = [_changed(record, cost=UNKNOWN_COST) if _arm(record) == silent else record for record in records]

    verdict = decide(hidden)

    assert verdict.decision is Decision.INCONCLUSIVE
    assert [(gate.name, gate.state) for gate in verdict.gates][-1] == ("cost", GateState.UNKNOWN)
    assert not may_promote(verdict, verdict.evidence_sha256)


def test_a_named_cost_gate_on_an_unknown_cost_is_unknown() -> None:
    records = [_changed(record, cost=UNKNOWN_COST) for record in experiment(0.3, speed=0.9)]

    assert decide(records, gates=["pass_rate", "cost"]).decision is Decision.INCONCLUSIVE


def test_a_task_that_collapses_is_a_hard_regression_beside_any_gain() -> None:
    records = experiment(0.3, tasks=40, repeats=10)
    collapsed = [
        _changed(record, checks=(a_check(passed=_arm(record) == "old"),)) if _task(record) == "task-7" else record
        for record in records
    ]

    verdict = decide(collapsed)

    assert verdict.decision is Decision.REGRESSED
    assert [(item.kind, item.task_id) for item in verdict.regressions] == [(RegressionKind.OBJECTIVE_DROP, "task-7")]


def test_one_lost_run_is_a_notice_not_a_verdict() -> None:
    verdict = decide(experiment(0.25, speed=0.9))

    assert verdict.regressions == ()
    assert any("none by more than chance explains" in warning for warning in verdict.warnings)


def test_families_are_the_unit_where_the_records_name_them() -> None:
    records = experiment(0.25, speed=0.9)
    by_task = decide(records)
    by_family = decide(in_families(records, 10))

    assert by_family.gates[0].evidence is not None
    assert by_task.gates[0].evidence is not None
    assert by_family.gates[0].evidence.p_values != by_task.gates[0].evidence.p_values


def test_fewer_than_five_families_support_no_claim_about_others_but_one_about_this_suite() -> None:
    records = [
        _changed(record, family=f"repo-{int(_task(record).split('-')[1]) % 3}")
        for record in experiment(0.25, speed=0.9)
    ]

    assert decide(records).decision is Decision.INCONCLUSIVE
    assert decide(records, fixed_suite=True).decision is Decision.IMPROVED


def test_on_this_suite_only_the_noise_between_runs_counts() -> None:
    records = experiment(0.12, speed=0.9)

    tasks, suite = decide(records).gates[0].evidence, decide(records, fixed_suite=True).gates[0].evidence

    assert tasks is not None
    assert suite is not None
    assert tasks.effect == pytest.approx(suite.effect)
    assert tasks.p_values["superior"] != suite.p_values["superior"]


def test_run_noise_of_one_arm_is_enough_for_a_fixed_suite() -> None:
    records = [
        a_run(f"task-{task}", arm, repeat, passed=arm == "new" or repeat % 2 == 0)
        for task in range(8)
        for arm in ("old", "new")
        for repeat in range(1, 7)
    ]

    verdict = decide(records, gates=["pass_rate"], fixed_suite=True)

    assert verdict.decision is Decision.IMPROVED
    assert verdict.gates[0].state is GateState.HOLDS


class NotInstalled:
    """A price table whose data is not installed."""

    name = "absent"
    unavailable = f"{PRICES_NOT_INSTALLED}: install it"
    hosted_usd: Mapping[str, float] = MappingProxyType({})

    def prices(self, model: str, at: datetime | None) -> ModelPrices | None:
        return None


def test_a_cost_that_is_unknown_for_want_of_a_price_list_says_how_to_install_it() -> None:
    agent = AgentIdentity(kind=AgentKind.REAL, name=None, version=None, model="gpt-4o")
    records = [_changed(record, cost=UNKNOWN_COST, agent=agent, duration_seconds=None) for record in experiment(0.25)]
    located = [LocatedRecord(record, "records", number) for number, record in enumerate(records, start=1)]
    evidence = gather(located, prices=PriceTables(NotInstalled()))

    (verdict,) = decide_by_evidence([compare_arms(evidence, "old", "new")], evidence_settings())

    details = {gate.name: gate.detail for gate in verdict.gates}
    assert "have no cost_usd (" in details["cost"]
    assert "the price list is not installed: install it" in details["cost"]
    assert "price list" not in details["duration"]


def test_every_gate_shows_an_interval_around_its_estimate() -> None:
    for gate in decide(experiment(0.25, speed=0.9)).gates:
        assert gate.evidence is not None
        low, effect, high = gate.evidence.low, gate.evidence.effect, gate.evidence.high
        assert low is not None
        assert effect is not None
        assert high is not None
        assert low < effect < high


def test_the_fixed_suite_needs_two_runs_of_every_task() -> None:
    verdict = decide(experiment(0.3, repeats=1), fixed_suite=True)

    assert verdict.decision is Decision.INCONCLUSIVE
    assert "at least 2 runs" in verdict.reasons[0]


def test_a_sequential_verdict_asks_for_more_evidence_than_a_single_look() -> None:
    once, always = decide(experiment(0.1)), decide(experiment(0.1), planned_tasks=40)

    assert once.gates[0].evidence is not None
    assert always.gates[0].evidence is not None
    assert (always.gates[0].evidence.p_values["superior"] or 0) > (once.gates[0].evidence.p_values["superior"] or 0)
    assert always.settings["sequential"] is True


def test_many_candidates_are_decided_together() -> None:
    records = experiment(0.25, speed=0.9)
    third = [
        _changed(record, trial=msgspec.structs.replace(record.trial, arm="third"), run_id=f"third/{index}")
        for index, record in enumerate(records)
        if _arm(record) == "old"
    ]
    evidence = evidence_of(records, third)

    verdicts = decide_by_evidence(
        [compare_arms(evidence, "old", name) for name in ("new", "third")], evidence_settings()
    )

    assert verdicts[0].decision is Decision.IMPROVED
    assert verdicts[1].decision is not Decision.IMPROVED


def test_margins_and_gates_are_stored_with_the_verdict() -> None:
    verdict = decide(experiment(0.3), gates=["pass_rate", "duration"], margins={"duration": 0.2})

    assert verdict.settings["gates"] == ["pass_rate", "duration"]
    assert verdict.settings["margins"] == {"pass_rate": 0.05, "duration": 0.2}


@pytest.mark.parametrize(
    "settings",
    [
        {"gates": ["pas_rate"]},
        {"gates": ["cost", "cost"]},
        {"margins": {"duration": 0.0}},
        {"margins": {"duration": -0.1}},
        {"margins": {"duration": float("nan")}},
        {"margins": {"pass_rate": 1.0}},
        {"margins": {"speed": 0.1}},
        {"gates": ["pass_rate"], "margins": {"cost": 0.1}},
        {"fixed_suite": True, "planned_tasks": 40},
    ],
)
def test_settings_that_make_no_sense_are_refused(settings: dict[str, Any]) -> None:
    with pytest.raises(UsageError):
        evidence_settings(**settings)


def test_a_run_lost_to_infrastructure_is_missing_not_failed_and_bounds_are_given() -> None:
    records = experiment(0.25, speed=0.9)
    lost = [
        _changed(record, status=Status.INFRA_ERROR) if (_task(record), _repeat(record)) == ("task-3", 1) else record
        for record in records
    ]

    sensitivity = decide(lost).sensitivity

    assert sensitivity is not None
    assert sensitivity.missing_runs == 2
    assert sensitivity.if_missing_helped is Decision.IMPROVED


def test_lost_runs_that_could_turn_a_gain_forbid_it_and_say_so() -> None:
    records = experiment(0.1, speed=0.95, tasks=60)
    assert decide(records).decision is Decision.IMPROVED
    lost = [_changed(record, status=Status.INFRA_ERROR) if _repeat(record) == 5 else record for record in records]

    verdict = decide(lost)

    assert verdict.decision is Decision.INCONCLUSIVE
    assert "600 runs are expected, and these values are unknown: 120 of pass_rate" in verdict.reasons[0]
    assert verdict.reasons[0] in verdict.blockers


def test_the_margins_over_which_a_decision_holds_contain_the_margin_used() -> None:
    sensitivity = decide(experiment(0.25, speed=0.9)).sensitivity

    assert sensitivity is not None
    for low, high in sensitivity.margins.values():
        assert low <= 0.05 <= high


def test_company_is_no_excuse_for_a_loss() -> None:
    records = experiment(-0.25, speed=0.7)
    decoys = [
        _changed(record, trial=msgspec.structs.replace(record.trial, arm=f"decoy-{copy}"), run_id=f"{copy}/{index}")
        for copy in range(10)
        for index, record in enumerate(records)
        if _arm(record) == "old"
    ]
    evidence = evidence_of(records, decoys)
    candidates = ["new", *(f"decoy-{copy}" for copy in range(10))]

    verdicts = decide_by_evidence([compare_arms(evidence, "old", name) for name in candidates], evidence_settings())

    assert verdicts[0].decision is Decision.REGRESSED


def test_a_loss_of_passes_is_seen_whatever_the_gates() -> None:
    verdict = decide(experiment(-0.3, speed=0.6), gates=["duration"])

    assert verdict.decision is Decision.REGRESSED
    assert "pass_rate got worse" in verdict.reasons[0]


def test_gates_without_the_pass_rate_never_promote() -> None:
    verdict = decide(experiment(0.2, speed=0.6), gates=["duration"])

    assert verdict.decision is Decision.IMPROVED
    assert any("pass_rate is not a gate" in blocker for blocker in verdict.blockers)


def test_keeping_only_the_best_repeats_of_one_arm_does_not_promote() -> None:
    records = experiment(0.0, repeats=10)
    kept: list[RunRecord] = []
    for record in sorted(records, key=lambda record: not (record.checks or (a_check(),))[0].passed):
        same = [other for other in kept if (_task(other), _arm(other)) == (_task(record), _arm(record))]
        if _arm(record) == "old" or len(same) < 5:
            kept.append(record)

    verdict = decide(kept)

    assert any("that the other arm has a record of" in blocker for blocker in verdict.blockers)
    assert verdict.decision is Decision.INCONCLUSIVE
    assert "200 of pass_rate" in verdict.reasons[0]


def test_failures_relabelled_as_infrastructure_and_retried_do_not_promote() -> None:
    records = experiment(0.0)
    laundered = [
        _changed(record, attempt=2, checks=(a_check(),))
        if _arm(record) == "new" and not (record.checks or (a_check(),))[0].passed
        else record
        for record in records
    ]

    assert any("including retried ones" in blocker for blocker in decide(laundered).blockers)


def test_timeouts_are_failures_of_their_task() -> None:
    records = experiment(0.3, tasks=40, repeats=10)
    timed_out = [
        _changed(record, status=Status.TIMEOUT, checks=None)
        if (_arm(record), _task(record)) == ("new", "task-7")
        else (_changed(record, checks=(a_check(),)) if _task(record) == "task-7" else record)
        for record in records
    ]

    verdict = decide(timed_out)

    assert verdict.decision is Decision.REGRESSED
    assert [item.task_id for item in verdict.regressions] == ["task-7"]
    assert verdict.sensitivity is not None
    assert "task-7" in verdict.sensitivity.tasks_that_decide


def test_a_sequential_verdict_does_not_take_families_for_tasks() -> None:
    verdict = decide(in_families(experiment(0.25), 10), planned_tasks=40)

    assert verdict.decision is Decision.INCONCLUSIVE
    assert "come in families" in verdict.reasons[0]


def test_perfect_tasks_of_few_families_show_little() -> None:
    perfect = [_changed(record, checks=(a_check(),)) for record in experiment(0.0, speed=0.8, tasks=70)]

    assert decide(perfect).decision is Decision.IMPROVED
    assert decide(in_families(perfect, 6)).decision is Decision.INCONCLUSIVE


def test_one_family_is_all_the_verdict_speaks_of() -> None:
    assert any("family 'repo-0' only" in w or "'repo-0'" in w for w in decide(in_families(experiment(0.2), 1)).warnings)


def test_one_task_under_two_names_does_not_promote() -> None:
    records = [_changed(record, task_checksum="same") for record in experiment(0.25, speed=0.9)]

    assert any("duplicates another task" in blocker for blocker in decide(records).blockers)


def test_a_task_without_a_duration_is_named_and_blocks_the_promotion() -> None:
    records = [
        _changed(record, duration_seconds=0.0) if (_task(record), _repeat(record)) == ("task-3", 1) else record
        for record in experiment(0.25, speed=0.9)
    ]

    verdict = decide(records)

    assert any("cannot be compared on task 'task-3'" in warning for warning in verdict.warnings)
    assert any("leaves out task 'task-3'" in blocker for blocker in verdict.blockers)


def test_costs_from_different_sources_are_not_gated() -> None:
    metered = Cost(usd=0.05, provenance=CostProvenance.METERED, price_table=None)
    records = [_changed(record, cost=metered) if _arm(record) == "new" else record for record in experiment(0.3)]

    assert "different sources" in decide(records).gates[3].detail


def test_a_partly_known_cost_stays_a_gate_and_is_unknown() -> None:
    records = [
        _changed(record, cost=UNKNOWN_COST) if _arm(record) == "new" and _repeat(record) == 1 else record
        for record in experiment(0.3)
    ]

    assert decide(records).gates[3].state is GateState.UNKNOWN


def test_a_wide_margin_is_remarked_on() -> None:
    assert any("is wide" in warning for warning in decide(experiment(0.0), margins={"pass_rate": 0.3}).warnings)


def test_a_verdict_says_what_it_speaks_of() -> None:
    assert decide(experiment(0.2)).reasons[-1] == (
        "applies to tasks like these 40, run by the same agents and models; valid for one look at the data"
    )
    assert decide(experiment(0.2), fixed_suite=True).reasons[-1].startswith("applies to these 40 tasks only, run again")
    assert decide(experiment(0.2), planned_tasks=40).reasons[-1].endswith("valid however often you look")


def test_what_counting_needs_is_counted() -> None:
    perfect = [_changed(record, checks=(a_check(),)) for record in experiment(0.0, tasks=70)]
    one_lost = [
        _changed(record, checks=(a_check(passed=False),))
        if (_task(record), _arm(record), _repeat(record)) == ("task-3", "new", 1)
        else record
        for record in perfect
    ]

    needs = decide(one_lost, gates=["pass_rate"]).needs

    assert needs is not None
    assert needs.more_tasks is not None
    assert 93 - 70 < needs.more_tasks < 100, "93 would do without another loss, and one in 70 tasks has one"


def in_families(records: list[RunRecord], families: int) -> list[RunRecord]:
    return [
        _changed(record, family=f"repo-{int(record.trial.task_id.removeprefix('task-')) % families}")
        for record in records
    ]


def _arm(record: RunRecord) -> str:
    return record.trial.arm


def _task(record: RunRecord) -> str:
    return record.trial.task_id


def _repeat(record: RunRecord) -> int:
    return record.trial.repeat


def _changed(record: RunRecord, **fields: Any) -> RunRecord:
    return msgspec.structs.replace(record, **fields)


def test_only_a_sequential_verdict_over_families_is_refused() -> None:
    refusal = "a sequential verdict counts tasks, and these come in families; decide once, without --sequential"
    records = experiment(0.25)

    reasons = {
        (families, planned): refusal
        in decide(in_families(records, 10) if families else records, planned_tasks=planned).reasons
        for families in (False, True)
        for planned in (None, 40)
    }

    assert reasons == {(False, None): False, (False, 40): False, (True, None): False, (True, 40): True}


def test_a_task_that_no_arm_has_a_counted_run_of_is_not_missing_from_the_candidate() -> None:
    lost = [a_run("lost", arm, repeat, status=Status.INFRA_ERROR) for arm in ("old", "new") for repeat in (1, 2)]

    assert decide([*experiment(0.25), *lost]).regressions == ()
