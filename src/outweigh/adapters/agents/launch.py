"""What starting an agent once takes, as its own small file says it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

from outweigh.transcript.agent_report import AgentReport


class Reader(Protocol):
    """Makes a report of what an agent writes, however it is cut into pieces."""

    def feed(self, chunk: bytes) -> None:
        """Take the next piece."""

    def report(self) -> AgentReport:
        """What all of it says."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Launch:
    """One start of an agent. Paths are below the home folder, which is empty before and private to the trial.

    `defaults` are variables that the arm may set otherwise, `access` are those that lead to the model and may not be.
    `leaves` are files to be kept afterwards, by the name of the artifact. The reader reads standard output, or the
    artifact that `reads` names. `litter` is what the program drops in the workspace for itself, to be taken away.
    """

    arguments: tuple[str, ...]
    reader: Reader
    stdin: bytes = b""
    files: Mapping[str, bytes] = field(default_factory=dict)
    defaults: Mapping[str, str] = field(default_factory=dict)
    access: Mapping[str, str] = field(default_factory=dict)
    leaves: Mapping[str, str] = field(default_factory=dict)
    reads: str | None = None
    litter: tuple[str, ...] = ()
