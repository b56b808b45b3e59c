"""Claude through Anthropic's own SDK: the rubric is cached, and the answer has the shape of its schema."""

import os
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Literal

import msgspec

from outweigh.adapters.judges.http_failure import asked_wait
from outweigh.adapters.judges.outcome import KeyVariable, Options, cut_short, failed, key_missing, options_of, said
from outweigh.errors import UsageError
from outweigh.ports.judges import JudgeAnswer, JudgeQuestion
from outweigh.record.usage import NO_USAGE, Usage
from outweigh.task.judge import JudgeSpec
from outweigh.transcript.failure import Failure, FailureKind, failure, failure_of_http
from outweigh.transcript.foreign import count

if TYPE_CHECKING:
    import anthropic
    from anthropic.types import Message

TOOL = "submit_judgment"


class AnthropicOptions(Options, frozen=True, kw_only=True):
    """`key` names the variable that holds the key. `structured` is how the answer gets its shape.

    `tool` forces a call of a tool and works with every model, `schema` has the service hold the answer to the schema.
    """

    base_url: str | None = None
    key: KeyVariable = "ANTHROPIC_API_KEY"
    max_tokens: int = 8192
    temperature: float | None = None
    structured: Literal["tool", "schema", "none"] = "tool"


class AnthropicSdk:
    """Retries are the engine's, not the SDK's: the judge is to see what was wrong with its answer."""

    name = "anthropic"

    def missing(self, judge: JudgeSpec) -> str | None:
        """The SDK, a model, a key."""
        if find_spec("anthropic") is None:
            return f"judge {judge.name!r}: the package anthropic is not installed; install outweigh[judge]."
        if judge.model is None:
            return f"judge {judge.name!r}: name its `model`."
        try:
            options = options_of(judge, AnthropicOptions)
        except UsageError as error:
            return str(error)
        return key_missing(judge, options.key)

    def judge(self, question: JudgeQuestion) -> JudgeAnswer:
        """One request."""
        import anthropic  # noqa: PLC0415 - slow to load, and most runs need no judge

        options = options_of(question.judge, AnthropicOptions)
        client = anthropic.Anthropic(
            api_key=os.environ.get(options.key, "") if options.key else "none",
            base_url=options.base_url,
            max_retries=0,
            timeout=question.timeout_seconds,
        )
        with client:
            try:
                message = client.messages.create(**_request(question, options))
            except anthropic.APIError as fault:
                return failed(_failure(fault))
        return _answer(message, options)


def _request(question: JudgeQuestion, options: AnthropicOptions) -> dict[str, Any]:
    request: dict[str, Any] = {
        "model": question.judge.model,
        "max_tokens": options.max_tokens,
        "system": [{"type": "text", "text": question.system, "cache_control": {"type": "ephemeral"}}],
        "messages": [{"role": "user", "content": question.prompt}],
    }
    if options.structured == "tool":
        tool = {"name": TOOL, "description": "Hand in the judgment.", "input_schema": question.answer_schema}
        request |= {"tools": [tool], "tool_choice": {"type": "tool", "name": TOOL}}
    elif options.structured == "schema":
        request["output_config"] = {"format": {"type": "json_schema", "schema": question.answer_schema}}
    if options.temperature is not None:
        request["extra_body"] = {"temperature": options.temperature}
    return request


def _answer(message: "Message", options: AnthropicOptions) -> JudgeAnswer:
    usage, model = _usage(message), message.model
    if message.stop_reason == "refusal":
        return failed(failure(FailureKind.REFUSAL, "the judge declined to answer"), usage=usage, model=model)
    if message.stop_reason == "max_tokens":
        return failed(cut_short(options.max_tokens), usage=usage, model=model)
    for block in message.content:
        if block.type == "tool_use" and block.name == TOOL:
            return said(msgspec.json.encode(block.input).decode(), usage=usage, model=model)
    return said("".join(block.text for block in message.content if block.type == "text"), usage=usage, model=model)


def _usage(message: "Message") -> Usage:
    usage = message.usage
    if usage is None:  # pyright and the SDK say that it is always there; servers that only resemble it differ
        return NO_USAGE
    return Usage(
        input_tokens=count(usage.input_tokens),
        output_tokens=count(usage.output_tokens),
        cache_read_tokens=count(usage.cache_read_input_tokens or 0),
        cache_write_tokens=count(usage.cache_creation_input_tokens or 0),
    )


def _failure(fault: "anthropic.APIError") -> Failure:
    import anthropic  # noqa: PLC0415 - loaded already when there is a fault

    if isinstance(fault, anthropic.APIStatusError):
        return failure_of_http(fault.status_code, fault.message, asked_wait(fault.response.headers))
    if isinstance(fault, anthropic.APITimeoutError):
        return failure(FailureKind.TIMEOUT, "no answer in time")
    if isinstance(fault, anthropic.APIConnectionError):
        return failure(FailureKind.CONNECTION_REFUSED, f"{fault.message} {fault.__cause__ or ''}".strip())
    return failure(FailureKind.NO_RESULT, fault.message)
