"""The file that `claude plugin eval` writes, `aggregate-result.json`: plugins, cases and what it states about arms.

Everything that is not of the expected type is unknown, and keys that are not known are ignored.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import Any

from outweigh.errors import EvidenceError
from outweigh.interop.field_values import parse_time
from outweigh.interop.imported_run import fingerprint
from outweigh.interop.plugin_eval.unknown_figures import is_about_unknown, without_unknown
from outweigh.interop.result_files import read_head, read_json
from outweigh.model.untrusted_json import as_amount, as_dict, as_list, as_name, as_str, dicts_at
from outweigh.ports.importers import ImportNotes

RESULT_FILE = "aggregate-result.json"
SCHEMA_VERSION = 1
WITH_ARM, WITHOUT_ARM = "with", "without"
_MARKS = ((b'"claudeVersion"', b'"ablation"'), (b'"casesPassed"', b'"overallPassRate"'))
"""Keys of the beginning; of a file whose keys were sorted, those of its totals."""

_NOT_LOADED = frozenset({"manifest_invalid", "disabled_by_default", "will_not_load"})
"""What it says of a plugin that its runs did not have."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ResultCase:
    """A case with its runs by arm. The checksum covers what was asked and how it was graded; None if unknown."""

    name: str
    folder: str | None
    checksum: str | None
    grader_types: Mapping[str, str]
    skill_graders: frozenset[str]
    runs: Mapping[str, list[dict[str, Any]]]


@dataclass(frozen=True, slots=True, kw_only=True)
class ResultSource:
    """What tells one execution of `claude plugin eval` from another."""

    file: Path
    plugin: str | None
    version: str | None
    model: str | None
    started_at: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ResultDocument:
    """One execution of `claude plugin eval`. `figures` are what it states about each arm as a whole."""

    source: ResultSource
    content: Mapping[str, Any]
    claude_version: str | None
    stopped: str | None
    was_loaded: bool
    plugin_problems: tuple[str, ...]
    cases: tuple[ResultCase, ...]
    figures: Mapping[str, Mapping[str, float]]

    @property
    def has_baseline(self) -> bool:
        """Whether any case ran without the plugin."""
        return any(case.runs[WITHOUT_ARM] for case in self.cases)


def looks_like_result(path: Path) -> bool:
    """Whether a file has the marks of a result. Never raises."""
    start = read_head(path)
    if path.suffix != ".json" or not start.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"{"):
        return False
    return any(all(mark in start for mark in marks) for marks in _MARKS)


def read_document(file: Path, notes: ImportNotes) -> ResultDocument:
    """Read a result; EvidenceError if it is damaged or of a later version of the format."""
    content = as_dict(read_json(file, notes))
    stated = content.get("schemaVersion", SCHEMA_VERSION)
    if stated != SCHEMA_VERSION:
        raise EvidenceError(f"{file}: its schemaVersion is {stated!r}; outweigh reads version {SCHEMA_VERSION}.")
    if not isinstance(content.get("cases"), list):
        raise EvidenceError(f"{file} has no list of cases; is it whole, and from `claude plugin eval`?")
    suite = as_dict(content.get("suite"))
    plugins = dicts_at(suite, "plugins")
    started_at = parse_time(content.get("startedAt"))
    return ResultDocument(
        source=ResultSource(
            file=file,
            plugin=_joined(plugins, "name"),
            version=_joined(plugins, "version"),
            model=as_name(suite.get("modelOverride")),
            started_at=None if started_at is None else started_at.isoformat(),
        ),
        content=content,
        claude_version=as_name(content.get("claudeVersion")),
        stopped=(as_str(content.get("partialReason")) or "it was stopped") if content.get("partial") is True else None,
        was_loaded=not any(each.get("problem") in _NOT_LOADED for each in plugins),
        plugin_problems=tuple(_plugin_problems(plugins)),
        cases=tuple(_readable_cases(file, content["cases"], notes)),
        figures={WITH_ARM: _figures(content), WITHOUT_ARM: _figures_without(content)},
    )


