"""One run of ProjectScylla from its folder: which run it is, how it ended, and what it took."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, Self

from outweigh.errors import EvidenceError
from outweigh.interop.field_values import parse_time
from outweigh.interop.imported_run import extra_fields, fingerprint, imported_run, outcome_check, real_agent, stable_id
from outweigh.interop.result_files import read_json_object, read_text
from outweigh.model.failure import EXCLUDED_STATUSES, FailureKind, Status, failure_from_text
from outweigh.model.run_record import (
    STATED_LABEL,
    TIER_LABEL,
    TIER_NAME_LABEL,
    AgentIdentity,
    CheckResult,
    RunRecord,
)
from outweigh.model.untrusted_json import as_amount, as_count, as_dict, as_list, as_name, as_str
from outweigh.model.usage import NO_USAGE, Usage, reported_cost
from outweigh.ports.importers import ImportNotes
from outweigh.transcript.agent_report import AgentReport

_TIME_PREFIX = re.compile(r"^\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d-(?=.)")
_CLAUDE_MODEL = re.compile(r"claude-(opus|sonnet|haiku)-(\d+)-(\d{1,2})(?!\d)")


def test_of_experiment(experiment: str) -> str:
    """The test that an experiment executed."""
    return stable_id(_TIME_PREFIX.sub("", experiment))


def display_model(model: str) -> str:
    """The model as the project's tables write it, so that folders and tables have the same arms."""
    found = _CLAUDE_MODEL.search(model)
    return model if found is None else f"{found[1].title()} {found[2]}.{found[3]}"


_TIER = re.compile(r"T(\d{1,4})")


def run_labels(
    tier: str, score: object, grade: object, passed: object, implementation_rate: object = None
) -> dict[str, Any]:
    """What `extra` says about a run's tier, and about the result that the project gave it."""
    found = _TIER.fullmatch(tier)
    stated = {
        "score": as_amount(score),
        "grade": as_name(grade),
        "passed": passed if isinstance(passed, bool) else None,
        "implementation_rate": as_amount(implementation_rate),
    }
    return {
        TIER_LABEL: None if found is None else int(found[1]),
        TIER_NAME_LABEL: None if found is None else tier,
        STATED_LABEL: {key: value for key, value in stated.items() if value is not None} or None,
    }


_BOLD_KEY = re.compile(r"^\*\*(?P<key>[^*]+)\*\*:\s*(?P<value>.+?)\s*$", re.MULTILINE)


def read_model_page(path: Path, notes: ImportNotes) -> dict[str, str]:
    """The bold keys of a `MODEL.md` and their values: model, version, time."""
    if not path.is_file():
        return {}
    return {found["key"]: found["value"] for found in _BOLD_KEY.finditer(read_text(path, notes))}


_NOT_RUN_EXIT_CODE = -1
_TIMED_OUT = "timed out after"
_DETAIL_CHARACTERS = 500


def run_ending(
    result: Mapping[str, Any],
    output_fields: Mapping[str, Any],
    report: AgentReport | None,
    *,
    timeout_seconds: float | None,
) -> tuple[Status, str | None]:
    """The status of a run, and why. The project writes -1 if its call of the agent failed, and repeats such runs."""
    code = result.get("exit_code")
    complaint = _error_output(output_fields)
    if report is not None and report.failure is not None:
        return report.failure.kind.status, report.failure.detail[:_DETAIL_CHARACTERS]
    if code in (0, None):
        return Status.COMPLETED, None
    if code == _NOT_RUN_EXIT_CODE and not _used_anything(result):
        return _call_failed(complaint, result, timeout_seconds)
    found = failure_from_text(complaint, FailureKind.CRASH)
    shown = f"exit code {code}" + (f": {complaint}" if complaint else "")
    return found.kind.status, shown[:_DETAIL_CHARACTERS]


def _call_failed(complaint: str, result: Mapping[str, Any], timeout_seconds: float | None) -> tuple[Status, str | None]:
    """A timeout is the agent's failure; anything else that kept it from running is not."""
    took = as_amount(result.get("agent_duration_seconds"))
    at_limit = took is not None and timeout_seconds is not None and took >= timeout_seconds > 0
    if at_limit or _TIMED_OUT in complaint:
        return Status.TIMEOUT, (complaint or f"ran out of {timeout_seconds:g} seconds")[:_DETAIL_CHARACTERS]
    known = failure_from_text(complaint, FailureKind.CONNECTION_REFUSED).kind.status
    detail = f"the agent could not be run: {complaint or 'no reason is given'}"[:_DETAIL_CHARACTERS]
    return known if known in EXCLUDED_STATUSES else Status.INFRA_ERROR, detail


