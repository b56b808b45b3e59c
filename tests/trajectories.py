"""Kept trajectories and patches for tests, and stores that hold them."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from outweigh.model.run_record import RunRecord
from outweigh.store.run_store import FolderRunStore
from outweigh.transcript.atif import (
    ATIF_VERSION,
    AtifAgent,
    AtifMetrics,
    AtifObservation,
    AtifResult,
    AtifStep,
    AtifToolCall,
    AtifTrajectory,
)

Runs = Sequence[tuple[RunRecord, Mapping[str, bytes]]]
"""Runs, each with the artifacts that are kept beside it."""


def a_step(
    tool: str | None = None, arguments: Mapping[str, Any] | None = None, *, said: str = "", output: str = "done"
) -> AtifStep:
    """An agent's step with one tool call, or one that only speaks."""
    if tool is None:
        return AtifStep(step_id=1, source="agent", message=said)
    return AtifStep(
        step_id=1,
        source="agent",
        message=said,
        tool_calls=(AtifToolCall(tool_call_id="call", function_name=tool, arguments=dict(arguments or {})),),
        observation=AtifObservation(
            results=(AtifResult(source_call_id="call", content=output, extra={"is_error": False}),)
        ),
        metrics=AtifMetrics(prompt_tokens=1200, completion_tokens=80, cached_tokens=1000, cost_usd=0.01),
    )


def numbered(steps: Sequence[AtifStep]) -> tuple[AtifStep, ...]:
    """Steps under the numbers that the format asks for."""
    return tuple(msgspec.structs.replace(step, step_id=number) for number, step in enumerate(steps, start=1))


def a_trajectory(*steps: AtifStep) -> bytes:
    """The text of a trajectory file."""
    agent = AtifAgent(name="agent", version="1.0")
    return msgspec.json.encode(AtifTrajectory(schema_version=ATIF_VERSION, agent=agent, steps=numbered(steps)))


def a_patch(path: str, *added: str) -> bytes:
    """A patch that makes one file."""
    lines = "".join(f"+{line}\n" for line in added)
    head = f"diff --git a/{path} b/{path}\nnew file mode 100644\n--- /dev/null\n+++ b/{path}\n"
    return f"{head}@@ -0,0 +1,{len(added)} @@\n{lines}".encode()


def store_of(folder: Path, runs: Runs) -> Path:
    """A store with these runs and what is kept beside each."""
    with FolderRunStore.open(folder) as store:
        for run, artifacts in runs:
            kept = {name: store.keep(content) for name, content in artifacts.items()}
            store.append(msgspec.structs.replace(run, artifacts=kept))
    return folder
