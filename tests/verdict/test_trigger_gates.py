"""The gates trigger_recall and false_triggers: over trigger cases alone, beside other tasks, and unknown where runs are
silent.
"""

from collections.abc import Sequence
from itertools import product
from pathlib import Path
from random import Random
from typing import Any

import pytest
from tests.cli.stores import write_store
from tests.compare.test_trigger_outcomes import a_trigger_run, loaded

from outweigh.model.run_record import RunRecord
from outweigh.testing.builders import a_run
from outweigh.verdict.decision import Decision, Gate, GateState, Verdict
from outweigh.verdict.trigger_gates import hold_to_triggers

BOTH = "pass_rate,trigger_recall,false_triggers"


def case_runs(arm: str, recall: int, *, false: int = 0, cases: int = 20) -> list[RunRecord]:
    """Twenty cases of each kind with ten runs; of each, so many fire where they should, and where they should not."""
    return [
        a_trigger_run(f"{kind}-{case:02d}", ["notes"] if repeat <= fired else [], repeat, arm=arm)
        for kind, fired in (("fires", recall), ("ignores", false))
        for case in range(cases)
        for repeat in range(1, 11)
    ]


def task_runs(arm: str, passed: float, seed: int) -> list[RunRecord]:
    random = Random(seed)
    return [
        a_run(
            f"task-{number}",
            arm,
            repeat,
            passed=random.random() < passed,
            duration_seconds=60 + random.random(),
        )
        for number in range(30)
        for repeat in (1, 2, 3)
    ]


def decide(outweigh: Any, folder: Path, runs: Sequence[RunRecord], *options: str) -> dict[str, Any]:
    store = write_store(folder / "store", runs, ["old", "new"])
    answer: dict[str, Any] = outweigh("verdict", store, "--format", "json", *options).json()
    return answer


def states(verdict: dict[str, Any]) -> dict[str, str]:
    return {gate["name"]: gate["state"] for gate in verdict["gates"]}


class TestOverTriggerCasesAlone:
    def test_both_are_gates_by_default_and_a_better_description_is_an_improvement_that_does_not_promote(
        self, outweigh: Any, tmp_path: Path
    ) -> None:
        verdict = decide(outweigh, tmp_path, [*case_runs("old", 4), *case_runs("new", 9)])

        assert verdict["decision"] == "improved"
        assert states(verdict) == {"trigger_recall": "holds", "false_triggers": "holds"}
        assert {gate["name"]: (gate["baseline"], gate["candidate"]) for gate in verdict["gates"]} == {
            "trigger_recall": (pytest.approx(0.4), pytest.approx(0.9)),
            "false_triggers": (1.0, 1.0),
        }
        assert verdict["may_promote"] is False
        assert any("not if it helps" in blocker for blocker in verdict["blockers"])

    def test_more_false_triggers_are_a_regression_whatever_the_recall(self, outweigh: Any, tmp_path: Path) -> None:
        verdict = decide(outweigh, tmp_path, [*case_runs("old", 4), *case_runs("new", 9, false=5)])

        assert verdict["decision"] == "regressed"
        assert states(verdict)["false_triggers"] == "worse"

    def test_a_skill_that_one_arm_does_not_have_leaves_the_gates_unknown(self, outweigh: Any, tmp_path: Path) -> None:
        without = [
            a_trigger_run(run.trial.task_id, (), run.trial.repeat, arm="old", loaded=loaded(("other",), ()))
            for run in case_runs("new", 9)
        ]
        verdict = decide(outweigh, tmp_path, [*without, *case_runs("new", 9)])

        assert verdict["decision"] == "inconclusive"
        assert states(verdict) == {"trigger_recall": "unknown", "false_triggers": "unknown"}
        assert "was not told about the skill" in verdict["reasons"][0]

    def test_too_few_cases_of_one_kind_leave_its_gate_unknown(self, outweigh: Any, tmp_path: Path) -> None:
        runs = [
            run
            for arm in ("old", "new")
            for run in case_runs(arm, 9)
            if not run.trial.task_id.startswith("ignores") or run.trial.task_id < "ignores-04"
        ]
        verdict = decide(outweigh, tmp_path, runs)

        assert states(verdict)["false_triggers"] == "unknown"
        assert verdict["decision"] == "inconclusive"


