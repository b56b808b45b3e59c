"""Importer of promptfoo's results: what `promptfoo eval -o` writes, versions 1 to 4, `promptfoo share`, and its
database.
"""

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from outweigh.interop.field_values import known_sum, milliseconds_to_seconds
from outweigh.interop.imported_run import (
    extra_fields,
    field_origins,
    fingerprint,
    imported_run,
    outcome_check,
    real_agent,
    stable_id,
    with_repeat_numbers,
)
from outweigh.interop.promptfoo_files import is_promptfoo_file, read_evaluations
from outweigh.model.failure import Status
from outweigh.model.run_record import CheckResult, RunRecord
from outweigh.model.untrusted_json import as_amount, as_count, as_dict, as_list, as_name, as_str
from outweigh.model.usage import NO_USAGE, Usage, reported_cost
from outweigh.ports.importers import FieldOrigin, ImportNotes, ImportRequest

_ERROR = 2
_UNSTABLE_VARIABLES = frozenset({"sessionId"})
_SHOWN_CHARACTERS = 120


@dataclass(frozen=True, slots=True)
class PromptfooRow:
    """A result as promptfoo wrote it, in any version."""

    raw: Mapping[str, Any]

    @property
    def provider(self) -> str:
        """The label that the user gave to the provider, else its id; the first version has neither."""
        given = self.raw.get("provider")
        known = as_dict(given)
        return as_name(known.get("label")) or as_name(known.get("id")) or as_name(given) or "provider"

    @property
    def prompt(self) -> str:
        """The prompt before its variables were filled in."""
        prompt = as_dict(self.raw.get("prompt"))
        found = as_str(prompt.get("label")) or as_str(prompt.get("display")) or as_str(prompt.get("raw"))
        return found or as_str(self.raw.get("prompt")) or ""

    @property
    def test(self) -> dict[str, Any]:
        """What identifies a test across files; its number depends on the other tests of a file."""
        case = as_dict(self.raw.get("testCase"))
        variables = as_dict(case.get("vars")) or as_dict(self.raw.get("vars"))
        return {
            "description": as_name(case.get("description")) or as_name(self.raw.get("description")),
            "vars": {key: value for key, value in variables.items() if key not in _UNSTABLE_VARIABLES},
            "assert": as_list(case.get("assert")),
        }

    @property
    def title(self) -> str:
        """The test's description, else its variables."""
        test = self.test
        shown = ", ".join(f"{key}={str(value)[:_SHOWN_CHARACTERS]}" for key, value in sorted(test["vars"].items()))
        return test["description"] or stable_id(shown) or "test"

    @property
    def response(self) -> dict[str, Any]:
        """The provider's response."""
        return as_dict(self.raw.get("response")) or as_dict(self.raw.get("providerResponse"))

    @property
    def cached(self) -> bool:
        """Whether the response came from promptfoo's own cache."""
        return self.response.get("cached") is True

    @property
    def asserted(self) -> bool:
        """Whether there was any assertion; promptfoo calls a result without one a success."""
        return as_dict(self.raw.get("gradingResult")).get("reason") != "No assertions"

    @property
    def order(self) -> tuple[int, int]:
        """The order in which rows were started; in the file they are in the order in which they ended."""
        return (as_count(self.raw.get("testIdx")) or 0, as_count(self.raw.get("repeatIndex")) or 0)


def _row_run(row: PromptfooRow, *, run_id: str, task_id: str, arm: str) -> RunRecord | None:
    """The run of a result; None if it does not say whether it succeeded."""
    success = row.raw.get("success")
    if not isinstance(success, bool):
        return None
    status, detail = _status(row)
    return imported_run(
        run_id=run_id,
        task_id=task_id,
        arm=arm,
        repeat=1,
        status=status,
        status_detail=detail,
        agent=real_agent(row.provider),
        arm_fingerprint=fingerprint({"provider": row.raw.get("provider"), "prompt": row.prompt}),
        task_checksum=fingerprint(row.test),
        duration_seconds=None if row.cached else milliseconds_to_seconds(row.raw.get("latencyMs")),
        usage=NO_USAGE if row.cached else _usage(row),
        cost=reported_cost(as_amount(row.raw.get("cost")) or None),
        checks=None if status is not Status.COMPLETED else _checks(row, success),
        extra=extra_fields(
            {
                "success": success,
                "score": as_amount(row.raw.get("score")),
                "named_scores": as_dict(row.raw.get("namedScores")) or None,
                "cached": row.cached or None,
                "latency_ms": as_amount(row.raw.get("latencyMs")),
                "token_usage": as_dict(row.raw.get("tokenUsage")) or as_dict(row.response.get("tokenUsage")) or None,
                "prompt": row.prompt,
                "test_index": as_count(row.raw.get("testIdx")),
            }
        ),
    )


