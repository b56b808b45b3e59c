"""Importer of tau-bench and tau2-bench results: a file, its simulations one per line, or a folder of either."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import dropwhile
from pathlib import Path
from typing import Any

import msgspec

from outweigh.errors import EvidenceError, quote_names
from outweigh.interop.field_values import known_sum, parse_time
from outweigh.interop.imported_run import (
    decode_file_name,
    extra_fields,
    field_origins,
    fingerprint,
    imported_run,
    outcome_check,
    real_agent,
    stable_id,
)
from outweigh.interop.result_files import (
    decode_json_document,
    read_bytes,
    read_head,
    read_json_lines,
    to_utf8,
    walk_files,
)
from outweigh.model.failure import Status
from outweigh.model.json_text import decode_unique_keys
from outweigh.model.run_record import CheckResult, RunRecord
from outweigh.model.untrusted_json import as_amount, as_count, as_dict, as_list, as_name, as_str
from outweigh.model.usage import Usage, reported_cost
from outweigh.ports.importers import FieldOrigin, ImportNotes, ImportRequest

_STATUS_BY_REASON = {
    "max_steps": Status.BUDGET_EXCEEDED,
    "timeout": Status.TIMEOUT,
    "too_many_errors": Status.AGENT_ERROR,
    "agent_error": Status.AGENT_ERROR,
    "user_error": Status.INFRA_ERROR,
    "infrastructure_error": Status.INFRA_ERROR,
    "unexpected_error": Status.INFRA_ERROR,
}
_ALMOST_ONE = 1 - 1e-6
"""The reward from which tau2-bench counts a success."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TauExperiment:
    """What all simulations of a file share, as far as it is stated."""

    arm: str
    domain: str | None
    agent: str | None = None
    model: str | None = None
    fingerprint: str | None = None
    checksums: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class _AgentActivity:
    """What the agent's model did; None for counts that are neither stated nor derivable."""

    answers: int | None
    tool_calls: int | None
    prompt_tokens: int | None
    completion_tokens: int | None


def simulation_run(raw: Mapping[str, Any], experiment: TauExperiment) -> RunRecord | None:
    """The run of a simulation; None if it does not name its task or trial."""
    task, trial = raw.get("task_id"), as_count(raw.get("trial"))
    if not isinstance(task, str | int) or isinstance(task, bool) or trial is None:
        return None
    status, detail = _status(raw)
    doings = _agent_activity(raw)
    seed = raw.get("seed")
    return imported_run(
        run_id=stable_id(
            "tau", as_name(raw.get("id")) or stable_id(experiment.arm, task, trial, fingerprint(raw)[:16])
        ),
        task_id=stable_id(*(part for part in (experiment.domain, task) if part is not None)) or "task",
        arm=experiment.arm,
        repeat=trial + 1,
        seed=seed if isinstance(seed, int) and not isinstance(seed, bool) else None,
        status=status,
        status_detail=detail,
        agent=real_agent(experiment.agent, None, experiment.model),
        arm_fingerprint=experiment.fingerprint,
        task_checksum=experiment.checksums.get(str(task)),
        family=experiment.domain,
        started_at=parse_time(raw.get("start_time")),
        duration_seconds=as_amount(raw.get("duration")),
        usage=_usage(doings),
        # The harness writes 0 if it knows no price.
        cost=reported_cost(as_amount(raw.get("agent_cost")) or None),
        step_count=doings.answers,
        tool_call_count=doings.tool_calls,
        checks=None if status is Status.INFRA_ERROR else _checks(raw),
        extra=extra_fields(
            {
                "reward": _reward(raw),
                "user_cost": as_amount(raw.get("user_cost")),
                "termination_reason": as_name(raw.get("termination_reason")),
                "prompt_tokens": doings.prompt_tokens,
            }
        ),
    )


def _status(raw: Mapping[str, Any]) -> tuple[Status, str | None]:
    broken = as_dict(raw.get("info")).get("error")
    if broken is not None:
        return Status.INFRA_ERROR, str(broken)[:500]
    reason = as_name(raw.get("termination_reason"))
    status = _STATUS_BY_REASON.get(reason or "", Status.COMPLETED)
    return status, None if status is Status.COMPLETED else reason


def _reward(raw: Mapping[str, Any]) -> float | None:
    stated = raw.get("reward", as_dict(raw.get("reward_info")).get("reward"))
    return as_amount(stated)


