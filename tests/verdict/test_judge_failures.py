"""A judge that fails changes no verdict towards improved: few of its answers are filled in, more are unknown."""

from collections.abc import Callable, Sequence
from typing import Any

import msgspec
import numpy as np
import pytest
from numpy.random import Generator

from outweigh.compare.comparison import Comparison, compare_arms
from outweigh.model.judgment import Judgment
from outweigh.model.run_record import RunRecord
from outweigh.score.composite import EVEN, OBJECTIVE_FIRST, Profile
from outweigh.score.judge_scores import MOST_PASSES, JudgeRule, JudgeRules, wants_another_pass
from outweigh.testing.builders import a_check, a_judgment, a_run, evidence_of
from outweigh.verdict.decision import Decision
from outweigh.verdict.policy import decide

HOPE = {Decision.REGRESSED: 0, Decision.INCONCLUSIVE: 0, Decision.NEUTRAL: 1, Decision.IMPROVED: 2}
"""How far a decision lets a candidate come. Inconclusive lets it come no further than regressed does."""

FIXED = JudgeRules(rules={"a": JudgeRule(passes=2), "b": JudgeRule(passes=1)})
ADAPTIVE = JudgeRules(rules={"a": JudgeRule(passes=2, most_passes=MOST_PASSES), "b": JudgeRule(passes=1)})

Failing = Callable[[Judgment], Judgment | None]


def lost(_: Judgment) -> None:
    return None


def refused(judgment: Judgment) -> Judgment:
    return msgspec.structs.replace(judgment, invalid_reason="refused", criteria=())


def passes_of(run: RunRecord, judge: str, rule: JudgeRule, centre: float, rng: Generator) -> list[Judgment]:
    """What an honest engine records: as many passes as the rule asks for."""
    answers: list[Judgment] = []
    while len(answers) < rule.passes or (rule.most_passes is not None and wants_another_pass(answers)):
        score = float(np.clip(rng.normal(centre, 0.2), 0, 1))
        answers.append(a_judgment(run, score, judge=judge, pass_index=len(answers) + 1, confidence=0.9))
    return answers


def an_experiment(rng: Generator, judge_rules: JudgeRules) -> tuple[list[RunRecord], list[Judgment]]:
    lift, check = rng.normal(0.1, 0.15), a_check("style", passed=False, required=False)
    runs, judgments = list[RunRecord](), list[Judgment]()
    for task in range(1, 7):
        for arm, shift in (("old", 0.0), ("new", lift)):
            for repeat in (1, 2):
                extra: dict[str, Any] = {"checks": (a_check(), check)} if rng.uniform() < 0.3 else {}
                run = a_run(f"task-{task}", arm, repeat, duration_seconds=float(rng.uniform(50, 70)), **extra)
                runs.append(run)
                for judge, rule in judge_rules.rules.items():
                    judgments += passes_of(run, judge, rule, 0.6 + shift, rng)
    return runs, judgments


def compared(
    runs: Sequence[RunRecord], judgments: Sequence[Judgment], judge_rules: JudgeRules, profile: Profile
) -> Comparison:
    return compare_arms(evidence_of(runs, judgments, judge_rules=judge_rules), "old", "new", profile)


@pytest.mark.parametrize("profile", [OBJECTIVE_FIRST, EVEN], ids=lambda profile: profile.name)
@pytest.mark.parametrize("judge_rules", [FIXED, ADAPTIVE], ids=["fixed passes", "adaptive passes"])
@pytest.mark.parametrize("side", ["old", "new"])
@pytest.mark.parametrize("failing", [lost, refused])
def test_a_failure_on_one_side_never_helps_the_candidate(
    failing: Failing, side: str, judge_rules: JudgeRules, profile: Profile
) -> None:
    changed = 0
    for seed in range(12):
        rng = np.random.default_rng(seed)
        runs, judgments = an_experiment(rng, judge_rules)
        share = rng.choice([0.2, 0.5, 1.0])
        mine = {run.run_id for run in runs if run.trial.arm == side}
        kept = [
            failing(judgment) if judgment.run_id in mine and rng.uniform() < share else judgment
            for judgment in judgments
        ]
        whole = compared(runs, judgments, judge_rules, profile)
        broken = compared(runs, [judgment for judgment in kept if judgment is not None], judge_rules, profile)
        for policy in ("gates", "composite", "evidence"):
            (before,), (after,) = decide([whole], policy, {}), decide([broken], policy, {})
            assert HOPE[after.decision] <= HOPE[before.decision], (policy, seed)
            changed += after.decision is not before.decision

    # The failures do reach decisions; else nothing would be shown here.
    assert changed


@pytest.mark.parametrize("profile", [OBJECTIVE_FIRST, EVEN], ids=lambda profile: profile.name)
@pytest.mark.parametrize("side", ["old", "new"])
@pytest.mark.parametrize("judge", ["a", "b"])
def test_an_answer_of_judges_who_differ_by_a_constant_is_lost_without_changing_any_verdict(
    judge: str, side: str, profile: Profile
) -> None:
    for seed in range(6):
        rng = np.random.default_rng(seed)
        runs = [a_run(f"task-{task}", arm, repeat) for task in range(6) for arm in ("old", "new") for repeat in (1, 2)]
        merit = {run.run_id: float(rng.uniform(0.1, 0.6)) for run in runs}
        judged = [
            a_judgment(run, merit[run.run_id] + level, judge=name)
            for run in runs
            for name, level in (("a", 0.0), ("b", 0.3))
        ]
        unlucky = rng.choice([run.run_id for run in runs if run.trial.arm == side])
        kept = [one for one in judged if (one.run_id, one.judge.name) != (unlucky, judge)]

        whole, torn = (compared(runs, answers, JudgeRules(), profile) for answers in (judged, kept))

        for policy in ("gates", "composite", "evidence"):
            (before,), (after,) = decide([whole], policy, {}), decide([torn], policy, {})
            assert after.decision is before.decision
            assert after.reasons == before.reasons


def test_the_verdict_says_which_tasks_lack_judgments() -> None:
    before, after = a_run("task-1", "old"), a_run("task-1", "new")
    comparison = compared([before, after], [a_judgment(before, 0.9)], FIXED, OBJECTIVE_FIRST)

    (verdict,) = decide([comparison], "composite", {})

    assert verdict.decision is Decision.INCONCLUSIVE
    assert any("'task-1': its judge scores are unknown" in reason for reason in verdict.reasons)
    assert any("Judge the missing runs" in warning for warning in verdict.warnings)


def test_a_judge_that_judged_nothing_anywhere_is_simply_absent() -> None:
    before = [a_run(f"task-{task}", "old", passed=task > 1) for task in (1, 2)]
    after = [a_run(f"task-{task}", "new") for task in (1, 2)]
    refusals = [refused(a_judgment(run)) for run in (*before, *after)]

    (verdict,) = decide([compared([*before, *after], refusals, FIXED, OBJECTIVE_FIRST)], "composite", {})

    assert verdict.decision is Decision.IMPROVED
