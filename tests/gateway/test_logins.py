"""Runs that a login authorises: the token goes to the provider alone, is renewed in time, and ends in one sentence."""

import asyncio
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec
import pytest
from aiohttp import ClientSession
from tests.gateway.gateway_fixtures import MODEL, PRICES, Way, a_way_through
from tests.gateway.login_fixtures import ACCOUNT, NOW, LoginProvider, a_jwt, claude_file, codex_file, gemini_file
from tests.gateway.plain_http import Answer, post
from tests.gateway.upstreams import an_upstream

from outweigh.errors import UsageError
from outweigh.gateway.dialects.api_errors import read_retry_after
from outweigh.gateway.model_gateway import ModelGateway, NamedUpstream
from outweigh.gateway.services.code_assist import CodeAssistService
from outweigh.gateway.services.login import LoginService, LoginTokenSource
from outweigh.gateway.services.login_files import ChatGptLogin, ClaudeLogin, GeminiLogin, LoginFile
from outweigh.gateway.upstream import ModelUpstream
from outweigh.model.failure import FailureKind, Status
from outweigh.model.provider import ApiFamily
from outweigh.testing.model_server import ModelServer, Script, Turn, UsageSpec

HI = {"model": MODEL, "max_tokens": 9, "messages": [{"role": "user", "content": "Hi"}], "input": "Hi"}
SCRIPT = Script(turn=[Turn(text="Hi", usage=UsageSpec(input_tokens=10, output_tokens=2))])


@contextmanager
def a_login_way(file: LoginFile, family: ApiFamily, url: str) -> Iterator[Way]:
    tokens = LoginTokenSource(file, None, now=lambda: NOW)
    service = CodeAssistService(url, tokens, None) if family is ApiFamily.GEMINI else LoginService(family, url, tokens)
    upstream = ModelUpstream(url=url, variable="", key="", name="a login", service=service, is_plan=True)
    named = NamedUpstream(dialect=family, upstream=upstream, prices=PRICES)
    nowhere = ModelUpstream(url="http://127.0.0.1:1", variable="", key="")
    with (
        ModelGateway(dict.fromkeys(ApiFamily, nowhere), PRICES, providers={"a login": named}) as gateway,
        a_way_through(gateway, provider="a login", keep_bodies=True) as way,
    ):
        yield way


def message(way: Way, **headers: str) -> Answer:
    return post(f"{way.url}/v1/messages", HI, {"x-api-key": way.key, **headers})


@pytest.fixture
def server() -> Iterator[ModelServer]:
    with ModelServer(SCRIPT) as server:
        yield server


