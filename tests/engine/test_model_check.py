"""The model check: the arm's own model must be asked, and must be the one that answers."""

import pytest
from tests.engine.model_calls import a_call, a_failed_call, an_account

from outweigh.agents.claude_code.agent import ClaudeCodeAgent
from outweigh.agents.gemini_cli import GeminiCliAgent
from outweigh.agents.noop import NoopAgent
from outweigh.engine.model_check import DeclaredModel, declared_model, model_faults, unproven_models
from outweigh.gateway.dialects.request_and_response import GenerationRequest
from outweigh.gateway.run_ledger import RequestPolicy
from outweigh.model.arm import Arm, bare_arm
from outweigh.model.failure import FailureKind
from outweigh.ports.gateways import ModelCall

HINT = "(if these are one model, say so by model_aliases under [gateway])"


def declared(model: str, agent: object = None, **aliases: str) -> DeclaredModel:
    found = declared_model(bare_arm("plain", "any", model), agent, aliases)
    assert found is not None
    return found


def asked(model: str, answered_by: str | None = None, **fields: object) -> ModelCall:
    return a_call(requested_model=model, model=answered_by or model, **fields)


def faults(wanted: DeclaredModel, *calls: ModelCall) -> list[str]:
    return list(model_faults(wanted, an_account(*calls)))


def may_ask(wanted: DeclaredModel, model: str) -> bool:
    request = GenerationRequest(model=model, is_streamed=False, parts=(), tools=(), first_user_texts=())
    return RequestPolicy(models=wanted.may_ask, allow=()).explain_refusal(request) is None


@pytest.mark.parametrize(
    ("wanted", "answer"),
    [
        ("sonnet", "claude-sonnet-4-5-20250929"),
        ("sonnet[1m]", "claude-sonnet-4-5-20250929"),
        ("Sonnet[1m]", "claude-sonnet-5"),
        ("opus[1m]", "claude-opus-4-6"),
        ("opusplan", "claude-opus-4-6"),
        ("opusplan", "claude-sonnet-4-5"),
        ("opusplan[1m]", "claude-sonnet-4-5"),
        ("haiku", "us.anthropic.claude-haiku-4-5-20251001-v1:0"),
        ("best", "claude-opus-4-6"),
        ("default", "claude-sonnet-4-5"),
        ("claude-sonnet-4-5[1m]", "claude-sonnet-4-5"),
        ("claude-sonnet-4.5", "claude-sonnet-4-5@20250929"),
    ],
)
def test_an_alias_of_claude_code_is_proven_and_may_be_asked(wanted: str, answer: str) -> None:
    model = declared(wanted, ClaudeCodeAgent())

    assert faults(model, asked(answer)) == []
    assert may_ask(model, answer)


@pytest.mark.parametrize(
    ("agent", "wanted", "other"),
    [
        (None, "gpt-5", "gpt-5-mini"),
        (None, "gpt-5", "gpt-5.1"),
        (None, "gpt-5", "gpt-5-codex"),
        (None, "openai/gpt-5", "gpt-5-nano-2025-08-07"),
        (None, "gpt-5-mini", "gpt-5"),
        (None, "claude-sonnet-4", "claude-sonnet-4-5"),
        (None, "gemini-2.5-flash", "gemini-2.5-flash-lite"),
        (ClaudeCodeAgent(), "opus", "claude-sonnet-4-5"),
        (ClaudeCodeAgent(), "claude-sonnet-4-5", "claude-sonnet-4-6"),
        (GeminiCliAgent(), "flash", "gemini-2.5-flash-lite"),
        (GeminiCliAgent(), "pro", "gemini-2.5-flash"),
    ],
)
def test_another_model_is_never_taken_for_the_declared_one(agent: object, wanted: str, other: str) -> None:
    assert faults(declared(wanted, agent), asked(other)) == [
        f"the model {wanted!r} is declared and {other!r} was asked"
    ]


def test_all_models_that_were_asked_instead_are_named() -> None:
    assert faults(declared("gpt-5"), asked("gpt-5-mini"), asked("gpt-5-nano"), asked("gpt-5-mini")) == [
        "the model 'gpt-5' is declared and 'gpt-5-mini', 'gpt-5-nano' were asked"
    ]


def test_a_router_that_answers_with_another_model_is_a_fault_that_names_it() -> None:
    substituted = asked("gpt-5", "gpt-5-mini-2025-08-07")

    assert faults(declared("gpt-5"), substituted) == [
        f"the model 'gpt-5' was asked and 'gpt-5-mini-2025-08-07' answered {HINT}"
    ]
    assert faults(declared("gpt-5"), asked("gpt-5"), substituted, asked("gpt-5")) == [
        f"the model 'gpt-5' was asked and 'gpt-5-mini-2025-08-07' answered 1 of 3 requests {HINT}"
    ]


