"""Claude through Anthropic's SDK: the rubric is cached, and the answer follows its JSON Schema."""

import os
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Literal

import msgspec

from outweigh.errors import UsageError, install_command, requires_extra
from outweigh.judges.backend import (
    answered,
    failed_answer,
    judge_options,
    key_missing,
    retry_after_seconds,
    truncated_answer,
)
from outweigh.model.failure import Failure, FailureKind, failure_from_http, make_failure
from outweigh.model.provider import KeyVariable
from outweigh.model.suite import JudgeSpec
from outweigh.model.untrusted_json import as_count
from outweigh.model.usage import NO_USAGE, Usage
from outweigh.ports.judges import JudgeAnswer, JudgeQuestion

if TYPE_CHECKING:
    import anthropic
    from anthropic.types import Message

JUDGMENT_TOOL = "submit_judgment"


class _Options(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`key` names the variable that holds the key. `structured` is how the answer is made to follow the schema.

    `tool` forces a tool call and works with every model; `schema` lets the service enforce the schema.
    """

    base_url: str | None = None
    key: KeyVariable = "ANTHROPIC_API_KEY"
    max_tokens: int = 8192
    temperature: float | None = None
    structured: Literal["tool", "schema", "none"] = "tool"


class AnthropicJudge:
    """Claude through Anthropic's SDK. The engine retries, not the SDK, so that the judge learns what was wrong."""

    name = "anthropic"

    def missing(self, judge: JudgeSpec) -> str | None:
        """Why this judge cannot be asked: no SDK, model or key."""
        if find_spec("anthropic") is None:
            return f"judge {judge.name!r}: the package anthropic is not installed: {install_command('judge')}."
        if judge.model is None:
            return f"judge {judge.name!r}: name its `model`."
        try:
            options = judge_options(judge, _Options)
        except UsageError as error:
            return str(error)
        return key_missing(judge, options.key)

    def judge(self, question: JudgeQuestion) -> JudgeAnswer:
        """Send one request."""
        with requires_extra("the judge backend `anthropic`", "judge"):
            import anthropic  # noqa: PLC0415 - slow to load, and most runs need no judge

        options = judge_options(question.judge, _Options)
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
                return failed_answer(_failure(fault))
        return _answer(message, options)


def _request(question: JudgeQuestion, options: _Options) -> dict[str, Any]:
    request: dict[str, Any] = {
        "model": question.judge.model,
        "max_tokens": options.max_tokens,
        "system": [{"type": "text", "text": question.system, "cache_control": {"type": "ephemeral"}}],
        "messages": [{"role": "user", "content": question.prompt}],
    }
    if options.structured == "tool":
        tool = {"name": JUDGMENT_TOOL, "description": "Hand in the judgment.", "input_schema": question.answer_schema}
        request |= {"tools": [tool], "tool_choice": {"type": "tool", "name": JUDGMENT_TOOL}}
    elif options.structured == "schema":
        request["output_config"] = {"format": {"type": "json_schema", "schema": question.answer_schema}}
    if options.temperature is not None:
        request["extra_body"] = {"temperature": options.temperature}
    return request


def _answer(message: "Message", options: _Options) -> JudgeAnswer:
    usage, model = _usage(message), message.model
    if message.stop_reason == "refusal":
        return failed_answer(
            make_failure(FailureKind.REFUSAL, "the judge declined to answer"), usage=usage, model=model
        )
    if message.stop_reason == "max_tokens":
        return failed_answer(truncated_answer(options.max_tokens), usage=usage, model=model)
    for block in message.content:
        if block.type == "tool_use" and block.name == JUDGMENT_TOOL:
            return answered(msgspec.json.encode(block.input).decode(), usage=usage, model=model)
    return answered("".join(block.text for block in message.content if block.type == "text"), usage=usage, model=model)


def _usage(message: "Message") -> Usage:
    usage = message.usage
    if usage is None:  # typed as always present, but compatible servers may leave it out
        return NO_USAGE
    return Usage(
        input_tokens=as_count(usage.input_tokens),
        output_tokens=as_count(usage.output_tokens),
        cache_read_tokens=as_count(usage.cache_read_input_tokens or 0),
        cache_write_tokens=as_count(usage.cache_creation_input_tokens or 0),
    )


def _failure(fault: "anthropic.APIError") -> Failure:
    import anthropic  # noqa: PLC0415 - loaded already when there is a fault

    if isinstance(fault, anthropic.APIStatusError):
        return failure_from_http(fault.status_code, fault.message, retry_after_seconds(fault.response.headers))
    if isinstance(fault, anthropic.APITimeoutError):
        return make_failure(FailureKind.TIMEOUT, "no answer in time")
    if isinstance(fault, anthropic.APIConnectionError):
        return make_failure(FailureKind.CONNECTION_REFUSED, f"{fault.message} {fault.__cause__ or ''}".strip())
    return make_failure(FailureKind.NO_RESULT, fault.message)
