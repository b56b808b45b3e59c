"""A judge turns the words of an instruction into an issue report, and cannot give the change away."""

import msgspec
import pytest
from tests.engine.judging.judging_fixtures import a_context
from tests.judges.backends import a_judge
from tests.mining.instruction.changes import change, instruction

from outweigh.judges.openai_compatible import OpenAiCompatibleJudge
from outweigh.mining.rewrite import RewrittenInstruction, rewrite_instruction
from outweigh.testing.model_server import BillingSpec, Conversation, ErrorSpec, ModelServer, Script, Turn, When

CHANGED = change(
    "Never return a negative area",
    source={
        "shapes.py": (
            "def area(width, height):\n    return width * height\n",
            "def area(width, height, *, signed=False):\n    unsigned_product = abs(width * height)\n"
            "    return width * height if signed else unsigned_product\n",
        )
    },
    tests={
        "test_shapes.py": (
            None,
            "from shapes import area\n\n\ndef test_an_area_is_never_negative():\n"
            "    assert area(-1, 2) == 2\n    assert area(-1, 2, signed=True) == -2\n",
        )
    },
)
WRITTEN = instruction(CHANGED)
SECTIONS = WRITTEN.text[WRITTEN.text.index("## Expected behaviour") :]
GOOD = {
    "title": "Areas can be below zero",
    "report": "A shape that is drawn backwards has an area below zero.\n\nIt should not.",
}


def saying(answer: object, *, dollars: float = 0.25) -> Turn:
    return Turn(text=msgspec.json.encode(answer).decode(), billing=BillingSpec(cost_usd=dollars))


def rewritten(turn: Turn, *, second: Turn | None = None, retries: int = 0) -> tuple[RewrittenInstruction, list[str]]:
    again = [Conversation(when=When(contains="could not be used"), turn=[second])] if second else []
    with ModelServer(Script(turn=[turn], conversation=again), kept_body_bytes=100_000) as server:
        judge = a_judge("openai-compatible", base_url=f"{server.url}/v1", key="")
        judge = msgspec.structs.replace(judge, retries=retries)
        result = rewrite_instruction(WRITTEN, CHANGED, judge, a_context({"judge": OpenAiCompatibleJudge()}))
        prompts = [msgspec.json.decode(call.body or b"")["messages"][1]["content"] for call in server.ledger]
    return result, prompts


def test_the_report_takes_the_place_of_the_words_and_the_interface_stays() -> None:
    result, _ = rewritten(saying(GOOD))

    assert result.kept_because is None
    assert result.instruction.text == f"# {GOOD['title']}\n\n{GOOD['report']}\n\n{SECTIONS}"
    assert result.instruction.interface == WRITTEN.interface
    assert result.instruction.source == "message, rewritten by judge"
    assert result.cost.usd == 0.25


def test_the_patch_is_fenced_off_as_material() -> None:
    _, (prompt,) = rewritten(saying(GOOD))

    fenced = prompt.partition(" the patch\n")[2].partition("\nEND ")[0]
    assert "+    unsigned_product = abs(width * height)" in fenced
    assert "unsigned_product" not in prompt.replace(fenced, "")


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        (GOOD | {"report": "It should do `unsigned_product=abs(width*height)` instead."}, "quotes a line of the patch"),
        (GOOD | {"title": "Return unsigned_product"}, "names what only the patch has: unsigned_product"),
        (GOOD | {"report": "Bad.\n\n## Interface\n\n- nothing"}, "must not have headings"),
        (GOOD | {"report": " "}, "must both be texts that are not empty"),
        (GOOD | {"report": "word " * 2000}, "a report 6,000"),
        ({"title": "Areas"}, "must both be texts"),
        ([], "it is not a JSON object"),
    ],
)
def test_an_answer_that_gives_away_or_loses_something_is_not_used(answer: object, why: str) -> None:
    result, _ = rewritten(saying(answer))

    assert result.instruction == WRITTEN
    assert why in (result.kept_because or "")
    assert result.cost.usd == 0.25


def test_a_second_answer_is_asked_for_and_both_are_paid() -> None:
    result, prompts = rewritten(saying(GOOD | {"title": "Use unsigned_product"}), second=saying(GOOD), retries=1)

    assert result.kept_because is None
    assert result.cost.usd == 0.5
    assert "names what only the patch has" in prompts[1]


def test_a_service_that_fails_leaves_the_instruction_as_it_was() -> None:
    result, _ = rewritten(Turn(error=ErrorSpec(kind="unauthorized")))

    assert result.instruction == WRITTEN
    assert result.kept_because
