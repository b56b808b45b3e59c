"""A question to a judge that cannot go wrong: no exception, no waiting without end."""

from queue import Empty, SimpleQueue
from threading import Thread
from time import monotonic

from outweigh.ports.judges import Judge, JudgeAnswer, JudgeQuestion
from outweigh.record.cost import UNKNOWN_COST
from outweigh.record.usage import NO_USAGE
from outweigh.transcript.failure import FailureKind, failure

TICK_SECONDS = 0.2
GRACE_SECONDS = 5.0
"""Backends end by themselves when time is up or nobody waits; one that does not is left behind after this."""


def ask(backend: Judge, question: JudgeQuestion) -> JudgeAnswer:
    """The backend's answer, or a failure: when it breaks, when time is up, when nobody waits any more.

    It works in a thread of its own, which is left behind if it does not return: a socket cannot be interrupted.
    """
    answers: SimpleQueue[JudgeAnswer] = SimpleQueue()
    Thread(target=lambda: answers.put(_ask(backend, question)), name="judge", daemon=True).start()
    deadline = monotonic() + question.timeout_seconds
    while not question.cancel.is_set() and (rest := deadline - monotonic()) > 0:
        try:
            return answers.get(timeout=min(TICK_SECONDS, rest))
        except Empty:
            continue
    try:
        # A program that was started must be ended before we go, and who started it does that.
        return answers.get(timeout=GRACE_SECONDS)
    except Empty:
        return _silence(FailureKind.TIMEOUT, "no answer in time")


def _ask(backend: Judge, question: JudgeQuestion) -> JudgeAnswer:
    try:
        return backend.judge(question)
    except Exception as fault:  # somebody else's backend: its mistakes must not end everybody's judging
        return _silence(
            FailureKind.CRASH, f"the judge backend {backend.name!r} is broken: {type(fault).__name__}: {fault}"
        )


def _silence(kind: FailureKind, detail: str) -> JudgeAnswer:
    return JudgeAnswer(
        text=None, failure=failure(kind, detail), model=None, version=None, usage=NO_USAGE, cost=UNKNOWN_COST
    )