def _used_anything(result: Mapping[str, Any]) -> bool:
    return any(as_count(each) for each in as_dict(result.get("token_stats")).values())


def _error_output(output_fields: Mapping[str, Any]) -> str:
    """The program's error output, without the commands that the project's script prints there."""
    lines = (as_str(output_fields.get("stderr")) or "").splitlines()
    return " ".join(line.strip() for line in lines if not line.startswith("+ ")).strip()


_ALL_FAILED = "All judges failed to produce valid results"
_VERSION = re.compile(r"\d+(?:\.\d+)+\S*")
_TASK_KEYS = ("experiment_id", "task_repo", "task_commit", "task_prompt_file", "language")
_EXTRA_FIELDS = (
    "judge_score",
    "judge_grade",
    "duration_seconds",
    "judge_duration_seconds",
    "token_stats",
    "process_metrics",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ScyllaExperiment:
    """The settings of an experiment and its progress; empty if they are not there."""

    config: Mapping[str, Any]
    checkpoint: Mapping[str, Any]

    @classmethod
    def read(cls, folder: Path, notes: ImportNotes) -> Self:
        """Read them from the folder that contains the tiers."""
        config = read_json_object(folder / "config" / "experiment.json", notes)
        try:
            checkpoint = read_json_object(folder / "checkpoint.json", notes)
        except EvidenceError as fault:  # it is written while the experiment runs, and tells no more than how far it is
            notes.warn(f"{fault} How far its runs are is unknown.")
            checkpoint = {}
        return cls(config=config, checkpoint=checkpoint)

    @property
    def model(self) -> str | None:
        """The model of its agents."""
        return as_name(next(iter(as_list(self.config.get("models"))), None))


@dataclass(frozen=True, slots=True, kw_only=True)
class RunFolder:
    """Where a run is, and which run it is."""

    path: Path
    experiment: ScyllaExperiment
    experiment_name: str
    tier: str
    subtest: str
    number: int

    @property
    def key(self) -> tuple[str, ...]:
        """What identifies the run."""
        return (self.experiment_name, self.experiment.model or "", self.tier, self.subtest, str(self.number))

    def called(self, experiment: str, tier: str, subtest: str, number: int) -> "RunFolder":
        """The same folder, but of the run that its result states."""
        return replace(self, experiment_name=experiment, tier=tier, subtest=subtest, number=number)


def make_folder_run(folder: RunFolder, result: Mapping[str, Any], notes: ImportNotes) -> RunRecord:
    """The run. Tokens are those of all models if the agent's output states them; the project counts only the main
    model.
    """
    if folder.number < 1 or not isinstance(result.get("exit_code"), int):
        raise EvidenceError("its result has no number of a run, or does not say how the agent ended")
    output_fields = read_json_object(folder.path / "agent" / "result.json", notes)
    timing = read_json_object(folder.path / "agent" / "timing.json", notes)
    about = read_model_page(folder.path / "agent" / "MODEL.md", notes)
    model = folder.experiment.model or about.get("Model")
    manifest = read_json_object(folder.path.parent / "config_manifest.json", notes)
    report = _agent_report(output_fields)
    duration = as_amount(result.get("agent_duration_seconds"))
    usage = report.usage if report is not None and report.usage != NO_USAGE else _usage(result)
    status, detail = run_ending(
        result, output_fields, report, timeout_seconds=as_amount(folder.experiment.config.get("timeout_seconds"))
    )
    shown = [display_model(model)] if model else []
    return imported_run(
        run_id=stable_id(folder.experiment_name, *shown, folder.tier, folder.subtest, folder.number),
        task_id=stable_id(folder.experiment_name),
        arm=stable_id(*shown, folder.tier, folder.subtest),
        repeat=folder.number,
        status=status,
        status_detail=detail,
        agent=_agent(about, model),
        arm_fingerprint=_configuration(folder, manifest, model),
        task_checksum=_checksum(folder.experiment.config),
        family=test_of_experiment(folder.experiment_name),
        started_at=_started(timing, duration),
        duration_seconds=duration,
        usage=usage,
        cost=reported_cost(_cost(result)),
        step_count=None if report is None else report.step_count,
        checks=(_passed(result),),
        warnings=() if report is None else report.warnings[:20],
        extra=extra_fields(
            run_labels(folder.tier, _stated_score(result), result.get("judge_grade"), _passed(result).passed)
            | {key: result.get(key) for key in _EXTRA_FIELDS}
            | {"resources": as_dict(manifest.get("resources")) or None}
        ),
    )


def _passed(result: Mapping[str, Any]) -> CheckResult:
    """What the judges agreed on. If no judge gave an answer, the project writes a score of 0; here it is unknown."""
    judges = [as_dict(each) for each in as_list(result.get("judges"))]
    silent = judges and all(each.get("is_valid") is False for each in judges)
    if silent or result.get("judge_reasoning") == _ALL_FAILED:
        return outcome_check("passed", None, "no judge gave a valid answer")
    said = result.get("judge_passed")
    return outcome_check("passed", said if isinstance(said, bool) else None, "what its judges agreed on")


def _agent_report(output_fields: Mapping[str, Any]) -> AgentReport | None:
    """The agent's own report if it is Claude Code's; other agents' output has no known form."""
    from outweigh.agents.claude_code.stream import read_claude_code  # noqa: PLC0415 - only imports need it

    output = as_str(output_fields.get("stdout")) or ""
    if '"type":"result"' not in output.replace('"type": "result"', '"type":"result"'):
        return None
    return read_claude_code(output.encode("utf-8", "replace"))


def _usage(result: Mapping[str, Any]) -> Usage:
    """The tokens; all zeros mean that there are none."""
    stats = as_dict(result.get("token_stats"))
    found = Usage(
        input_tokens=as_count(stats.get("input_tokens")),
        output_tokens=as_count(stats.get("output_tokens")),
        cache_read_tokens=as_count(stats.get("cache_read_tokens")),
        cache_write_tokens=as_count(stats.get("cache_creation_tokens")),
    )
    return found if any(as_count(each) for each in stats.values()) else NO_USAGE


def _cost(result: Mapping[str, Any]) -> float | None:
    return as_amount(result.get("cost_usd")) or None


def _agent(about: Mapping[str, str], model: str | None) -> AgentIdentity:
    version = _VERSION.search(about.get("Claude Code Version", ""))
    claude = version is not None and "Claude Code" in about.get("Claude Code Version", "")
    return real_agent(
        "claude-code" if claude else None, version[0] if version is not None and claude else None, as_name(model)
    )


def _started(timing: Mapping[str, Any], duration: float | None) -> datetime | None:
    """When the run started: its duration before the time at which the project measured it."""
    end = parse_time(timing.get("measured_at"))
    if end is None or duration is None or as_amount(timing.get("agent_duration_seconds")) != duration:
        return None
    return end - timedelta(seconds=min(duration, 1e8))


def _checksum(config: Mapping[str, Any]) -> str | None:
    output_fields = {key: config.get(key) for key in _TASK_KEYS}
    return fingerprint(output_fields) if output_fields["task_repo"] or output_fields["experiment_id"] else None


def _stated_score(result: Mapping[str, Any]) -> object:
    """The score that the judges agreed on; there is none if no judge answered, where the project writes 0."""
    return None if _passed(result).passed is None else result.get("judge_score")


_OWN_PROMPT = frozenset({"00", "01"})
"""Sub-tests of tier 0 that differ from others by the agent's system prompt, which the manifest does not have."""


def _configuration(folder: RunFolder, manifest: Mapping[str, Any], model: str | None) -> str | None:
    """A hash of what the manifest of a sub-test says that it put into a workspace; None without a manifest.

    The hash of the instruction file counts only if the sub-test wrote one: otherwise it is that of the test's own
    repository. Two things are not in the manifest and are told by its names: teams of agents, and the system prompt.
    """
    resources = manifest.get("resources")
    if not isinstance(resources, dict):
        return None
    wrote_words = bool(as_dict(resources.get("claude_md")).get("blocks"))
    fixture = as_str(manifest.get("fixture_config_path")) or ""
    return fingerprint(
        {
            "model": model,
            "resources": resources,
            "instructions": manifest.get("claude_md_hash") if wrote_words else None,
            "inherited_from": manifest.get("inherited_from"),
            "teams": fixture.rpartition("/")[2].removesuffix(".yaml").endswith("-teams"),
            "own_prompt": folder.subtest if folder.tier == "T0" and folder.subtest[:2] in _OWN_PROMPT else None,
        }
    )