def _joined(plugins: list[dict[str, Any]], key: str) -> str | None:
    """What all plugins of an execution state under a key; None if one of them does not."""
    found = [as_name(each.get(key)) for each in plugins]
    return None if not found or None in found else "+".join(filter(None, found))


def _plugin_problems(plugins: list[dict[str, Any]]) -> Iterator[str]:
    if not plugins:
        yield "it names no plugin, so nothing shows that its runs had one."
    for each in plugins:
        problem = as_name(each.get("problem"))
        if problem in _NOT_LOADED:
            yield (
                f"the plugin {each.get('name')!r} was not loaded ({problem}), so its runs are not evidence about it "
                "and do not count."
            )
        elif problem is not None:
            yield f"`claude plugin eval` says of the plugin {each.get('name')!r}: {problem}."


def _readable_cases(file: Path, raw: list[Any], notes: ImportNotes) -> Iterator[ResultCase]:
    for number, each in enumerate(raw, start=1):
        case = as_dict(each)
        name = as_name(case.get("name")) or as_name(case.get("dir"))
        if name is None:
            notes.unread(file, 0, f"case {number} has no name")
            continue
        graders = dicts_at(case, "graders")
        yield ResultCase(
            name=name,
            folder=as_name(case.get("dir")),
            checksum=_checksum(case, graders),
            grader_types={
                str(grader.get("name")): kind for grader in graders if (kind := as_name(grader.get("type"))) is not None
            },
            skill_graders=frozenset(str(grader.get("name")) for grader in graders if _asks_for_any_skill(grader)),
            runs={arm: list(_runs_of(file, name, arm, case, notes)) for arm in (WITHOUT_ARM, WITH_ARM)},
        )
        for advice in as_list(case.get("advisories")):
            if isinstance(advice, str) and not is_about_unknown(advice):
                notes.warn(f"{name}: {advice}")


def _runs_of(file: Path, name: str, arm: str, case: Mapping[str, Any], notes: ImportNotes) -> Iterator[dict[str, Any]]:
    advisories = as_list(case.get("advisories"))
    for number, run in enumerate(as_list(as_dict(case.get("arms")).get(arm)), start=1):
        if isinstance(run, dict):
            yield without_unknown(run, arm, number - 1, advisories)
        else:
            notes.unread(file, 0, f"run {number} of {name!r} {arm} the plugin is not an object")


def _asks_for_any_skill(grader: Mapping[str, Any]) -> bool:
    config = as_dict(grader.get("config"))
    return grader.get("type") == "tool_used" and config.get("tool") == "Skill" and not config.get("input_match")


def _checksum(case: Mapping[str, Any], graders: list[dict[str, Any]]) -> str | None:
    prompt = as_str(case.get("promptMarkdown"))
    if prompt is None or not graders:
        return None
    asked = [[grader.get(key) for key in ("name", "type", "weight", "config")] for grader in graders]
    return fingerprint([prompt, asked, case.get("maxTurns"), case.get("timeoutSeconds")])


def _figures(content: Mapping[str, Any]) -> dict[str, float]:
    totals = as_dict(content.get("aggregates"))
    found = {"score": as_amount(totals.get("overallScore")), "pass_rate": as_amount(totals.get("overallPassRate"))}
    if isinstance(delta := totals.get("meanDelta"), int | float) and abs(delta) <= 1:
        found["delta"] = float(delta)
    return {name: value for name, value in found.items() if value is not None}


def _figures_without(content: Mapping[str, Any]) -> dict[str, float]:
    """It states these of each case only; the mean is over the cases that have one, as in its own mean delta."""
    cases = [as_dict(each.get("aggregates")) for each in dicts_at(content, "cases")]
    return {
        name: fmean(found)
        for name, key in (("score", "scoreWithout"), ("pass_rate", "passRateWithout"))
        if (found := [value for each in cases if (value := as_amount(each.get(key))) is not None])
    }
