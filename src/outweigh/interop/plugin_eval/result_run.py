"""One run in a result of `claude plugin eval` as a run record; a trace that still exists adds tokens and steps."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from outweigh.agents.claude_code.stream import read_claude_code
from outweigh.errors import EvidenceError
from outweigh.interop.field_values import parse_time
from outweigh.interop.imported_run import extra_fields, fingerprint, imported_run, real_agent, stable_id
from outweigh.interop.plugin_eval.result_document import (
    WITH_ARM,
    WITHOUT_ARM,
    ResultCase,
    ResultDocument,
    ResultSource,
)
from outweigh.interop.result_files import LINE_LIMIT, read_bytes
from outweigh.model.failure import FailureKind, Status, failure_from_text
from outweigh.model.run_record import STATED_LABEL, TRAJECTORY_ARTIFACT, CheckResult, ObservedSetup, RunRecord
from outweigh.model.untrusted_json import amount_at, as_amount, as_count, as_dict, as_name, as_str, dicts_at
from outweigh.model.usage import Cost, reported_cost
from outweigh.ports.importers import ImportNotes, ImportRequest
from outweigh.transcript.agent_report import AgentReport
from outweigh.transcript.record_steps import record_steps
from outweigh.transcript.token_counts import usage_unless_empty
from outweigh.transcript.trajectory_file import trajectory_json

AGENT = "claude-code"
_DETAIL_LENGTH = 500
_TIMED_OUT = re.compile(r"timed out after \d+")
_SKILL_CALLS = re.compile(r"Skill called (\d{1,9})x")
_NO_SANDBOX = "sandbox required but unavailable"
"""It refuses to start an agent with a shell that cannot be confined, and grades that."""

_SKIPPED = "skipped: cost ceiling"
_THREW = "grader threw: "
_TRACE = re.compile(r"claude-eval-[^/\\]+[/\\]out[/\\]trace\.jsonl$")
"""Where it keeps traces. A result file may come from anyone, so no other file that it names is opened."""

_MOST_WARNINGS = 20
_WHOLE_TIME = (
    "durations are in whole seconds and include the time of graders, because `claude plugin eval` states no other."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class RunLabels:
    """The names of a run's task and arm, and whether it had the plugin."""

    task: str
    arm: str
    had_plugin: bool


def read_case_runs(
    document: ResultDocument, case: ResultCase, labels: RunLabels, request: ImportRequest, notes: ImportNotes
) -> Iterator[RunRecord]:
    """The runs of a case in one arm. Their repeats are still to be numbered."""
    arm = WITH_ARM if labels.had_plugin else WITHOUT_ARM
    source = document.source
    for number, raw in enumerate(case.runs[arm], start=1):
        trace = _read_trace(raw, notes)
        seconds = as_amount(raw.get("durationSeconds"))
        if seconds is not None and (trace is None or trace.duration_seconds is None):
            notes.warn(_WHOLE_TIME)
        known = {} if trace is None else _from_trace(trace, seconds, request)
        yield imported_run(
            run_id=stable_id(
                *("plugin-eval", source.plugin or "plugin", case.folder or case.name, arm, number),
                fingerprint([source.version, source.model, source.started_at, raw])[:16],
            ),
            task_id=labels.task,
            arm=labels.arm,
            repeat=1,
            status=_status(raw, has_what_it_names=document.was_loaded or not labels.had_plugin),
            status_detail=_detail(raw),
            agent=real_agent(AGENT, document.claude_version, (None if trace is None else trace.model) or source.model),
            arm_fingerprint=_arm_fingerprint(source, had_plugin=labels.had_plugin),
            task_checksum=case.checksum,
            started_at=parse_time(raw.get("startedAt")),
            cost=_cost(raw),
            step_count=as_count(raw.get("turns")) or None,
            checks=_checks(raw),
            extra=_extra(source, case, raw),
            **(
                {"duration_seconds": seconds, "loaded": _fired(source, case, raw) if labels.had_plugin else None}
                | known
            ),
        )


def _arm_fingerprint(source: ResultSource, *, had_plugin: bool) -> str:
    return fingerprint([AGENT, source.model, [source.plugin, source.version] if had_plugin else None])


def _read_trace(raw: Mapping[str, Any], notes: ImportNotes) -> AgentReport | None:
    stated = as_str(raw.get("tracePath")) or ""
    if _TRACE.search(stated) is None or "\0" in stated or not (file := Path(stated)).is_absolute():
        return None
    try:
        if not file.is_file():
            return None
        report = read_claude_code(read_bytes(file, LINE_LIMIT))
    except (EvidenceError, OSError) as fault:
        notes.warn(f"the trace {file} was left out: {fault}")
        return None
    return report if report.steps or report.loaded is not None else None


def _from_trace(trace: AgentReport, seconds: float | None, request: ImportRequest) -> dict[str, Any]:
    kept = {TRAJECTORY_ARTIFACT: request.keep(trajectory_json(trace, AGENT))} if trace.steps else {}
    return {
        "duration_seconds": as_amount(trace.duration_seconds) or seconds,
        "usage": usage_unless_empty(trace.usage),
        "tool_call_count": trace.tool_call_count,
        "steps": record_steps(trace.steps) or None,
        "loaded": trace.loaded,
        "warnings": trace.warnings[:_MOST_WARNINGS],
        "artifacts": kept,
    }


