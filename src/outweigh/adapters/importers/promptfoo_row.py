"""One result of promptfoo as a run: what was asked, of whom, and what its assertions said."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from outweigh.adapters.importers.identity import fingerprint, stable_id
from outweigh.adapters.importers.imported_run import agent, imported_run, kept_fields, outcome
from outweigh.adapters.importers.source_time import seconds_of_milliseconds
from outweigh.record.check_result import CheckResult
from outweigh.record.cost import reported_cost
from outweigh.record.run_record import RunRecord
from outweigh.record.status import Status
from outweigh.record.usage import NO_USAGE, Usage
from outweigh.transcript.foreign import amount, count, mapping, name, sequence, text

_ERROR = 2
_UNSTABLE_VARIABLES = frozenset({"sessionId"})
_SHOWN_CHARACTERS = 120


@dataclass(frozen=True, slots=True)
class Row:
    """A result as promptfoo wrote it, in any version."""

    raw: Mapping[str, Any]

    @property
    def provider(self) -> str:
        """The label that the user gave to the provider, else its id; the first version left both out."""
        given = self.raw.get("provider")
        known = mapping(given)
        return name(known.get("label")) or name(known.get("id")) or name(given) or "provider"

    @property
    def prompt(self) -> str:
        """The prompt before variables were put into it."""
        prompt = mapping(self.raw.get("prompt"))
        found = text(prompt.get("label")) or text(prompt.get("display")) or text(prompt.get("raw"))
        return found or text(self.raw.get("prompt")) or ""

    @property
    def test(self) -> dict[str, Any]:
        """What makes a test the same one in another file: its number changes with the file's other tests."""
        case = mapping(self.raw.get("testCase"))
        variables = mapping(case.get("vars")) or mapping(self.raw.get("vars"))
        return {
            "description": name(case.get("description")) or name(self.raw.get("description")),
            "vars": {key: value for key, value in variables.items() if key not in _UNSTABLE_VARIABLES},
            "assert": sequence(case.get("assert")),
        }

    @property
    def title(self) -> str:
        """A test by its description, else by its variables."""
        test = self.test
        shown = ", ".join(f"{key}={str(value)[:_SHOWN_CHARACTERS]}" for key, value in sorted(test["vars"].items()))
        return test["description"] or stable_id(shown) or "test"

    @property
    def response(self) -> dict[str, Any]:
        """What the provider answered."""
        return mapping(self.raw.get("response")) or mapping(self.raw.get("providerResponse"))

    @property
    def cached(self) -> bool:
        """Whether promptfoo had the answer already and asked nobody."""
        return self.response.get("cached") is True

    @property
    def asserted(self) -> bool:
        """Whether anything could have failed; promptfoo calls a result without assertions a success."""
        return mapping(self.raw.get("gradingResult")).get("reason") != "No assertions"

    @property
    def order(self) -> tuple[int, int]:
        """Rows stand in the order in which they ended; their numbers tell how they were begun."""
        return (count(self.raw.get("testIdx")) or 0, count(self.raw.get("repeatIndex")) or 0)


def row_run(row: Row, *, run_id: str, task_id: str, arm: str) -> RunRecord | None:
    """The run of a result; None for one that does not say whether it succeeded."""
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
        agent=agent(row.provider),
        arm_fingerprint=fingerprint({"provider": row.raw.get("provider"), "prompt": row.prompt}),
        task_checksum=fingerprint(row.test),
        duration_seconds=None if row.cached else seconds_of_milliseconds(row.raw.get("latencyMs")),
        usage=NO_USAGE if row.cached else _usage(row),
        cost=reported_cost(amount(row.raw.get("cost")) or None),
        checks=None if status is not Status.COMPLETED else _checks(row, success),
        extra=kept_fields(
            {
                "success": success,
                "score": amount(row.raw.get("score")),
                "named_scores": mapping(row.raw.get("namedScores")) or None,
                "cached": row.cached or None,
                "latency_ms": amount(row.raw.get("latencyMs")),
                "token_usage": mapping(row.raw.get("tokenUsage")) or mapping(row.response.get("tokenUsage")) or None,
                "prompt": row.prompt,
                "test_index": count(row.raw.get("testIdx")),
            }
        ),
    )


def _status(row: Row) -> tuple[Status, str | None]:
    """Older versions write a failed assertion into `error`, too; only without a grade is it one."""
    error = text(row.raw.get("error")) or text(row.response.get("error"))
    reason = row.raw.get("failureReason")
    failed = reason == _ERROR if reason is not None else error is not None and not mapping(row.raw.get("gradingResult"))
    if not failed:
        return Status.COMPLETED, None
    shown = (error or "the provider failed")[:500]
    timed_out = "timed out" in shown.lower() or "timeout" in shown.lower()
    return (Status.TIMEOUT if timed_out else Status.INFRA_ERROR), shown


def _checks(row: Row, success: bool) -> tuple[CheckResult, ...]:
    if not row.asserted:
        return ()
    grading = mapping(row.raw.get("gradingResult"))
    detail = text(grading.get("reason"))
    parts = [mapping(each) for each in sequence(grading.get("componentResults"))]
    return (
        outcome("success", success, None if detail is None else detail[:500]),
        *(_part(number, part) for number, part in enumerate(parts, start=1)),
    )


def _part(number: int, part: Mapping[str, Any]) -> CheckResult:
    assertion = mapping(part.get("assertion"))
    kind = name(assertion.get("metric")) or name(assertion.get("type")) or "assertion"
    passed = part.get("pass")
    detail = text(part.get("reason"))
    return outcome(
        f"{number} {kind}"[:500],
        passed if isinstance(passed, bool) else None,
        None if detail is None else detail[:500],
        required=False,
    )


def _usage(row: Row) -> Usage:
    """`cached` are tokens of answers that promptfoo kept, not of the provider's prompt cache; a 0 is no count."""
    raw = mapping(row.response.get("tokenUsage")) or mapping(row.raw.get("tokenUsage"))
    details = mapping(raw.get("completionDetails"))
    read, written = count(details.get("cacheReadInputTokens")), count(details.get("cacheCreationInputTokens"))
    given, output = count(raw.get("prompt")) or None, count(raw.get("completion")) or None
    cached = (read or 0) + (written or 0)
    if given is not None and cached and count(raw.get("total")) == given + (output or 0) and given >= cached:
        given -= cached
    return Usage(input_tokens=given, output_tokens=output, cache_read_tokens=read, cache_write_tokens=written)
