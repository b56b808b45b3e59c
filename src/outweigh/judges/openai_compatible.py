"""Any service that speaks OpenAI's chat completions: hosted ones, gateways, and models on your own machine."""

import os
from http.client import HTTPException
from typing import Any, Literal
from urllib.error import HTTPError, URLError
from urllib.parse import urlsplit
from urllib.request import Request, urlopen

import msgspec

from outweigh.errors import UsageError
from outweigh.judges.backend import (
    answered,
    failed_answer,
    judge_options,
    key_missing,
    retry_after_seconds,
    truncated_answer,
)
from outweigh.model.failure import Failure, FailureKind, failure_from_http, make_failure
from outweigh.model.json_text import decode_json
from outweigh.model.provider import KeyVariable
from outweigh.model.suite import JudgeSpec
from outweigh.model.untrusted_json import dict_at, dicts_at, str_at
from outweigh.model.usage import provider_cost
from outweigh.ports.judges import JudgeAnswer, JudgeQuestion
from outweigh.transcript.token_counts import read_provider_cost, read_provider_usage

ANSWER_BYTES_LIMIT = 16 * 2**20
_SHOWN = 500


class _Options(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`key` names the variable that holds the key, `""` for none. `structured`: how the answer is made to fit."""

    base_url: str = "https://api.openai.com/v1"
    key: KeyVariable = "OPENAI_API_KEY"
    max_tokens: int | None = None
    temperature: float | None = None
    structured: Literal["schema", "object", "none"] = "schema"


class OpenAiCompatibleJudge:
    """One HTTP request per question, with Python's standard library alone."""

    name = "openai-compatible"

    def missing(self, judge: JudgeSpec) -> str | None:
        """Why this judge cannot be asked: no model, no usable address or no key."""
        if judge.model is None:
            return f"judge {judge.name!r}: name its `model`."
        try:
            options = judge_options(judge, _Options)
        except UsageError as error:
            return str(error)
        if urlsplit(options.base_url).scheme not in ("http", "https"):
            return f"judge {judge.name!r}: options.base_url must begin with http:// or https://."
        return key_missing(judge, options.key)

    def judge(self, question: JudgeQuestion) -> JudgeAnswer:
        """Send one request."""
        options = judge_options(question.judge, _Options)
        request = Request(
            f"{options.base_url.rstrip('/')}/chat/completions",
            data=msgspec.json.encode(_body(question, options)),
            headers=_headers(options),
            method="POST",
        )
        try:
            with urlopen(request, timeout=question.timeout_seconds) as response:
                content: bytes = response.read(ANSWER_BYTES_LIMIT)
        except HTTPError as fault:
            return failed_answer(_refused(fault))
        except (OSError, HTTPException) as fault:
            return failed_answer(_broken(fault))
        try:
            return _answer(decode_json(content), options)
        except ValueError:
            return failed_answer(
                make_failure(FailureKind.CUT_STREAM, f"the service's answer is not JSON: {content[:_SHOWN]!r}")
            )


def _headers(options: _Options) -> dict[str, str]:
    key = os.environ.get(options.key, "") if options.key else ""
    headers = {"content-type": "application/json", "accept": "application/json", "user-agent": "outweigh"}
    return headers | ({"authorization": f"Bearer {key}"} if key else {})


def _body(question: JudgeQuestion, options: _Options) -> dict[str, Any]:
    body: dict[str, Any] = {
        "model": question.judge.model,
        "messages": [
            {"role": "system", "content": question.system},
            {"role": "user", "content": question.prompt},
        ],
    }
    if options.structured == "schema":
        schema = {"name": "judgment", "strict": True, "schema": question.answer_schema}
        body["response_format"] = {"type": "json_schema", "json_schema": schema}
    elif options.structured == "object":
        body["response_format"] = {"type": "json_object"}
    if options.max_tokens is not None:
        body["max_tokens"] = options.max_tokens
    if options.temperature is not None:
        body["temperature"] = options.temperature
    return body


def _answer(content: object, options: _Options) -> JudgeAnswer:
    counts, model = dict_at(content, "usage"), str_at(content, "model")
    usage, cost = read_provider_usage(counts), provider_cost(read_provider_cost(counts))
    choice = next(iter(dicts_at(content, "choices")), {})
    finish, refusal = str_at(choice, "finish_reason"), str_at(choice, "message", "refusal")
    if refusal or finish == "content_filter":
        declined = make_failure(
            FailureKind.REFUSAL, f"the judge declined to answer: {(refusal or finish or '')[:_SHOWN]}"
        )
        return failed_answer(declined, usage=usage, model=model, cost=cost)
    if finish == "length":
        return failed_answer(truncated_answer(options.max_tokens), usage=usage, model=model, cost=cost)
    words = str_at(choice, "message", "content")
    if words is None:
        return failed_answer(
            make_failure(FailureKind.NO_RESULT, "the service's answer has no text"), usage=usage, model=model, cost=cost
        )
    return answered(words, usage=usage, model=model, cost=cost)


def _refused(fault: HTTPError) -> Failure:
    try:
        words = fault.read(ANSWER_BYTES_LIMIT).decode(errors="replace")
    except (OSError, HTTPException):
        words = ""
    return failure_from_http(fault.code, words[:_SHOWN] or str(fault.reason), retry_after_seconds(dict(fault.headers)))


def _broken(fault: OSError | HTTPException) -> Failure:
    cause = fault.reason if isinstance(fault, URLError) else fault
    if isinstance(cause, TimeoutError):
        return make_failure(FailureKind.TIMEOUT, "no answer in time")
    if isinstance(fault, URLError):
        return make_failure(FailureKind.CONNECTION_REFUSED, f"the service cannot be reached: {cause}")
    return make_failure(FailureKind.CUT_STREAM, f"the connection broke off: {fault}")
