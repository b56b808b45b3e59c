"""Tokens of parts are those that the agent's provider counts, and a tokenizer's where it does not count."""

from dataclasses import replace
from pathlib import Path

import pytest
from aiohttp import web
from tests.agents.programs import PROGRAMS
from tests.cli.agent_experiment import require_agent
from tests.gateway.gateway_fixtures import REAL_KEY
from tests.gateway.upstreams import an_upstream
from tests.prerequisites import require

from outweigh.app.measure_parts import MeasureRequest, measure_parts
from outweigh.app.setup_files import find_setup_files
from outweigh.app.setup_parts import find_parts
from outweigh.gateway.upstream import ModelUpstream
from outweigh.model.arm import ArmSpec
from outweigh.model.provider import ApiFamily
from outweigh.model.suite import SandboxSpec
from outweigh.plugins import load_adapter

TEXT = "Greet every zebra by its full name, and then feed it."


async def count_zebras(request: web.BaseRequest) -> web.StreamResponse:
    """A provider to which a prompt has 1,000 tokens, and 7 more where it tells of zebras."""
    body = await request.read()
    return web.json_response({"input_tokens": 1_000 + 7 * (b"zebra" in body)})


async def refuse(_: web.BaseRequest) -> web.StreamResponse:
    return web.json_response({}, status=401)


def request_for(folder: Path, counters: dict[ApiFamily, ModelUpstream], told: list[str]) -> MeasureRequest:
    (folder / "CLAUDE.md").write_text(TEXT)
    setup = find_parts(find_setup_files(("CLAUDE.md",)), by_bullet=False)
    return MeasureRequest(
        setup=setup,
        parts=setup.parts,
        arm=ArmSpec(agent="claude-code", options={"program": str(PROGRAMS / "claude")}),
        sandbox=SandboxSpec(),
        counters=counters,
        jobs=2,
        notify=told.append,
    )


def counter_at(url: str) -> dict[ApiFamily, ModelUpstream]:
    return {ApiFamily.ANTHROPIC: ModelUpstream(url=url, variable="KEY", key=REAL_KEY)}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def require_claude() -> None:
    require_agent("claude")
    require("bubblewrap", load_adapter("sandbox", "bubblewrap").missing())


@pytest.mark.needs_agent
@pytest.mark.needs_bubblewrap
def test_the_provider_counts_where_it_is_asked(folder: Path) -> None:
    require_claude()
    with an_upstream(count_zebras) as url:
        found = measure_parts(request_for(folder, counter_at(url), []))

    assert (found.whole_tokens, found.nothing_tokens, found.is_provider_count) == (1_007, 1_000, True)
    assert found.parts["claude"].every_turn == 7


@pytest.mark.needs_agent
@pytest.mark.needs_bubblewrap
def test_a_provider_that_does_not_count_is_replaced_by_the_tokenizer_and_that_is_said(folder: Path) -> None:
    require_claude()
    pytest.importorskip("bpe_openai")
    told: list[str] = []
    with an_upstream(refuse) as url:
        found = measure_parts(request_for(folder, counter_at(url), told))

    assert (found.counted_by, found.is_provider_count) == ("o200k_base", False)
    assert (found.parts["claude"].every_turn or 0) > len(TEXT.split())
    assert any("did not count the tokens, so a tokenizer does" in line for line in told)


def test_an_agent_that_is_not_started_leaves_every_figure_unknown(folder: Path) -> None:
    found = measure_parts(replace(request_for(folder, {}, []), obstacle="it is not installed"))

    assert (found.whole_tokens, found.nothing_tokens, found.shared_tokens) == (None, None, None)
    assert {(part.every_turn, part.why) for part in found.parts.values()} == {(None, "it is not installed")}