class TestClaude:
    def file(self, home: Path, url: str, **more: str) -> ClaudeLogin:
        return ClaudeLogin({"HOME": str(home), **more}, f"{url}/token")

    def stored(self, home: Path) -> Any:
        return msgspec.json.decode((home / ".claude" / ".credentials.json").read_bytes())

    def test_the_token_is_sent_as_a_bearer_and_stays_outside(self, server: ModelServer, tmp_path: Path) -> None:
        token = a_jwt(NOW)
        claude_file(tmp_path, token)
        provider = LoginProvider(server, token)
        with (
            an_upstream(provider.answer) as url,
            a_login_way(self.file(tmp_path, url), ApiFamily.ANTHROPIC, url) as way,
        ):
            answer = message(way, **{"anthropic-beta": "interleaved-thinking-2025-05-14"})
            account = way.account()

        (sent,) = provider.headers
        assert (answer.status, provider.renewed, "x-api-key" in sent) == (200, 0, False)
        assert sent["anthropic-beta"] == "interleaved-thinking-2025-05-14,oauth-2025-04-20"
        assert (account.is_plan, account.calls[0].provider) == (True, "a login")
        assert account.calls[0].cost_usd == pytest.approx((10 * 3 + 2 * 15) / 1e6)
        for side in (answer.body, account.bodies, repr(account).encode()):
            assert token.encode() not in side

    def test_a_token_that_expires_soon_is_renewed_and_written_back(self, server: ModelServer, tmp_path: Path) -> None:
        claude_file(tmp_path, "old-token-0123456789", expires_at=NOW + 299)
        provider = LoginProvider(server, "none")
        with (
            an_upstream(provider.answer) as url,
            a_login_way(self.file(tmp_path, url), ApiFamily.ANTHROPIC, url) as way,
        ):
            statuses = [message(way).status for _ in range(2)]

        login = self.stored(tmp_path)
        assert (statuses[0], provider.renewed) == (200, 1)
        assert login["claudeAiOauth"] == {
            "accessToken": provider.token,
            "refreshToken": provider.refresh,
            "expiresAt": int((NOW + 28_800) * 1000),
            "scopes": ["user:inference"],
        }
        assert login["mcp"] == {"a": 1}
        assert (tmp_path / ".claude" / ".credentials.json").stat().st_mode & 0o077 == 0

    def test_a_token_that_is_refused_in_the_middle_is_renewed_once(self, server: ModelServer, tmp_path: Path) -> None:
        token = a_jwt(NOW)
        claude_file(tmp_path, token)
        provider = LoginProvider(server, token)
        with (
            an_upstream(provider.answer) as url,
            a_login_way(self.file(tmp_path, url), ApiFamily.ANTHROPIC, url) as way,
        ):
            first = message(way).status
            provider.expire()
            second = message(way).status
            calls = way.account().calls

        assert (first, second, provider.renewed, len(provider.paths)) == (200, 200, 1, 3)
        assert [call.http_status for call in calls] == [200, 200]

    def test_a_token_that_its_own_program_has_renewed_is_taken_from_the_file(
        self, server: ModelServer, tmp_path: Path
    ) -> None:
        token = a_jwt(NOW, 9)
        claude_file(tmp_path, "old-token-0123456789")
        provider = LoginProvider(server, token)
        with (
            an_upstream(provider.answer) as url,
            a_login_way(self.file(tmp_path, url), ApiFamily.ANTHROPIC, url) as way,
        ):
            claude_file(tmp_path, token)
            status = message(way).status

        assert (status, provider.renewed) == (200, 0)

    def test_many_refused_requests_renew_one_token(self, server: ModelServer, tmp_path: Path) -> None:
        claude_file(tmp_path, "old-token-0123456789")
        provider = LoginProvider(server, "none")

        async def renew_often(url: str) -> None:
            tokens = LoginTokenSource(self.file(tmp_path, url), None, now=lambda: NOW)
            async with ClientSession() as session:
                await asyncio.gather(*(tokens.renew("old-token-0123456789", session) for _ in range(5)))

        with an_upstream(provider.answer) as url:
            asyncio.run(renew_often(url))

        assert provider.renewed == 1

    def test_a_login_that_cannot_be_renewed_ends_in_one_sentence_and_nothing_is_sent_again(
        self, server: ModelServer, tmp_path: Path
    ) -> None:
        claude_file(tmp_path, "old-token-0123456789", refresh="used-refresh-token-0000")
        provider = LoginProvider(server, "none")
        with (
            an_upstream(provider.answer) as url,
            a_login_way(self.file(tmp_path, url), ApiFamily.ANTHROPIC, url) as way,
        ):
            answer = message(way)
            (call,) = way.account().calls

        assert (answer.status, len(provider.paths), server.ledger) == (401, 1, ())
        assert call.failure is not None
        assert (call.failure.kind, call.failure.kind.status) == (FailureKind.LOGIN_EXPIRED, Status.INFRA_ERROR)
        assert call.failure.detail == (
            f"The login in {tmp_path}/.claude/.credentials.json has expired or was refused, and the provider refused "
            "to renew it (HTTP 400). Run `claude` and log in again, then run the suite again: it continues."
        )
        assert "used-refresh" not in answer.body.decode()

    def test_the_token_of_setup_token_is_used_and_not_renewed(self, server: ModelServer, tmp_path: Path) -> None:
        provider = LoginProvider(server, "sk-ant-oat01-0123456789")
        variable = {"CLAUDE_CODE_OAUTH_TOKEN": "sk-ant-oat01-0123456789"}
        with (
            an_upstream(provider.answer) as url,
            a_login_way(self.file(tmp_path, url, **variable), ApiFamily.ANTHROPIC, url) as way,
        ):
            first = message(way).status
            provider.expire()
            second = message(way)

        assert (first, second.status, provider.renewed) == (200, 401, 0)
        assert "The login in CLAUDE_CODE_OAUTH_TOKEN has expired or was refused, and it cannot be" in str(second.body)

    def test_without_a_login_the_error_says_how_to_get_one(self, tmp_path: Path) -> None:
        with pytest.raises(UsageError, match=r"Run `claude` and log in, or run `claude setup-token` and export"):
            self.file(tmp_path, "http://x").read()


