"""Nothing but improved, complete, real and unchanged is ever promoted."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from outweigh.model.run_record import AgentKind
from outweigh.verdict.decision import Decision, Regression, RegressionKind, Verdict
from outweigh.verdict.promotion import PromotionArm, PromotionState, promotion_refusals

EVIDENCE, OTHER = "a" * 64, "b" * 64
REGRESSION = Regression(kind=RegressionKind.MISSING_TASK, task_id="t", detail="gone")
VERDICT = Verdict(
    policy="evidence",
    decision=Decision.IMPROVED,
    seed_wording="",
    reasons=(),
    warnings=(),
    gates=(),
    regressions=(),
    blockers=(),
    needs=None,
    settings={},
    evidence_sha256=EVIDENCE,
)


def an_arm(name: str, fingerprint: str, **facts: Any) -> PromotionArm:
    sound = PromotionArm(
        name=name,
        fingerprint=fingerprint,
        run_fingerprints=frozenset({fingerprint}),
        agent_kinds=frozenset({AgentKind.REAL}),
        lost=(),
    )
    return replace(sound, **facts)


BASELINE, CANDIDATE = an_arm("old", "1"), an_arm("new", "2")
SOUND = PromotionState(
    verdict=VERDICT,
    evidence_sha256=EVIDENCE,
    shown_sha256=None,
    arms=(BASELINE, CANDIDATE),
    never_run=(),
    changed_files=1,
    besides_files=(),
    moved_candidate=(),
    moved_base=(),
)

some_names = st.just(()) | st.lists(st.sampled_from(["CLAUDE.md", ".mcp.json"]), max_size=2).map(tuple)
hashes = st.sampled_from([EVIDENCE, OTHER])
fingerprints = st.frozensets(st.sampled_from(["1", "2", "3", None]), max_size=3)
verdicts = st.builds(
    lambda decision, regressions, blockers, evidence: replace(
        VERDICT, decision=decision, regressions=regressions, blockers=blockers, evidence_sha256=evidence
    ),
    st.sampled_from(Decision),
    st.sampled_from([(), (REGRESSION,)]),
    st.sampled_from([(), ("too few repeats",)]),
    hashes,
)
arms = st.builds(
    PromotionArm,
    name=st.just("arm"),
    fingerprint=st.sampled_from(["1", "2"]),
    run_fingerprints=fingerprints,
    agent_kinds=st.frozensets(st.sampled_from(AgentKind), max_size=3),
    lost=some_names,
)
standings = st.builds(
    PromotionState,
    verdict=verdicts | st.just(VERDICT),
    evidence_sha256=hashes,
    shown_sha256=st.none() | hashes,
    arms=st.tuples(arms | st.just(BASELINE), arms | st.just(CANDIDATE)),
    never_run=some_names,
    changed_files=st.integers(min_value=0, max_value=2),
    besides_files=some_names,
    moved_candidate=some_names,
    moved_base=some_names,
)


def is_improved(standing: PromotionState) -> bool:
    verdict = standing.verdict
    return verdict.decision is Decision.IMPROVED and not verdict.regressions and not verdict.blockers


def is_complete(standing: PromotionState) -> bool:
    lost = any(arm.lost or not arm.agent_kinds for arm in standing.arms)
    return not standing.never_run and not lost and standing.changed_files > 0 and not standing.besides_files


def is_real(standing: PromotionState) -> bool:
    return all(kind is AgentKind.REAL for arm in standing.arms for kind in arm.agent_kinds)


def is_unchanged(standing: PromotionState) -> bool:
    now = standing.evidence_sha256
    same = standing.verdict.evidence_sha256 == now and standing.shown_sha256 in (None, now)
    tested = all(arm.run_fingerprints == {arm.fingerprint} for arm in standing.arms)
    return same and tested and not standing.moved_base and not standing.moved_candidate


def test_a_sound_standing_promotes() -> None:
    assert promotion_refusals(SOUND) == ()
    assert promotion_refusals(replace(SOUND, shown_sha256=EVIDENCE)) == ()


@given(standings)
def test_nothing_outside_of_improved_complete_real_unchanged_ever_promotes(standing: PromotionState) -> None:
    sound = is_improved(standing) and is_complete(standing) and is_real(standing) and is_unchanged(standing)

    assert (promotion_refusals(standing) == ()) == sound


@pytest.mark.parametrize(
    ("facts", "said"),
    [
        ({"verdict": replace(VERDICT, decision=Decision.NEUTRAL)}, "neutral, not improved"),
        ({"verdict": replace(VERDICT, regressions=(REGRESSION,))}, "missing_task on task 't'"),
        ({"verdict": replace(VERDICT, blockers=("too few repeats",))}, "too few repeats"),
        ({"evidence_sha256": OTHER}, "have changed since the verdict"),
        ({"shown_sha256": OTHER}, "not those of the verdict that --evidence names"),
        ({"arms": (BASELINE, replace(CANDIDATE, run_fingerprints=frozenset({"2", None})))}, "another configuration"),
        ({"arms": (BASELINE, replace(CANDIDATE, agent_kinds=frozenset(AgentKind)))}, "replayed and scripted agents"),
        ({"arms": (replace(BASELINE, agent_kinds=frozenset()), CANDIDATE)}, "old has no runs"),
        ({"arms": (replace(BASELINE, lost=("transcript of r",)), CANDIDATE)}, "missing or damaged ('transcript of r')"),
        ({"never_run": ("task-1",)}, "'task-1' has not been run"),
        ({"changed_files": 0}, "changes no file"),
        ({"besides_files": ("model",)}, "more than files: 'model'"),
        ({"moved_candidate": ("CLAUDE.md",)}, "no longer what was tested: 'CLAUDE.md'"),
        ({"moved_base": ("CLAUDE.md",)}, "tested against: 'CLAUDE.md'"),
    ],
)
def test_every_refusal_says_why(facts: dict[str, Any], said: str) -> None:
    (reason,) = promotion_refusals(replace(SOUND, **facts))

    assert said in reason


def test_a_refusal_names_five_of_many_tasks() -> None:
    (refusal,) = promotion_refusals(replace(SOUND, never_run=tuple(f"task-{number}" for number in range(7))))

    assert "'task-4'" in refusal
    assert "'task-5'" not in refusal
