"""Ask every agent and judge of a suite once, as a run would: with its login, network, sandbox, gateway and model.

What is free cannot show that a login reaches the sandbox or that a provider accepts a key. This can, for a few cents.
"""

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from threading import Event
from time import monotonic

from outweigh.app.build_engine import load_suite_adapters, open_model_gateway
from outweigh.app.judging_round import find_judges
from outweigh.app.one_attempt import AttemptSetting, OneAttempt, attempt_once
from outweigh.app.probe_agents import arms_that_ask
from outweigh.app.sandbox_limits import with_default_limits
from outweigh.app.suite_sandbox import model_hosts, open_allowed_hosts
from outweigh.app.task_images import first_image
from outweigh.engine.failure_streak import diagnose
from outweigh.engine.judging.ask import ask_with_timeout
from outweigh.engine.load_suite import LoadedSuite
from outweigh.engine.setup_check import expected_setup
from outweigh.errors import UsageError
from outweigh.model.arm import Arm
from outweigh.model.failure import FailureKind, Status, detail_line
from outweigh.model.pricing import PriceTables, price_usage
from outweigh.model.suite import JudgeSpec
from outweigh.model.usage import Usage
from outweigh.plugins import load_adapter
from outweigh.ports.judges import Judge, JudgeQuestion
from outweigh.ports.sandboxes import SandboxError
from outweigh.prices import price_tables
from outweigh.report.doctor_page import LiveEstimate, RunRequirement

LIVE_TIMEOUT_SECONDS = 120.0
"""An agent that cannot reach its model tries again for minutes; nothing is learnt from waiting for that."""

AGENT_USAGE = Usage(input_tokens=20_000, output_tokens=200, cache_read_tokens=0, cache_write_tokens=0)
JUDGE_USAGE = Usage(input_tokens=300, output_tokens=100, cache_read_tokens=0, cache_write_tokens=0)
"""What one short answer usually takes: an agent sends its own long instructions, a judge only the question."""

_INSTRUCTION = "This only checks that you can be reached. Use no tools. Answer with the single word: ready\n"
_QUESTION = 'This only checks that you can be reached. Answer with this JSON object: {"ready": true}'
_ANSWER_SCHEMA = {
    "type": "object",
    "properties": {"ready": {"type": "boolean"}},
    "required": ["ready"],
    "additionalProperties": False,
}


def estimate_live(suite: LoadedSuite) -> LiveEstimate:
    """Whom a live check asks, and what that costs by the price table; unknown where a price is."""
    prices = price_tables(_price_file(suite))
    groups, judges = _groups(suite), suite.spec.judges
    costs = [
        *(_price(prices, group[0].model, AGENT_USAGE) for group in groups),
        *(_price(prices, judge.model, JUDGE_USAGE) for judge in judges),
    ]
    known = [cost for cost in costs if cost is not None]
    agents = (f"{group[0].agent} ({group[0].model or 'its own model'})" for group in groups)
    return LiveEstimate(
        asked=(*agents, *(f"judge {judge.name}" for judge in judges)),
        usd=sum(known),
        unpriced=len(costs) - len(known),
    )


def check_live(suite: LoadedSuite) -> Iterator[RunRequirement]:
    """One answer of every agent and of every judge, each a requirement that blocks where there is none."""
    with _live_setting(suite) as setting:
        for group in _groups(suite):
            yield _ask_agent(setting, group, is_direct=suite.spec.gateway.mode == "direct")
    judges = find_judges(suite.spec.judges)
    for judge in suite.spec.judges:
        if judge.name in judges.backends:
            yield _ask_judge(judge, judges.backends[judge.name])


def _groups(suite: LoadedSuite) -> list[list[Arm]]:
    """Arms that ask the same model in the same way; one answer is enough for all of them."""
    found: dict[object, list[Arm]] = {}
    for arm in arms_that_ask(suite):
        way = (
            arm.agent,
            arm.model,
            arm.upstream_name,
            arm.secrets,
            arm.flags,
            repr(arm.environment),
            repr(arm.options),
        )
        found.setdefault(way, []).append(arm)
    return list(found.values())


