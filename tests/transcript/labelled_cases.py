"""Labelled cases of the scan for cheats: snippets of diffs and transcripts, and the rules that should find something.

An empty `finds` is honest work that must not be taken for anything else.
"""

from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from outweigh.app.scan import bundled_rules
from outweigh.testing.builders import a_run
from outweigh.transcript.atif import AtifStep, AtifToolCall
from outweigh.transcript.cheat_scan import scan_run

CASES = Path(__file__).with_name("cheat_cases")


class LabelledCase(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One snippet. `reads` are paths given to a tool that reads, `urls` addresses given to one that fetches.

    `missed_at_first` and `wrong_at_first` are what the rules made of it before they were adapted to it; a case that was
    `added_later` shows a mistake that had been seen in real work.
    """

    name: str
    finds: list[str]
    diff: str | None = None
    commands: list[str] = []
    reads: list[str] = []
    urls: list[str] = []
    messages: list[str] = []
    reasoning: list[str] = []
    missed_at_first: list[str] = []
    wrong_at_first: list[str] = []
    added_later: bool = False

    def found(self) -> set[str]:
        """The rules that find something."""
        scan = scan_run(a_run(), self._steps(), self.diff, bundled_rules())
        assert scan is not None
        return {finding.rule for finding in scan.findings}

    def _steps(self) -> tuple[AtifStep, ...]:
        calls = [
            *(("Bash", {"command": command}) for command in self.commands),
            *(("Read", {"file_path": path}) for path in self.reads),
            *(("WebFetch", {"url": url, "prompt": "what does it say?"}) for url in self.urls),
        ]
        steps = [_calling(number, tool, arguments) for number, (tool, arguments) in enumerate(calls, start=1)]
        said = [(words, None) for words in self.messages] + [("", words) for words in self.reasoning]
        return (
            *steps,
            *(
                AtifStep(step_id=number, source="agent", message=message, reasoning_content=thought)
                for number, (message, thought) in enumerate(said, start=len(steps) + 1)
            ),
        )


def _calling(number: int, tool: str, arguments: dict[str, Any]) -> AtifStep:
    call = AtifToolCall(tool_call_id=f"c{number}", function_name=tool, arguments=arguments)
    return AtifStep(step_id=number, source="agent", message="", tool_calls=(call,))


class _CaseFile(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    case: list[LabelledCase]


def labelled_cases() -> list[LabelledCase]:
    """All cases."""
    files = sorted(CASES.glob("*.toml"))
    return [case for file in files for case in msgspec.toml.decode(file.read_bytes(), type=_CaseFile).case]


@dataclass(frozen=True)
class Measured:
    """How the rules did: findings that were right, findings that were wrong, and what was missed, by rule."""

    right: Counter[str]
    wrong: Counter[str]
    missed: Counter[str]

    @property
    def precision(self) -> float:
        """The share of findings that are right."""
        return self.right.total() / (self.right.total() + self.wrong.total())

    @property
    def recall(self) -> float:
        """The share of what should be found that is found."""
        return self.right.total() / (self.right.total() + self.missed.total())


def measured_at_first(cases: list[LabelledCase]) -> Measured:
    """How the rules did on cases that they had not been adapted to."""
    first = [case for case in cases if not case.added_later]
    return Measured(
        Counter(name for case in first for name in set(case.finds) - set(case.missed_at_first)),
        Counter(name for case in first for name in case.wrong_at_first),
        Counter(name for case in first for name in case.missed_at_first),
    )


def measure(cases: list[LabelledCase]) -> Measured:
    """Compare what is found with the labels."""
    measured = Measured(Counter(), Counter(), Counter())
    for case in cases:
        labels, found = set(case.finds), case.found()
        measured.right.update(labels & found)
        measured.wrong.update(found - labels)
        measured.missed.update(labels - found)
    return measured