class TestBesideOtherTasks:
    def test_runs_of_trigger_cases_change_nothing_unless_their_gates_are_named(
        self, outweigh: Any, tmp_path: Path
    ) -> None:
        tasks = [*task_runs("old", 0.3, 1), *task_runs("new", 0.9, 2)]
        (tmp_path / "one").mkdir()
        (tmp_path / "two").mkdir()
        plain = decide(outweigh, tmp_path / "one", tasks, "--gates", "pass_rate")
        cases = [*case_runs("old", 9), *case_runs("new", 1)]
        beside = decide(outweigh, tmp_path / "two", [*tasks, *cases], "--gates", "pass_rate")

        assert beside["gates"] == plain["gates"]
        assert (beside["decision"], beside["evidence_sha256"] != plain["evidence_sha256"]) == ("improved", True)
        assert any("runs of trigger cases" in warning for warning in beside["warnings"])

    @pytest.mark.parametrize(
        ("recall", "decision", "state"),
        [((9, 9), "improved", "holds"), ((9, 1), "regressed", "worse")],
        ids=["holds", "worse"],
    )
    def test_a_named_gate_can_take_an_improvement_back(
        self, outweigh: Any, tmp_path: Path, recall: tuple[int, int], decision: str, state: str
    ) -> None:
        tasks = [*task_runs("old", 0.3, 1), *task_runs("new", 0.9, 2)]
        runs = [*tasks, *case_runs("old", recall[0]), *case_runs("new", recall[1])]
        verdict = decide(outweigh, tmp_path, runs, "--gates", BOTH)

        assert verdict["decision"] == decision
        assert states(verdict)["trigger_recall"] == state
        assert set(states(verdict)) == set(BOTH.split(","))

    def test_a_named_gate_without_a_case_is_unknown_and_nothing_is_improved(
        self, outweigh: Any, tmp_path: Path
    ) -> None:
        tasks = [*task_runs("old", 0.3, 1), *task_runs("new", 0.9, 2)]
        verdict = decide(outweigh, tmp_path, tasks, "--gates", BOTH)

        assert verdict["decision"] == "inconclusive"
        assert states(verdict)["trigger_recall"] == "unknown"

    def test_their_gates_alone_decide_over_their_cases_alone(self, outweigh: Any, tmp_path: Path) -> None:
        tasks = [*task_runs("old", 0.9, 1), *task_runs("new", 0.3, 2)]
        verdict = decide(
            outweigh,
            tmp_path,
            [*tasks, *case_runs("old", 4), *case_runs("new", 9)],
            *("--gates", "trigger_recall,false_triggers"),
        )

        assert (verdict["decision"], verdict["may_promote"]) == ("improved", False)


def a_verdict(decision: Decision, *gates: GateState) -> Verdict:
    return Verdict(
        policy="evidence",
        decision=decision,
        seed_wording=decision.value,
        reasons=(),
        warnings=(),
        gates=tuple(
            Gate(name="trigger_recall", state=state, baseline=None, candidate=None, detail="", evidence=None)
            for state in gates
        ),
        regressions=(),
        blockers=(),
        needs=None,
        settings={},
        evidence_sha256="0",
    )


def test_trigger_cases_beside_tasks_never_make_an_improvement() -> None:
    for main, cases, state in product(Decision, Decision, GateState):
        held = hold_to_triggers(a_verdict(main, GateState.HOLDS), a_verdict(cases, state)).decision
        if held in (Decision.IMPROVED, Decision.NEUTRAL, Decision.TRADE_OFF):
            assert (held, state) == (main, GateState.HOLDS)
            assert cases is not Decision.REGRESSED
