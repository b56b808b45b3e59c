"""Importer of OpenHands' evaluations: `output.jsonl` of its benchmarks, with the report that scored it beside it."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from outweigh.errors import EvidenceError
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
    with_repeat_numbers,
)
from outweigh.interop.result_files import (
    FileMarks,
    JsonLine,
    read_json,
    read_json_lines,
    read_json_object,
)
from outweigh.interop.swe_bench import instance_repository
from outweigh.interop.swe_bench_reports import InstanceOutcome, is_final_report, report_outcomes
from outweigh.model.failure import FailureKind, Status, failure_from_text
from outweigh.model.run_record import DIFF_ARTIFACT, RunRecord
from outweigh.model.untrusted_json import (
    amount_at,
    as_amount,
    as_count,
    as_dict,
    as_list,
    as_name,
    as_str,
    bool_at,
    dict_at,
    dicts_at,
    name_at,
    str_at,
)
from outweigh.model.usage import NO_USAGE, Usage, reported_cost, sum_usage
from outweigh.ports.importers import FieldOrigin, ImportNotes, ImportRequest
from outweigh.transcript.token_counts import subtract_counts, usage_unless_empty

_OUTPUT, _EVALUATED_OUTPUT = "output.jsonl", "output.swebench_eval.jsonl"
_FILES = FileMarks(
    suffixes=(".jsonl",),
    # A line begins with the instance, then has its result: its fields are always in this order.
    start=re.compile(
        rb'^(?:\xef\xbb\xbf)?\s*\{\s*"instance_id"\s*:\s*(?:"(?:[^"\\]|\\.){1,300}"|\d+)\s*,\s*'
        rb'(?:"attempt"\s*:\s*\d+\s*,\s*)?"(?:test_result|max_attempts)"\s*:'
    ),
    marks=(b'"test_result"',),
)
_REPORTS = ("output.report.json", "output.swebench_eval.report.json", "report.json")
_NOTE = re.compile(r"_maxiter_\d+_N_(?P<note>.+)$")
_RUN_NUMBER = re.compile(r"[-_]run_?(?P<number>\d+)$")
_UNVARIED = frozenset(
    {"eval_output_dir", "start_time", "git_commit", "dataset", "data_split", "dataset_split", "eval_limit", "lmnr"}
    | {"selected_instances_file", "max_retries", "workspace_type", "base_resource_factor", "max_resource_factor"}
    | {"env_setup_commands", "details", "n_critic_runs", "critic", "critic_name", "max_attempts"}
)
"""What an evaluation's metadata says about the evaluation, and not about the agent."""

_ERRORS = (
    (
        Status.INFRA_ERROR,
        re.compile(r"AgentRuntime\w*Error|[Cc]ould not build|image build|runtime.{0,40}not ready|docker"),
    ),
    (Status.TIMEOUT, re.compile(r"^Timeout after")),
    (Status.BUDGET_EXCEEDED, re.compile(r"maximum iteration|max_iterations|budget", re.IGNORECASE)),
)
"""What an error says about whose it was, beyond what is common to all agents."""


class OpenHandsImporter:
    """Reads an instance as a task; an arm is the model with the agent and the note of the evaluation.

    Folders whose notes differ only in `run_1`, `run_2` hold repeats of one arm.
    """

    name = "openhands"
    reads_also = frozenset({"swe-bench"})
    fields: Mapping[str, FieldOrigin] = field_origins(
        reported="usage cost checks artifacts extra",
        derived="status_detail started_at duration_seconds step_count tool_call_count arm_fingerprint task_checksum "
        "family",
    )

    def recognises(self, path: Path) -> bool:
        """Whether a file begins with a result of an instance, or a folder has such an `output.jsonl`."""
        return _FILES.recognise(path)

    def read(self, request: ImportRequest, notes: ImportNotes) -> Iterator[RunRecord]:
        """Read each file line by line. Of the files in one folder, the one with the results of the tests is read."""
        files = _scored_files(_FILES.files(request.path))
        yield from with_repeat_numbers(_runs(files, request, notes))


def _scored_files(files: list[Path]) -> list[Path]:
    """One file of each folder: the one with results of tests, else `output.jsonl`, which has the best attempts."""
    best: dict[Path, Path] = {}
    for file in sorted(files, key=lambda file: (file.name != _EVALUATED_OUTPUT, file.name != _OUTPUT, file.name)):
        best.setdefault(file.parent, file)
    return sorted(best.values())


