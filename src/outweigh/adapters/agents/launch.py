"""What starting an agent once takes, as its own small file says it."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Protocol

from outweigh.transcript.agent_report import AgentReport
from outweigh.transcript.failure import FailureKind

Left = Mapping[str, bytes]
"""What a program left behind, by the name of the artifact."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Launch:
    """One start of an agent. Paths are below the home folder, which is empty before and private to the trial.

    `listen` hears standard output as it comes; `report` is asked afterwards what all of it says, together with what
    the program left behind. `defaults` are variables that the arm may set otherwise, `access` are those that lead to
    the model and may not be. `leaves` are files to be kept, by the name of the artifact; `litter` is what the program
    drops in the workspace for itself, to be taken away. `exit_codes` are those that say more than that it failed.
    """

    arguments: tuple[str, ...]
    report: Callable[[Left], AgentReport]
    listen: Callable[[bytes], None] | None = None
    stdin: bytes = b""
    files: Mapping[str, bytes] = field(default_factory=dict)
    defaults: Mapping[str, str] = field(default_factory=dict)
    access: Mapping[str, str] = field(default_factory=dict)
    leaves: Mapping[str, str] = field(default_factory=dict)
    litter: tuple[str, ...] = ()
    exit_codes: Mapping[int, FailureKind] = field(default_factory=dict)


class Reader(Protocol):
    """Makes a report of what an agent writes."""

    def feed(self, chunk: bytes) -> None:
        """Take the next piece."""

    def report(self) -> AgentReport:
        """What all of it says."""


def read_whole(reader: Reader, content: bytes) -> AgentReport:
    """What a whole file says; nothing where there is none."""
    reader.feed(content)
    return reader.report()
