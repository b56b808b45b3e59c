"""The gate on what judges say: only for those who ask, as careful as the others, and never enough to ship."""

from collections import Counter
from typing import Any

import msgspec
import numpy as np
import pytest

from outweigh.compare.comparison import compare_arms
from outweigh.model.judgment import Judgment
from outweigh.model.run_record import RunRecord
from outweigh.score.judge_scores import JudgeRule, JudgeRules
from outweigh.testing.builders import a_check, a_judgment, a_run, evidence_of
from outweigh.verdict.decision import Decision, GateState, Verdict
from outweigh.verdict.evidence_policy import decide_by_evidence
from outweigh.verdict.evidence_rule import apply_rule, examine_candidate
from outweigh.verdict.evidence_settings import GATED_METRICS, evidence_settings
from outweigh.verdict.gate_sample import BENEFIT_ROUNDING, GateSample
from outweigh.verdict.promotion import may_promote

ALONE = ("judge_score",)


def judged(gain: float, *, tasks: int = 12, seed: int = 1, **fields: Any) -> tuple[list[RunRecord], list[Judgment]]:
    """Two arms without any check, whose runs a judge scores around 0.5 and 0.5 + gain."""
    dice = np.random.default_rng(seed)
    runs: list[RunRecord] = []
    answers: list[Judgment] = []
    for task in range(tasks):
        for repeat in range(1, 6):
            for arm, centre in (("old", 0.5), ("new", 0.5 + gain)):
                run = a_run(f"task-{task}", arm, repeat, **({"checks": ()} | fields))
                runs.append(run)
                answers.append(a_judgment(run, float(np.clip(dice.normal(centre, 0.1), 0, 1))))
    return runs, answers


def decide(
    runs: list[RunRecord],
    answers: list[Judgment],
    gates: tuple[str, ...] | None = ALONE,
    judge_rules: JudgeRules | None = None,
) -> Verdict:
    evidence = (
        evidence_of(runs, answers) if judge_rules is None else evidence_of(runs, answers, judge_rules=judge_rules)
    )
    return decide_by_evidence([compare_arms(evidence, "old", "new")], evidence_settings(gates=gates))[0]


@pytest.mark.parametrize(
    ("gain", "decision"), [(0.2, Decision.IMPROVED), (-0.2, Decision.REGRESSED), (0.0, Decision.NEUTRAL)]
)
def test_it_decides_where_no_check_can(gain: float, decision: Decision) -> None:
    verdict = decide(*judged(gain))

    assert verdict.decision is decision
    (gate,) = verdict.gates
    assert gate.name == "judge_score"
    assert gate.baseline == pytest.approx(0.5, abs=0.05)
    assert gate.candidate == pytest.approx(0.5 + gain, abs=0.05)


def test_what_judges_say_never_ships() -> None:
    verdict = decide(*judged(0.3))

    assert verdict.decision is Decision.IMPROVED
    assert not may_promote(verdict, verdict.evidence_sha256)
    assert any("cannot promote by themselves" in reason for reason in verdict.blockers)


def test_nobody_gets_it_without_asking() -> None:
    verdict = decide(*judged(0.3), gates=None)

    assert "judge_score" not in [gate.name for gate in verdict.gates]
    assert verdict.decision is Decision.INCONCLUSIVE
    assert any("decide by judges with --gates judge_score" in reason for reason in verdict.reasons)


def test_without_an_answer_it_is_unknown_and_says_whom_to_ask() -> None:
    verdict = decide(judged(0.3)[0], [])

    assert verdict.decision is Decision.INCONCLUSIVE
    assert verdict.gates[0].state is GateState.UNKNOWN
    assert any("ask them with `outweigh judge`" in reason for reason in verdict.reasons)
    assert not any("--gates judge_score" in reason for reason in verdict.reasons)


def test_a_judge_that_may_not_decide_does_not() -> None:
    runs, answers = judged(0.3)
    strict = JudgeRules(rules={"judge": JudgeRule(passes=1, minimum_alpha=0.667)})

    verdict = decide(runs, answers, judge_rules=strict)

    assert verdict.decision is Decision.INCONCLUSIVE
    assert verdict.gates[0].state is GateState.UNKNOWN


def test_a_lost_answer_takes_its_task_out_on_both_sides() -> None:
    runs, answers = judged(0.3)
    lost = answers[0].run_id
    kept = [answer for answer in answers if answer.run_id != lost]

    verdict = decide(runs, kept)

    assert verdict.decision is Decision.INCONCLUSIVE, "one of twelve tasks is more than the tolerance"
    assert any("have no score of judges that may decide" in reason for reason in verdict.reasons)


