"""One trial of a Harbor job as a run: who tried, how it ended, what it took."""

from collections.abc import Iterator, Mapping
from datetime import datetime
from pathlib import PurePath
from typing import Any

from outweigh.adapters.importers.harbor_failure import FailureCause, cause_of, status_of
from outweigh.adapters.importers.identity import fingerprint
from outweigh.adapters.importers.imported_run import kept_fields, outcome
from outweigh.adapters.importers.source_time import moment, seconds_between
from outweigh.record.check_result import CheckResult
from outweigh.record.cost import reported_cost
from outweigh.record.run_record import AgentIdentity, AgentKind
from outweigh.record.usage import Usage
from outweigh.transcript.foreign import amount, count, mapping, name, names, sequence, text
from outweigh.transcript.token_counts import without

Raw = Mapping[str, Any]

MAIN_REWARD = "reward"
_NO_PART_OF_AN_ARM = frozenset({"n_concurrent", "concurrency_group"})
_NOT_REAL = frozenset({"oracle", "nop"})
_DETAIL_LENGTH = 500
_SHOWN_SKILLS = 3


class HarborTrial:
    """A trial's `result.json`, with its shape taken on no trust."""

    def __init__(self, raw: Raw) -> None:
        self.raw = raw
        self.info = mapping(raw.get("agent_info"))
        self._steps = [mapping(step) for step in sequence(raw.get("step_results"))]

    @property
    def trial_id(self) -> str | None:
        """Harbor's own id, else the trial's name."""
        return name(self.raw.get("id")) or name(self.raw.get("trial_name"))

    @property
    def task(self) -> str | None:
        """The task's name."""
        return name(self.raw.get("task_name"))

    @property
    def started_at(self) -> datetime | None:
        """When the agent was started, else the trial."""
        return moment(mapping(self.raw.get("agent_execution")).get("started_at")) or moment(self.raw.get("started_at"))

    def arm_settings(self) -> dict[str, Any]:
        """What makes the arm: all of `config.agent` that is set and can change what the agent does."""
        agent = mapping(mapping(self.raw.get("config")).get("agent"))
        return {key: value for key, value in agent.items() if value and key not in _NO_PART_OF_AN_ARM}

    def arm_fingerprint(self) -> str | None:
        """Its hash; None where the trial does not say how its agent was configured."""
        settings = self.arm_settings()
        return fingerprint(settings) if settings else None

    def arm_name(self) -> str:
        """A name that two different settings never share: agent, model, skills, and the beginning of the hash."""
        agent = self.identity()
        skills = [f"+{PurePath(each).name}" for each in names(self.arm_settings().get("skills")) or ()]
        known = [part for part in (agent.name or "agent", agent.model, *skills[:_SHOWN_SKILLS]) if part]
        return f"{' '.join(known)[:150]} @{(self.arm_fingerprint() or 'unknown')[:7]}"

    def identity(self) -> AgentIdentity:
        """Who tried; Harbor's oracle and nop are no agents."""
        settings = self.arm_settings()
        agent = name(self.info.get("name")) or name(settings.get("name")) or name(settings.get("import_path"))
        model = name(mapping(self.info.get("model_info")).get("name")) or name(settings.get("model_name"))
        version = name(self.info.get("version"))
        return AgentIdentity(
            kind=AgentKind.SCRIPTED if agent in _NOT_REAL else AgentKind.REAL,
            name=agent,
            version=None if version == "unknown" else version,
            model=model,
        )

    def exceptions(self) -> list[Raw]:
        """The trial's exception first, then those of its steps."""
        found = [mapping(part.get("exception_info")) for part in (self.raw, *self._steps)]
        return [exception for exception in found if exception]

    def unclassified(self) -> list[str]:
        """The exceptions of which nobody can say whose fault they were."""
        kinds = [_kind(exception) for exception in self.exceptions()]
        return [kind for kind in kinds if cause_of(kind) is FailureCause.UNCLASSIFIED]

    def fields(self, cache_write_tokens: int | None) -> dict[str, Any]:
        """Fields of a RunRecord. What was written to the cache is known from the trajectory only."""
        kinds = [_kind(exception) for exception in self.exceptions()]
        checks = tuple(self._checks())
        usage, cost_usd = self._totals(cache_write_tokens)
        return {
            "status": status_of(kinds, graded=bool(checks)),
            "status_detail": self._detail(),
            "agent": self.identity(),
            "arm_fingerprint": self.arm_fingerprint(),
            "task_checksum": text(self.raw.get("task_checksum")) or None,
            "started_at": self.started_at,
            "duration_seconds": self._seconds("agent_execution"),
            "setup_seconds": _together(_phase(self.raw, "environment_setup"), _phase(self.raw, "agent_setup")),
            "checks_seconds": self._seconds("verifier"),
            "usage": usage,
            "cost": reported_cost(cost_usd),
            "checks": checks or None,
            "extra": self._extra(),
        }

    def _checks(self) -> Iterator[CheckResult]:
        rewards = mapping(mapping(self.raw.get("verifier_result")).get("rewards"))
        values = {name(key): amount(value) for key, value in rewards.items()}
        for reward, value in values.items():
            if reward is None:
                continue
            required = reward == MAIN_REWARD or MAIN_REWARD not in values
            passed = None if value is None else value >= 1
            yield outcome(reward, passed, None if value is None else f"reward {value:g}", required=required)

    def _totals(self, cache_write_tokens: int | None) -> tuple[Usage, float | None]:
        """Harbor counts cached tokens inside input; a trial of several steps has a part for each."""
        own = mapping(self.raw.get("agent_result"))
        parts = [own] if own else [part for step in self._steps if (part := mapping(step.get("agent_result")))]
        totals = {key: _sum(count(part.get(key)) for part in parts) for key in _TOKENS}
        cost = _sum(amount(part.get("cost_usd")) for part in parts)
        cached = count(totals["n_cache_tokens"])
        usage = Usage(
            input_tokens=without(count(totals["n_input_tokens"]), cached, cache_write_tokens or 0),
            output_tokens=count(totals["n_output_tokens"]),
            cache_read_tokens=cached,
            cache_write_tokens=cache_write_tokens,
        )
        return usage, amount(cost)

    def _seconds(self, phase: str) -> float | None:
        whole = _phase(self.raw, phase)
        if whole is not None or not self._steps:
            return whole
        return _together(*(_phase(step, phase) for step in self._steps))

    def _detail(self) -> str | None:
        told = [f"{_kind(each)}: {text(each.get('exception_message')) or ''}" for each in self.exceptions()]
        return "; ".join(told)[:_DETAIL_LENGTH] if told else None

    def _extra(self) -> dict[str, Any]:
        own = mapping(self.raw.get("agent_result"))
        said = {
            "trial_name": self.raw.get("trial_name"),
            "dataset": self.raw.get("source"),
            "rewards": mapping(self.raw.get("verifier_result")).get("rewards"),
            "failure_causes": [cause_of(_kind(each)).value for each in self.exceptions()] or None,
            "model_usage": own.get("model_usage"),
            "n_input_tokens": own.get("n_input_tokens"),
        }
        return kept_fields(said)


_TOKENS = ("n_input_tokens", "n_cache_tokens", "n_output_tokens")


def _kind(exception: Raw) -> str:
    return name(exception.get("exception_type")) or "unknown"


def _phase(part: Raw, phase: str) -> float | None:
    timing = mapping(part.get(phase))
    return seconds_between(timing.get("started_at"), timing.get("finished_at"))


def _together(*seconds: float | None) -> float | None:
    total: float | None = _sum(seconds)
    return total


def _sum(parts: Any) -> Any:
    """The sum; unknown with any of its parts, and of nothing."""
    found = list(parts)
    return None if not found or None in found else sum(found)
