"""What happens to an attempt after the agent has ended.

Metered figures replace reported ones, a failure of the infrastructure that only the agent reports counts as its own,
and a run that did not have its arm's set-up is excluded.
"""

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from statistics import median
from typing import Literal

from msgspec.structs import replace as replace_fields

from outweigh.engine.metered_steps import fill_steps
from outweigh.engine.run_draft import RunDraft, unknown_outcome
from outweigh.engine.setup_check import ExpectedSetup, check_setup, describe_unproven
from outweigh.engine.trigger_run import asked_skills
from outweigh.errors import quote_names
from outweigh.model.bill import group_bills, sum_charges
from outweigh.model.failure import EXCLUDED_STATUSES, Failure, FailureKind, Status
from outweigh.model.run_record import AgentKind
from outweigh.model.usage import (
    NO_USAGE,
    UNKNOWN_COST,
    ZERO_USAGE,
    BilledUsage,
    Component,
    ComponentTokens,
    Cost,
    CostProvenance,
    Metering,
    ReportedUsage,
    Usage,
    UsageRange,
    sum_usage,
    unmetered_use,
)
from outweigh.ports.agents import AttemptOutcome
from outweigh.ports.gateways import MeteredCalls, ModelCall

_FIRST_ERROR_STATUS = 400
"""HTTP statuses from here on are errors, for which providers do not charge."""

USAGE_FIELDS = ("input_tokens", "output_tokens", "cache_read_tokens", "cache_write_tokens")


@dataclass(frozen=True, slots=True, kw_only=True)
class MeteredOutcome:
    """An outcome with metered figures, how they were metered, and what the agent itself reported."""

    outcome: AttemptOutcome
    metering: Metering
    reported: ReportedUsage


def apply_metering(outcome: AttemptOutcome, account: MeteredCalls) -> MeteredOutcome:
    """Replace what the agent reported about tokens, cost and failures by what the gateway metered."""
    metering = _metering(account.calls)
    reported = ReportedUsage(usage=outcome.usage, cost_usd=outcome.cost.usd, requests=outcome.request_count)
    beyond = unmetered_use(metering, reported)
    usage = _usage(account.calls) if beyond is None else NO_USAGE
    status, detail, failure = _final_status(outcome, account.calls)
    went_around = beyond and f"the agent reports {beyond}; tokens and cost are unknown"
    doubts = (
        went_around,
        None if metering.estimated else _disagreement(outcome, usage, len(account.calls)),
        _without_counts(account.calls),
        _unpriced(account.calls) if beyond is None else None,
        _unserved(status, account.unserved),
    )
    metered = replace(
        outcome,
        status=status,
        status_detail=detail,
        failure=failure,
        retry_after_seconds=outcome.retry_after_seconds if failure is None else failure.retry_after_seconds,
        usage=usage,
        cost=_cost(account) if beyond is None else UNKNOWN_COST,
        components=_components(account.calls) or outcome.components,
        warnings=(*outcome.warnings, *filter(None, doubts)),
    )
    return MeteredOutcome(outcome=metered, metering=metering, reported=reported)


def metered_totals(account: MeteredCalls) -> tuple[Usage, Cost]:
    """The tokens and dollars of all calls, as far as they are known."""
    return _usage(account.calls), _cost(account)


def _usage(calls: Sequence[ModelCall], end: Literal["low", "likely", "high"] = "likely") -> Usage:
    """The sum over all requests, estimates at this end; a kind that is unknown in one of them is unknown in the sum."""
    counts = (
        call.usage if call.estimate is None else getattr(call.estimate, end) for call in calls if not _is_free(call)
    )
    return sum_usage([ZERO_USAGE, *counts])


def _estimated(calls: Sequence[ModelCall]) -> int:
    return sum(call.estimate is not None and not _is_free(call) for call in calls)


def _is_free(call: ModelCall) -> bool:
    """Whether nothing can have been charged: the answer was an error, or the connection was refused."""
    if call.http_status is not None and call.http_status >= _FIRST_ERROR_STATUS:
        return True
    return call.failure is not None and call.failure.kind is FailureKind.CONNECTION_REFUSED


def _charged(calls: Sequence[ModelCall]) -> list[ModelCall]:
    return [call for call in calls if not _is_free(call)]


def _cost(account: MeteredCalls) -> Cost:
    """What the provider states, else metered tokens at list prices.

    The agent's own figure is never used: behind the gateway it is a guess.
    """
    charged = _charged(account.calls)
    ends = [
        (call.cost_usd,) * 3
        if call.estimate is None
        else (call.estimate.low_usd, call.estimate.likely_usd, call.estimate.high_usd)
        for call in charged
    ]
    if any(usd is None for end in ends for usd in end):
        return UNKNOWN_COST
    low, usd, high = (sum(end[place] or 0.0 for end in ends) for place in range(3))
    by_provider = bool(charged) and all(call.charge is not None and call.charge.by_provider for call in charged)
    return Cost(
        usd=usd,
        provenance=_provenance(by_provider=by_provider, is_plan=account.is_plan),
        price_table=None if by_provider else account.price_table,
        **({"low_usd": min(low, usd), "high_usd": max(high, usd)} if _estimated(charged) else {}),
    )