@contextmanager
def _live_setting(suite: LoadedSuite) -> Iterator[AttemptSetting]:
    adapters, spec = load_suite_adapters(suite), suite.spec
    with (
        open_allowed_hosts(spec.sandbox, model_hosts(suite)) as hosts,
        open_model_gateway(suite, adapters) as gateway,
    ):
        yield AttemptSetting(
            overlays=suite.overlays,
            sandbox=with_default_limits(spec.sandbox, 1),
            sandboxes=adapters.sandboxes,
            gateway=gateway,
            expected=expected_setup(suite.arms, suite.overlays, adapters.agents, spec.gateway.model_aliases),
            timeout_seconds=min(LIVE_TIMEOUT_SECONDS, spec.limits.timeout_seconds),
            allow=spec.gateway.allow,
            budget_usd=spec.limits.budget_usd,
            secrets={name: value for name, value in os.environ.items() if name in adapters.secrets},
            hosts=hosts,
            image=first_image(suite, adapters.sandboxes),
        )


def _ask_agent(setting: AttemptSetting, group: Sequence[Arm], *, is_direct: bool) -> RunRequirement:
    arm = group[0]
    name = ", ".join(each.name for each in group)
    try:
        tried = attempt_once(setting, arm, _INSTRUCTION)
    except (SandboxError, OSError, UsageError) as fault:
        return RunRequirement(kind="answer of", name=name, missing=str(fault), required=True, detail="")
    missing = _why_no_answer(setting, tried, arm, is_direct=is_direct)
    return RunRequirement(
        kind="answer of",
        name=name,
        missing=missing,
        required=True,
        detail="" if missing else _describe_answer(tried, arm),
        startup_seconds=tried.outcome.duration_seconds,
    )


def _describe_answer(tried: OneAttempt, arm: Arm) -> str:
    told = f"{arm.agent} answered with {tried.outcome.agent.model or 'its own model'}"
    cost = tried.outcome.cost.usd if tried.account is None else _metered_cost(tried)
    return told if cost is None else f"{told} for ${cost:.3f}"


def _metered_cost(tried: OneAttempt) -> float | None:
    costs = [call.cost_usd for call in tried.account.calls] if tried.account is not None else []
    return None if not costs or None in costs else sum(cost or 0.0 for cost in costs)


def _why_no_answer(setting: AttemptSetting, tried: OneAttempt, arm: Arm, *, is_direct: bool) -> str | None:
    """What went wrong and what to do; None where the agent ended well and a model has answered it."""
    outcome = tried.outcome
    answered = tried.account is None or any(call.failure is None for call in tried.account.calls)
    if outcome.status is Status.COMPLETED and answered:
        return None
    kind = None if outcome.failure is None else outcome.failure.kind
    is_late = outcome.status is Status.TIMEOUT
    said = f"no answer within {setting.timeout_seconds:.0f} s" if is_late else outcome.status_detail
    advice = [f"{arm.agent}: {detail_line(said or 'no request reached a model').rstrip('.')}."]
    login = getattr(load_adapter("agent", arm.agent), "missing_login", None)
    if is_direct and login is not None and (missing := login(arm)) is not None:
        advice.append(f"{missing[0].upper()}{missing[1:]}")
    elif tried.refused_hosts:
        hosts = ", ".join(tried.refused_hosts)
        advice.append(f"The sandbox refused {hosts}; to allow it, add it to allow_hosts under [sandbox].")
    else:
        is_unreached = is_late or kind is FailureKind.TIMEOUT
        advice.append(diagnose(FailureKind.CONNECTION_REFUSED if is_unreached else kind))
    return " ".join(advice)


def _ask_judge(judge: JudgeSpec, backend: Judge) -> RunRequirement:
    began = monotonic()
    answer = ask_with_timeout(
        backend,
        JudgeQuestion(
            judge=judge,
            system="You answer one question.",
            prompt=_QUESTION,
            answer_schema=_ANSWER_SCHEMA,
            timeout_seconds=min(LIVE_TIMEOUT_SECONDS, judge.timeout_seconds),
            cancel=Event(),
        ),
    )
    failure = answer.failure
    said = None if failure is None else f"{detail_line(failure.detail).rstrip('.')}. {diagnose(failure.kind)}"
    return RunRequirement(
        kind="answer of judge",
        name=judge.name,
        missing=said,
        required=True,
        detail="" if said else f"{judge.backend} answered with {answer.model or judge.model or 'its own model'}",
        startup_seconds=monotonic() - began,
    )


def _price(prices: PriceTables, model: str | None, usage: Usage) -> float | None:
    found = None if model is None else prices.prices(model)
    return None if found is None else price_usage(usage, found).value


def _price_file(suite: LoadedSuite) -> str | None:
    stated = suite.spec.gateway.prices
    return None if stated is None else str(suite.folder / stated)
