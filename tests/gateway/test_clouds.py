"""Claude and Gemini on Bedrock and Vertex: clients use the plain APIs; the gateway addresses, signs and translates."""

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from http.client import IncompleteRead
from pathlib import Path
from typing import Any

import msgspec
import pytest
from aiohttp import web
from tests.gateway.cloud_fronts import (
    AWS_KEYS,
    BEDROCK_MODEL,
    REGION,
    BedrockFront,
    VertexFront,
    a_vertex,
    chunk_frame,
    events_in,
    frame,
)
from tests.gateway.gateway_fixtures import MODEL, Way
from tests.gateway.plain_http import Answer, ask, post
from tests.gateway.provider_fixtures import a_provided_way
from tests.gateway.upstreams import an_upstream

from outweigh.errors import UsageError
from outweigh.gateway.outgoing_request import UnreadableResponseError
from outweigh.gateway.services.aws_event_stream import EventFrameParser
from outweigh.gateway.services.aws_signature import AwsCredentials, AwsScope, authorization_header
from outweigh.model.failure import FailureKind
from outweigh.model.usage import Usage
from outweigh.testing.model_server import ModelServer, Script, Turn, UsageSpec

USED = UsageSpec(input_tokens=100, output_tokens=20, cache_read_tokens=7, cache_write_tokens=3)
COUNTED = Usage(input_tokens=100, output_tokens=20, cache_read_tokens=7, cache_write_tokens=3)
SCRIPT = Script(turn=[Turn(text="Hello", usage=USED), Turn(text="Hello", usage=USED)])
HI = {"model": MODEL, "max_tokens": 9, "messages": [{"role": "user", "content": "Hi"}]}


@pytest.fixture
def server() -> Iterator[ModelServer]:
    with ModelServer(SCRIPT) as server:
        yield server


def message(way: Way, *, stream: bool, headers: Mapping[str, str] | None = None, **more: Any) -> Answer:
    sent = {"x-api-key": way.key, "anthropic-version": "2023-06-01", **(headers or {})}
    return post(f"{way.url}/v1/messages", {**HI, "stream": stream, **more}, sent)


class TestSignature:
    """The vectors of AWS's own test suite for Signature Version 4."""

    KEYS = AwsCredentials(access_key_id="AKIDEXAMPLE", secret_access_key="wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY")

    @pytest.mark.parametrize(
        ("method", "url", "signature"),
        [
            ("GET", "/", "5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31"),
            ("POST", "/", "5da7c1a2acd57cee7505fc6676e4e544621c30862966e37dddb68e92efbe5d6b"),
            (
                "GET",
                "/?Param2=value2&Param1=value1",
                "b97d918cfa904a5beff61c982a1b6f458b799221646efd99d3219ec94cdf2500",
            ),
        ],
        ids=["get-vanilla", "post-vanilla", "get-vanilla-query-order-key-case"],
    )
    def test_it_is_that_of_the_published_vectors(self, method: str, url: str, signature: str) -> None:
        header = authorization_header(
            self.KEYS,
            AwsScope(region="us-east-1", service="service"),
            method=method,
            url=f"https://example.amazonaws.com{url}",
            headers={"Host": "example.amazonaws.com", "X-Amz-Date": "20150830T123600Z"},
            body=b"",
            at=datetime(2015, 8, 30, 12, 36, tzinfo=UTC),
        )

        assert header == (
            "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20150830/us-east-1/service/aws4_request, "
            f"SignedHeaders=host;x-amz-date, Signature={signature}"
        )

    def test_keys_are_not_shown(self) -> None:
        assert self.KEYS.secret_access_key not in repr(self.KEYS)


class TestFrames:
    def test_an_empty_frame_is_that_of_the_published_vector(self) -> None:
        (found,) = EventFrameParser().feed(bytes.fromhex("000000100000000005c248eb7d98c8ff"))

        assert (found.headers, found.payload) == ({}, b"")

    def test_frames_are_found_however_they_arrive(self) -> None:
        whole = frame(b"one", event_type="chunk") + frame(b"two", event_type="end")
        parser = EventFrameParser()

        found = [each for place in range(len(whole)) for each in parser.feed(whole[place : place + 1])]

        assert [(each.headers, each.payload) for each in found] == [
            ({":event-type": "chunk"}, b"one"),
            ({":event-type": "end"}, b"two"),
        ]

    @pytest.mark.parametrize("place", [2, 9, 14, 30, -2])
    def test_a_damaged_frame_is_not_read(self, place: int) -> None:
        damaged = bytearray(frame(b"one and two and three", event_type="chunk"))
        damaged[place] ^= 0x10

        with pytest.raises(UnreadableResponseError):
            list(EventFrameParser().feed(bytes(damaged)))

    def test_a_stream_that_ends_within_a_frame_is_not_complete(self) -> None:
        parser = EventFrameParser()
        list(parser.feed(frame(b"one")[:-1]))

        with pytest.raises(UnreadableResponseError):
            parser.finish()