def _status(row: PromptfooRow) -> tuple[Status, str | None]:
    """The status. Older versions write a failed assertion into `error`, too, so only a result without a grade is an
    error.
    """
    error = as_str(row.raw.get("error")) or as_str(row.response.get("error"))
    reason = row.raw.get("failureReason")
    failed = reason == _ERROR if reason is not None else error is not None and not as_dict(row.raw.get("gradingResult"))
    if not failed:
        return Status.COMPLETED, None
    shown = (error or "the provider failed")[:500]
    timed_out = "timed out" in shown.lower() or "timeout" in shown.lower()
    return (Status.TIMEOUT if timed_out else Status.INFRA_ERROR), shown


def _checks(row: PromptfooRow, success: bool) -> tuple[CheckResult, ...]:
    if not row.asserted:
        return ()
    grading = as_dict(row.raw.get("gradingResult"))
    detail = as_str(grading.get("reason"))
    parts = [as_dict(each) for each in as_list(grading.get("componentResults"))]
    return (
        outcome_check("success", success, None if detail is None else detail[:500]),
        *(_component_check(number, part) for number, part in enumerate(parts, start=1)),
    )


def _component_check(number: int, part: Mapping[str, Any]) -> CheckResult:
    assertion = as_dict(part.get("assertion"))
    kind = as_name(assertion.get("metric")) or as_name(assertion.get("type")) or "assertion"
    passed = part.get("pass")
    detail = as_str(part.get("reason"))
    return outcome_check(
        f"{number} {kind}"[:500],
        passed if isinstance(passed, bool) else None,
        None if detail is None else detail[:500],
        required=False,
    )


def _usage(row: PromptfooRow) -> Usage:
    """The tokens. `cached` counts responses from promptfoo's cache, not the provider's prompt cache; 0 means
    unknown.
    """
    raw = as_dict(row.response.get("tokenUsage")) or as_dict(row.raw.get("tokenUsage"))
    details = as_dict(raw.get("completionDetails"))
    read, written = as_count(details.get("cacheReadInputTokens")), as_count(details.get("cacheCreationInputTokens"))
    given, output = as_count(raw.get("prompt")) or None, as_count(raw.get("completion")) or None
    cached = (read or 0) + (written or 0)
    if given is not None and cached and as_count(raw.get("total")) == given + (output or 0) and given >= cached:
        given -= cached
    return Usage(input_tokens=given, output_tokens=output, cache_read_tokens=read, cache_write_tokens=written)


_SHORT_NAME = re.compile(r"[\w .:/-]{1,40}")


class PromptfooImporter:
    """Reads a test as a task and equal tests as repeats; an arm is a provider, with its prompt if there are several."""

    name = "promptfoo"
    fields: Mapping[str, FieldOrigin] = field_origins(
        reported="status_detail duration_seconds usage cost checks",
        derived="arm_fingerprint task_checksum extra",
    )

    def recognises(self, path: Path) -> bool:
        """Whether a file has field names that only promptfoo uses together."""
        return is_promptfoo_file(path)

    def read(self, request: ImportRequest, notes: ImportNotes) -> Iterator[RunRecord]:
        """Read whole evaluations; rows are ordered by the numbers of their tests, not by when they ended."""
        yield from with_repeat_numbers(_evaluation_runs(request, notes))


