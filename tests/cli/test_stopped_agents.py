"""Real agents that the suite's timeout stops in the middle of an answer: what they took lies between the ends of the
estimate, and the stored record says so.
"""

from collections.abc import Iterable
from operator import le
from pathlib import Path

import msgspec
import pytest
from tests.cli.agent_experiment import ACT, END, PRICES, AgentDesk, require_agent
from tests.cli.test_real_agents import AGENTS, arm
from tests.prerequisites import needs

from outweigh.model.failure import Status
from outweigh.model.pricing import ModelPrices, price_usage
from outweigh.model.run_record import RunRecord
from outweigh.model.usage import Usage, sum_usage, usage_ends
from outweigh.testing.model_server import Conversation, ModelServer, Script, Totals, Turn, When

HOUR = 3600.0
LONG_TEXT = "The answer is in the file, and this is how it came to be there, step by step."
HANGS = {
    "early": Turn(text=LONG_TEXT, usage=END.usage, delay_seconds=HOUR),
    "halfway": Turn(text=LONG_TEXT, usage=END.usage, stall_seconds=HOUR),
}
"""Two arms: the model hangs before its last answer, or in the middle of it."""

TIMEOUT_SECONDS = 30


@pytest.fixture(params=["claude-code", "codex"])
@needs("agent", "bubblewrap")
def agent(request: pytest.FixtureRequest) -> str:
    require_agent(AGENTS[request.param][0])
    return str(request.param)


def stopped_runs(desk: AgentDesk, agent: str) -> tuple[list[RunRecord], Totals]:
    """Runs that have done their work and are then stopped by their timeout, while the model answers."""
    conversations = [
        Conversation(name=name, when=When(contains=f"Stop {name}."), turn=[ACT, hang]) for name, hang in HANGS.items()
    ]
    with ModelServer(Script(conversation=conversations)) as server:
        arms = {name: arm(agent, extra_prompt=f"Stop {name}.") for name in HANGS}
        desk.write(server, arms, limits={"timeout_seconds": TIMEOUT_SECONDS})
        ended = desk.run("-j", "2")
        totals = server.totals()
    runs = desk.records()
    assert [run.status for run in runs] == [Status.TIMEOUT] * 2, ended.err
    return runs, totals


def sums(usages: Iterable[Usage]) -> tuple[int, int]:
    """All tokens of the prompts, and those of the answers."""
    whole = sum_usage(list(usages))
    prompt = (whole.input_tokens or 0) + (whole.cache_read_tokens or 0) + (whole.cache_write_tokens or 0)
    return prompt, whole.output_tokens or 0


def test_runs_stopped_in_an_answer_have_bills_that_hold_the_ledgers_count(tmp_path: Path, agent: str) -> None:
    runs, totals = stopped_runs(AgentDesk(tmp_path, AGENTS[agent][1]), agent)

    ends = [found for run in runs if (found := usage_ends(run.metering)) is not None]
    assert len(ends) == len(runs)
    low, high = (sums(end[place] for end in ends) for place in range(2))
    likely, true = sums(run.usage for run in runs), sums([totals.tokens.usage])
    assert all(map(le, low, true))
    assert all(map(le, true, high))
    assert all(map(le, low, likely))
    assert all(map(le, likely, high))
    least, most = (sum(getattr(run.cost, end) for run in runs) for end in ("low_usd", "high_usd"))
    assert least <= (price_usage(totals.tokens.usage, msgspec.convert(PRICES, ModelPrices)).value or 0.0) <= most
    for run in runs:
        assert any("so the run's tokens are estimated" in warning for warning in run.warnings)
