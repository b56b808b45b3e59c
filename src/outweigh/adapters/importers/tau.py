"""Results of tau-bench and tau2-bench: a file of theirs, its simulations one a line, or a folder of them."""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec

from outweigh.adapters.importers.folders import files_below
from outweigh.adapters.importers.identity import fingerprint, readable
from outweigh.adapters.importers.imported_run import origins
from outweigh.adapters.importers.source_text import as_utf8, head, json_document, json_lines, read_bytes
from outweigh.adapters.importers.tau_simulation import Experiment, simulation_run
from outweigh.errors import EvidenceError
from outweigh.ports.importers import FieldOrigin, ImportNotes, ImportRequest
from outweigh.record.run_record import RunRecord
from outweigh.transcript.foreign import count, mapping, name, sequence
from outweigh.transcript.repeated_keys import decode_once

_SECOND = (b'"info"', b'"num_trials"', b'"user_info"')
_FIRST = re.compile(rb'^\s*\[\s*\{\s*"task_id"\s*:.{0,40}?"reward"\s*:.{0,60}?"info"\s*:', re.DOTALL)
_SIMULATION = (b'"termination_reason"', b'"agent_cost"', b'"task_id"')


class _Results(msgspec.Struct):
    """A file whose simulations stay text until it is their turn: they are conversations, and long."""

    info: Any = None
    tasks: Any = None
    simulations: list[msgspec.Raw] | None = None


class Tau:
    """A simulation is a run, a trial a repeat; an arm is the model that acts, not the one that plays the user."""

    name = "tau"
    fields: Mapping[str, FieldOrigin] = origins(
        reported="duration_seconds started_at cost checks",
        derived="status_detail usage step_count tool_call_count arm_fingerprint task_checksum family extra",
    )

    def recognises(self, path: Path) -> bool:
        """A file of results, or a folder with one."""
        try:
            return any(map(_is_results, files_below(path, _may_be))) if path.is_dir() else _is_results(path)
        except (EvidenceError, OSError):
            return False

    def read(self, request: ImportRequest, notes: ImportNotes) -> Iterator[RunRecord]:
        """File by file."""
        path = request.path
        files = [each for each in files_below(path, _may_be) if _is_results(each)] if path.is_dir() else [path]
        broken = 0
        for file in files:
            for simulation, experiment, place in _simulations(file, request, notes):
                run = simulation_run(simulation, experiment)
                if run is None:
                    notes.unread(file, place, "a simulation without a task or a trial")
                    continue
                broken += "error" in mapping(simulation.get("info"))
                yield run
        if broken:
            notes.warn(
                f"{broken:,} simulations broke with an exception; tau-bench counts them as failed, here they are left "
                "out as failures of the harness."
            )


def _may_be(file_name: str) -> bool:
    return file_name.endswith((".json", ".jsonl"))


def _is_results(path: Path) -> bool:
    start = head(path)
    if path.suffix == ".jsonl":
        first = start.split(b"\n", 1)[0]
        return first.startswith(b"{") and all(mark in first for mark in _SIMULATION)
    if path.suffix != ".json":
        return False
    second = start.lstrip().startswith(b"{") and all(mark in start for mark in _SECOND)
    return second or _FIRST.match(start) is not None


def _simulations(
    path: Path, request: ImportRequest, notes: ImportNotes
) -> Iterator[tuple[dict[str, Any], Experiment, int]]:
    if path.suffix == ".jsonl":
        for line in json_lines(path, notes):
            arm = request.arm or name(line.value.get("arm")) or readable(path.stem)
            yield line.value, Experiment(arm=arm, domain=name(line.value.get("domain"))), line.number
        return
    content = as_utf8(read_bytes(path), path, notes)
    if content.lstrip().startswith(b"["):
        experiment = Experiment(arm=request.arm or readable(path.stem), domain=None)
        rows = sequence(json_document(content, path, notes))
        if request.arm is None and rows:
            notes.warn(f"{path.name} does not say which model acted; the arm has the file's name. --arm gives another.")
        yield from ((mapping(row), experiment, 0) for row in rows)
        return
    yield from _second(content, path, request, notes)


def _second(
    content: bytes, path: Path, request: ImportRequest, notes: ImportNotes
) -> Iterator[tuple[dict[str, Any], Experiment, int]]:
    try:
        results = msgspec.json.decode(content, type=_Results)
        texts = [bytes(each) for each in results.simulations or []]
        info, tasks = mapping(results.info), sequence(results.tasks)
    except (ValueError, RecursionError):
        whole = mapping(json_document(content, path, notes))
        texts = [msgspec.json.encode(each) for each in sequence(whole.get("simulations"))]
        info, tasks = mapping(whole.get("info")), sequence(whole.get("tasks"))
    if not info:
        raise EvidenceError(f"{path} has no results of tau2-bench: it does not say which model acted.")
    acting = mapping(info.get("agent_info"))
    experiment = Experiment(
        arm=request.arm or name(acting.get("llm")) or readable(path.stem),
        domain=name(mapping(info.get("environment_info")).get("domain_name")),
        agent=name(acting.get("implementation")),
        model=name(acting.get("llm")),
        fingerprint=fingerprint(acting),
        checksums={str(mapping(task).get("id")): fingerprint(task) for task in tasks},
    )
    planned = (count(info.get("num_trials")) or 0) * len(tasks)
    if len(texts) < planned:
        notes.warn(f"{path.name} holds {len(texts):,} of {planned:,} simulations: it was still running, or was ended.")
    for number, text in enumerate(texts, start=1):
        try:
            yield mapping(decode_once(text)), experiment, 0
        except ValueError as fault:
            notes.unread(path, 0, f"simulation {number} cannot be read: {fault}")