def test_an_alias_for_two_models_does_not_let_one_answer_for_the_other() -> None:
    assert faults(declared("opusplan", ClaudeCodeAgent()), asked("claude-opus-4-6", "claude-sonnet-4-5")) == [
        f"the model 'claude-opus-4-6' was asked and 'claude-sonnet-4-5' answered {HINT}"
    ]


def test_background_models_are_no_fault_but_prove_nothing() -> None:
    title, work = asked("claude-haiku-4-5"), asked("claude-opus-4-6")

    assert faults(declared("opus", ClaudeCodeAgent()), title, work) == []
    assert faults(declared("opus", ClaudeCodeAgent()), title) == [
        "the model 'opus' is declared and 'claude-haiku-4-5' was asked"
    ]


def test_a_model_that_the_request_names_as_its_fallback_may_answer() -> None:
    assert faults(declared("gpt-5"), asked("gpt-5", "gpt-4.1", fallback_models=("openai/gpt-4.1",))) == []


@pytest.mark.parametrize("wanted", ["openrouter/auto", "model-router"])
def test_a_router_that_is_to_choose_may_choose(wanted: str) -> None:
    assert faults(declared(wanted), asked(wanted, "anthropic/claude-sonnet-4.5")) == []


def test_the_suite_says_what_the_name_of_a_deployment_stands_for() -> None:
    told, untold = declared("prod", prod="gpt-5"), declared("prod")

    assert faults(told, asked("prod", "gpt-5-2025-08-07")) == []
    assert faults(told, asked("prod", "gpt-5-mini")) == [f"the model 'prod' was asked and 'gpt-5-mini' answered {HINT}"]
    assert faults(untold, asked("prod", "gpt-5-2025-08-07")) == [
        f"the model 'prod' was asked and 'gpt-5-2025-08-07' answered {HINT}"
    ]
    assert may_ask(told, "gpt-5")
    assert not may_ask(untold, "gpt-5")


def test_what_is_not_known_is_no_fault() -> None:
    assert faults(declared("gpt-5"), a_call(requested_model="gpt-5", model=None)) == []
    assert faults(declared("gpt-5"), a_call(requested_model=None, model=None)) == []
    assert faults(declared("gpt-5"), a_failed_call(FailureKind.SERVER_ERROR, requested_model="gpt-4")) == []
    assert list(model_faults(declared("gpt-5"), None)) == []
    assert list(model_faults(None, an_account(asked("gpt-4")))) == []


def test_an_answer_names_the_model_where_the_request_does_not() -> None:
    assert faults(declared("gpt-5"), a_call(requested_model=None, model="gpt-4")) == [
        "the model 'gpt-5' is declared and 'gpt-4' was asked"
    ]


def test_a_file_of_the_arm_does_not_open_all_models_of_a_provider() -> None:
    wanted = declared_model(bare_arm("plain", "claude-code", "haiku"), ClaudeCodeAgent(), {}, in_files=("best",))

    assert wanted is not None
    assert not may_ask(wanted, "claude-opus-4-6")


class OldAdapter:
    """An adapter that names what its aliases stand for among its other models."""

    def other_models(self, arm: Arm) -> tuple[str, ...]:
        return ("big-model-9",) if arm.model == "big" else ()


def test_an_adapter_that_does_not_tell_aliases_from_other_models_may_mean_any_of_them() -> None:
    assert faults(declared("big", OldAdapter()), asked("big-model-9")) == []
    assert faults(declared("small", OldAdapter()), asked("big-model-9")) != []


def test_a_model_that_a_sub_agent_of_the_arm_names_may_be_asked_and_proves_nothing() -> None:
    arm = bare_arm("plain", "claude-code", "sonnet")
    with_agent = declared_model(arm, ClaudeCodeAgent(), {}, in_files=("opus", "claude-fable-5-2"))
    without = declared_model(arm, ClaudeCodeAgent(), {})

    assert with_agent is not None
    assert without is not None
    for model in ("claude-opus-4-6", "claude-fable-5-2"):
        assert (may_ask(with_agent, model), may_ask(without, model)) == (True, False)
    assert faults(with_agent, asked("claude-opus-4-6")) == [
        "the model 'sonnet' is declared and 'claude-opus-4-6' was asked"
    ]


def test_an_arm_without_a_model_or_of_an_agent_that_asks_none_declares_none() -> None:
    assert declared_model(bare_arm("plain", "claude-code"), ClaudeCodeAgent(), {}) is None
    assert declared_model(bare_arm("plain", "noop", "gpt-5"), NoopAgent(), {}) is None


def test_a_model_that_is_asked_directly_is_not_provable() -> None:
    assert list(unproven_models(declared("gpt-5"), None)) == [
        "the model 'gpt-5' (its requests do not pass the gateway)"
    ]
    assert list(unproven_models(declared("gpt-5"), an_account())) == []
    assert list(unproven_models(None, None)) == []
