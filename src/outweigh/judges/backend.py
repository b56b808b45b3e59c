"""What judge backends share: their options, missing keys, answers and failures, and the wait a service asks for."""

import os
from collections.abc import Mapping
from typing import TypeVar

from outweigh.model.failure import Failure, FailureKind, make_failure
from outweigh.model.source_document import convert_options
from outweigh.model.suite import JudgeSpec
from outweigh.model.usage import NO_USAGE, UNKNOWN_COST, Cost, Usage
from outweigh.ports.judges import JudgeAnswer


def retry_after_seconds(headers: Mapping[str, str]) -> float | None:
    """The seconds of a `retry-after` header; None where it is missing or a date."""
    try:
        wait = float(next((value for name, value in headers.items() if name.lower() == "retry-after"), ""))
    except ValueError:
        return None
    return wait if 0 <= wait < float("inf") else None


OptionsT = TypeVar("OptionsT")


def judge_options(judge: JudgeSpec, kind: type[OptionsT]) -> OptionsT:
    """The judge's options, validated; UsageError names what is wrong."""
    return convert_options(judge.options, kind, ("options",), f"judge {judge.name!r}: ")


def key_missing(judge: JudgeSpec, variable: str) -> str | None:
    """Why a judge has no key; an empty variable means that it needs none."""
    if not variable or os.environ.get(variable):
        return None
    return f"judge {judge.name!r}: {variable} is not in the environment; export it, or name another with options.key."


def answered(
    text: str, *, usage: Usage, model: str | None, version: str | None = None, cost: Cost = UNKNOWN_COST
) -> JudgeAnswer:
    """An answer with text."""
    return JudgeAnswer(text=text, failure=None, model=model, version=version, usage=usage, cost=cost)


def failed_answer(
    reason: Failure,
    *,
    usage: Usage = NO_USAGE,
    model: str | None = None,
    version: str | None = None,
    cost: Cost = UNKNOWN_COST,
) -> JudgeAnswer:
    """An answer without text, and why."""
    return JudgeAnswer(text=None, failure=reason, model=model, version=version, usage=usage, cost=cost)


def truncated_answer(tokens: int | None) -> Failure:
    """The failure of an answer that was cut off at the token limit."""
    limit = "the limit of tokens" if tokens is None else f"the limit of {tokens:,} tokens (options.max_tokens)"
    return make_failure(FailureKind.NO_RESULT, f"the answer broke off at {limit}")
