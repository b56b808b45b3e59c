"""The script of the model, as people write it: conversations of turns, with tokens and errors; reading it from TOML or
JSON; an example.

The turn is found by counting: agents send the whole history with every request, so the third request of a conversation
gets its third turn, however many agents ask at once. Only temporary errors (`times`) are remembered.
"""

import re
from collections.abc import Iterator
from difflib import get_close_matches
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from outweigh.errors import UsageError
from outweigh.model.base import SafeName, Seconds, Spec

Count = Annotated[int, Meta(ge=0, le=10**12)]
Repetitions = Annotated[int, Meta(ge=1, le=10**6)]
Text = Annotated[str, Meta(max_length=1_000_000)]
Glob = Annotated[str, Meta(min_length=1, max_length=500)]
Delay = Annotated[float, Meta(ge=0, le=3600)]

ErrorKind = Literal[
    "rate_limited",
    "overloaded",
    "unauthorized",
    "forbidden",
    "server_error",
    "context_overflow",
    "unknown_model",
    "quota_exhausted",
    "bad_request",
]


class UsageSpec(Spec, frozen=True, kw_only=True):
    """Token counts: input without the prompt cache, output with reasoning. Counts that are not stated are inherited."""

    input_tokens: Count | None = None
    output_tokens: Count | None = None
    cache_read_tokens: Count | None = None
    cache_write_tokens: Count | None = None
    reasoning_tokens: Count | None = None

    def over(self, *others: "UsageSpec") -> "UsageSpec":
        """Each count from the first that states it: this one, the others in order, the defaults."""
        layers = (self, *others, DEFAULT_USAGE)
        names = self.__struct_fields__
        return UsageSpec(
            **{name: next(filter(_is_stated, (getattr(layer, name) for layer in layers))) for name in names}
        )


def _is_stated(count: int | None) -> bool:
    return count is not None


DEFAULT_USAGE = UsageSpec(
    input_tokens=100, output_tokens=10, cache_read_tokens=0, cache_write_tokens=0, reasoning_tokens=0
)
"""The tokens of an answer if the script does not state them."""

NO_USAGE_SPEC = UsageSpec(
    input_tokens=0, output_tokens=0, cache_read_tokens=0, cache_write_tokens=0, reasoning_tokens=0
)
"""No tokens, for what a script does not state of a summary."""


class BillingSpec(Spec, frozen=True, kw_only=True):
    """What an answer states about its bill beside its tokens, in the fields of each provider.

    `searches` are searches that the provider makes itself. `compaction` are the tokens of a summary that the provider
    makes before it answers, which Anthropic does not include in the counts of the message. `cost_usd` is the amount
    that a router says it charged. A protocol leaves out what its provider does not state.
    """

    service_tier: SafeName | None = None
    speed: SafeName | None = None
    region: SafeName | None = None
    searches: Count = 0
    hour_write_tokens: Count = 0
    compaction: UsageSpec | None = None
    cost_usd: Annotated[float, Meta(ge=0, le=1e6)] | None = None


class CallSpec(Spec, frozen=True, kw_only=True):
    """A call of the tool with this name, with exactly these arguments."""

    name: SafeName
    arguments: dict[str, Any] = {}  # noqa: RUF012 - msgspec copies defaults


class ErrorSpec(Spec, frozen=True, kw_only=True):
    """An error of the service, in the format of each provider.

    `kind` stands for the status, type and message that a provider uses; `status`, `type` and `message` override them.
    Without `times` the error is permanent. With it, the error stops after so many requests of one conversation or, if
    it is `shared`, of all conversations together, as the rate limit of an account does.
    """

    kind: ErrorKind | None = None
    status: Annotated[int, Meta(ge=400, le=599)] | None = None
    type: SafeName | None = None
    message: Text | None = None
    retry_after_seconds: Seconds | None = None
    in_stream: bool = False
    times: Repetitions | None = None
    shared: bool = False

    def __post_init__(self) -> None:
        if self.kind is None and self.status is None:
            raise ValueError("an error needs a `kind` or a `status`")


class CutSpec(Spec, frozen=True, kw_only=True):
    """The connection is closed in the middle of the answer, this many times per conversation."""

    times: Repetitions


class Turn(Spec, frozen=True, kw_only=True):
    """One answer of the model. `run` uses whichever shell tool the request offers; a list makes parallel calls.

    The answer begins after `delay_seconds`, and pauses for `stall_seconds` in its middle where it is streamed.
    `answered_by` is the model that the answer names, where that is not the one that was asked. With `score` the text is
    the answer of a judge, who gives every question of the rubric this share of its scale.
    """

    text: Text | None = None
    thinking: Text | None = None
    run: Text | Annotated[list[Text], Meta(min_length=1)] | None = None
    tool_calls: list[CallSpec] = []  # noqa: RUF012
    usage: UsageSpec = UsageSpec()
    billing: BillingSpec = BillingSpec()
    error: ErrorSpec | None = None
    cut: bool | CutSpec = False
    delay_seconds: Delay = 0.0
    stall_seconds: Delay = 0.0
    refuse: bool = False
    truncate: bool = False
    answered_by: Text | None = None
    score: Annotated[float, Meta(ge=0, le=1)] | None = None

    @property
    def commands(self) -> tuple[str, ...]:
        """The shell commands of this turn."""
        return () if self.run is None else (self.run,) if isinstance(self.run, str) else tuple(self.run)

    @property
    def acts(self) -> bool:
        """Whether the turn calls a tool."""
        return bool(self.commands or self.tool_calls)