@dataclass(frozen=True, slots=True, kw_only=True)
class _Evaluation:
    """What all lines of a file share; `settings` is what the user can vary."""

    agent: str | None
    model: str | None
    note: str | None
    settings: Mapping[str, Any]
    folder: str

    @property
    def name(self) -> str:
        parts = (self.agent, self.model, self.note)
        return stable_id(" ".join(part for part in parts if part) or decode_file_name(self.folder))


def _evaluation(file: Path, notes: ImportNotes) -> _Evaluation:
    """The metadata of the first line that has any, else of `metadata.json` beside the file."""
    lines = (as_dict(line.value.get("metadata")) for line in read_json_lines(file, ImportNotes()))
    metadata = next(filter(None, lines), {}) or read_json_object(file.parent / "metadata.json", notes)
    model = name_at(metadata, "llm", "model") or name_at(metadata, "llm_config", "model")
    folder = (str_at(metadata, "eval_output_dir") or str(file.resolve().parent)).rstrip("/").rpartition("/")[2]
    note = _NOTE.search(folder)
    stated = None if note is None else _RUN_NUMBER.sub("", note["note"])
    return _Evaluation(
        agent=name_at(metadata, "agent_class"),
        model=None if model is None else model.removeprefix("litellm_proxy/"),
        note=None if stated == "initial" else stated,
        settings={key: value for key, value in metadata.items() if key not in _UNVARIED and value is not None},
        folder=folder or "openhands",
    )


def _runs(files: list[Path], request: ImportRequest, notes: ImportNotes) -> Iterator[RunRecord]:
    evaluations = {file: _evaluation(file, notes) for file in files}
    hashes: dict[str, set[str]] = {}
    for each in evaluations.values():
        hashes.setdefault(each.name, set()).add(fingerprint(each.settings))
    for file, evaluation in evaluations.items():
        alone = len(hashes[evaluation.name]) == 1
        suffix = "" if alone else f"@{fingerprint(evaluation.settings)[:8]}"
        arm = request.arm or stable_id(f"{evaluation.name}{suffix}")
        report = _report(file, notes)
        if report:
            notes.state(arm, "resolved", sum(each.resolved is True for each in report.values()))
        for line in read_json_lines(file, notes):
            run = _line_run(line, report, evaluation, arm, request)
            if run is None:
                notes.unread(file, line.number, "a result without an instance")
            else:
                yield run


def _report(file: Path, notes: ImportNotes) -> dict[str, InstanceOutcome]:
    """The outcomes in the final report beside a file, by instance; empty where there is none."""
    names = (f"{file.name.removesuffix('.jsonl')}.report.json", *_REPORTS)
    for path in (file.with_name(name) for name in dict.fromkeys(names)):
        if path.is_file():
            try:
                document = read_json(path, notes)
            except EvidenceError as fault:
                notes.warn(f"the report beside {file.name} was not read, so that outcomes may be unknown: {fault}")
                continue
            if is_final_report(document) or isinstance(as_dict(document).get("resolved_ids"), list):
                return {each.instance: each for each in report_outcomes(as_dict(document))}
    return {}


def _line_run(
    line: JsonLine, report: Mapping[str, InstanceOutcome], evaluation: _Evaluation, arm: str, request: ImportRequest
) -> RunRecord | None:
    raw = line.value
    named = raw.get("instance_id")
    instance = as_name(str(named)) if isinstance(named, str | int) and not isinstance(named, bool) else None
    if instance is None:
        return None
    outcome = _outcome(raw, report.get(instance))
    status, detail = _status(raw, outcome)
    patch = str_at(raw, "test_result", "git_patch")
    events = [*_events(raw)]
    times = sorted(filter(None, (parse_time(event.get("timestamp")) for event in events)))
    metrics = dict_at(raw, "metrics")
    answers = {found for event in events if (found := _response_id(event)) is not None}
    return imported_run(
        run_id=stable_id("openhands", instance, fingerprint(raw)[:16]),
        task_id=instance,
        arm=arm,
        repeat=1,
        status=status,
        status_detail=detail,
        agent=real_agent(evaluation.agent or "OpenHands", None, evaluation.model),
        arm_fingerprint=fingerprint(evaluation.settings) if evaluation.settings else None,
        task_checksum=_checksum(raw),
        family=instance_repository(instance),
        started_at=times[0] if times else None,
        duration_seconds=(times[-1] - times[0]).total_seconds() if len(times) > 1 else None,
        usage=_usage(raw, metrics),
        # No price is known where it is 0.
        cost=reported_cost(
            (as_amount(metrics.get("accumulated_cost")) or amount_at(raw, "cost", "total_cost")) or None
        ),
        step_count=len(answers) or None,
        tool_call_count=sum(map(_is_tool_call, events)) if events else None,
        checks=(outcome_check("resolved", outcome.resolved, outcome.detail),)
        if status is not Status.INFRA_ERROR
        else None,
        artifacts={DIFF_ARTIFACT: request.keep(patch.encode("utf-8", "replace"))} if patch else {},
        extra=extra_fields(
            {
                "attempt": as_count(raw.get("attempt")),
                "note": evaluation.folder,
                "error": (as_str(raw.get("error")) or "")[:500] or None,
                "test_result": {key: value for key, value in dict_at(raw, "test_result").items() if key != "git_patch"},
            }
        ),
    )


