"""Claims about how many attempts run at once under a limit of tokens per minute, by a clock of the test."""

from threading import Event as Signal

import pytest
from tests.engine.test_batch_executor import CountingExecutor, a_plan

from outweigh.engine.batch import Batch, BatchSettings, EndReason
from outweigh.engine.budget import Budget
from outweigh.engine.token_pace import PacedExecutor, TokenPace, TokenUse

NOTHING = TokenUse(tokens={}, held_seconds=0.0)


def used(tokens: int, held: float = 0.0) -> TokenUse:
    return TokenUse(tokens={"anthropic": tokens}, held_seconds=held)


def running(pace: TokenPace, attempts: int, seconds: float) -> None:
    """So many attempts start, and run for so long."""
    for _ in range(attempts):
        pace.note_start(0.0)
    pace.attempts(seconds, NOTHING)


def test_one_attempt_runs_before_anything_is_known() -> None:
    assert TokenPace(10**9).attempts(0.0, NOTHING) == 1


def test_as_many_run_as_the_limit_serves() -> None:
    pace = TokenPace(100_000)
    running(pace, 10, 60.0)  # ten minutes of attempts

    assert pace.attempts(60.0, used(50_000)) == 20


def test_time_in_which_attempts_waited_for_tokens_does_not_make_them_look_frugal() -> None:
    pace = TokenPace(100_000)
    running(pace, 10, 60.0)

    assert pace.attempts(60.0, used(50_000, held=300.0)) == 10


def test_the_provider_that_is_asked_most_decides() -> None:
    pace = TokenPace(100_000)
    running(pace, 10, 60.0)
    use = TokenUse(tokens={"anthropic": 50_000, "openai": 100_000}, held_seconds=0.0)

    assert pace.attempts(60.0, use) == 10


def test_at_least_one_runs_however_much_it_takes() -> None:
    pace = TokenPace(10)
    running(pace, 1, 60.0)

    assert pace.attempts(60.0, used(10**6)) == 1


@pytest.mark.parametrize(("seconds", "allowed"), [(0.0, 1), (29.0, 1), (30.0, 2), (60.0, 3), (600.0, 21)])
def test_what_is_known_of_little_lets_few_start(seconds: float, allowed: int) -> None:
    pace = TokenPace(10**9)
    running(pace, 1, seconds)

    assert pace.attempts(seconds, used(1)) == allowed


def test_attempts_that_have_ended_are_known_whatever_they_took() -> None:
    pace = TokenPace(10**9)
    for _ in range(4):
        pace.note_start(0.0)
    for _ in range(4):
        pace.note_end(0.1)

    assert pace.attempts(0.1, used(4)) == 9


def paced_starts(limit: int | None, per_attempt: int, slots: int = 50, attempts: int = 120) -> list[float]:
    """When attempts of ten seconds start that take so many tokens each."""
    inner = CountingExecutor(slots)
    executor = PacedExecutor(inner, limit, lambda: used(per_attempt * len(inner.starts)), lambda _: None)
    batch = Batch(
        executor=executor,
        settings=BatchSettings(retries=0, first_backoff_seconds=0.0, longest_backoff_seconds=0.0),
        budget=Budget(None, None),
        drain=Signal(),
        listen=lambda _: None,
        take_look=None,
    )
    assert batch.run((planned, 1) for planned in a_plan(attempts)) is EndReason.DONE
    return [at for at, _ in inner.starts]


def most_at_once(starts: list[float]) -> int:
    return max(sum(at <= start < at + 10.0 for start in starts) for at in starts)


def test_a_batch_does_not_start_more_than_the_limit_serves() -> None:
    # 12,000 tokens a minute in attempts of 10 s that take 200 each: ten at once.
    starts = paced_starts(12_000, 200)

    assert most_at_once(starts) in range(8, 13)


def test_a_batch_without_a_limit_uses_all_places() -> None:
    assert most_at_once(paced_starts(None, 200)) == 50


def test_nothing_starts_in_a_pause() -> None:
    inner = CountingExecutor(4)
    paused = TokenUse(tokens={}, held_seconds=0.0, is_paused=True)

    assert PacedExecutor(inner, None, lambda: paused, lambda _: None).slots == 0
    assert PacedExecutor(inner, 10, lambda: paused, lambda _: None).slots == 0