class TestBedrock:
    TABLE: Mapping[str, Any] = {
        "dialect": "anthropic",
        "kind": "bedrock",
        "region": REGION,
        "models": {MODEL: BEDROCK_MODEL},
    }

    @pytest.mark.parametrize("stream", [False, True])
    def test_a_request_is_signed_and_its_answer_is_anthropic_s(self, server: ModelServer, stream: bool) -> None:
        front = BedrockFront(server)
        headers = {"anthropic-beta": "claude-code-20250219,interleaved-thinking-2025-05-14"}
        with (
            an_upstream(front.answer) as url,
            a_provided_way({**self.TABLE, "url": url}, AWS_KEYS, keep_bodies=True) as way,
        ):
            answer = message(way, stream=stream, headers=headers)
            account = way.account()

        (call,) = account.calls
        verb = "invoke-with-response-stream" if stream else "invoke"
        assert (front.refused, answer.status) == ([], 200)
        assert front.paths == [f"/model/{BEDROCK_MODEL.replace(':', '%3A')}/{verb}"]
        assert front.bodies[0]["anthropic_beta"] == ["interleaved-thinking-2025-05-14"]
        assert (call.usage, call.requested_model, call.failure) == (COUNTED, MODEL, None)
        events = [msgspec.json.decode(event) for event in events_in(answer.body)]
        assert [event["type"] for event in events][:: len(events) - 1 or 1] == (
            ["message_start", "message_stop"] if stream else []
        )
        for secret in AWS_KEYS.values():
            assert secret.encode() not in answer.body + account.bodies + repr(account).encode()

    def test_an_api_key_of_bedrock_is_sent_as_a_bearer(self, server: ModelServer) -> None:
        front = BedrockFront(server, bearer="bedrock-api-key-0123456789")
        table = {**self.TABLE, "key": "AWS_BEARER_TOKEN_BEDROCK"}
        with (
            an_upstream(front.answer) as url,
            a_provided_way({**table, "url": url}, {"AWS_BEARER_TOKEN_BEDROCK": "bedrock-api-key-0123456789"}) as way,
        ):
            assert message(way, stream=True).status == 200

        assert front.refused == []

    def test_another_key_is_refused_and_told_so(self, server: ModelServer) -> None:
        front = BedrockFront(server)
        wrong = {**AWS_KEYS, "AWS_SECRET_ACCESS_KEY": "another-secret-0123456789"}
        with an_upstream(front.answer) as url, a_provided_way({**self.TABLE, "url": url}, wrong) as way:
            answer = message(way, stream=True)
            (call,) = way.account().calls

        assert (answer.status, len(front.refused)) == (403, 1)
        assert call.failure is not None
        assert (call.failure.kind, "the signature does not match" in call.failure.detail) == (
            FailureKind.UNAUTHORIZED,
            True,
        )

    def test_what_it_does_not_have_is_refused_before_it_is_sent(self, server: ModelServer) -> None:
        front = BedrockFront(server)
        with an_upstream(front.answer) as url, a_provided_way({**self.TABLE, "url": url}, AWS_KEYS) as way:
            counted = post(f"{way.url}/v1/messages/count_tokens", HI, {"x-api-key": way.key})
            listed = ask("GET", f"{way.url}/v1/models", headers={"x-api-key": way.key})

        assert (counted.status, listed.status, front.paths) == (404, 404, [])

    def test_an_exception_in_the_stream_is_an_error_of_the_provider(self) -> None:
        async def throttled(request: web.BaseRequest) -> web.StreamResponse:
            response = web.StreamResponse(headers={"content-type": "application/vnd.amazon.eventstream"})
            await response.prepare(request)
            await response.write(chunk_frame(b'{"type": "ping"}'))
            await response.write(
                frame(b'{"message": "Too many tokens"}', exception_type="throttlingException", message_type="exception")
            )
            return response

        with an_upstream(throttled) as url, a_provided_way({**self.TABLE, "url": url}, AWS_KEYS) as way:
            answer = message(way, stream=True)
            (call,) = way.account().calls

        assert b"rate_limit_error" in answer.body
        assert call.failure is not None
        assert call.failure.kind is FailureKind.RATE_LIMITED

    def test_a_damaged_stream_is_a_cut_one(self) -> None:
        async def damaged(request: web.BaseRequest) -> web.StreamResponse:
            response = web.StreamResponse(headers={"content-type": "application/vnd.amazon.eventstream"})
            await response.prepare(request)
            await response.write(chunk_frame(b'{"type": "ping"}') + b"0" * 40)
            return response

        with (
            an_upstream(damaged) as url,
            a_provided_way({**self.TABLE, "url": url}, AWS_KEYS) as way,
            pytest.raises(IncompleteRead),
        ):
            message(way, stream=True)
        assert [call.failure.kind for call in way.account().calls if call.failure] == [FailureKind.CUT_STREAM]