def _unpriced(calls: Sequence[ModelCall]) -> str | None:
    """Why the cost is unknown although all tokens are known, and between which amounts it lies."""
    charged = _charged(calls)
    if any(call.charge is None or None in _kinds(call.usage) for call in charged):
        return None
    total = sum_charges([call.charge for call in charged if call.charge is not None])
    return None if total.usd is not None else f"the cost is unknown: {total.explanation}"


def _provenance(*, by_provider: bool, is_plan: bool) -> CostProvenance:
    if by_provider:
        return CostProvenance.PROVIDER
    return CostProvenance.PLAN if is_plan else CostProvenance.METERED


def _metering(calls: Sequence[ModelCall]) -> Metering:
    by_model: dict[str, list[ModelCall]] = defaultdict(list)
    for call in _charged(calls):
        for model, part in _parts_by_model(call):
            by_model[model].append(part)
    waits = [wait for call in calls if (wait := call.time_to_first_token_seconds) is not None]
    return Metering(
        requests=len(calls),
        failed_requests=sum(call.failure is not None for call in calls),
        models={name: _usage(group) for name, group in by_model.items()},
        time_to_first_token_seconds=median(waits) if waits else None,
        model_seconds=sum(call.duration_seconds for call in calls),
        hosted_uses=dict(sum((Counter(call.hosted_uses) for call in calls), Counter[str]())),
        providers={call.provider: call.host for call in calls if call.provider and call.host},
        estimated={
            name: UsageRange(requests=count, low=_usage(group, "low"), high=_usage(group, "high"))
            for name, group in by_model.items()
            if (count := _estimated(group))
        },
        billed=group_bills(bill for call in _charged(calls) for bill in _bills(call)),
    )


def _parts_by_model(call: ModelCall) -> Iterator[tuple[str, ModelCall]]:
    """A call by the model that used its tokens: an advisor or a fallback may be another than the one that answered."""
    answered = call.model or call.requested_model or "unknown"
    own = (None, call.model, call.requested_model)
    if all(bill.model in own for bill in call.billed):
        yield answered, call
        return
    for bill in call.billed:
        yield answered if bill.model in own else bill.model or answered, replace(call, usage=bill.usage)


def _bills(call: ModelCall) -> tuple[BilledUsage, ...]:
    """The bills of a call, with its likely tokens where they were estimated."""
    if call.estimate is None or not call.billed:
        return call.billed
    return (replace_fields(call.billed[0], usage=call.estimate.likely),)


def _components(calls: Sequence[ModelCall]) -> tuple[ComponentTokens, ...]:
    sent: dict[Component, int] = defaultdict(int)
    got: dict[Component, int] = defaultdict(int)
    for line in (line for call in calls for line in call.components):
        sent[line.component] += line.input_tokens
        got[line.component] += line.output_tokens
    return tuple(
        ComponentTokens(component=component, input_tokens=sent[component], output_tokens=got[component])
        for component in Component
        if component in sent
    )


_PROVIDER_FAILURES = frozenset(
    {
        FailureKind.CONNECTION_REFUSED,
        FailureKind.SERVER_ERROR,
        FailureKind.CUT_STREAM,
        FailureKind.RATE_LIMITED,
        FailureKind.OVERLOADED,
        FailureKind.LOGIN_EXPIRED,
    }
)
"""Failures of the provider, and of a login, which the gateway alone sends.

The others can be caused by what is asked for, such as a model that does not exist.
"""

_FLOOD_SECONDS, _FLOOD_REQUESTS = 60.0, 100
"""A run that sent more requests in this time has brought about a rate limit itself."""


def _final_status(outcome: AttemptOutcome, calls: Sequence[ModelCall]) -> tuple[Status, str | None, Failure | None]:
    """How the run ended by the model's answers, because agents misread and hide them."""
    as_reported = _reported_status(outcome, calls)
    if (capped := _first_failure(calls, FailureKind.BUDGET_REACHED)) is not None:
        return Status.BUDGET_EXCEEDED, capped.detail, capped
    fault = _last_failure(calls)
    if fault is None or fault.kind.status is not Status.INFRA_ERROR or not _is_excused(outcome, fault, calls):
        return as_reported
    return Status.INFRA_ERROR, f"{fault.kind.value}: {fault.detail}", fault


def _is_excused(outcome: AttemptOutcome, fault: Failure, calls: Sequence[ModelCall]) -> bool:
    """Whether a request that failed last excuses a run, which only what the agent cannot cause does.

    An agent that ended well is judged by its work, and slow arms must not lose their timeouts: both are excused only
    if no model ever answered. A wrong key or model name is the suite's mistake only then, too, and only if the agent's
    program itself ended on it.
    """
    answered = any(call.failure is None for call in calls)
    if fault.kind not in _PROVIDER_FAILURES:
        return not answered and outcome.status is Status.INFRA_ERROR
    if fault.kind is FailureKind.RATE_LIMITED and _flooded(calls):
        return False
    if outcome.status in (Status.COMPLETED, Status.TIMEOUT):
        return not answered
    return outcome.status in (Status.AGENT_ERROR, Status.INFRA_ERROR)


