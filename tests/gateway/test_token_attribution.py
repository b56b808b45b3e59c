"""Tokens go to components in whole numbers that add up to what the provider counted."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from outweigh.gateway.dialects.anthropic_messages import AnthropicResponse
from outweigh.gateway.dialects.request_and_response import GenerationRequest, RequestPart, text_part
from outweigh.gateway.token_attribution import MarkerSearch, SubAgentDetector, apportion_tokens, attribute_tokens
from outweigh.model.usage import Component, ComponentTokens
from outweigh.ports.gateways import ArmMarker

COUNTS = st.integers(0, 10**9)
PARTS = st.lists(st.builds(RequestPart, st.sampled_from(Component), st.just(()), st.integers(0, 10**7)), max_size=12)
SKILL = ArmMarker(name="skill:testing", component=Component.SKILL_PROMPT, text="Always write\n  the test first.")
RULES = ArmMarker(name="instructions", component=Component.DOMAIN_EXPERTISE, text="Always write")


def _answer(sent: int, read: int, written: int, got: int, *, text: int = 1, tool: int = 0) -> AnthropicResponse:
    answer = AnthropicResponse()
    answer.input_tokens, answer.cache_read_tokens, answer.cache_write_tokens = sent, read, written
    answer.output_tokens, answer.text_bytes, answer.tool_bytes = got, text, tool
    return answer


@given(PARTS, COUNTS, COUNTS, COUNTS, COUNTS, COUNTS, COUNTS, st.booleans())
def test_the_sum_over_components_is_the_providers_total(
    parts: list[RequestPart], sent: int, read: int, written: int, got: int, text: int, tool: int, is_sub_agent: bool
) -> None:
    lines = attribute_tokens(parts, _answer(sent, read, written, got, text=text, tool=tool), is_sub_agent=is_sub_agent)

    assert sum(line.input_tokens for line in lines) == sent + read + written
    assert sum(line.output_tokens for line in lines) == got
    assert len({line.component for line in lines}) == len(lines)


@given(st.integers(0, 10**12), st.dictionaries(st.sampled_from(Component), st.integers(0, 10**9)))
def test_nobody_gets_a_whole_token_more_or_less_than_its_share(total: int, sizes: dict[Component, int]) -> None:
    whole = sum(sizes.values())
    shared = apportion_tokens(total, sizes)

    assert sum(shared.values()) == total
    if whole:
        assert all(abs(shared[component] * whole - total * size) < whole for component, size in sizes.items())


def test_shares_go_by_size() -> None:
    parts = [text_part(Component.SYSTEM_PROMPT, "x" * 30), text_part(Component.ORCHESTRATOR, "ä" * 5)]

    assert attribute_tokens(parts, _answer(1, 2, 1, 10, text=1, tool=4), is_sub_agent=False) == (
        ComponentTokens(component=Component.SYSTEM_PROMPT, input_tokens=3, output_tokens=0),
        ComponentTokens(component=Component.TOOL_CALL, input_tokens=0, output_tokens=8),
        ComponentTokens(component=Component.ORCHESTRATOR, input_tokens=1, output_tokens=2),
    )


def test_what_the_provider_did_not_say_is_shared_out_to_nobody() -> None:
    answer = _answer(1, 2, 1, 10)
    answer.output_tokens = None

    assert attribute_tokens([text_part(Component.SYSTEM_PROMPT, "x")], answer, is_sub_agent=False) == ()


def _request(*parts: RequestPart) -> GenerationRequest:
    return GenerationRequest(model=None, is_streamed=False, parts=parts, tools=(), first_user_texts=())


class TestMarkers:
    def test_a_marker_takes_its_own_share_and_leaves_the_rest(self) -> None:
        text = "<reminder>" + " Always\twrite the test  first. " + "</reminder>"
        search = MarkerSearch([SKILL])
        found = search.measure(_request(text_part(Component.ORCHESTRATOR, text)))
        marked, rest = found.parts

        assert (marked.component, marked.size_bytes) == (Component.SKILL_PROMPT, len("Always write the test first."))
        assert (rest.component, rest.size_bytes) == (Component.ORCHESTRATOR, len(text) - marked.size_bytes)
        assert found.markers == {"skill:testing"}

    def test_what_is_inside_a_longer_marker_is_not_found_again(self) -> None:
        search = MarkerSearch([RULES, SKILL])
        found = search.measure(_request(text_part(Component.SYSTEM_PROMPT, SKILL.text)))

        assert found.markers == {"skill:testing"}

    def test_lines_with_numbers_before_them_are_another_text(self) -> None:
        search = MarkerSearch([SKILL])
        found = search.measure(_request(text_part(Component.TOOL_RESPONSE, "  1→Always write\n  2→  the test first.")))

        assert found.markers == set()

    def test_a_text_is_found_again_in_every_request(self) -> None:
        search = MarkerSearch([SKILL])
        part = text_part(Component.SYSTEM_PROMPT, SKILL.text)

        assert search.measure(_request(part)) == search.measure(_request(part))

    def test_an_empty_marker_is_nowhere(self) -> None:
        search = MarkerSearch([ArmMarker(name="empty", component=Component.SKILL_PROMPT, text=" \n")])
        found = search.measure(_request(text_part(Component.SYSTEM_PROMPT, "anything")))

        assert found.markers == set()

    @given(
        st.lists(st.text(alphabet="ab \n", max_size=12), min_size=1, max_size=4), st.text(alphabet="ab \n", max_size=80)
    )
    def test_no_byte_is_lost_or_doubled(self, markers: list[str], text: str) -> None:
        search = MarkerSearch(
            ArmMarker(name=str(number), component=Component.SKILL_PROMPT, text=words)
            for number, words in enumerate(markers)
        )
        part = text_part(Component.SYSTEM_PROMPT, text)

        assert search.measure(_request(part)).size_bytes == part.size_bytes

    def test_no_text_is_kept_of_a_request(self) -> None:
        request = _request(*(text_part(Component.ORCHESTRATOR, f"text {number}") for number in range(1000)))

        assert [part.texts for part in MarkerSearch([SKILL]).measure(request).parts] == [()]


class TestConversations:
    def test_a_conversation_that_a_tool_call_asked_for_is_a_sub_agents(self) -> None:
        conversations = SubAgentDetector()
        assert not conversations.is_sub_agent(["<reminder>", "Fix the bug in the parser."])
        conversations.note_tool_arguments(["general", "Look for the\nparser's tests."])

        assert conversations.is_sub_agent(["<reminder>", "Look for the parser's tests."])
        assert not conversations.is_sub_agent(["Name this conversation."])

    def test_an_agent_that_hands_on_its_instruction_stays_itself(self) -> None:
        conversations = SubAgentDetector()
        assert not conversations.is_sub_agent(["<reminder>", "Fix the bug in the parser."])
        conversations.note_tool_arguments(["Fix the bug in the parser."])

        assert not conversations.is_sub_agent(["<reminder>", "Fix the bug in the parser."])
        assert conversations.is_sub_agent(["Fix the bug in the parser."])

    def test_a_few_letters_are_no_task(self) -> None:
        conversations = SubAgentDetector()
        conversations.note_tool_arguments(["hello"])

        assert not conversations.is_sub_agent(["hello"])


@pytest.mark.parametrize("role", [Component.MONITOR, Component.EVALUATOR])
def test_a_sub_agent_with_the_prompt_of_a_monitor_or_evaluator_counts_as_one(role: Component) -> None:
    parts = [text_part(role, "Watch the other agents."), text_part(Component.ORCHESTRATOR, "What do you see?")]
    answer = _answer(100, 20, 3, 10, text=1, tool=0)

    assert attribute_tokens(parts, answer, is_sub_agent=True) == (
        ComponentTokens(component=role, input_tokens=123, output_tokens=10),
    )
    assert attribute_tokens(parts[1:], answer, is_sub_agent=True)[0].component is Component.SUB_AGENT
