"""Of a logged request, exactly what the model reads is counted: what differs from start to start is not."""

import subprocess
import sys
from typing import Any

import msgspec
import pytest

from outweigh.gateway.prompt_tokens import PromptTokenizer, prompt_texts, read_logged_prompts
from outweigh.ports.gateways import Dialect

TOOL = {"name": "feed", "description": "Feeds it.", "input_schema": {"properties": {"id": {"type": "string"}}}}
BODIES: dict[Dialect, dict[str, Any]] = {
    Dialect.ANTHROPIC_MESSAGES: {
        "model": "m",
        "system": [{"type": "text", "text": "Be kind.", "cache_control": {"type": "ephemeral"}}],
        "tools": [TOOL, {"name": "later", "defer_loading": True}],
        "messages": [{"role": "user", "content": [{"type": "text", "text": "Feed it."}]}],
        "metadata": {"user_id": "differs-every-time"},
    },
    Dialect.OPENAI_RESPONSES: {
        "model": "m",
        "instructions": "Be kind.",
        "tools": [TOOL],
        "input": [
            {"type": "message", "id": "msg_1", "role": "user", "content": [{"type": "input_text", "text": "Feed it."}]}
        ],
        "prompt_cache_key": "differs-every-time",
    },
    Dialect.OPENAI_CHAT: {
        "model": "m",
        "tools": [TOOL],
        "messages": [{"role": "system", "content": "Be kind."}, {"role": "user", "content": "Feed it."}],
        "user": "differs-every-time",
    },
    Dialect.GEMINI: {
        "systemInstruction": {"parts": [{"text": "Be kind."}]},
        "tools": [TOOL],
        "contents": [{"role": "user", "parts": [{"text": "Feed it."}]}],
    },
}


@pytest.mark.parametrize("dialect", Dialect)
def test_every_text_and_every_schema_is_read_and_no_id_is(dialect: Dialect) -> None:
    texts = list(prompt_texts(dialect, BODIES[dialect]))

    assert sorted(texts) == sorted(["Be kind.", "Feed it.", msgspec.json.encode(TOOL).decode()])


def test_a_schema_that_the_model_must_search_for_is_not_in_the_prompt() -> None:
    texts = prompt_texts(Dialect.ANTHROPIC_MESSAGES, BODIES[Dialect.ANTHROPIC_MESSAGES])

    assert not any("later" in text for text in texts)


def test_logged_requests_are_read_with_their_tools_and_the_count_of_a_provider() -> None:
    body = msgspec.json.encode(BODIES[Dialect.ANTHROPIC_MESSAGES]).decode()
    line = {"path": "/v1/messages", "request": body, "is_truncated": False}
    lines = [line, line | {"counted_input_tokens": 77}, line | {"is_truncated": True}, {"path": "/v1/other"}]

    found = list(read_logged_prompts(b"\n".join(map(msgspec.json.encode, lines)) + b"\nno json\n"))

    assert [prompt.counted_tokens for prompt in found] == [None, 77]
    assert (found[0].model, found[0].tools, found[0].deferred_tools) == ("m", ("feed", "later"), ("later",))


def test_tokens_are_those_of_the_public_vocabulary() -> None:
    pytest.importorskip("bpe_openai")
    tokenizer = PromptTokenizer()

    assert tokenizer.count("hello world") == 2
    assert tokenizer.count("<|endoftext|>") > 1, "the name of a special token is ordinary text"
    assert tokenizer.count_all(["hello", " world"]) == 2
    assert tokenizer.count("") == 0


def test_loading_the_vocabulary_warns_of_nothing() -> None:
    pytest.importorskip("bpe_openai")
    code = "from outweigh.gateway.prompt_tokens import PromptTokenizer; print(PromptTokenizer().count('hello world'))"

    done = subprocess.run([sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, check=False)

    assert (done.stdout.strip(), done.stderr) == ("2", "")
