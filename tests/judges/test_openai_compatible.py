"""The openai-compatible backend against the scripted model server."""

from collections.abc import Iterator
from contextlib import contextmanager

import msgspec
import pytest
from tests.judges.backends import HOUR, a_judge, a_server, closed_port, saying

from outweigh.judges.openai_compatible import OpenAiCompatibleJudge
from outweigh.model.failure import FailureKind
from outweigh.model.suite import JudgeSpec
from outweigh.model.usage import CostProvenance
from outweigh.ports.judges import Judge
from outweigh.testing.judge_contract import JUDGE_ANSWER, JudgeContract, a_question
from outweigh.testing.model_server import BillingSpec, ErrorSpec, ModelServer, Script, Turn, UsageSpec

ANSWER_TEXT = msgspec.json.encode(JUDGE_ANSWER).decode()


class TestOpenAiCompatible(JudgeContract):
    def backend(self) -> Judge:
        return OpenAiCompatibleJudge()

    @contextmanager
    def answering_judge(self, text: str) -> Iterator[JudgeSpec]:
        with a_server(saying(text)) as server:
            yield a_judge("openai-compatible", base_url=f"{server.url}/v1", key="")

    def unreachable_judge(self) -> JudgeSpec:
        return a_judge("openai-compatible", base_url=f"http://127.0.0.1:{closed_port()}/v1", key="")

    @contextmanager
    def silent_judge(self) -> Iterator[JudgeSpec]:
        with a_server(Turn(text="…", delay_seconds=HOUR)) as server:
            yield a_judge("openai-compatible", base_url=f"{server.url}/v1", key="")


def test_the_answer_is_held_to_its_schema() -> None:
    with ModelServer(Script(turn=[saying(ANSWER_TEXT)]), kept_body_bytes=100_000) as server:
        judge = a_judge("openai-compatible", base_url=f"{server.url}/v1/", key="", temperature=0.0, max_tokens=99)
        OpenAiCompatibleJudge().judge(a_question(judge))

        body = msgspec.json.decode(server.ledger[0].body or b"")

    assert body["response_format"]["json_schema"]["schema"]["required"] == ["answers"]
    assert (body["temperature"], body["max_tokens"]) == (0.0, 99)
    assert [message["role"] for message in body["messages"]] == ["system", "user"]


def test_input_is_counted_without_what_was_cached() -> None:
    usage = UsageSpec(input_tokens=7, output_tokens=5, cache_read_tokens=300)
    with a_server(msgspec.structs.replace(saying(ANSWER_TEXT), usage=usage)) as server:
        answer = OpenAiCompatibleJudge().judge(
            a_question(a_judge("openai-compatible", base_url=f"{server.url}/v1", key=""))
        )

    assert (answer.usage.input_tokens, answer.usage.cache_read_tokens, answer.usage.output_tokens) == (7, 300, 5)


def test_what_a_router_says_that_it_charged_is_the_cost() -> None:
    charged = msgspec.structs.replace(saying(ANSWER_TEXT), billing=BillingSpec(cost_usd=0.0123))
    with a_server(charged) as server:
        answer = OpenAiCompatibleJudge().judge(
            a_question(a_judge("openai-compatible", base_url=f"{server.url}/v1", key=""))
        )

    assert (answer.cost.usd, answer.cost.provenance) == (0.0123, CostProvenance.PROVIDER)


@pytest.mark.parametrize(
    ("turn", "kind"),
    [
        (Turn(error=ErrorSpec(kind="rate_limited", retry_after_seconds=7)), FailureKind.RATE_LIMITED),
        (Turn(error=ErrorSpec(kind="unauthorized")), FailureKind.UNAUTHORIZED),
        (Turn(error=ErrorSpec(kind="server_error")), FailureKind.SERVER_ERROR),
        (Turn(text="No.", refuse=True), FailureKind.REFUSAL),
        (Turn(text="{", truncate=True), FailureKind.NO_RESULT),
        (Turn(text="{}", cut=True), FailureKind.CUT_STREAM),
    ],
)
def test_every_kind_of_failure_is_told_apart(turn: Turn, kind: FailureKind) -> None:
    with a_server(turn) as server:
        judge = a_judge("openai-compatible", base_url=f"{server.url}/v1", key="", structured="none")
        answer = OpenAiCompatibleJudge().judge(a_question(judge))

    assert answer.failure is not None
    assert answer.failure.kind is kind


def test_only_http_addresses_are_accepted() -> None:
    assert "http" in (
        OpenAiCompatibleJudge().missing(a_judge("openai-compatible", base_url="file:///etc", key="")) or ""
    )


def test_a_key_in_the_options_is_refused() -> None:
    judge = a_judge("openai-compatible", base_url="http://127.0.0.1:1/v1", key="sk-not-a-name")

    told = OpenAiCompatibleJudge().missing(judge) or ""

    assert "options.key must be the name of the environment variable that holds the key" in told
    assert "sk-not-a-name" not in told
