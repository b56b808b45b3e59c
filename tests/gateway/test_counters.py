"""A provider that only counts: it is asked with its own key for every request that another model answers."""

import msgspec
from aiohttp import web
from tests.gateway.gateway_fixtures import PRICES, REAL_KEY, a_way_through
from tests.gateway.plain_http import ask
from tests.gateway.upstreams import an_upstream

from outweigh.gateway.model_gateway import ModelGateway
from outweigh.gateway.prompt_tokens import read_logged_prompts
from outweigh.gateway.upstream import ModelUpstream
from outweigh.model.provider import ApiFamily
from outweigh.testing.model_server import ModelServer, Script, Turn

BODY = {
    "model": "m",
    "max_tokens": 9,
    "messages": [{"role": "user", "content": "Hello."}],
    "metadata": {"user_id": "u"},
}


class Counting:
    """Counts bytes in place of tokens, and remembers what it was asked."""

    def __init__(self, status: int = 200) -> None:
        self.status = status
        self.asked: list[tuple[str, str, dict[str, object]]] = []

    async def __call__(self, request: web.BaseRequest) -> web.StreamResponse:
        body = await request.read()
        self.asked.append((request.path, request.headers.get("x-api-key", ""), msgspec.json.decode(body)))
        return web.json_response({"input_tokens": len(body)}, status=self.status)


def counted(counting: Counting) -> list[int | None]:
    with ModelServer(Script(turn=[Turn(text="Hello.")])) as model, an_upstream(counting) as url:
        scripted = ModelUpstream(url=model.url, variable="", key="")
        counter = ModelUpstream(url=url, variable="REAL_KEY", key=REAL_KEY)
        with (
            ModelGateway(
                dict.fromkeys(ApiFamily, scripted), PRICES, counters={ApiFamily.ANTHROPIC: counter}
            ) as gateway,
            a_way_through(gateway, keep_bodies=True) as way,
        ):
            answer = ask("POST", f"{way.url}/v1/messages", msgspec.json.encode(BODY), {"x-api-key": way.key})
            assert answer.status == 200
            assert REAL_KEY.encode() not in answer.body
        return [prompt.counted_tokens for prompt in read_logged_prompts(way.account().bodies)]


def test_the_count_is_logged_and_the_scripted_model_answers() -> None:
    counting = Counting()

    found = counted(counting)

    path, key, asked = counting.asked[0]
    assert (path, key) == ("/v1/messages/count_tokens", REAL_KEY)
    assert asked == {key: BODY[key] for key in ("model", "messages")}, "only what a count takes"
    assert found == [len(msgspec.json.encode(asked))]


def test_a_provider_that_refuses_counts_nothing_and_the_request_is_still_answered() -> None:
    assert counted(Counting(status=401)) == [None]