def _status(raw: Mapping[str, Any], *, has_what_it_names: bool) -> Status:
    """How a run ended. It grades runs that ran out of time or turns, so a run that passed is complete whatever it says.

    A run that was not graded counts against the arm only if its error says that the agent or its model gave up.
    """
    if not has_what_it_names:
        return Status.ARM_NOT_APPLIED
    error = as_str(raw.get("error"))
    if error is None or raw.get("passed") is True:
        return Status.COMPLETED
    if _TIMED_OUT.match(error):
        return Status.TIMEOUT
    is_graded = bool(dicts_at(raw, "graders"))
    if _NO_SANDBOX in error or (not is_graded and error.startswith(("scaffold failed", "mocks:"))):
        return Status.INFRA_ERROR
    otherwise = FailureKind.CRASH if is_graded else FailureKind.SERVER_ERROR
    return failure_from_text(error, otherwise).kind.status


def _detail(raw: Mapping[str, Any]) -> str | None:
    aborted = as_dict(raw.get("aborted"))
    if aborted:
        called = "/".join(filter(None, (as_str(aborted.get("server")), as_str(aborted.get("tool")))))
        return f"aborted by the mock {called}: {as_str(aborted.get('reason')) or 'no reason given'}"[:_DETAIL_LENGTH]
    error = as_str(raw.get("error"))
    return None if error is None else error[:_DETAIL_LENGTH]


def _cost(raw: Mapping[str, Any]) -> Cost:
    """What the agent spent: without the graders' judge and without models that played a server.

    Nothing was counted where a run with an error states 0.
    """
    whole = as_amount(raw.get("costUsd"))
    judge = as_amount(raw.get("judgeCostUsd")) if "judgeCostUsd" in raw else 0.0
    mocks = amount_at(raw, "mocks", "calls", "costUsd") or 0.0
    if whole is None or judge is None or (not whole and raw.get("error") is not None):
        return reported_cost(None)
    return reported_cost(max(0.0, whole - judge - mocks))


def _checks(raw: Mapping[str, Any]) -> tuple[CheckResult, ...] | None:
    """A check for each grader. One that is not scored says whether the plugin fired, and decides nothing."""
    graders = dicts_at(raw, "graders")
    if not graders:
        # A mock that stopped the run says that the agent did what it must not do.
        return (_check("not-aborted", {"passed": False}),) if as_dict(raw.get("aborted")) else None
    return tuple(
        _check(as_name(grader.get("name")) or f"grader {number}", grader)
        for number, grader in enumerate(graders, start=1)
    )


def _check(name: str, grader: Mapping[str, Any]) -> CheckResult:
    is_scored = _is_scored(grader)
    explanation = as_str(grader.get("explanation"))
    return CheckResult(
        name=name,
        required=is_scored,
        passed=None if _was_not_judged(explanation) else _as_bool(grader.get("passed")),
        cases_passed=None,
        cases_total=None,
        exit_code=None,
        detail=None if explanation is None else explanation[:_DETAIL_LENGTH],
        weight=_weight(grader) if is_scored else 0.0,
    )


def _as_bool(value: object) -> bool | None:
    return value if isinstance(value, bool) else None


def _is_scored(grader: Mapping[str, Any]) -> bool:
    """Whether it is part of the score; older versions say only which graders are for the plugin alone."""
    scored = grader.get("scored")
    return scored if isinstance(scored, bool) else grader.get("withOnly") is not True


def _weight(grader: Mapping[str, Any]) -> float:
    return as_amount(grader.get("weight", 1.0)) or 1.0


def _was_not_judged(explanation: str | None) -> bool:
    """Whether a grader never decided: the budget was spent, or its judge could not be reached."""
    if explanation is None or not explanation.startswith((_SKIPPED, _THREW)):
        return False
    if explanation.startswith(_SKIPPED):
        return True
    return failure_from_text(explanation.removeprefix(_THREW), FailureKind.CRASH).kind.status is Status.INFRA_ERROR


def _fired(source: ResultSource, case: ResultCase, raw: Mapping[str, Any]) -> ObservedSetup | None:
    """Whether the plugin fired, as far as graders tell: calls of the tool Skill, which do not name the skill.

    The plugin's name stands for the one that was called.
    """
    counts = [
        int(found[1])
        for grader in dicts_at(raw, "graders")
        if str(grader.get("name")) in case.skill_graders
        and (found := _SKILL_CALLS.match(as_str(grader.get("explanation")) or "")) is not None
    ]
    if not counts or (any(counts) and source.plugin is None):
        return None
    used = (source.plugin,) if any(counts) and source.plugin is not None else ()
    return ObservedSetup(
        skills=None, skills_used=used, mcp_servers=None, tools=None, memory_files=None, seen_by=("graders",)
    )


def _extra(source: ResultSource, case: ResultCase, raw: Mapping[str, Any]) -> dict[str, Any]:
    score = as_amount(raw.get("score"))
    graders = {
        str(grader.get("name")): {
            name: value
            for name, value in (
                ("type", case.grader_types.get(str(grader.get("name")))),
                ("weight", as_amount(grader.get("weight"))),
                ("with_only", grader.get("withOnly")),
                ("scored", grader.get("scored")),
                ("judge_votes", grader.get("judgeVotes")),
            )
            if value is not None
        }
        for grader in dicts_at(raw, "graders")
    }
    stated = {"score": score, "passed": _as_bool(raw.get("passed"))}
    return extra_fields(
        {
            "plugin": source.plugin,
            "plugin_version": source.version,
            STATED_LABEL: {name: value for name, value in stated.items() if value is not None} or None,
            "judge_cost_usd": as_amount(raw.get("judgeCostUsd")),
            "mock_cost_usd": amount_at(raw, "mocks", "calls", "costUsd"),
            "graders": graders or None,
            "mocks": raw.get("mocks"),
        }
    )
