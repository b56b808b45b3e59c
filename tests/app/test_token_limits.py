"""Claims about `tokens_per_minute`: refused where nothing would keep to it, and divided among shards."""

from pathlib import Path
from typing import Any

import pytest
from tests.engine.engine_fixtures import loaded, shell, write_suite

from outweigh.app.run_request import RunRequest
from outweigh.app.suite_selection import SuiteRequest
from outweigh.app.token_limits import RunTokens
from outweigh.engine.executor import ThreadExecutor
from outweigh.engine.load_suite import LoadedSuite
from outweigh.model.shard import Shard
from outweigh.model.suite import settings_fingerprint

LIMIT = {"tokens_per_minute": 1_000}


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"gateway": {"mode": "direct"}}, 'with mode = "direct" under [gateway], requests do not pass the gateway'),
        ({"executor": "harbor"}, "Harbor's runs do not pass the gateway"),
    ],
)
def test_a_limit_that_nothing_would_keep_to_is_refused_in_a_sentence(
    tmp_path: Path, outweigh: Any, settings: dict[str, Any], words: str
) -> None:
    suite = write_suite(tmp_path / "suite", {"a": shell("true")}, limits=LIMIT, **settings)

    refused = outweigh("run", "-c", str(suite), "-o", str(tmp_path / "store"))

    assert refused.code == 2
    assert f"limits.tokens_per_minute: {words}" in refused.err
    assert not (tmp_path / "store").exists()


def test_a_limit_of_nothing_is_refused(tmp_path: Path, outweigh: Any) -> None:
    suite = write_suite(tmp_path / "suite", {"a": shell("true")}, limits={"tokens_per_minute": 0})

    refused = outweigh("run", "-c", str(suite), "-o", str(tmp_path / "store"))

    assert refused.code == 2
    assert "tokens_per_minute" in refused.err


def test_the_limit_does_not_change_what_a_run_is(tmp_path: Path) -> None:
    without, limited = (
        loaded(tmp_path / name, {"a": shell("true")}, limits=limits) for name, limits in (("one", {}), ("two", LIMIT))
    )

    assert settings_fingerprint(without.spec) == settings_fingerprint(limited.spec)


def test_a_suite_without_a_limit_lets_nothing_wait(tmp_path: Path) -> None:
    tokens = RunTokens(loaded(tmp_path, {"a": shell("true")}), a_request())
    threads = ThreadExecutor(lambda planned, number: pytest.fail("nothing starts"), 2)

    assert tokens.queue is None
    assert tokens.paced(threads, lambda _: None) is threads


def a_request(shard: Shard | None = None) -> RunRequest:
    return RunRequest(suite=SuiteRequest(path="suite"), jobs=1, shard=shard)


def limit_of(suite: LoadedSuite, shard: Shard | None) -> int | None:
    return RunTokens(suite, a_request(shard)).limit


def test_each_shard_has_its_share_of_the_limit(tmp_path: Path) -> None:
    suite = loaded(tmp_path, {"a": shell("true")}, limits=LIMIT)

    assert limit_of(suite, None) == 1_000
    assert limit_of(suite, Shard(index=2, count=3)) == 333