def _checks(raw: Mapping[str, Any]) -> tuple[CheckResult, ...] | None:
    reward = _reward(raw)
    if reward is None:
        return None
    parts = as_dict(as_dict(raw.get("reward_info")).get("reward_breakdown"))
    known = {kind: as_amount(value) for kind, value in parts.items() if as_name(kind)}
    return (
        outcome_check("reward", reward >= _ALMOST_ONE),
        *(
            outcome_check(kind[:500], None if value is None else value >= _ALMOST_ONE, required=False)
            for kind, value in known.items()
        ),
    )


def _agent_activity(raw: Mapping[str, Any]) -> _AgentActivity:
    messages = [as_dict(each) for each in as_list(raw.get("messages")) or as_list(raw.get("traj"))]
    if not messages:
        return _AgentActivity(
            answers=None,
            tool_calls=as_count(raw.get("n_tool_calls")),
            prompt_tokens=as_count(raw.get("prompt_tokens")),
            completion_tokens=as_count(raw.get("completion_tokens")),
        )
    acted = [each for each in messages if as_str(each.get("role")) == "assistant"]
    # The greeting is not the model's; everything from its first answer on is.
    used = list(dropwhile(lambda usage: not usage, (as_dict(each.get("usage")) for each in acted)))
    return _AgentActivity(
        answers=len(used) or len(acted),
        tool_calls=sum(len(as_list(each.get("tool_calls"))) for each in acted),
        prompt_tokens=_sum_tokens(used, "prompt_tokens"),
        completion_tokens=_sum_tokens(used, "completion_tokens"),
    )


def _sum_tokens(used: list[dict[str, Any]], kind: str) -> int | None:
    total: int | None = known_sum(as_count(each.get(kind)) for each in used)
    return total


def _usage(doings: _AgentActivity) -> Usage:
    """The tokens. Prompt tokens include cached ones, and how many is not stated, so input stays unknown."""
    return Usage(
        input_tokens=None, output_tokens=doings.completion_tokens, cache_read_tokens=None, cache_write_tokens=None
    )


_TAU2_MARKS = (b'"info"', b'"num_trials"', b'"user_info"')
_TAU1_START = re.compile(rb'^\s*\[\s*\{\s*"task_id"\s*:.{0,40}?"reward"\s*:.{0,60}?"info"\s*:', re.DOTALL)
_SIMULATION_MARKS = (b'"termination_reason"', b'"agent_cost"', b'"task_id"')


class _ResultsFile(msgspec.Struct):
    """A file whose simulations are decoded one by one, because conversations are long."""

    info: Any = None
    tasks: Any = None
    simulations: list[msgspec.Raw] | None = None


class TauBenchImporter:
    """Reads a simulation as a run and a trial as a repeat; an arm is the agent's model, not the simulated user's."""

    name = "tau"
    fields: Mapping[str, FieldOrigin] = field_origins(
        reported="duration_seconds started_at cost checks",
        derived="status_detail usage step_count tool_call_count arm_fingerprint task_checksum family extra",
    )

    def recognises(self, path: Path) -> bool:
        """Whether a file has results, or a folder holds such a file."""
        try:
            return any(map(_is_results, walk_files(path, _may_be_results))) if path.is_dir() else _is_results(path)
        except (EvidenceError, OSError):
            return False

    def read(self, request: ImportRequest, notes: ImportNotes) -> Iterator[RunRecord]:
        """Read the simulations file by file."""
        path = request.path
        files = [each for each in walk_files(path, _may_be_results) if _is_results(each)] if path.is_dir() else [path]
        broken = 0
        for file in _without_copies(files, request, notes):
            for simulation, experiment, place in _simulations(file, request, notes):
                run = simulation_run(simulation, experiment)
                if run is None:
                    notes.unread(file, place, "a simulation without a task or a trial")
                    continue
                broken += "error" in as_dict(simulation.get("info"))
                yield run
        if broken:
            notes.warn(
                f"{broken:,} simulations broke with an exception; tau-bench counts them as failed, here they are left "
                "out as failures of the harness."
            )