def test_a_task_in_twenty_may_lack_an_answer() -> None:
    runs, answers = judged(0.3, tasks=25)
    kept = [answer for answer in answers if answer.run_id != answers[0].run_id]

    verdict = decide(runs, kept)

    assert verdict.decision is Decision.IMPROVED
    assert any("judge_score cannot be compared on task 'task-0'" in warning for warning in verdict.warnings)


def by_two_judges(gain: float, tasks: int = 20) -> tuple[list[RunRecord], list[Judgment]]:
    """The same arms, scored by a strict judge and by one that gives .2 more."""
    runs, strict = judged(gain, tasks=tasks)
    mild = [
        a_judgment(run, min(1.0, float(answer.criteria[0].score or 0) + 0.2), judge="mild")
        for run, answer in zip(runs, strict, strict=True)
    ]
    return runs, [*strict, *mild]


def test_a_few_lost_answers_of_one_of_two_judges_are_filled_in() -> None:
    runs, answers = by_two_judges(0.2)
    lost = {f"task-{task}/{arm}/1" for task in range(4) for arm in ("old", "new")}
    verdict = decide(runs, [answer for answer in answers if answer.judge.name == "mild" or answer.run_id not in lost])

    assert verdict.decision is Decision.IMPROVED
    assert verdict.gates[0].baseline == pytest.approx(0.6, abs=0.05)
    assert any("8 of 200 judged runs (4.0 %) lack an answer" in warning for warning in verdict.warnings)


def test_the_gate_is_unknown_where_a_judge_fails_on_the_candidate_beyond_chance() -> None:
    runs, answers = by_two_judges(0.2)
    lost = {f"task-{task}/new/1" for task in range(8)}
    verdict = decide(runs, [answer for answer in answers if answer.judge.name == "mild" or answer.run_id not in lost])

    assert verdict.decision is Decision.INCONCLUSIVE
    assert verdict.gates[0].state is GateState.UNKNOWN
    assert any("Fisher's exact test" in warning for warning in verdict.warnings)


def test_a_loss_of_passes_is_seen_though_only_judges_are_asked() -> None:
    runs, answers = judged(0.3, checks=a_run().checks)
    failing = a_run(passed=False).checks
    runs = [msgspec.structs.replace(run, checks=failing) if run.trial.arm == "new" else run for run in runs]

    assert decide(runs, answers).decision is Decision.REGRESSED


def test_runs_without_a_check_are_not_counted_as_missing() -> None:
    verdict = decide(*judged(0.2))

    assert verdict.sensitivity is not None
    assert verdict.sensitivity.missing_runs == 0


@pytest.mark.parametrize("criteria", [1, 3])
@pytest.mark.parametrize("tasks", [6, 12, 30])
def test_identical_arms_are_called_different_no_more_often_than_is_promised(tasks: int, criteria: int) -> None:
    """Scores are shares of met criteria, so that they are coarse and pile up at the ends; 1000 experiments each."""
    dice, experiments = np.random.default_rng(tasks), 1000
    decisions = Counter(
        apply_rule([examine_candidate([_identical(dice, tasks, criteria)])])[0].decision for _ in range(experiments)
    )

    # Three standard errors of the simulation above 2 % and 5 %.
    assert decisions[Decision.IMPROVED] / experiments <= 0.02 + 0.014
    assert decisions[Decision.REGRESSED] / experiments <= 0.05 + 0.021


def _identical(dice: np.random.Generator, tasks: int, criteria: int) -> GateSample:
    ease = np.broadcast_to(dice.uniform(0.2, 0.9, tasks)[:, None], (tasks, 5))
    before, after = (dice.binomial(criteria, ease).mean(axis=1) / criteria for _ in range(2))
    benefits = np.where(np.abs(after - before) < BENEFIT_ROUNDING, 0.0, after - before)
    return GateSample(
        gated=GATED_METRICS["judge_score"],
        margin=0.05,
        tasks=tuple(map(str, range(tasks))),
        benefits=benefits,
        families=None,
        noise=None,
        unknown=None,
    )


def test_a_verdict_without_the_pass_rate_says_when_judges_are_among_those_who_decide() -> None:
    runs, answers = judged(0.2, checks=(a_check(),))

    beside = decide(runs, answers, gates=("judge_score", "duration")).blockers
    without = decide(runs, answers, gates=("duration",)).blockers

    assert any("Judge scores can decide, but cannot promote by themselves." in reason for reason in beside)
    assert not any("Judge scores" in reason for reason in without)
    assert any(reason.startswith("pass_rate is not a gate.") for reason in without)
