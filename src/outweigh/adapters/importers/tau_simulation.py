"""One simulated conversation of tau-bench or tau2-bench as a run of the model that acts in it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import dropwhile
from typing import Any

from outweigh.adapters.importers.identity import fingerprint, stable_id
from outweigh.adapters.importers.imported_run import agent, imported_run, kept_fields, outcome
from outweigh.adapters.importers.source_time import moment
from outweigh.record.check_result import CheckResult
from outweigh.record.cost import reported_cost
from outweigh.record.run_record import RunRecord
from outweigh.record.status import Status
from outweigh.record.usage import Usage
from outweigh.transcript.foreign import amount, count, mapping, name, sequence, text

_ENDINGS = {
    "max_steps": Status.BUDGET_EXCEEDED,
    "timeout": Status.TIMEOUT,
    "too_many_errors": Status.AGENT_ERROR,
    "agent_error": Status.AGENT_ERROR,
    "user_error": Status.INFRA_ERROR,
    "infrastructure_error": Status.INFRA_ERROR,
    "unexpected_error": Status.INFRA_ERROR,
}
_ALMOST_ONE = 1 - 1e-6
"""What tau2-bench itself counts as success."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Experiment:
    """What all simulations of a file share, as far as it says."""

    arm: str
    domain: str | None
    agent: str | None = None
    model: str | None = None
    fingerprint: str | None = None
    checksums: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Doings:
    """What the acting model did; None where the conversation was not kept and nobody counted."""

    answers: int | None
    tool_calls: int | None
    prompt_tokens: int | None
    completion_tokens: int | None


def simulation_run(raw: Mapping[str, Any], experiment: Experiment) -> RunRecord | None:
    """The run of a simulation; None for one that does not say of which task or trial it is."""
    task, trial = raw.get("task_id"), count(raw.get("trial"))
    if not isinstance(task, str | int) or isinstance(task, bool) or trial is None:
        return None
    status, detail = _status(raw)
    doings = _doings(raw)
    seed = raw.get("seed")
    return imported_run(
        run_id=stable_id("tau", name(raw.get("id")) or stable_id(task, trial, fingerprint(raw)[:16])),
        task_id=stable_id(*(part for part in (experiment.domain, task) if part is not None)) or "task",
        arm=experiment.arm,
        repeat=trial + 1,
        seed=seed if isinstance(seed, int) and not isinstance(seed, bool) else None,
        status=status,
        status_detail=detail,
        agent=agent(experiment.agent, None, experiment.model),
        arm_fingerprint=experiment.fingerprint,
        task_checksum=experiment.checksums.get(str(task)),
        family=experiment.domain,
        started_at=moment(raw.get("start_time")),
        duration_seconds=amount(raw.get("duration")),
        usage=_usage(doings),
        # The harness writes 0 where it knows no price.
        cost=reported_cost(amount(raw.get("agent_cost")) or None),
        step_count=doings.answers,
        tool_call_count=doings.tool_calls,
        checks=None if status is Status.INFRA_ERROR else _checks(raw),
        extra=kept_fields(
            {
                "reward": _reward(raw),
                "user_cost": amount(raw.get("user_cost")),
                "termination_reason": name(raw.get("termination_reason")),
                "prompt_tokens": doings.prompt_tokens,
            }
        ),
    )


def _status(raw: Mapping[str, Any]) -> tuple[Status, str | None]:
    broken = mapping(raw.get("info")).get("error")
    if broken is not None:
        return Status.INFRA_ERROR, str(broken)[:500]
    reason = name(raw.get("termination_reason"))
    status = _ENDINGS.get(reason or "", Status.COMPLETED)
    return status, None if status is Status.COMPLETED else reason


def _reward(raw: Mapping[str, Any]) -> float | None:
    stated = raw.get("reward", mapping(raw.get("reward_info")).get("reward"))
    return amount(stated)


def _checks(raw: Mapping[str, Any]) -> tuple[CheckResult, ...] | None:
    reward = _reward(raw)
    if reward is None:
        return None
    parts = mapping(mapping(raw.get("reward_info")).get("reward_breakdown"))
    known = {kind: amount(value) for kind, value in parts.items() if name(kind)}
    return (
        outcome("reward", reward >= _ALMOST_ONE),
        *(
            outcome(kind[:500], None if value is None else value >= _ALMOST_ONE, required=False)
            for kind, value in known.items()
        ),
    )


def _doings(raw: Mapping[str, Any]) -> _Doings:
    messages = [mapping(each) for each in sequence(raw.get("messages")) or sequence(raw.get("traj"))]
    if not messages:
        return _Doings(
            answers=None,
            tool_calls=count(raw.get("n_tool_calls")),
            prompt_tokens=count(raw.get("prompt_tokens")),
            completion_tokens=count(raw.get("completion_tokens")),
        )
    acted = [each for each in messages if text(each.get("role")) == "assistant"]
    # The greeting is not the model's; whatever follows its first answer is.
    used = list(dropwhile(lambda usage: not usage, (mapping(each.get("usage")) for each in acted)))
    return _Doings(
        answers=len(used) or len(acted),
        tool_calls=sum(len(sequence(each.get("tool_calls"))) for each in acted),
        prompt_tokens=_total(used, "prompt_tokens"),
        completion_tokens=_total(used, "completion_tokens"),
    )


def _total(used: list[dict[str, Any]], kind: str) -> int | None:
    figures = [count(each.get(kind)) for each in used]
    known = [figure for figure in figures if figure is not None]
    return sum(known) if known and len(known) == len(figures) else None


def _usage(doings: _Doings) -> Usage:
    """Prompt tokens include what was read from a cache, and how much that was is not said: input stays unknown."""
    return Usage(
        input_tokens=None, output_tokens=doings.completion_tokens, cache_read_tokens=None, cache_write_tokens=None
    )
