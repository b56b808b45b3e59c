"""One run of ProjectScylla from its folder: what it was, how it ended, and what it took."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, Self

from outweigh.adapters.importers.identity import fingerprint, stable_id
from outweigh.adapters.importers.imported_run import agent, imported_run, kept_fields, outcome
from outweigh.adapters.importers.scylla_ending import ending
from outweigh.adapters.importers.scylla_files import about_model, document
from outweigh.adapters.importers.scylla_names import family_of, shown_model
from outweigh.adapters.importers.source_time import moment
from outweigh.errors import EvidenceError
from outweigh.ports.importers import ImportNotes
from outweigh.record.check_result import CheckResult
from outweigh.record.cost import reported_cost
from outweigh.record.run_record import AgentIdentity, RunRecord
from outweigh.record.usage import NO_USAGE, Usage
from outweigh.transcript.agent_report import AgentReport
from outweigh.transcript.claude_code import read_claude_code
from outweigh.transcript.foreign import amount, count, mapping, name, sequence, text

_ALL_FAILED = "All judges failed to produce valid results"
_VERSION = re.compile(r"\d+(?:\.\d+)+\S*")
_TASK = ("experiment_id", "task_repo", "task_commit", "task_prompt_file", "language")
_KEPT = ("judge_score", "judge_grade", "duration_seconds", "judge_duration_seconds", "token_stats", "process_metrics")


@dataclass(frozen=True, slots=True, kw_only=True)
class Experiment:
    """What an experiment was told to do, and how far it has come; empty where it does not say."""

    config: Mapping[str, Any]
    checkpoint: Mapping[str, Any]

    @classmethod
    def read(cls, folder: Path, notes: ImportNotes) -> Self:
        """From the folder that its tiers are in."""
        config = document(folder / "config" / "experiment.json", notes)
        try:
            checkpoint = document(folder / "checkpoint.json", notes)
        except EvidenceError as fault:  # it is written while the experiment runs, and tells no more than how far it is
            notes.warn(f"{fault} How far its runs are is unknown.")
            checkpoint = {}
        return cls(config=config, checkpoint=checkpoint)

    @property
    def model(self) -> str | None:
        """The model of its agents; it has one."""
        return name(next(iter(sequence(self.config.get("models"))), None))


@dataclass(frozen=True, slots=True, kw_only=True)
class RunFolder:
    """Where a run lies, and which one it is."""

    path: Path
    experiment: Experiment
    experiment_name: str
    tier: str
    subtest: str
    number: int

    @property
    def key(self) -> tuple[str, ...]:
        """What tells it from every other run."""
        return (self.experiment_name, self.experiment.model or "", self.tier, self.subtest, str(self.number))

    def called(self, experiment: str, tier: str, subtest: str, number: int) -> "RunFolder":
        """The same folder, of another run than its place says."""
        return replace(self, experiment_name=experiment, tier=tier, subtest=subtest, number=number)


def folder_run(folder: RunFolder, result: Mapping[str, Any], notes: ImportNotes) -> RunRecord:
    """The run. Tokens are those of all models where the agent told them; the project adds up the main one's alone."""
    if folder.number < 1 or not isinstance(result.get("exit_code"), int):
        raise EvidenceError("its result has no number of a run, or does not say how the agent ended")
    told = document(folder.path / "agent" / "result.json", notes)
    timing = document(folder.path / "agent" / "timing.json", notes)
    about = about_model(folder.path / "agent" / "MODEL.md", notes)
    model = folder.experiment.model or about.get("Model")
    report = _report(told)
    duration = amount(result.get("agent_duration_seconds"))
    usage = report.usage if report is not None and report.usage != NO_USAGE else _usage(result)
    status, detail = ending(
        result, told, report, timeout_seconds=amount(folder.experiment.config.get("timeout_seconds"))
    )
    shown = [shown_model(model)] if model else []
    return imported_run(
        run_id=stable_id(folder.experiment_name, *shown, folder.tier, folder.subtest, folder.number),
        task_id=stable_id(folder.experiment_name),
        arm=stable_id(*shown, folder.tier, folder.subtest),
        repeat=folder.number,
        status=status,
        status_detail=detail,
        agent=_agent(about, model),
        task_checksum=_checksum(folder.experiment.config),
        family=family_of(folder.experiment_name),
        started_at=_started(timing, duration),
        duration_seconds=duration,
        usage=usage,
        cost=reported_cost(_cost(result)),
        step_count=None if report is None else report.step_count,
        checks=(_passed(result),),
        warnings=() if report is None else report.warnings[:20],
        extra=kept_fields({key: result.get(key) for key in _KEPT} | {"resources": _resources(folder, notes)}),
    )


def _passed(result: Mapping[str, Any]) -> CheckResult:
    """What the judges agreed on. Where none of them gave an answer the project writes a score of 0; nobody knows."""
    judges = [mapping(each) for each in sequence(result.get("judges"))]
    silent = judges and all(each.get("is_valid") is False for each in judges)
    if silent or result.get("judge_reasoning") == _ALL_FAILED:
        return outcome("passed", None, "no judge gave a valid answer")
    said = result.get("judge_passed")
    return outcome("passed", said if isinstance(said, bool) else None, "what its judges agreed on")


def _report(told: Mapping[str, Any]) -> AgentReport | None:
    """The agent's own word, where it is Claude Code's; other agents' output is not kept in a known form."""
    output = text(told.get("stdout")) or ""
    if '"type":"result"' not in output.replace('"type": "result"', '"type":"result"'):
        return None
    return read_claude_code(output.encode("utf-8", "replace"))


def _usage(result: Mapping[str, Any]) -> Usage:
    """Zeros of all kinds are what the project writes where it has none."""
    stats = mapping(result.get("token_stats"))
    found = Usage(
        input_tokens=count(stats.get("input_tokens")),
        output_tokens=count(stats.get("output_tokens")),
        cache_read_tokens=count(stats.get("cache_read_tokens")),
        cache_write_tokens=count(stats.get("cache_creation_tokens")),
    )
    return found if any(count(each) for each in stats.values()) else NO_USAGE


def _cost(result: Mapping[str, Any]) -> float | None:
    return amount(result.get("cost_usd")) or None


def _agent(about: Mapping[str, str], model: str | None) -> AgentIdentity:
    version = _VERSION.search(about.get("Claude Code Version", ""))
    claude = version is not None and "Claude Code" in about.get("Claude Code Version", "")
    return agent("claude-code" if claude else None, version[0] if version is not None and claude else None, name(model))


def _started(timing: Mapping[str, Any], duration: float | None) -> datetime | None:
    """The end is written down when the time is taken; the start is as much earlier."""
    end = moment(timing.get("measured_at"))
    if end is None or duration is None or amount(timing.get("agent_duration_seconds")) != duration:
        return None
    return end - timedelta(seconds=min(duration, 1e8))


def _checksum(config: Mapping[str, Any]) -> str | None:
    told = {key: config.get(key) for key in _TASK}
    return fingerprint(told) if told["task_repo"] or told["experiment_id"] else None


def _resources(folder: RunFolder, notes: ImportNotes) -> Any:
    manifest = document(folder.path.parent / "config_manifest.json", notes)
    return mapping(manifest.get("resources")) or None
