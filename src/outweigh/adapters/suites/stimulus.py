"""Stimuli of Vally, the younger way to write scenarios: the same questions under other names."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from outweigh.adapters.suites.foreign_table import foreign_table
from outweigh.adapters.suites.naming import folder_name
from outweigh.adapters.suites.scenario import Scenario
from outweigh.errors import UsageError, name_some
from outweigh.task.check import Check, CommandCheck, UnchangedCheck

_SECONDS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0}
_DURATION = re.compile(r"(\d{1,9})(ms|s|m|h)", re.IGNORECASE)
_IMPLIED = frozenset({"exit-success", "completed", "prompt"})
"""A run that ends in an error fails here anyway, and judges are asked wherever there is a rubric."""
_ASSERTIONS = frozenset(
    f"{what}-{how}"
    for what, ways in (
        ("file", ("exists", "not-exists", "contains", "not-contains")),
        ("output", ("contains", "not-contains", "matches", "not-matches")),
    )
    for how in ways
)
_SAID = frozenset({"name", "prompt", "environment", "graders", "rubric", "constraints", "expect_activation"})
_TOP = frozenset({"name", "description", "version", "type", "environment", "config", "defaults", "stimuli"})
_LIMITS = ("expect_tools", "reject_tools", "max_turns", "max_tokens")

Table = Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Stimulus:
    """A scenario, with checks that scenarios have no words for, and what is not carried over."""

    scenario: Scenario
    checks: tuple[Check, ...]
    notes: tuple[str, ...]


def read_stimuli(document: Table, source: Path) -> list[Stimulus]:
    """All of a file; what stands at its top holds for each."""
    defaults = {**_table(document.get("config"), source), **_table(document.get("defaults"), source)}
    stimuli = _tables(document.get("stimuli"), source)
    if not stimuli:
        raise UsageError(f"{source} has no stimuli. Write one with a name, a prompt and graders.")
    return [_stimulus(each, document, defaults, source) for each in stimuli]


def notes_on_file(document: Table) -> Iterator[str]:
    """What a file says of all its stimuli, and a suite has other words for."""
    settings = [table for key in ("config", "defaults") if isinstance(table := document.get(key), dict)]
    stated = sorted({str(key) for table in settings for key in table} - {"timeout"})
    if stated:
        yield f"{name_some(stated)} of the file is left out: see `repeats` of the suite, `model` of arms and judges."
    if others := sorted(str(key) for key in document if key not in _TOP):
        yield f"{name_some(others)} of the file has no counterpart in a suite."


def _stimulus(stated: Table, document: Table, defaults: Table, source: Path) -> Stimulus:
    graders = _tables(stated.get("graders"), source)
    constraints = _table(stated.get("constraints"), source)
    environments = [_table(each.get("environment"), source) for each in (document, stated)]
    table = {
        **{key: stated[key] for key in ("name", "prompt", "rubric", "expect_activation") if key in stated},
        **{key: constraints[key] for key in _LIMITS if key in constraints},
        "setup": _setup(environments, source),
        "assertions": [_assertion(grader, source) for grader in graders if _kind(grader) in _ASSERTIONS],
        "timeout": _seconds(constraints.get("max_duration", defaults.get("timeout", "2m")), source),
    }
    checks = dict(_checks(graders, source))
    return Stimulus(
        scenario=foreign_table(table, Scenario, source),
        checks=tuple(check for check in checks.values() if check is not None),
        notes=tuple(_notes(stated, graders, [name for name, check in checks.items() if check is None])),
    )


def _setup(environments: list[Table], source: Path) -> dict[str, Any]:
    """What all stimuli start from, and then what this one does."""
    files = [file for each in environments for file in _tables(each.get("files"), source)]
    return {
        "files": [{"path": file.get("dest"), "source": file.get("src")} for file in files],
        "commands": _together("commands", environments),
        "additional_required_skills": _together("skills", environments),
        "additional_required_agents": _together("agents", environments),
    }


def _assertion(grader: Table, source: Path) -> dict[str, Any]:
    config = _table(grader.get("config"), source)
    kept = {key: config[key] for key in ("path", "value", "pattern") if key in config}
    said = {"value": config["substring"]} if "substring" in config else {}
    return {"type": _kind(grader).replace("-", "_"), **kept, **said}


def _checks(graders: list[Table], source: Path) -> Iterator[tuple[str, Check | None]]:
    """Of graders that scenarios have no word for, by name; None where no check does exactly the same."""
    for number, grader in enumerate(graders, start=1):
        kind, config = _kind(grader), _table(grader.get("config"), source)
        name = f"grader-{number}-{folder_name(kind, 'unknown')}"
        if kind == "diff-empty":
            yield name, UnchangedCheck(name=name, paths=["*"])
        elif kind == "run-command":
            yield name, _command(name, config, source)
        elif kind not in _IMPLIED and kind not in _ASSERTIONS:
            yield name, None


def _kind(grader: Table) -> str:
    kind = grader.get("type")
    return kind if isinstance(kind, str) else ""


def _command(name: str, config: Table, source: Path) -> Check | None:
    """A line for the shell and the code that it ends with; what it prints, and variables, are no part of a check."""
    command, code = config.get("command"), config.get("expected_exit_code", 0)
    whole = config.keys() <= {"command", "expected_exit_code", "timeout"}
    if not whole or not isinstance(command, str) or not command.strip() or "\0" in command or type(code) is not int:
        return None
    return CommandCheck(
        name=name, run=command, exit_code=code, timeout_seconds=_seconds(config.get("timeout", "2m"), source)
    )


def _notes(stated: Table, graders: list[Table], unchecked: list[str]) -> Iterator[str]:
    if unchecked:
        yield f"no check here does exactly what {name_some(unchecked)} does; it was left out"
    if others := sorted(str(key) for key in stated if key not in _SAID):
        yield f"{name_some(others)} has no counterpart in a task"
    if any(_prompts(grader) for grader in graders):
        yield "what its `prompt` graders tell a judge is left out; the rubric is asked"


def _prompts(grader: Table) -> bool:
    config = grader.get("config")
    return _kind(grader) == "prompt" and isinstance(config, dict) and "prompt" in config


def _seconds(stated: Any, source: Path) -> float:
    found = _DURATION.fullmatch(stated.strip()) if isinstance(stated, str) else None
    if found is not None and int(found[1]) > 0:
        return int(found[1]) * _SECONDS[found[2].lower()]
    if isinstance(stated, int) and not isinstance(stated, bool) and 0 < stated <= 10**6:
        return float(stated)
    raise UsageError(f"{source}: {stated!r} is no duration; write a number with its unit, such as 90s or 5m.")


def _together(key: str, environments: list[Table]) -> list[Any]:
    lists = (each.get(key) for each in environments)
    return [item for each in lists if isinstance(each, list) for item in each]


def _tables(value: Any, source: Path) -> list[Table]:
    if value is None:
        return []
    if not isinstance(value, list):
        raise UsageError(f"{source}: {str(value)[:100]!r} stands where a list of tables belongs. Mend it there.")
    return [_table(each, source) for each in value]


def _table(value: Any, source: Path) -> Table:
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise UsageError(f"{source}: {str(value)[:100]!r} stands where a table belongs. Mend it there.")
    return value
