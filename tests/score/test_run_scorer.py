"""Scoring takes ways that are quicker than calling every formula; what it says must be what the formulas say."""

from random import Random
from typing import Any

import pytest

from outweigh.model.codec import LocatedRecord
from outweigh.model.failure import Status
from outweigh.model.pricing import PriceTables
from outweigh.model.run_record import (
    AlignedAction,
    CheckResult,
    Milestone,
    ObservedSetup,
    RunRecord,
    Step,
    StepSource,
    ToolCall,
)
from outweigh.model.usage import (
    UNKNOWN_COST,
    Component,
    ComponentTokens,
    Metering,
    ReportedUsage,
    Usage,
    UsageRange,
    reported_cost,
    unmetered_use,
)
from outweigh.score.metrics import METRICS, FormulaInput
from outweigh.score.objective import objective
from outweigh.score.resource_usage import run_cost
from outweigh.score.run_score import RunScorer
from outweigh.stats.estimate import known, unknown
from outweigh.testing.builders import a_check, a_run

PRICES = PriceTables()


def some_usage(random: Random) -> Usage:
    counts = [random.choice([None, 0, random.randrange(5000)]) for _ in range(4)]
    return Usage(
        input_tokens=counts[0], output_tokens=counts[1], cache_read_tokens=counts[2], cache_write_tokens=counts[3]
    )


def some_check(random: Random) -> CheckResult:
    return a_check(
        passed=random.choice([True, False, None]), required=random.random() < 0.5, weight=random.choice([0.0, 1.0, 2.5])
    )


def some_step(random: Random) -> Step:
    call = ToolCall(name=random.choice(["Edit", "Bash"]), succeeded=random.choice([True, False, None]))
    return Step(
        index=0,
        source=StepSource.AGENT,
        message=None,
        tool_calls=(call,),
        usage=None,
        cost_usd=None,
        duration_seconds=None,
    )


def some_metering(random: Random) -> Metering:
    models = {name: some_usage(random) for name in random.sample(["a", "b"], random.randrange(3))}
    estimated = {
        name: UsageRange(requests=1, low=usage, high=some_usage(random))
        for name, usage in models.items()
        if random.random() < 0.2
    }
    return Metering(
        requests=random.choice([0, 2, 40]),
        failed_requests=0,
        models=models,
        time_to_first_token_seconds=None,
        model_seconds=1.0,
        estimated=estimated,
    )


def some_loaded(random: Random) -> ObservedSetup:
    return ObservedSetup(
        skills=("review",),
        skills_used=random.choice([None, (), ("review",)]),
        mcp_servers=None,
        tools=None,
        memory_files=None,
        seen_by=(),
    )


def some_run(random: Random) -> RunRecord:
    """A run that lacks a part or knows it, each with even odds."""
    parts: dict[str, Any] = {
        "duration_seconds": 12.5,
        "step_count": 3,
        "tool_call_count": 0,
        "check_command_count": 1,
        "checks": tuple(some_check(random) for _ in range(random.randrange(3))),
        "steps": tuple(some_step(random) for _ in range(random.randrange(3))),
        "components": tuple(
            ComponentTokens(component=random.choice(list(Component)), input_tokens=7, output_tokens=random.randrange(3))
            for _ in range(random.randrange(3))
        ),
        "milestones": (Milestone(name="found", weight=random.choice([0.0, 1.0]), achieved=random.random() < 0.5),),
        "actions": (AlignedAction(name="edit", alignment=0.25, weight=random.choice([0.0, 1.0])),),
        "metering": some_metering(random),
        "reported": ReportedUsage(usage=some_usage(random), cost_usd=None, requests=random.choice([None, 1, 50])),
        "loaded": some_loaded(random),
    }
    fields: dict[str, Any] = {name: part if random.random() < 0.5 else None for name, part in parts.items()}
    return a_run(
        status=random.choice([Status.COMPLETED, Status.COMPLETED, Status.TIMEOUT, Status.INFRA_ERROR]),
        usage=some_usage(random),
        cost=random.choice([UNKNOWN_COST, reported_cost(0.25)]),
        **fields,
    )


@pytest.mark.parametrize("seed", range(100))
def test_a_score_has_of_every_metric_what_its_formula_says(seed: int) -> None:
    run = some_run(Random(seed))
    score = RunScorer(PRICES).score(LocatedRecord(run, "records", 1), run)

    cost, reason = run_cost(run, PRICES)
    given = FormulaInput(run, PRICES, unknown(reason) if cost.usd is None else known(cost.usd), objective(run))
    expected = {metric.name: metric.formula(given) for metric in METRICS if metric.formula is not None}
    assert {name: getattr(score, name) for name in expected} == {name: each.value for name, each in expected.items()}
    assert list(score.reasons.items()) == [(name, each.reason) for name, each in expected.items() if each.reason]


def test_runs_that_are_scored_together_have_the_scores_that_each_has_alone() -> None:
    runs = [some_run(Random(seed)) for seed in range(100)]
    located = [LocatedRecord(run, "records", line) for line, run in enumerate(runs, start=1)]

    alone = [RunScorer(PRICES).score(each, run) for each, run in zip(located, runs, strict=True)]
    assert RunScorer(PRICES).score_all(located, runs) == alone


def said_beyond(metering: Metering, reported: ReportedUsage) -> bool:
    """Whether the agent says more of anything than came through the gateway, where all of that is known."""
    came = {**metering.models, **{model: ends.high for model, ends in metering.estimated.items()}}.values()
    said = reported.usage
    prompts = [
        each for usage in came for each in (usage.input_tokens, usage.cache_read_tokens, usage.cache_write_tokens)
    ]
    sent = (said.input_tokens or 0) + (said.cache_read_tokens or 0) + (said.cache_write_tokens or 0)
    return any(
        told is not None and None not in seen and told > sum(count or 0 for count in seen)
        for told, seen in (
            (sent, prompts),
            (said.output_tokens, [usage.output_tokens for usage in came]),
            (reported.requests, [metering.requests]),
        )
    )


@pytest.mark.parametrize("seed", range(100))
def test_use_is_unmetered_exactly_where_the_agent_says_more_than_came_through(seed: int) -> None:
    random = Random(seed)
    metering = some_metering(random)
    told = ReportedUsage(usage=some_usage(random), cost_usd=None, requests=random.choice([None, 1, 50]))
    if metering.requests:
        assert (unmetered_use(metering, told) is not None) is said_beyond(metering, told)