class When(Spec, frozen=True, kw_only=True):
    """The requests that a conversation is for. Every stated condition must hold, and each stays true throughout a
    conversation.

    `model` is a pattern (`claude-*`), `contains` a part of the prompt (system and first user message), `offers` and
    `lacks` name a tool, `tools` says whether there are any.
    """

    model: Glob | None = None
    protocol: Literal["anthropic", "chat", "responses", "gemini"] | None = None
    contains: Text | None = None
    offers: SafeName | None = None
    lacks: SafeName | None = None
    tools: bool | None = None
    api_key: str | None = None


class Conversation(Spec, frozen=True, kw_only=True):
    """The turns for requests that match `when`. The first conversation that matches is used."""

    name: SafeName | None = None
    when: When = When()
    turn: Annotated[list[Turn], Meta(min_length=1)]


class Script(Spec, frozen=True, kw_only=True):
    """A whole script. `turn` answers requests that match no conversation.

    A request without tools cannot act, so if its conversation calls tools it is taken for a side question (a title, a
    summary, a quota check) and answered with `side`. If `models` is set, any other model is unknown.
    """

    turn: list[Turn] = []  # noqa: RUF012
    conversation: list[Conversation] = []  # noqa: RUF012
    side: Turn = Turn(text="Noted.")
    usage: UsageSpec = UsageSpec()
    models: Annotated[list[Glob], Meta(min_length=1)] | None = None

    def __post_init__(self) -> None:
        if not self.turn and not self.conversation:
            raise ValueError("a script needs a [[turn]] or a [[conversation]]")
        if self.side.acts:
            raise ValueError("`side` answers requests without tools, so it cannot call any")
        for name, turn in self.turns():
            usage = turn.usage.over(self.usage)
            if (usage.reasoning_tokens or 0) > (usage.output_tokens or 0):
                raise ValueError(
                    f"{name}: reasoning_tokens ({usage.reasoning_tokens}) are a part of output_tokens "
                    f"({usage.output_tokens}) and cannot be more"
                )

    def turns(self) -> Iterator[tuple[str, Turn]]:
        """Every turn, with the name that the ledger uses for it."""
        for place, conversation in enumerate(self.conversation):
            stem = conversation.name or f"conversation[{place}]"
            yield from ((f"{stem}.turn[{step}]", turn) for step, turn in enumerate(conversation.turn))
        yield from ((f"turn[{step}]", turn) for step, turn in enumerate(self.turn))
        yield "side", self.side


_UNKNOWN_FIELD = re.compile(r"unknown field `([^`]*)`")
_SCRIPT_TYPES = (BillingSpec, CallSpec, Conversation, CutSpec, ErrorSpec, Script, Turn, UsageSpec, When)
_KEYS = sorted({key for part in _SCRIPT_TYPES for key in part.__struct_fields__})


def read_script(path: Path) -> Script:
    """Read a script file; the suffix says whether it is JSON or TOML."""
    try:
        content = path.read_bytes()
    except OSError as fault:
        raise UsageError(
            f"the script {path} cannot be read: {fault.strerror}. `outweigh dev model-server --example` prints one."
        ) from None
    return parse_script(content, str(path))


def parse_script(content: bytes | str, source: str = "script.toml") -> Script:
    """Parse a script; a source that ends in `.json` is JSON, any other TOML."""
    raw = _decode(content.encode() if isinstance(content, str) else content, source)
    try:
        return msgspec.convert(raw, Script)
    except msgspec.ValidationError as fault:
        raise UsageError(f"script {source}: {fault}.{_nearest_key(str(fault))}") from None


def _decode(content: bytes, source: str) -> Any:
    form, decode = ("JSON", msgspec.json.decode) if source.endswith(".json") else ("TOML", msgspec.toml.decode)
    try:
        return decode(content)
    except (msgspec.DecodeError, ValueError, RecursionError) as fault:
        raise UsageError(f"script {source} is not valid {form}: {str(fault) or 'nested too deeply'}.") from None


def _nearest_key(message: str) -> str:
    return "".join(f" Did you mean `{near}`?" for near in _near_keys(message))


def _near_keys(message: str) -> Iterator[str]:
    if found := _UNKNOWN_FIELD.search(message):
        yield from get_close_matches(found[1], _KEYS, n=1)


EXAMPLE_SCRIPT = """\
# A scripted model. Every request of a conversation gets the next [[turn]]; `run` uses whichever shell tool the agent
# offers, so that one script serves all of them.
[[turn]]
text = "I will write the answer down."
run = "echo 42 >answer.txt"
usage = { input_tokens = 1200, output_tokens = 60, cache_write_tokens = 4000 }

[[turn]]
text = "The answer is in answer.txt."
usage = { input_tokens = 80, output_tokens = 20, cache_read_tokens = 4000 }

# Judges, who are asked by the rubric of a task; they give three quarters of every scale.
[[conversation]]
name = "judge"
when = { contains = "You judge the work of an automated coding agent" }

[[conversation.turn]]
score = 0.75

# Another task, another conversation: the first whose `when` holds is taken.
[[conversation]]
name = "greeting"
when = { contains = "greeting.txt" }

# The service is busy twice, and then answers.
[[conversation.turn]]
error = { kind = "overloaded", times = 2 }
run = "echo hello >greeting.txt"

[[conversation.turn]]
text = "greeting.txt is written."

# An agent without tools, who takes files from what the model says (aider asks for a "file listing").
[[conversation]]
name = "words only"
when = { tools = false, contains = "file listing" }

[[conversation.turn]]
text = "answer.txt\\n```\\n42\\n```\\n"

# Requests without tools in a conversation that calls some: titles, summaries, looks at the quota.
[side]
text = "An answer"
usage = { input_tokens = 40, output_tokens = 5 }
"""