def _evaluation_runs(request: ImportRequest, notes: ImportNotes) -> Iterator[RunRecord]:
    for evaluation in read_evaluations(request.path, notes):
        _state_facts(evaluation.document, notes)
        rows = list(_rows(evaluation.results, request.path, notes))
        yield from _runs(rows, evaluation.evaluation_id, request, notes)


def _rows(results: list[Any], path: Path, notes: ImportNotes) -> Iterator[PromptfooRow]:
    for number, result in enumerate(results, start=1):
        if isinstance(result, dict) and isinstance(result.get("success"), bool):
            yield PromptfooRow(result)
        else:
            notes.unread(path, 0, f"result {number} does not say whether it succeeded")


def _runs(rows: list[PromptfooRow], evaluation: str, request: ImportRequest, notes: ImportNotes) -> Iterator[RunRecord]:
    arms, tasks = _arms(rows, notes), _tasks(rows)
    seen: dict[tuple[str, str], int] = defaultdict(int)
    for row in sorted(rows, key=lambda each: each.order):
        arm, task = request.arm or arms[row.provider, row.prompt], tasks[fingerprint(row.test)]
        key = (arms[row.provider, row.prompt], task)
        seen[key] += 1
        place = stable_id("promptfoo", evaluation, fingerprint(key)[:16], f"{seen[key]:06}")
        run = _row_run(row, run_id=place, task_id=task, arm=arm)
        if run is not None:
            yield run
    _warn(rows, notes)


def _arms(rows: list[PromptfooRow], notes: ImportNotes) -> dict[tuple[str, str], str]:
    """The names of the arms: providers, and with several prompts also each prompt's text if it is short, or a
    number.
    """
    prompts = list(dict.fromkeys(row.prompt for row in sorted(rows, key=lambda row: (_prompt_index(row), row.prompt))))
    called = {
        prompt: prompt if _SHORT_NAME.fullmatch(prompt) else f"prompt {number}"
        for number, prompt in enumerate(prompts, start=1)
    }
    if len(prompts) > 1:
        for prompt, shown in called.items():
            if shown != prompt:
                notes.warn(f"{shown} is {prompt[:200]!r}.")
    return {
        (row.provider, row.prompt): row.provider
        if len(prompts) == 1
        else stable_id(f"{row.provider[:440]}, {called[row.prompt]}")
        for row in rows
    }


def _prompt_index(row: PromptfooRow) -> int:
    return as_count(row.raw.get("promptIdx")) or 0


def _tasks(rows: list[PromptfooRow]) -> dict[str, str]:
    """A title for every test; tests that share one also get a part of their hash."""
    sharing: dict[str, set[str]] = defaultdict(set)
    for row in rows:
        sharing[row.title].add(fingerprint(row.test))
    return {
        test: title if len(tests) == 1 else stable_id(f"{title[:480]}#{test[:8]}")
        for title, tests in sharing.items()
        for test in tests
    }


def _warn(rows: list[PromptfooRow], notes: ImportNotes) -> None:
    if cached := sum(row.cached for row in rows):
        notes.warn(
            f"{cached:,} of {len(rows):,} results came from promptfoo's cache: their time and tokens are unknown, and "
            "repeats of them are copies. Evaluate with --no-cache."
        )
    if empty := sum(not row.asserted for row in rows):
        notes.warn(
            f"{empty:,} of {len(rows):,} results had no assertion; promptfoo calls them successes, here nothing was "
            "shown and their success is unknown."
        )


def _state_facts(inner: Mapping[str, Any], notes: ImportNotes) -> None:
    """The totals that the file states; results of `promptfoo share` have them only per prompt."""
    stats = as_dict(inner.get("stats"))
    for kind in ("successes", "failures", "errors"):
        if (figure := as_count(stats.get(kind))) is not None:
            notes.facts[kind] = figure
    if stats:
        return
    metrics = [as_dict(as_dict(prompt).get("metrics")) for prompt in as_list(inner.get("prompts"))]
    for kind, field in (("successes", "testPassCount"), ("failures", "testFailCount"), ("errors", "testErrorCount")):
        if (total := known_sum(as_count(each.get(field)) for each in metrics)) is not None:
            notes.facts[kind] = total
