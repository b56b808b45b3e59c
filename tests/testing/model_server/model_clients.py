"""Minimal clients of the scripted model: what an agent would send, in every protocol."""

import json
import urllib.error
import urllib.request
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from outweigh.testing.model_server import ModelServer

COMMAND_SCHEMA: dict[str, object] = {
    "type": "object",
    "properties": {"command": {"type": "string"}, "description": {"type": "string"}},
    "required": ["command", "description"],
}
PATHS = {
    "anthropic": "/v1/messages",
    "chat": "/v1/chat/completions",
    "responses": "/v1/responses",
    "gemini": "/v1beta/models/m:generateContent",
}
PROTOCOLS = tuple(PATHS)


class Posted(NamedTuple):
    """A response."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    def json(self) -> Any:
        return json.loads(self.body)

    def events(self) -> list[dict[str, Any]]:
        """The data of all server-sent events."""
        lines = self.body.decode().split("\n")
        data = [line.removeprefix("data: ") for line in lines if line.startswith("data: ")]
        return [json.loads(line) for line in data if line != "[DONE]"]


def send(url: str, body: object = None, *, method: str | None = None, **headers: str) -> Posted:
    """Send one request; with a body it is a POST."""
    encoded = body if body is None or isinstance(body, bytes) else json.dumps(body).encode()
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    request = urllib.request.Request(url, encoded, {"content-type": "application/json", **named}, method=method)
    try:
        with urllib.request.urlopen(request, timeout=60) as answer:
            return Posted(answer.status, {k.lower(): v for k, v in answer.headers.items()}, answer.read())
    except urllib.error.HTTPError as refusal:
        with refusal:
            return Posted(refusal.code, {k.lower(): v for k, v in refusal.headers.items()}, refusal.read())


def question(protocol: str, words: str, /, *, tools: bool = True, **extra: Any) -> dict[str, Any]:
    """A first request."""
    said = {"role": "user", "content": words}
    match protocol:
        case "anthropic":
            offered: Any = [{"name": "Bash", "input_schema": COMMAND_SCHEMA}]
            body: dict[str, Any] = {"model": "m", "max_tokens": 100, "messages": [said]}
        case "chat":
            offered = [{"type": "function", "function": {"name": "bash", "parameters": COMMAND_SCHEMA}}]
            body = {"model": "m", "messages": [said]}
        case "responses":
            offered = [{"type": "function", "name": "shell", "parameters": COMMAND_SCHEMA}]
            body = {"model": "m", "input": [{"type": "message", **said}]}
        case _:
            declared = {"name": "run_shell_command", "parametersJsonSchema": COMMAND_SCHEMA}
            offered = [{"functionDeclarations": [declared]}]
            body = {"contents": [{"role": "user", "parts": [{"text": words}]}]}
    return body | ({"tools": offered} if tools else {}) | extra


def _continue_anthropic(body: dict[str, Any], answer: dict[str, Any]) -> None:
    calls = [part for part in answer["content"] if part["type"] == "tool_use"]
    results: list[Any] = [{"type": "tool_result", "tool_use_id": call["id"], "content": "ok"} for call in calls]
    said = results or [{"type": "text", "text": "Go on."}]
    body["messages"] += [{"role": "assistant", "content": answer["content"]}, {"role": "user", "content": said}]


def _continue_chat(body: dict[str, Any], answer: dict[str, Any]) -> None:
    message = answer["choices"][0]["message"]
    calls = message.get("tool_calls", [])
    results = [{"role": "tool", "tool_call_id": call["id"], "content": "ok"} for call in calls]
    body["messages"] += [message, *(results or [{"role": "user", "content": "Go on."}])]


def _continue_responses(body: dict[str, Any], answer: dict[str, Any]) -> None:
    calls = [item for item in answer["output"] if item["type"] == "function_call"]
    results = [{"type": "function_call_output", "call_id": call["call_id"], "output": "ok"} for call in calls]
    body["input"] += [*answer["output"], *(results or [{"type": "message", "role": "user", "content": "Go on."}])]


def _continue_gemini(body: dict[str, Any], answer: dict[str, Any]) -> None:
    content = answer["candidates"][0]["content"]
    calls = [part["functionCall"] for part in content["parts"] if "functionCall" in part]
    results: list[Any] = [{"functionResponse": {"name": call["name"], "response": {"output": "ok"}}} for call in calls]
    body["contents"] += [content, {"role": "user", "parts": results or [{"text": "Go on."}]}]


continued: dict[str, Callable[[dict[str, Any], dict[str, Any]], None]] = {
    "anthropic": _continue_anthropic,
    "chat": _continue_chat,
    "responses": _continue_responses,
    "gemini": _continue_gemini,
}
"""Adds an answer and what follows it to a request's body, as a client of each protocol does."""


def said(protocol: str, answer: Any) -> str:
    """The text at the start of a complete answer."""
    match protocol:
        case "anthropic":
            return str(answer["content"][0]["text"])
        case "chat":
            return str(answer["choices"][0]["message"]["content"])
        case "responses":
            return str(answer["output"][0]["content"][0]["text"])
        case _:
            return str(answer["candidates"][0]["content"]["parts"][0]["text"])


def ask(server: ModelServer, protocol: str, body: object, **headers: str) -> Posted:
    """Request one answer."""
    return send(f"{server.url}{PATHS[protocol]}", body, **headers)


def converse(server: ModelServer, protocol: str, words: str, times: int, **headers: str) -> None:
    """Ask, add the answer to the history, and ask again."""
    body = question(protocol, words)
    for _ in range(times):
        answer = ask(server, protocol, body, **headers)
        assert answer.status == 200, answer.body
        continued[protocol](body, answer.json())


def rules(server: ModelServer) -> list[str | None]:
    """The rule of the script that answered each request."""
    return [entry.rule for entry in server.ledger]
