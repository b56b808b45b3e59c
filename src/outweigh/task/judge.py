"""Who judges runs, as a suite writes it down."""

from hashlib import sha256
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from outweigh.task.spec import Dollars, Name, Seconds, Spec

Passes = Annotated[int, Meta(ge=1, le=5)]
Tokens = Annotated[int, Meta(ge=100, le=1_000_000)]

PLACES = ("base_url", "key", "program")
"""Options that say where a judge is found. It is the same judge wherever that is."""


class JudgeSpec(Spec, frozen=True, kw_only=True):
    """One judge: a model behind a backend, how often it is asked, and what it may take.

    Every run is judged `passes` times. Where `most_passes` is larger, the judge is asked again while its answers
    disagree or it is not sure. `minimum_alpha` is the agreement with human labels that it must have shown before its
    scores may decide anything. `retries` are for an answer that cannot be used.
    """

    name: Name
    backend: Name
    model: Name | None = None
    passes: Passes = 1
    most_passes: Passes | None = None
    consensus: Literal["mean", "median", "confidence"] = "mean"
    minimum_alpha: Annotated[float, Meta(ge=-1, le=1)] | None = None
    budget_usd: Dollars | None = None
    timeout_seconds: Seconds = 300.0
    retries: Annotated[int, Meta(ge=0, le=10)] = 2
    diff_tokens: Tokens = 16_000
    transcript_tokens: Tokens = 8_000
    options: dict[str, Any] = {}  # noqa: RUF012 - msgspec copies defaults

    def __post_init__(self) -> None:
        """More passes cannot be fewer."""
        if self.most_passes is not None and self.most_passes < self.passes:
            raise ValueError(f"judge {self.name!r}: `most_passes` is less than `passes`")

    @property
    def setting_sha256(self) -> str:
        """A hash of what makes its answers what they are, beside model, rubric and the words of the question."""
        options = {key: value for key, value in self.options.items() if key not in PLACES}
        setting = [self.backend, self.diff_tokens, self.transcript_tokens, options]
        return sha256(msgspec.json.encode(setting, order="sorted")).hexdigest()
