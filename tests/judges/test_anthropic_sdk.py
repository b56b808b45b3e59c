"""The anthropic backend, by the real SDK against the scripted model server."""

from collections.abc import Iterator
from contextlib import contextmanager

import msgspec
import pytest
from tests.judges.backends import HOUR, KEY, a_judge, a_server, closed_port, handing_in, saying

from outweigh.judges.anthropic_sdk import AnthropicJudge
from outweigh.model.failure import FailureKind
from outweigh.model.suite import JudgeSpec
from outweigh.ports.judges import Judge
from outweigh.testing.judge_contract import JUDGE_ANSWER, JudgeContract, a_question
from outweigh.testing.model_server import ErrorSpec, ModelServer, Script, Turn, UsageSpec

ANSWER_TEXT = msgspec.json.encode(JUDGE_ANSWER).decode()


@pytest.fixture(autouse=True)
def key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(KEY, "dummy")


class TestAnthropicSdk(JudgeContract):
    def backend(self) -> Judge:
        return AnthropicJudge()

    @contextmanager
    def answering_judge(self, text: str) -> Iterator[JudgeSpec]:
        with a_server(handing_in(text)) as server:
            yield a_judge("anthropic", base_url=server.url, key=KEY)

    def unreachable_judge(self) -> JudgeSpec:
        return a_judge("anthropic", base_url=f"http://127.0.0.1:{closed_port()}", key=KEY)

    @contextmanager
    def silent_judge(self) -> Iterator[JudgeSpec]:
        with a_server(Turn(text="…", delay_seconds=HOUR)) as server:
            yield a_judge("anthropic", base_url=server.url, key=KEY)


def test_the_part_that_all_runs_share_is_cached_and_the_answer_has_a_schema() -> None:
    with ModelServer(Script(turn=[handing_in(ANSWER_TEXT)]), kept_body_bytes=100_000) as server:
        AnthropicJudge().judge(a_question(a_judge("anthropic", base_url=server.url, key=KEY), system="the rubric"))

        body = msgspec.json.decode(server.ledger[0].body or b"")

    assert body["system"] == [{"type": "text", "text": "the rubric", "cache_control": {"type": "ephemeral"}}]
    assert body["tool_choice"] == {"type": "tool", "name": "submit_judgment"}
    assert body["tools"][0]["input_schema"]["required"] == ["answers"]


def test_a_model_may_be_held_to_the_schema_by_the_service_instead() -> None:
    with a_server(saying(ANSWER_TEXT)) as server:
        answer = AnthropicJudge().judge(
            a_question(a_judge("anthropic", base_url=server.url, key=KEY, structured="schema"))
        )

    assert msgspec.json.decode(answer.text or "") == JUDGE_ANSWER


def test_every_kind_of_token_is_counted() -> None:
    usage = UsageSpec(input_tokens=7, output_tokens=5, cache_read_tokens=300, cache_write_tokens=40)
    with a_server(msgspec.structs.replace(handing_in(ANSWER_TEXT), usage=usage)) as server:
        answer = AnthropicJudge().judge(a_question(a_judge("anthropic", base_url=server.url, key=KEY)))

    assert msgspec.to_builtins(answer.usage) == {
        "input_tokens": 7,
        "output_tokens": 5,
        "cache_read_tokens": 300,
        "cache_write_tokens": 40,
    }
    assert answer.model == "claude-judge-1"


@pytest.mark.parametrize(
    ("turn", "kind"),
    [
        (Turn(error=ErrorSpec(kind="rate_limited", retry_after_seconds=7)), FailureKind.RATE_LIMITED),
        (Turn(error=ErrorSpec(kind="overloaded")), FailureKind.OVERLOADED),
        (Turn(error=ErrorSpec(kind="unauthorized")), FailureKind.UNAUTHORIZED),
        (Turn(error=ErrorSpec(kind="unknown_model")), FailureKind.UNKNOWN_MODEL),
        (Turn(error=ErrorSpec(kind="server_error")), FailureKind.SERVER_ERROR),
        (Turn(error=ErrorSpec(kind="context_overflow")), FailureKind.CONTEXT_OVERFLOW),
        (Turn(text="No.", refuse=True), FailureKind.REFUSAL),
        (Turn(text="{", truncate=True), FailureKind.NO_RESULT),
        (Turn(text="{}", cut=True), FailureKind.CONNECTION_REFUSED),
    ],
)
def test_every_kind_of_failure_is_told_apart_and_the_sdk_does_not_retry(turn: Turn, kind: FailureKind) -> None:
    with a_server(turn) as server:
        answer = AnthropicJudge().judge(a_question(a_judge("anthropic", base_url=server.url, key=KEY)))

        assert len(server.ledger) == 1
    assert answer.failure is not None
    assert answer.failure.kind is kind


def test_how_long_to_wait_is_passed_on() -> None:
    with a_server(Turn(error=ErrorSpec(kind="rate_limited", retry_after_seconds=7))) as server:
        answer = AnthropicJudge().judge(a_question(a_judge("anthropic", base_url=server.url, key=KEY)))

    assert answer.failure is not None
    assert answer.failure.retry_after_seconds == 7


def test_a_key_that_is_not_there_and_a_model_that_is_not_named_are_missing() -> None:
    assert "NOWHERE" in (AnthropicJudge().missing(a_judge("anthropic", key="NOWHERE")) or "")
    assert "model" in (AnthropicJudge().missing(JudgeSpec(name="j", backend="anthropic")) or "")