def _without_copies(files: list[Path], request: ImportRequest, notes: ImportNotes) -> list[Path]:
    """The files without those whose simulations are all in others: an analysis keeps lines without the conversations
    beside the results that they are from.

    Of two that hold the same, the results say more.
    """
    lines = [file for file in files if file.suffix == ".jsonl"]
    results = [file for file in files if file.suffix != ".jsonl"]
    if not lines or not results:
        return files
    for some, others in ((lines, results), (results, lines)):
        cut, whole = (_outcomes_by_id(group, request) for group in (some, others))
        if cut and cut.items() <= whole.items():
            copies, originals = (quote_names([file.name for file in group]) for group in (some, others))
            notes.warn(f"what is in {copies} is in {originals}, too, and is not read again.")
            return others
    return files


def _outcomes_by_id(files: list[Path], request: ImportRequest) -> dict[str, tuple[object, ...]]:
    """What the simulations of files came to; empty if one has no id or a file cannot be read."""
    found: dict[str, tuple[object, ...]] = {}
    try:
        for raw, _, _ in (each for file in files for each in _simulations(file, request, ImportNotes())):
            if (name := as_name(raw.get("id"))) is None:
                return {}
            found[name] = (str(raw.get("task_id")), as_count(raw.get("trial")), _reward(raw))
    except EvidenceError:
        return {}
    return found


def _may_be_results(file_name: str) -> bool:
    return file_name.endswith((".json", ".jsonl"))


def _is_results(path: Path) -> bool:
    start = read_head(path)
    if path.suffix == ".jsonl":
        first = start.split(b"\n", 1)[0]
        return first.startswith(b"{") and all(mark in first for mark in _SIMULATION_MARKS)
    if path.suffix != ".json":
        return False
    second = start.lstrip().startswith(b"{") and all(mark in start for mark in _TAU2_MARKS)
    return second or _TAU1_START.match(start) is not None


def _simulations(
    path: Path, request: ImportRequest, notes: ImportNotes
) -> Iterator[tuple[dict[str, Any], TauExperiment, int]]:
    if path.suffix == ".jsonl":
        for line in read_json_lines(path, notes):
            arm = request.arm or as_name(line.value.get("arm")) or decode_file_name(path.stem)
            yield line.value, TauExperiment(arm=arm, domain=as_name(line.value.get("domain"))), line.number
        return
    content = to_utf8(read_bytes(path), path, notes)
    if content.lstrip().startswith(b"["):
        experiment = TauExperiment(arm=request.arm or decode_file_name(path.stem), domain=None)
        rows = as_list(decode_json_document(content, path, notes))
        if request.arm is None and rows:
            notes.warn(f"{path.name} does not say which model acted; the arm has the file's name. --arm gives another.")
        yield from ((as_dict(row), experiment, 0) for row in rows)
        return
    yield from _tau2_simulations(content, path, request, notes)


def _tau2_simulations(
    content: bytes, path: Path, request: ImportRequest, notes: ImportNotes
) -> Iterator[tuple[dict[str, Any], TauExperiment, int]]:
    try:
        results = msgspec.json.decode(content, type=_ResultsFile)
        texts = [bytes(each) for each in results.simulations or []]
        info, tasks = as_dict(results.info), as_list(results.tasks)
    except (ValueError, RecursionError):
        whole = as_dict(decode_json_document(content, path, notes))
        texts = [msgspec.json.encode(each) for each in as_list(whole.get("simulations"))]
        info, tasks = as_dict(whole.get("info")), as_list(whole.get("tasks"))
    if not info:
        raise EvidenceError(f"{path} has no results of tau2-bench: it does not say which model acted.")
    acting = as_dict(info.get("agent_info"))
    experiment = TauExperiment(
        arm=request.arm or as_name(acting.get("llm")) or decode_file_name(path.stem),
        domain=as_name(as_dict(info.get("environment_info")).get("domain_name")),
        agent=as_name(acting.get("implementation")),
        model=as_name(acting.get("llm")),
        fingerprint=fingerprint(acting),
        checksums={str(as_dict(task).get("id")): fingerprint(task) for task in tasks},
    )
    planned = (as_count(info.get("num_trials")) or 0) * len(tasks)
    if len(texts) < planned:
        notes.warn(f"{path.name} holds {len(texts):,} of {planned:,} simulations: it was still running, or was ended.")
    for number, text in enumerate(texts, start=1):
        try:
            yield as_dict(decode_unique_keys(text)), experiment, 0
        except ValueError as fault:
            notes.unread(path, 0, f"simulation {number} cannot be read: {fault}")
