"""A suite's own providers: what is refused in their tables, and what of them is part of an arm."""

from pathlib import Path
from typing import Any

import msgspec
import pytest
from tests.engine.engine_fixtures import write_suite

from outweigh.engine.load_suite import LoadedSuite, load_suite
from outweigh.errors import UsageError
from outweigh.model.arm import ArmIdentity
from outweigh.model.parse import parse_suite
from outweigh.model.provider import NamedProviderSpec
from outweigh.verdict.policy import check_policy

LOCAL = {"dialect": "openai", "url": "http://127.0.0.1:11434", "key": ""}
ARMS = """
name = "s"
tasks = ["t"]
baseline = "a"
[arms.a]
agent = "codex"
[arms.b]
extends = "a"
provider = "local"
"""


def load(folder: Path, provider: dict[str, Any], *, name: str = "local") -> LoadedSuite:
    folder.mkdir()
    arm = {"agent": "codex", "model": "gpt-5"}
    write_suite(folder, {"a": arm, "b": {**arm, "provider": name}}, providers={name: provider})
    return load_suite(folder, check_policy=check_policy)


class TestRefused:
    @pytest.mark.parametrize(
        ("table", "told"),
        [
            ('url = "http://x"', 'a provider of kind "api" needs key: the name of the variable'),
            ('key = ""', 'a provider of kind "api" needs url.'),
            ('url = "http://x"\nkey = ""\nkind = "ollama"', 'providers.local.kind is "ollama", which is not one of'),
            ('url = "local:1"\nkey = ""', "providers.local.url must be an address"),
            ('url = "http://me:pw@x"\nkey = ""', "url has a user or a password"),
            ('url = "http://x"\nkey = "a key"', "providers.local.key must be the name"),
            ('url = "http://x"\nkey = ""\napi_version = "v1"', "api_version is for kind azure"),
            ('url = "http://x"\nkey = ""\nregion = "r"', "region is for kind bedrock and vertex"),
            ('kind = "bedrock"', 'a provider of kind "bedrock" has dialect "anthropic", not "openai"'),
            ('url = "http://x"\nkey = ""\nheaders.Host = "y"', "headers cannot set Host"),
            ('url = "http://x"\nkey = ""\nheaders."a b" = "y"', "the name of an HTTP header"),
            ('url = "http://x"\nkey = ""\nheaders.a = "b\\nc"', "text of one line"),
        ],
    )
    def test_a_table_that_cannot_work_is_told_at_its_place(self, table: str, told: str) -> None:
        text = f'{ARMS}[providers.local]\ndialect = "openai"\n{table}\n'

        with pytest.raises(UsageError) as refused:
            parse_suite(text.encode(), "suite.toml")

        assert told in str(refused.value)
        assert str(refused.value).startswith("suite.toml:1")
        assert "pw" not in str(refused.value).replace("password", "")

    def test_a_kind_that_has_another_api_is_told(self) -> None:
        text = f'{ARMS}[providers.local]\ndialect = "gemini"\nkind = "azure"\nurl = "http://x"\nkey = ""\n'

        with pytest.raises(UsageError, match='a provider of kind "azure" has dialect "openai", not "gemini"'):
            parse_suite(text.encode(), "suite.toml")

    def test_a_provider_that_is_not_there_is_told_where_an_arm_names_it(self) -> None:
        text = ARMS + '[arms.c]\nextends = "b"\n[providers.locale]\ndialect = "openai"\nurl = "http://x"\nkey = ""\n'

        with pytest.raises(UsageError) as refused:
            parse_suite(text.encode(), "suite.toml")

        assert str(refused.value) == (
            'suite.toml:9:12: arms.b.provider is "local", which is not under [providers]; did you mean "locale"?'
        )

    def test_without_any_provider_the_error_says_what_to_write(self) -> None:
        with pytest.raises(UsageError, match=r"add a table \[providers.local\] with its dialect, url and key"):
            parse_suite(ARMS.encode(), "suite.toml")


class TestAddress:
    @pytest.mark.parametrize(
        ("table", "address"),
        [
            ({"kind": "bedrock", "region": "eu-west-1"}, "https://bedrock-runtime.eu-west-1.amazonaws.com"),
            ({"kind": "vertex", "project": "p", "region": "us-east5"}, "https://us-east5-aiplatform.googleapis.com"),
            ({"kind": "vertex", "project": "p", "region": "global"}, "https://aiplatform.googleapis.com"),
            ({"kind": "bedrock", "region": "eu-west-1", "url": "http://proxy"}, "http://proxy"),
        ],
    )
    def test_a_cloud_s_address_follows_from_its_region(self, table: dict[str, str], address: str) -> None:
        assert msgspec.convert({"dialect": "anthropic", **table}, NamedProviderSpec).base_url == address


class TestIdentity:
    def test_an_arm_without_a_provider_has_no_word_of_one_in_its_manifest(self, tmp_path: Path) -> None:
        arms = load(tmp_path / "suite", LOCAL).arms

        assert "provider" not in msgspec.json.decode(arms["a"].manifest)
        assert arms["a"].fingerprint != arms["b"].fingerprint

    def test_the_manifest_of_an_arm_can_be_read_again(self, tmp_path: Path) -> None:
        arm = load(tmp_path / "suite", {**LOCAL, "headers": {"x-team": "${TEAM}"}, "models": {"gpt-5": "mine"}}).arms[
            "b"
        ]

        read = msgspec.json.decode(arm.manifest, type=ArmIdentity)

        assert read.provider == arm.provider
        assert read.provider is not None
        assert (read.provider.url, read.provider.headers) == (LOCAL["url"], {"x-team": "${TEAM}"})

    @pytest.mark.parametrize(
        "change",
        [
            {"url": "http://127.0.0.1:8000"},
            {"dialect": "anthropic", "kind": "bedrock", "region": "eu-west-1"},
            {"kind": "azure"},
            {"headers": {"x-team": "red"}},
            {"models": {"gpt-5": "other"}},
        ],
        ids=str,
    )
    def test_another_address_or_way_makes_another_arm(self, tmp_path: Path, change: dict[str, Any]) -> None:
        one = load(tmp_path / "one", LOCAL).arms["b"]
        other = load(tmp_path / "other", {**LOCAL, **change}).arms["b"]

        assert one.fingerprint != other.fingerprint

    def test_another_api_makes_another_arm(self, tmp_path: Path) -> None:
        one = load(tmp_path / "one", LOCAL).arms["b"]
        other = load(tmp_path / "other", {**LOCAL, "dialect": "anthropic"}).arms["b"]

        assert one.fingerprint != other.fingerprint

    @pytest.mark.parametrize("change", [{"key": "MY_KEY"}, {"prices": "prices.toml"}], ids=str)
    def test_another_key_or_price_file_does_not(self, tmp_path: Path, change: dict[str, Any]) -> None:
        one = load(tmp_path / "one", LOCAL).arms["b"]
        other = load(tmp_path / "other", {**LOCAL, **change}).arms["b"]

        assert one.fingerprint == other.fingerprint

    def test_another_name_for_the_same_provider_does_not(self, tmp_path: Path) -> None:
        one = load(tmp_path / "one", LOCAL).arms["b"]
        other = load(tmp_path / "other", LOCAL, name="router").arms["b"]

        assert one.fingerprint == other.fingerprint
        assert (one.provider_name, other.provider_name) == ("local", "router")