def _flooded(calls: Sequence[ModelCall]) -> bool:
    last = max(call.started_at_seconds for call in calls)
    return sum(call.started_at_seconds > last - _FLOOD_SECONDS for call in calls) > _FLOOD_REQUESTS


def _reported_status(outcome: AttemptOutcome, calls: Sequence[ModelCall]) -> tuple[Status, str | None, Failure | None]:
    """The status that the agent reports. A failure of the infrastructure that nobody else saw counts as the agent's.

    Before its first step and its first answer an agent has nothing to hide, so it is believed. Simulated agents
    simulate such failures.
    """
    begun = bool(outcome.steps) or any(call.failure is None for call in calls)
    if outcome.status is not Status.INFRA_ERROR or outcome.agent.kind is not AgentKind.REAL or not begun:
        return outcome.status, outcome.status_detail, outcome.failure
    said = f"the agent reports a failure of the infrastructure that nothing else confirms: {outcome.status_detail}"
    return Status.AGENT_ERROR, said, outcome.failure


def _first_failure(calls: Sequence[ModelCall], kind: FailureKind) -> Failure | None:
    return next((call.failure for call in calls if call.failure is not None and call.failure.kind is kind), None)


def _last_failure(calls: Sequence[ModelCall]) -> Failure | None:
    """The failure of the last request of the main conversation; side requests are those that offer no tools."""
    working = [call for call in calls if call.tools] or calls
    return max(working, key=lambda call: call.started_at_seconds).failure if working else None


def _disagreement(outcome: AttemptOutcome, usage: Usage, requests: int) -> str | None:
    """Where the agent's own token counts differ from the metered ones."""
    pairs = [(part, getattr(outcome.usage, part), getattr(usage, part)) for part in USAGE_FIELDS]
    wrong = [
        f"{theirs:,} {part.replace('_', ' ')} against {ours:,}"
        for part, theirs, ours in pairs
        if theirs is not None and ours is not None and theirs != ours
    ]
    if not wrong:
        return None
    counted = (
        ""
        if outcome.request_count in (None, requests)
        else f" (it counts {outcome.request_count} of {requests} requests)"
    )
    return f"the agent reports {' and '.join(wrong)} metered{counted}; the metered figures are used"


def _without_counts(calls: Sequence[ModelCall]) -> str | None:
    """How many answers had no final count, and what that means for the run's tokens."""
    lacking = [call for call in calls if not _is_free(call) and None in _kinds(call.usage)]
    if not lacking:
        return None
    said = f"{len(lacking)} {'answer' if len(lacking) == 1 else 'answers'} came without a final count of tokens"
    if any(call.estimate is None for call in lacking):
        return f"{said}, so the run's tokens are unknown"
    ends: tuple[Literal["low"], Literal["high"]] = ("low", "high")
    low, high = (sum(filter(None, _kinds(_usage(calls, end)))) for end in ends)
    return f"{said}, so the run's tokens are estimated: {low:,} to {high:,}"


def _kinds(usage: Usage) -> tuple[int | None, ...]:
    return tuple(getattr(usage, kind) for kind in USAGE_FIELDS)


def _unserved(status: Status, unserved: Sequence[str]) -> str | None:
    """Requests the gateway does not serve, as an explanation of a failure; successful agents make them too."""
    if status is Status.COMPLETED or not unserved:
        return None
    return f"the agent asked for what the gateway does not serve: {quote_names(unserved)}"


def finish_attempt(draft: RunDraft, expected: ExpectedSetup) -> None:
    """Replace reported figures by metered ones, and exclude a run that did not have its arm's set-up."""
    outcome = draft.outcome or unknown_outcome(draft.arm)
    if draft.account is not None:
        found = apply_metering(outcome, draft.account)
        draft.metering, draft.reported = found.metering, found.reported
        whole = unmetered_use(found.metering, found.reported) is None
        outcome = fill_steps(found.outcome, draft.account.conversation if whole else None, draft.task)
        if draft.account.bodies:
            draft.artifacts["model-traffic.jsonl"] = draft.account.bodies
    else:
        status, detail, _ = _reported_status(outcome, ())
        outcome = replace(outcome, status=status, status_detail=detail)
    asked = None if draft.task.trigger is None else asked_skills(draft.account)
    check = check_setup(draft.arm, expected, outcome.loaded, draft.account, outcome.servers, asked)
    unproven = map(describe_unproven, check.unproven)
    outcome = replace(outcome, loaded=check.loaded, warnings=(*outcome.warnings, *unproven))
    if check.faults and outcome.status not in EXCLUDED_STATUSES:
        outcome = replace(outcome, status=Status.ARM_NOT_APPLIED, status_detail="; ".join(check.faults))
    draft.outcome = outcome
