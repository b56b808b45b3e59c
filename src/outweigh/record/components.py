"""Which part of the set-up the tokens of a run went to: the component ledger."""

from enum import StrEnum

from outweigh.record.stored import Count, Stored


class Component(StrEnum):
    """The parts of an agent's set-up that consume tokens."""

    SYSTEM_PROMPT = "system_prompt"
    SKILL_PROMPT = "skill_prompt"
    DOMAIN_EXPERTISE = "domain_expertise"
    TOOL_SCHEMA = "tool_schema"
    TOOL_CALL = "tool_call"
    TOOL_RESPONSE = "tool_response"
    ORCHESTRATOR = "orchestrator"
    SUB_AGENT = "sub_agent"
    MONITOR = "monitor"
    EVALUATOR = "evaluator"


class ComponentTokens(Stored, frozen=True):
    """One line of the ledger: what a component sent to the model and got from it."""

    component: Component
    input_tokens: Count
    output_tokens: Count
