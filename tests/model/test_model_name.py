import pytest

from outweigh.model.model_name import bare_model_name, is_same_model, matches_any


@pytest.mark.parametrize(
    ("named", "asked"),
    [
        ("gpt-5", "openai/gpt-5"),
        ("claude-haiku-4-5", "claude-haiku-4-5-20251001"),
        ("gpt-4.1", "gpt-4-1-2025-04-14"),
        ("claude-sonnet-4.5", "anthropic/claude-sonnet-4-5"),
        ("claude-opus-4-1[1m]", "claude-opus-4-1"),
        ("claude-3-5-haiku-latest", "Claude-3-5-Haiku"),
    ],
)
def test_one_model_has_many_spellings(named: str, asked: str) -> None:
    assert is_same_model(named, asked)


@pytest.mark.parametrize(
    ("named", "asked"),
    [("gpt-5", "gpt-5-mini"), ("gpt-5", "gpt-5.1"), ("sonnet", "claude-sonnet-4-5"), ("o1", "o1-pro")],
)
def test_a_longer_name_is_another_model(named: str, asked: str) -> None:
    assert not is_same_model(named, asked)


def test_a_pattern_matches_whole_names_in_any_spelling() -> None:
    assert matches_any("anthropic/claude-haiku-4.5", ["claude-*haiku*"])
    assert not matches_any("gpt-5-mini", ["gpt-5"])
    assert not matches_any("gemini-2.5-pro", ["*-mini*"])


def test_a_name_without_anything_around_it_stays() -> None:
    assert bare_model_name("qwen3-coder") == "qwen3-coder"