class TestChatGpt:
    def test_codex_s_requests_go_to_chatgpt_with_the_account(self, server: ModelServer, tmp_path: Path) -> None:
        token = a_jwt(NOW + 7200)
        codex_file(tmp_path, token)
        provider = LoginProvider(server, token)
        with an_upstream(provider.answer) as url:
            file = ChatGptLogin({"HOME": str(tmp_path)}, f"{url}/token")
            with a_login_way(file, ApiFamily.OPENAI, f"{url}/backend-api/codex") as way:
                bearer = {"authorization": f"Bearer {way.key}"}
                answer = post(f"{way.url}/v1/responses", HI, bearer)
                chat = post(f"{way.url}/v1/chat/completions", HI, bearer)
                account = way.account()

        (sent,) = provider.headers
        assert (answer.status, chat.status) == (200, 404)
        assert provider.paths == ["/backend-api/codex/responses"]
        assert (sent["authorization"], sent["chatgpt-account-id"]) == (f"Bearer {token}", ACCOUNT)
        assert [call.usage.output_tokens for call in account.calls] == [2]

    def test_a_token_says_itself_when_it_expires_and_is_renewed_before(
        self, server: ModelServer, tmp_path: Path
    ) -> None:
        codex_file(tmp_path, a_jwt(NOW + 299))
        provider = LoginProvider(server, "none")
        with an_upstream(provider.answer) as url:
            file = ChatGptLogin({"HOME": str(tmp_path)}, f"{url}/token")
            with a_login_way(file, ApiFamily.OPENAI, f"{url}/backend-api/codex") as way:
                status = post(f"{way.url}/v1/responses", HI, {"authorization": f"Bearer {way.key}"}).status

        stored = msgspec.json.decode((tmp_path / ".codex" / "auth.json").read_bytes())
        assert (status, provider.renewed) == (200, 1)
        assert stored["tokens"] == {
            "id_token": "new-id",
            "access_token": provider.token,
            "refresh_token": provider.refresh,
            "account_id": ACCOUNT,
        }
        assert stored["last_refresh"].endswith("Z")

    def test_without_a_login_the_error_says_how_to_get_one(self, tmp_path: Path) -> None:
        with pytest.raises(UsageError, match=r"there is no ChatGPT login in .*auth.json. Run `codex login` first"):
            ChatGptLogin({"HOME": str(tmp_path)}).read()


