"""The port of judge backends: one question in, one answer out."""

from collections.abc import Mapping
from dataclasses import dataclass
from threading import Event
from typing import Any, Protocol

from outweigh.model.failure import Failure
from outweigh.model.suite import JudgeSpec
from outweigh.model.usage import Cost, Usage


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgeQuestion:
    """One question to a judge. `system` is the same for all runs of a task, so that it can be cached.

    The answer should be one JSON object that matches `answer_schema`; setting `cancel` aborts the call.
    """

    judge: JudgeSpec
    system: str
    prompt: str
    answer_schema: Mapping[str, Any]
    timeout_seconds: float
    cancel: Event


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgeAnswer:
    """The judge's text, or why there is none. A value that the backend does not report is None, never 0.

    `model` and `version` identify the judge as the backend names it. A failed call may have a cost, too.
    """

    text: str | None
    failure: Failure | None
    model: str | None
    version: str | None
    usage: Usage
    cost: Cost


class Judge(Protocol):
    """Asks a model, a program or a person. Every error is an answer with a failure, not an exception."""

    @property
    def name(self) -> str:
        """The name that a suite uses."""

    def missing(self, judge: JudgeSpec) -> str | None:
        """What must be installed or set to ask this judge from here; None when it can be asked."""

    def judge(self, question: JudgeQuestion) -> JudgeAnswer:
        """Ask once, without retries."""
