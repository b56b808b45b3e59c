"""The port of judge backends: one question, one answer."""

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

    The answer is to be one JSON object that fits `answer_schema`; `cancel` ends the asking at once.
    """

    judge: JudgeSpec
    system: str
    prompt: str
    answer_schema: Mapping[str, Any]
    timeout_seconds: float
    cancel: Event


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgeAnswer:
    """What came back: a text as the judge wrote it, or why there is none. What it does not say is None, never 0.

    `model` and `version` are who answered, in the backend's own words. A failed answer may have cost something too.
    """

    text: str | None
    failure: Failure | None
    model: str | None
    version: str | None
    usage: Usage
    cost: Cost


class Judge(Protocol):
    """Puts a question to a model, a program or a person. Whatever goes wrong is an answer with a failure."""

    @property
    def name(self) -> str:
        """The backend's name, as a suite uses it."""

    def missing(self, judge: JudgeSpec) -> str | None:
        """What is missing for this judge to be asked from here, with the way out; None when nothing is."""

    def judge(self, question: JudgeQuestion) -> JudgeAnswer:
        """Ask once."""