class TestVertex:
    TABLE: Mapping[str, Any] = {"kind": "vertex", "project": "our-project", "region": "europe-west1"}

    @pytest.fixture
    def folder(self, tmp_path: Path) -> Path:
        return tmp_path

    def environment(self, folder: Path, credentials: Mapping[str, str]) -> dict[str, str]:
        (folder / "credentials.json").write_bytes(msgspec.json.encode(credentials))
        return {"GOOGLE_APPLICATION_CREDENTIALS": str(folder / "credentials.json")}

    def table(self, front: VertexFront, dialect: str) -> dict[str, Any]:
        return {**self.TABLE, "dialect": dialect, "url": front.url}

    @pytest.mark.parametrize("stream", [False, True])
    @pytest.mark.parametrize("kind", ["service_account", "user_login"])
    def test_claude_is_asked_with_a_token_made_from_credentials(
        self, server: ModelServer, folder: Path, stream: bool, kind: str
    ) -> None:
        with a_vertex(server) as front:
            environment = self.environment(folder, getattr(front, kind)())
            table = {**self.table(front, "anthropic"), "models": {MODEL: "claude-sonnet-4-5@20250929"}}
            with a_provided_way(table, environment, keep_bodies=True) as way:
                answer = message(way, stream=stream)
                message(way, stream=stream)
                account = way.account()

        assert (front.refused, len(front.given), answer.status) == ([], 1, 200)
        verb = "streamRawPredict" if stream else "rawPredict"
        assert front.paths[0] == (
            "/v1/projects/our-project/locations/europe-west1/publishers/anthropic/models/"
            f"claude-sonnet-4-5@20250929:{verb}"
        )
        assert [call.usage for call in account.calls] == [COUNTED, COUNTED]
        for secret in (*front.given, "refresh-token-0123456789"):
            assert secret.encode() not in answer.body + account.bodies + repr(account).encode()

    def test_tokens_are_counted_at_vertex_too(self, server: ModelServer, folder: Path) -> None:
        with a_vertex(server) as front:
            environment = self.environment(folder, front.user_login())
            with a_provided_way(self.table(front, "anthropic"), environment) as way:
                answer = post(f"{way.url}/v1/messages/count_tokens", HI, {"x-api-key": way.key})

        assert (answer.status, "input_tokens" in answer.json) == (200, True)
        assert front.paths[0].endswith("/models/count-tokens:rawPredict")

    @pytest.mark.parametrize("verb", ["generateContent", "streamGenerateContent?alt=sse", "countTokens"])
    def test_gemini_is_asked_under_the_project(self, server: ModelServer, folder: Path, verb: str) -> None:
        with a_vertex(server) as front:
            environment = self.environment(folder, front.service_account())
            with a_provided_way(self.table(front, "gemini"), environment) as way:
                url = f"{way.url}/v1beta/models/gemini-3:{verb}"
                answer = post(url, {"contents": [{"parts": [{"text": "Hi"}]}]}, {"x-goog-api-key": way.key})
                calls = way.account().calls

        assert (front.refused, answer.status) == ([], 200)
        assert front.paths == [
            f"/v1beta1/projects/our-project/locations/europe-west1/publishers/google/models/gemini-3:{verb}"
        ]
        assert [call.usage.output_tokens for call in calls] == ([] if verb == "countTokens" else [20])

    def test_a_token_is_renewed_before_it_expires(self, server: ModelServer, folder: Path) -> None:
        with a_vertex(server, lifetime=299) as front:  # renewed five minutes before its end
            environment = self.environment(folder, front.service_account())
            with a_provided_way(self.table(front, "anthropic"), environment) as way:
                statuses = [message(way, stream=False).status for _ in range(2)]

        assert (statuses, front.refused, len(front.given)) == ([200, 200], [], 2)

    def test_a_login_that_was_revoked_ends_in_one_sentence(self, server: ModelServer, folder: Path) -> None:
        with a_vertex(server) as front:
            environment = self.environment(folder, {**front.user_login(), "refresh_token": "old-token-0123456789"})
            with a_provided_way(self.table(front, "anthropic"), environment) as way:
                answer = message(way, stream=False)
                (call,) = way.account().calls

        assert (answer.status, front.paths) == (401, [])
        assert call.failure is not None
        assert call.failure.kind is FailureKind.UNAUTHORIZED
        assert call.failure.detail.startswith("Google gave no access token: Token revoked.")

    @pytest.mark.parametrize(
        ("content", "told"),
        [
            (None, "cannot be read: No such file or directory. Run `gcloud auth application-default login`"),
            ({"type": "external_account"}, "is neither a service account's key nor a login of gcloud (its type is"),
            ({"type": "service_account", "client_email": "x"}, "missing required field `private_key`"),
            (
                {"type": "service_account", "client_email": "x@y", "private_key": "no"},
                "providers.ours: the private key of x@y cannot be read",
            ),
        ],
    )
    def test_credentials_that_cannot_be_used_are_told_before_any_run(
        self, folder: Path, content: Mapping[str, str] | None, told: str
    ) -> None:
        place = {"GOOGLE_APPLICATION_CREDENTIALS": str(folder / "none.json")}
        environment = place if content is None else self.environment(folder, content)

        with pytest.raises(UsageError) as refused, a_provided_way({**self.TABLE, "dialect": "gemini"}, environment):
            pass

        assert told in str(refused.value)
