"""What looks like a key is found, and what only resembles one is not."""

import json
from collections.abc import Callable

import pytest

from outweigh.model.redact import find_keys, secret_values


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("x-api-key: sk-ant-api03-Qx7_wZ9", "a key of Anthropic"),
        ("OPENAI=sk-proj-abcDEF1234567890abcdXYZ", "a key of OpenAI"),
        ("sk-aB3dE5fG7hJ9kL1mN3pQ", "a key of OpenAI"),
        ("AIza" + "Sy0" * 11 + "ab", "a key of Google"),
        ("AKIAQ3EGTXMPKLMN7RST", "a key of AWS"),
        ("ghp_" + "a1B2c3" * 6, "a token of GitHub"),
        ("github_pat_" + "11A" * 20, "a token of GitHub"),
        ("glpat-abcdefghij0123456789", "a token of GitLab"),
        ("xoxb-123456789012-abcdef", "a token of Slack"),
        ("hf_" + "aBcDeF" * 6, "a token of Hugging Face"),
        ("npm_" + "a1B2c3" * 6, "a token of npm"),
        ("sk_live_4eC39HqLyjWDarjtT1zdp7dc", "a key of Stripe"),
        ("-----BEGIN RSA PRIVATE KEY-----\\nMIIEpAIBAAKCAQEA1234567890abcdefghijkl", "a private key"),
        ("eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9P", "a signed token"),
    ],
    ids=lambda value: value[:20],
)
def test_a_key_is_found_where_it_begins(text: str, kind: str) -> None:
    found = list(find_keys(f"before {text} after".encode(), {}))

    assert [each[0] for each in found] == [kind]
    assert found[0][1] >= len("before ")


@pytest.mark.parametrize("before", ["\n", "\r\n", "\t", "\b", "\f", "\x1f", "é"], ids=repr)
@pytest.mark.parametrize("written", [json.dumps, lambda text: json.dumps(json.dumps(text))], ids=["once", "twice"])
def test_a_key_is_found_after_a_character_that_json_escapes(before: str, written: Callable[[str], str]) -> None:
    text = written(f"x{before}sk-ant-api03-A1b2C3d4")

    assert list(find_keys(text.encode(), {})) == [("a key of Anthropic", text.index("sk-ant"))]


@pytest.mark.parametrize(
    "text",
    [
        "AKIAIOSFODNN7EXAMPLE",
        "sk-ant-your-key-goes-here",
        "task-abcdefghijklmnopqrstuvwxyz",
        r"C:\task-abcdefghijklmnopqrstuvwxyz",
        "sk-learn and sk-image",
        "-----BEGIN PRIVATE KEY----- is how such a file begins",
        "hf_transformers, npm_config_registry",
        "eyJ is how JSON begins in base64",
    ],
)
def test_what_is_no_key_is_left_alone(text: str) -> None:
    assert list(find_keys(text.encode(), {})) == []


def test_a_value_of_the_environment_is_found_by_the_name_of_its_variable() -> None:
    environment = {
        "DB_PASSWORD": "correct horse",
        "API_TOKEN": "short",
        "SSH_KEY": "/home/me/.ssh/id",
        "USER": "somebody",
    }

    values = secret_values(environment, is_path=lambda value: value == "/home/me/.ssh/id")

    assert values == {"DB_PASSWORD": "correct horse"}
    assert list(find_keys(b"say correct horse", values)) == [("the value of DB_PASSWORD", 4)]


def test_a_value_that_begins_with_a_slash_and_is_no_path_is_a_secret() -> None:
    environment = {"AWS_SECRET_ACCESS_KEY": "/bPxRfiCYzT9q+KLm3n"}

    assert secret_values(environment, is_path=lambda _: False) == environment


@pytest.mark.parametrize("value", ['correct "horse"', "correct\\horse", "correct\nhorse", "größer als früher"])
@pytest.mark.parametrize("ascii_only", [True, False])
def test_a_value_is_found_as_json_writes_it(value: str, ascii_only: bool) -> None:
    text = json.dumps({"t": value}, ensure_ascii=ascii_only)

    assert list(find_keys(text.encode(), {"DB_PASSWORD": value})) == [("the value of DB_PASSWORD", 7)]
    assert list(find_keys(json.dumps(text).encode(), {"DB_PASSWORD": value})) != []
