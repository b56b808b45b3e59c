"""Real agents whose model answers in fast mode, with searches or in another tier: the bill is that of the provider's
published prices, and what a router charges is shown as its own word.
"""

from pathlib import Path
from typing import Any

import pytest
from tests.cli.agent_experiment import ACT, END, AgentDesk, handed_out, require_agent, used
from tests.cli.stores import write_store
from tests.web.page_reader import Reader

from outweigh.model.failure import Status
from outweigh.model.run_record import RunRecord
from outweigh.model.usage import Cost, CostProvenance
from outweigh.testing.builders import a_run
from outweigh.testing.model_server import BillingSpec, LedgerEntry, ModelServer, Script, Turn

LISTED = {
    # Dollars per million tokens of input, output and cache reads.
    "claude-opus-4-6": (5.0, 25.0, 0.5),
    "claude-haiku-4-5": (1.0, 5.0, 0.1),
    "gpt-5": (1.25, 10.0, 0.125),
}


def billed(turn: Turn, billing: BillingSpec) -> Turn:
    return Turn(text=turn.text, run=turn.run, usage=turn.usage, billing=billing)


def run_agent(folder: Path, agent: str, model: str, billing: BillingSpec) -> tuple[RunRecord, tuple[LedgerEntry, ...]]:
    """One run at the bundled prices; its work is billed like this, its side questions are standard requests."""
    desk = AgentDesk(folder, model)
    with ModelServer(Script(turn=[billed(ACT, billing), billed(END, billing)])) as server:
        desk.write(server, {"one": {"agent": agent, "model": model}})
        (desk.suite / "prices.toml").write_text('name = "none of our own"\n')
        ended = desk.run()
        ledger, totals = server.ledger, server.totals()
    (run,) = [run for run in desk.records() if run.trial.arm == "one"]
    assert run.status is Status.COMPLETED, ended.err
    assert used([run]) == handed_out(totals)
    return run, ledger


def list_usd(entry: LedgerEntry) -> float:
    tokens = entry.tokens
    if tokens is None:
        return 0.0
    sent, got, read = next(prices for model, prices in LISTED.items() if (entry.model or "").startswith(model))
    return (tokens.input_tokens * sent + tokens.output_tokens * got + tokens.cache_read_tokens * read) / 1e6


@pytest.mark.needs_agent
@pytest.mark.needs_bubblewrap
def test_claude_code_in_fast_mode_with_searches_costs_six_times_as_much_and_a_cent_for_each(tmp_path: Path) -> None:
    require_agent("claude")

    run, ledger = run_agent(tmp_path, "claude-code", "claude-opus-4-6", BillingSpec(speed="fast", searches=1))

    work = [entry for entry in ledger if (entry.rule or "").startswith("turn[")]
    side = [entry for entry in ledger if entry not in work]
    assert len(work) >= 2
    assert run.cost.usd == pytest.approx(6 * sum(map(list_usd, work)) + 0.01 * len(work) + sum(map(list_usd, side)))
    assert run.cost.provenance is CostProvenance.METERED
    assert run.metering is not None
    assert run.metering.hosted_uses == {"web_search": len(work)}
    assert {bill.speed for bill in run.metering.billed} >= {"fast"}


@pytest.mark.needs_agent
@pytest.mark.needs_bubblewrap
def test_codex_in_the_flex_tier_costs_half(tmp_path: Path) -> None:
    require_agent("codex")

    run, ledger = run_agent(tmp_path, "codex", "gpt-5", BillingSpec(service_tier="flex"))

    work = [entry for entry in ledger if (entry.rule or "").startswith("turn[")]
    assert len(work) >= 2
    assert run.cost.usd == pytest.approx(sum(map(list_usd, work)) / 2)


def test_what_a_router_charged_is_shown_as_reported_by_the_provider(outweigh: Any, tmp_path: Path) -> None:
    charged = Cost(usd=0.5, provenance=CostProvenance.PROVIDER, price_table=None)
    runs = [a_run(task, arm, cost=charged) for task in ("a", "b") for arm in ("old", "new")]
    store = write_store(tmp_path / "store", runs, ["old", "new"])
    reader = Reader(Path(store))

    assert "$1.00 reported by provider" in outweigh("store", "show", store).out
    assert outweigh("store", "show", store, "--format", "json").json()["arms"]["old"]["cost_usd"] == {"provider": 1.0}
    assert "$0.50 (reported by provider)" in reader.ask(reader.store("/run") + "?run=a/old/1").text


def test_metered_costs_and_those_that_a_provider_reports_can_be_compared(outweigh: Any, tmp_path: Path) -> None:
    costs = {
        "old": Cost(usd=0.5, provenance=CostProvenance.PROVIDER, price_table=None),
        "new": Cost(usd=0.4, provenance=CostProvenance.METERED, price_table="list"),
    }
    runs = [a_run(task, arm, cost=cost) for task in ("a", "b") for arm, cost in costs.items()]
    store = write_store(tmp_path / "store", runs, ["old", "new"])

    compared = outweigh("compare", store, "--baseline", "old", "--candidate", "new")

    assert "different sources" not in compared.out + compared.err
