"""A user played by a model: asked through the real gateway, on the scripted model."""

from collections.abc import Iterator
from contextlib import contextmanager
from threading import Event

import msgspec
import pytest

from outweigh.engine.finish import metered_totals
from outweigh.engine.simulated_user import SHOWN_CHARACTERS, SimulatedUser, SimulatedUserError, open_user_model
from outweigh.gateway.model_gateway import ModelGateway
from outweigh.gateway.upstream import ModelUpstream
from outweigh.model.pricing import ModelPrices, PriceTables, UserPriceTable
from outweigh.model.provider import ApiFamily
from outweigh.model.suite import UserModelSpec
from outweigh.model.task import SimulatedUserSpec
from outweigh.testing.model_server import ErrorSpec, ModelServer, Script, Turn, UsageSpec

USAGE = UsageSpec(input_tokens=1_000, output_tokens=10, cache_read_tokens=0, cache_write_tokens=0)
LISTED = ModelPrices(input_usd_per_million=1.0, output_usd_per_million=10.0)
GOAL = "You want 42 in {answer.txt}, and you know nothing about files."


@contextmanager
def a_user(
    server: ModelServer, api: ApiFamily = ApiFamily.ANTHROPIC, *, most_turns: int = 5, cancel: Event | None = None
) -> Iterator[SimulatedUser]:
    upstream = ModelUpstream(url=server.url, variable="", key="", proxy=None)
    prices = PriceTables(UserPriceTable("listed", {"player": LISTED}))
    with (
        ModelGateway(dict.fromkeys(ApiFamily, upstream), prices) as gateway,
        open_user_model(
            gateway, model="player", api=api, label="user", budget_usd=None, cancel=cancel or Event()
        ) as model,
    ):
        spec = SimulatedUserSpec(goal=GOAL, most_turns=most_turns)
        yield SimulatedUser(spec=spec, instruction="Write the answer.", model=model)


@pytest.mark.parametrize("api", ApiFamily)
def test_the_model_says_what_comes_next_until_it_is_satisfied(api: ApiFamily) -> None:
    script = Script(turn=[Turn(text="No, 42.", usage=USAGE), Turn(text="[END]", usage=USAGE)])
    with ModelServer(script) as server, a_user(server, api) as user:
        said = [user.next_message("I wrote 41."), user.next_message("Now 42.")]
        usage, cost = metered_totals(user.model.meter.account())
        asked = [entry.model for entry in server.ledger]

    assert said == ["No, 42.", None]
    assert asked == ["player", "player"]
    assert (usage.input_tokens, usage.output_tokens) == (2_000, 20)
    assert cost.usd == pytest.approx(2_000 * 1e-6 + 20 * 1e-5)
    assert user.message_count == 1
    assert [msgspec.json.decode(line) for line in user.lines().splitlines()] == [
        {"answer": "I wrote 41.", "said": "No, 42."},
        {"answer": "Now 42.", "said": None},
    ]


def test_the_model_is_told_the_goal_the_instruction_and_the_end_of_a_long_answer() -> None:
    script = Script(turn=[Turn(text="Go on.")])
    with ModelServer(script, kept_body_bytes=1 << 20) as server, a_user(server) as user:
        user.next_message("beginning" + "x" * SHOWN_CHARACTERS + "end")
        (body,) = [(entry.body or b"").decode() for entry in server.ledger]

    assert GOAL in body
    assert "Write the answer." in body
    assert "xend" in body
    assert "beginning" not in body


def test_nothing_is_said_more_often_than_the_task_allows() -> None:
    with ModelServer(Script(turn=[Turn(text="More.")] * 9)) as server, a_user(server, most_turns=2) as user:
        said = [user.next_message("Done.") for _ in range(4)]
        requests = server.totals().requests

    assert said == ["More.", "More.", None, None]
    assert requests == 2


def test_an_unknown_answer_ends_the_conversation_without_a_request() -> None:
    with ModelServer(Script(turn=[Turn(text="More.")])) as server, a_user(server) as user:
        assert user.next_message(None) is None
        assert server.totals().requests == 0


def test_a_model_that_is_busy_is_asked_again() -> None:
    script = Script(turn=[Turn(text="No.", error=ErrorSpec(kind="overloaded", times=1))])
    with ModelServer(script) as server, a_user(server) as user:
        assert user.next_message("Done.") == "No."


def test_a_model_that_refuses_is_named_in_one_sentence() -> None:
    script = Script(turn=[Turn(error=ErrorSpec(kind="unauthorized"))])
    with (
        ModelServer(script) as server,
        a_user(server) as user,
        pytest.raises(SimulatedUserError, match=r"the simulated user \(player\) could not be asked: HTTP 401"),
    ):
        user.next_message("Done.")


def test_cancelling_ends_the_wait_between_two_tries() -> None:
    cancel = Event()
    cancel.set()
    script = Script(turn=[Turn(error=ErrorSpec(kind="overloaded"))])
    with ModelServer(script) as server, a_user(server, cancel=cancel) as user:
        with pytest.raises(SimulatedUserError):
            user.next_message("Done.")
        assert server.totals().requests == 1


@pytest.mark.parametrize(
    ("spec", "family"),
    [
        (UserModelSpec(model="claude-haiku-4-5"), ApiFamily.ANTHROPIC),
        (UserModelSpec(model="gemini-2.5-flash"), ApiFamily.GEMINI),
        (UserModelSpec(model="gpt-5-mini"), ApiFamily.OPENAI),
        (UserModelSpec(model="gpt-5-mini", api=ApiFamily.ANTHROPIC), ApiFamily.ANTHROPIC),
    ],
)
def test_a_model_is_asked_by_the_api_of_its_family_unless_the_suite_says_otherwise(
    spec: UserModelSpec, family: ApiFamily
) -> None:
    assert spec.family is family
