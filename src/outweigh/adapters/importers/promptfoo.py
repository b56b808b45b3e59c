"""Results of promptfoo: the JSON that `promptfoo eval -o` writes, versions 1 to 4, and what `promptfoo share` sends."""

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from outweigh.adapters.importers.identity import fingerprint, stable_id
from outweigh.adapters.importers.imported_run import origins
from outweigh.adapters.importers.promptfoo_row import Row, row_run
from outweigh.adapters.importers.repeats import numbered
from outweigh.adapters.importers.source_text import head, read_json
from outweigh.errors import EvidenceError
from outweigh.ports.importers import FieldOrigin, ImportNotes, ImportRequest
from outweigh.record.run_record import RunRecord
from outweigh.transcript.foreign import count, mapping, name, sequence

_LOOK_BYTES = 2**18
_OBJECT = re.compile(rb"^(\xef\xbb\xbf)?\s*\{")
_OWN_NAME = re.compile(r"[\w .:/-]{1,40}")


class Promptfoo:
    """A test is a task; an arm is a provider, with a prompt where there are several; equal tests are repeats."""

    name = "promptfoo"
    fields: Mapping[str, FieldOrigin] = origins(
        reported="status_detail duration_seconds usage cost checks",
        derived="arm_fingerprint task_checksum extra",
    )

    def recognises(self, path: Path) -> bool:
        """By the names of fields that only promptfoo uses together."""
        if path.suffix != ".json":
            return False
        start = head(path, _LOOK_BYTES)
        if _OBJECT.match(start) is None:
            return False
        return all(field in start for field in (b'"promptIdx"', b'"testIdx"')) or all(
            field in start for field in (b'"tokenUsage"', b'"vars"', b'"success"', b'"results"')
        )

    def read(self, request: ImportRequest, notes: ImportNotes) -> Iterator[RunRecord]:
        """The whole document; rows are ordered by the numbers of their tests, not by when they ended."""
        document = mapping(read_json(request.path, notes))
        document = mapping(document.get("data")) or document
        inner = document["results"] if isinstance(document.get("results"), dict) else document
        if not isinstance(inner.get("results"), list):
            raise EvidenceError(f"{request.path} has no results of promptfoo; was it written by `promptfoo eval -o`?")
        _state_facts(inner, notes)
        rows = list(_rows(inner["results"], request.path, notes))
        evaluation = (
            name(document.get("evalId")) or name(document.get("id")) or fingerprint([row.raw for row in rows])[:16]
        )
        yield from numbered(_runs(rows, evaluation, request, notes))


def _rows(results: list[Any], path: Path, notes: ImportNotes) -> Iterator[Row]:
    for number, result in enumerate(results, start=1):
        if isinstance(result, dict) and isinstance(result.get("success"), bool):
            yield Row(result)
        else:
            notes.unread(path, 0, f"result {number} does not say whether it succeeded")


def _runs(rows: list[Row], evaluation: str, request: ImportRequest, notes: ImportNotes) -> Iterator[RunRecord]:
    arms, tasks = _arms(rows, notes), _tasks(rows)
    seen: dict[tuple[str, str], int] = defaultdict(int)
    for row in sorted(rows, key=lambda each: each.order):
        arm, task = request.arm or arms[row.provider, row.prompt], tasks[fingerprint(row.test)]
        key = (arms[row.provider, row.prompt], task)
        seen[key] += 1
        place = stable_id("promptfoo", evaluation, fingerprint(key)[:16], f"{seen[key]:06}")
        run = row_run(row, run_id=place, task_id=task, arm=arm)
        if run is not None:
            yield run
    _warn(rows, notes)


def _arms(rows: list[Row], notes: ImportNotes) -> dict[tuple[str, str], str]:
    """Providers alone where there is one prompt; else prompts by a short name of their own, or by a number."""
    prompts = list(dict.fromkeys(row.prompt for row in sorted(rows, key=lambda row: (_prompt_index(row), row.prompt))))
    called = {
        prompt: prompt if _OWN_NAME.fullmatch(prompt) else f"prompt {number}"
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


def _prompt_index(row: Row) -> int:
    return count(row.raw.get("promptIdx")) or 0


def _tasks(rows: list[Row]) -> dict[str, str]:
    """A title for every test; tests that share one get a piece of their hash."""
    sharing: dict[str, set[str]] = defaultdict(set)
    for row in rows:
        sharing[row.title].add(fingerprint(row.test))
    return {
        test: title if len(tests) == 1 else stable_id(f"{title[:480]}#{test[:8]}")
        for title, tests in sharing.items()
        for test in tests
    }


def _warn(rows: list[Row], notes: ImportNotes) -> None:
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
    """The sums as the file has them; what is shared has them per prompt only."""
    stats = mapping(inner.get("stats"))
    for kind in ("successes", "failures", "errors"):
        if (figure := count(stats.get(kind))) is not None:
            notes.facts[kind] = figure
    if stats:
        return
    metrics = [mapping(mapping(prompt).get("metrics")) for prompt in sequence(inner.get("prompts"))]
    for kind, field in (("successes", "testPassCount"), ("failures", "testFailCount"), ("errors", "testErrorCount")):
        figures = [count(each.get(field)) for each in metrics]
        known = [figure for figure in figures if figure is not None]
        if known and len(known) == len(figures):
            notes.facts[kind] = sum(known)
