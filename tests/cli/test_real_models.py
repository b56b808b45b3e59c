"""Models of real agents, end to end: aliases are asked and proven, and a router that answers with another is caught."""

from pathlib import Path

import pytest
from msgspec.structs import replace
from tests.cli.agent_experiment import ACT, END, SOLVED, AgentDesk, require_agent

from outweigh.model.failure import Status
from outweigh.model.run_record import RunRecord
from outweigh.testing.model_server import ModelServer, Script

PROGRAMS = {"aider": "aider", "claude-code": "claude", "codex": "codex", "gemini-cli": "gemini"}


def run_models(folder: Path, agent: str, models: tuple[str, str], script: Script = SOLVED) -> dict[str, RunRecord]:
    """One run of each of these models, by its name."""
    require_agent(PROGRAMS[agent])
    desk = AgentDesk(folder, "priced")
    with ModelServer(script) as server:
        desk.write(server, {f"arm-{index}": {"agent": agent, "model": model} for index, model in enumerate(models)})
        desk.run("-j", "2")
    return {models[int(run.trial.arm[-1])]: run for run in desk.records()}


@pytest.mark.parametrize(
    ("agent", "families"),
    [
        ("claude-code", {"sonnet[1m]": ("sonnet",), "opusplan": ("sonnet",)}),
        ("claude-code", {"opus[1m]": ("opus",), "haiku": ("haiku",)}),
        ("aider", {"sonnet": ("claude-sonnet",), "4o": ("gpt-4o",)}),
        ("gemini-cli", {"flash": ("flash",), "auto": ("flash-lite", "gemini")}),
    ],
)
@pytest.mark.needs_agent
@pytest.mark.needs_bubblewrap
def test_an_alias_is_asked_and_proven_and_every_model_that_answers_is_named(
    tmp_path: Path, agent: str, families: dict[str, tuple[str, ...]]
) -> None:
    first, second = families
    runs = run_models(tmp_path, agent, (first, second))

    for alias, run in runs.items():
        assert (run.status, run.status_detail) == (Status.COMPLETED, None)
        assert run.metering is not None
        assert len(run.metering.models) == len(families[alias])
        assert all(any(family in model for model in run.metering.models) for family in families[alias])
    assert runs.keys() == families.keys()


@pytest.mark.needs_agent
@pytest.mark.needs_bubblewrap
def test_a_router_that_answers_with_another_model_makes_the_run_no_evidence(tmp_path: Path) -> None:
    smaller = [replace(turn, answered_by="gpt-5-mini-2025-08-07") for turn in (ACT, END)]
    runs = run_models(tmp_path, "codex", ("gpt-5", "gpt-5-mini"), Script(turn=smaller))

    assert (runs["gpt-5-mini"].status, runs["gpt-5-mini"].status_detail) == (Status.COMPLETED, None)
    assert runs["gpt-5"].status is Status.ARM_NOT_APPLIED
    assert runs["gpt-5"].status_detail == (
        "the model 'gpt-5' was asked and 'gpt-5-mini-2025-08-07' answered "
        "(if these are one model, say so by model_aliases under [gateway])"
    )
