import pytest

from outweigh.model.model_name import bare_model_name, is_same_model, matches_any


@pytest.mark.parametrize(
    ("named", "asked"),
    [
        ("gpt-5", "openai/gpt-5"),
        ("gpt-5", "openrouter/openai/gpt-5"),
        ("gpt-5", "gpt-5-2025-08-07"),
        ("gpt-4", "gpt-4-0613"),
        ("grok-4", "x-ai/grok-4-0709"),
        ("claude-haiku-4-5", "claude-haiku-4-5-20251001"),
        ("gpt-4.1", "gpt-4-1-2025-04-14"),
        ("claude-sonnet-4.5", "anthropic/claude-sonnet-4-5"),
        ("claude-opus-4-1[1m]", "claude-opus-4-1"),
        ("claude-3-5-haiku-latest", "Claude-3-5-Haiku"),
        ("claude-3-5-haiku-latest", "claude-3-5-haiku-20241022"),
        ("claude-sonnet-4-0", "claude-sonnet-4-20250514"),
        ("claude-sonnet-4-5", "us.anthropic.claude-sonnet-4-5-20250929-v1:0"),
        ("claude-sonnet-4-5", "bedrock/global.anthropic.claude-sonnet-4-5-20250929-v1:0[1m]"),
        ("claude-opus-4-6", "anthropic.claude-opus-4-6-v1"),
        ("claude-sonnet-4-5", "arn:aws:bedrock:us-east-1:1:inference-profile/us.anthropic.claude-sonnet-4-5-v1:0"),
        ("gpt-oss-120b", "openai.gpt-oss-120b-1:0"),
        ("nova-pro", "amazon.nova-pro-v1:0:300k"),
        ("claude-sonnet-4-5-20250929", "vertex_ai/claude-sonnet-4-5@20250929"),
        ("claude-sonnet-4-5", "claude-sonnet-4-5@default"),
        ("claude-3-5-sonnet-20241022", "claude-3-5-sonnet-v2@20241022"),
        ("gemini-2.5-pro", "models/gemini-2.5-pro"),
        ("gemini-2.0-flash", "publishers/google/models/gemini-2.0-flash-001"),
        ("gemini-flash-latest", "gemini-2.5-flash-preview-09-2025"),
        ("qwen3-coder", "qwen/qwen3-coder:free"),
        ("mistral-large-latest", "mistral-large-2411"),
        ("llama3.2", "llama3.2:latest"),
        ("anthropic/claude-sonnet-4.5", "anthropic/claude-4.5-sonnet-20250929"),
        ("anthropic/claude-sonnet-4", "anthropic/claude-4-sonnet-20250522"),
        ("claude-3-5-sonnet-20241022", "anthropic/claude-3.5-sonnet"),
        ("openai/gpt-5.1", "openai/gpt-5.1-20251113"),
        ("gpt-5.1-2025-11-13", "openai/gpt-5.1-20251113"),
        ("google/gemini-3-flash-preview", "google/gemini-3-flash-preview-20251217"),
    ],
)
def test_one_model_has_many_spellings(named: str, asked: str) -> None:
    assert is_same_model(named, asked)
    assert is_same_model(asked, named)


@pytest.mark.parametrize(
    ("named", "asked"),
    [
        ("gpt-5", "gpt-5-mini"),
        ("gpt-5", "gpt-5-nano-2025-08-07"),
        ("gpt-5", "gpt-5.1"),
        ("gpt-5", "gpt-5-codex"),
        ("gpt-5", "gpt-5-pro"),
        ("gpt-4", "gpt-4o"),
        ("gpt-4o-2024-05-13", "gpt-4o-2024-08-06"),
        ("sonnet", "claude-sonnet-4-5"),
        ("o1", "o1-pro"),
        ("claude-sonnet-4", "claude-sonnet-4-5"),
        ("claude-sonnet-4", "us.anthropic.claude-sonnet-4-5-20250929-v1:0"),
        ("claude-sonnet-4-20250514", "claude-sonnet-4-5-20250929"),
        ("claude-3-5-sonnet-20240620", "anthropic.claude-3-5-sonnet-20241022-v2:0"),
        ("claude-3-5-sonnet@20240620", "claude-3-5-sonnet-v2@20241022"),
        ("claude-opus-4-5", "claude-sonnet-4-5"),
        ("anthropic/claude-sonnet-4", "anthropic/claude-4.5-sonnet-20250929"),
        ("anthropic/claude-sonnet-4.5", "anthropic/claude-4.5-opus-20251124"),
        ("gemini-2.5-flash", "gemini-2.5-flash-lite"),
        ("gemini-2.5-flash", "gemini-2.0-flash"),
        ("gemini-flash-latest", "gemini-2.5-flash-lite"),
        ("gemini-flash-latest", "gemini-2.5-pro"),
        ("qwen3:8b", "qwen3:32b"),
        ("qwen3-coder", "qwen3-coder-flash"),
        ("deepseek-chat-v3", "deepseek-chat"),
    ],
)
def test_another_model_is_never_taken_for_it(named: str, asked: str) -> None:
    assert not is_same_model(named, asked)
    assert not is_same_model(asked, named)


def test_a_pattern_matches_whole_names_in_any_spelling() -> None:
    assert matches_any("anthropic/claude-haiku-4.5", ["claude-*haiku*"])
    assert matches_any("us.anthropic.claude-haiku-4-5-20251001-v1:0", ["claude-*haiku*"])
    assert matches_any("gpt-4o-2024-08-06", ["gpt-4o-2024*"])
    assert matches_any("claude-3-5-haiku-20241022", ["claude-3-5-*"])
    assert matches_any("anthropic/claude-4.5-haiku", ["claude-haiku-4*"])
    assert not matches_any("gpt-5-mini", ["gpt-5"])
    assert not matches_any("gemini-2.5-pro", ["*-mini*"])


def test_a_name_without_anything_around_it_stays() -> None:
    assert bare_model_name("qwen3-coder") == "qwen3-coder"
