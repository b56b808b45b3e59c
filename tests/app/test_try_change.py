"""What `outweigh try` says where the history of a repository gives too few tasks."""

from datetime import UTC, datetime

from outweigh.app.try_change import explain_few_tasks
from outweigh.mining.journal import CandidateState, MinedCandidate


def failed(fix: str, reason: str, detail: str = "") -> MinedCandidate:
    return MinedCandidate(
        fix=fix,
        state=CandidateState.FAILED,
        settings="usual",
        date=datetime(2026, 1, 1, tzinfo=UTC),
        seconds=1.0,
        reason=reason,
        detail=detail,
    )


def test_the_commonest_reason_is_quoted_with_what_was_seen() -> None:
    said = explain_few_tasks(
        0,
        [
            failed("a1", "its tests take too long", "after 600 s"),
            failed("b2", "its dependencies cannot be installed"),
            failed("c3", "its dependencies cannot be installed", "uv is not installed; run `pip install uv`."),
        ],
    )

    assert "its dependencies cannot be installed (2 of them); its tests take too long (1 of them)." in said
    assert "The first of these ended with: uv is not installed; run `pip install uv`." in said
    assert "after 600 s" not in said


def test_where_nothing_was_seen_only_the_reasons_are_named() -> None:
    said = explain_few_tasks(1, [failed("a1", "its tests pass before the change")])

    assert said.startswith("the history gives 1 task, and at least 2 are needed. Others were refused: its tests pass")
    assert "ended with" not in said