def _outcome(raw: Mapping[str, Any], reported: InstanceOutcome | None) -> InstanceOutcome:
    """Whether the instance was resolved, by the report, else by the result itself; each benchmark states it its way."""
    if reported is not None:
        return reported
    result = dict_at(raw, "test_result")
    for stated in (raw.get("resolved"), dict_at(result, "report").get("resolved"), result.get("resolved")):
        if isinstance(stated, bool):
            return InstanceOutcome("", stated, Status.COMPLETED, None)
    for key in ("score", "result", "success", "passed", "correct"):
        if (stated := bool_at(result, key)) is not None:
            return InstanceOutcome("", stated, Status.COMPLETED, None)
    final = dict_at(result, "final_score")
    reached, total = as_amount(final.get("result")), as_amount(final.get("total"))
    if reached is not None and total:
        return InstanceOutcome("", reached >= total, Status.COMPLETED, f"{reached:g} of {total:g} points")
    if result.get("git_patch") == "" and not raw.get("error"):
        return InstanceOutcome("", False, Status.COMPLETED, "empty patch")
    return InstanceOutcome("", None, Status.COMPLETED, "not evaluated")


def _status(raw: Mapping[str, Any], outcome: InstanceOutcome) -> tuple[Status, str | None]:
    """The status. A run with an error that was evaluated all the same counts as it was evaluated."""
    if raw.get("status") == "skipped":
        return Status.NOT_RUN, "skipped"
    error = as_str(raw.get("error"))
    if not error:
        return outcome.status, None if outcome.status is Status.COMPLETED else outcome.detail
    if outcome.resolved is True:
        return Status.COMPLETED, None
    stated = next((status for status, pattern in _ERRORS if pattern.search(error)), None)
    return stated or failure_from_text(error, FailureKind.CRASH).kind.status, error[:500]


def _checksum(raw: Mapping[str, Any]) -> str | None:
    """The hash of the problem, not of the instruction, in which prompts differ."""
    problem = str_at(raw, "instance", "problem_statement")
    return None if problem is None else fingerprint(problem)


def _events(raw: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """The events of a conversation; the oldest files have pairs of an action and an observation."""
    for each in as_list(raw.get("history")):
        yield from map(as_dict, each) if isinstance(each, list) else (as_dict(each),)


def _response_id(event: Mapping[str, Any]) -> str | None:
    """The response of the model that an event of the agent comes from."""
    if event.get("source") != "agent":
        return None
    return name_at(event, "llm_response_id") or name_at(event, "tool_call_metadata", "model_response", "id")


def _is_tool_call(event: Mapping[str, Any]) -> bool:
    if event.get("source") != "agent":
        return False
    return event.get("kind") == "ActionEvent" or ("action" in event and bool(event.get("tool_call_metadata")))


def _usage(raw: Mapping[str, Any], metrics: Mapping[str, Any]) -> Usage:
    """The tokens of all requests: their sum, or that of the list of requests, in older files."""
    if isinstance(metrics.get("accumulated_token_usage"), dict):
        return usage_unless_empty(_request_usage(metrics["accumulated_token_usage"]))
    if requests := dicts_at(metrics, "token_usages"):
        return usage_unless_empty(sum_usage([_request_usage(each) for each in requests]))
    output = known_sum([as_count(dict_at(raw, "cost").get("output_tokens"))])
    return (
        NO_USAGE
        if output is None
        else Usage(input_tokens=None, output_tokens=output, cache_read_tokens=None, cache_write_tokens=None)
    )


def _request_usage(raw: Mapping[str, Any]) -> Usage:
    """`prompt_tokens` include the cache, except where an agent behind another protocol counts it apart; then the cache
    is mostly larger than they are.
    """
    read, written = as_count(raw.get("cache_read_tokens")), as_count(raw.get("cache_write_tokens"))
    prompt = as_count(raw.get("prompt_tokens"))
    apart = prompt is not None and read is not None and read > prompt
    return Usage(
        input_tokens=prompt if apart else subtract_counts(prompt, read, written),
        output_tokens=as_count(raw.get("completion_tokens")),
        cache_read_tokens=read,
        cache_write_tokens=written,
    )