class TestGemini:
    CONTENTS: Mapping[str, Any] = {"contents": [{"role": "user", "parts": [{"text": "Hi"}]}]}
    PROGRAM = (
        b'var OAUTH_CLIENT_ID = "1-a.apps.googleusercontent.com";\nvar OAUTH_CLIENT_SECRET = "word-that-is-public";\n'
    )

    def file(self, home: Path, url: str) -> GeminiLogin:
        (home / "bundle").mkdir()
        (home / "bundle" / "chunk.js").write_bytes(self.PROGRAM)
        return GeminiLogin({"HOME": str(home)}, home / "bundle" / "gemini.js", f"{url}/token")

    def ask(self, way: Way, verb: str) -> Answer:
        return post(f"{way.url}/v1beta/models/{MODEL}:{verb}", self.CONTENTS, {"x-goog-api-key": way.key})

    @pytest.mark.parametrize("verb", ["generateContent", "streamGenerateContent?alt=sse"])
    def test_requests_and_responses_are_those_of_the_gemini_api(
        self, server: ModelServer, tmp_path: Path, verb: str
    ) -> None:
        token = "ya29.0123456789abcdef"
        gemini_file(tmp_path, token)
        provider = LoginProvider(server, token)
        with (
            an_upstream(provider.answer) as url,
            a_login_way(self.file(tmp_path, url), ApiFamily.GEMINI, url) as way,
        ):
            answer = self.ask(way, verb)
            counted = self.ask(way, "countTokens")
            (call,) = way.account().calls

        assert (answer.status, counted.json) == (200, {"totalTokens": 1})
        assert provider.paths[:2] == ["/v1internal:loadCodeAssist", f"/v1internal:{verb.partition('?')[0]}"]
        assert b'"candidates"' in answer.body
        assert b'"response"' not in answer.body
        assert (call.usage.input_tokens, call.usage.output_tokens, call.failure) == (10, 2, None)

    def test_a_token_is_renewed_as_the_installed_program_would(self, server: ModelServer, tmp_path: Path) -> None:
        gemini_file(tmp_path, "old-token-0123456789", expires_at=NOW + 299)
        provider = LoginProvider(server, "none")
        with (
            an_upstream(provider.answer) as url,
            a_login_way(self.file(tmp_path, url), ApiFamily.GEMINI, url) as way,
        ):
            status = self.ask(way, "generateContent").status

        stored = msgspec.json.decode((tmp_path / ".gemini" / "oauth_creds.json").read_bytes())
        assert (status, provider.renewed, stored["access_token"]) == (200, 1, provider.token)
        assert (stored["expiry_date"], stored["scope"]) == (int((NOW + 28_800) * 1000), "cloud-platform")

    def test_without_the_program_an_expired_login_ends_in_one_sentence(
        self, server: ModelServer, tmp_path: Path
    ) -> None:
        gemini_file(tmp_path, "old-token-0123456789", expires_at=NOW)
        provider = LoginProvider(server, "none")
        with an_upstream(provider.answer) as url:
            file = GeminiLogin({"HOME": str(tmp_path)}, None, f"{url}/token")
            with a_login_way(file, ApiFamily.GEMINI, url) as way:
                self.ask(way, "generateContent")
                (call,) = way.account().calls

        assert (provider.paths, provider.renewed) == ([], 0)
        assert call.failure is not None
        assert "`gemini` is not installed here, which could renew it. Run `gemini` and log in" in call.failure.detail


class TestLimits:
    """A plan's limit says when it resets, and that is how long an experiment waits."""

    def test_an_agent_is_told_to_give_up_and_the_record_how_long_to_wait(
        self, server: ModelServer, tmp_path: Path
    ) -> None:
        token = a_jwt(NOW + 7200)
        codex_file(tmp_path, token)
        provider = LoginProvider(server, token, plan_requests=0)
        with an_upstream(provider.answer) as url:
            file = ChatGptLogin({"HOME": str(tmp_path)}, f"{url}/token")
            with a_login_way(file, ApiFamily.OPENAI, f"{url}/backend-api/codex") as way:
                answer = post(f"{way.url}/v1/responses", HI, {"authorization": f"Bearer {way.key}"})
                (call,) = way.account().calls

        assert (answer.status, answer.headers["x-should-retry"], "retry-after" in answer.headers) == (
            400,
            "false",
            False,
        )
        assert "The limit of the plan is reached" in answer.json["error"]["message"]
        assert (call.http_status, call.usage.output_tokens) == (429, None)
        assert call.failure is not None
        assert (call.failure.kind, call.failure.retry_after_seconds) == (FailureKind.RATE_LIMITED, 3600)

    AT = datetime.fromtimestamp(NOW, UTC)

    def test_the_limit_of_a_claude_plan_that_was_reached_counts_and_no_other(self) -> None:
        headers = {
            "anthropic-ratelimit-unified-status": "rejected",
            "anthropic-ratelimit-unified-reset": str(int(NOW + 900)),
            "anthropic-ratelimit-unified-5h-reset": str(int(NOW + 900)),
            "anthropic-ratelimit-unified-7d-reset": str(int(NOW + 400_000)),
        }

        assert read_retry_after(headers, b"", self.AT) == 900
        assert read_retry_after({**headers, "retry-after": "60"}, b"", self.AT) == 60

    @pytest.mark.parametrize("stated", [{"resets_in_seconds": 3600}, {"resets_at": int(NOW + 3600)}], ids=str)
    def test_a_chatgpt_plan_says_it_in_the_body(self, stated: Mapping[str, int]) -> None:
        body = msgspec.json.encode({"error": {"type": "usage_limit_reached", "plan_type": "plus", **stated}})

        assert read_retry_after({}, body, self.AT) == 3600
