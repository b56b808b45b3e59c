"""Decide about the candidates of a store, a path or records: the one way that library and command line share.

Which arm is the baseline comes from the caller or from the suite that was run; it is never guessed.
"""

from collections.abc import Sequence
from pathlib import Path

import msgspec

from outweigh.compare.evidence import Evidence
from outweigh.errors import UsageError, quote_names
from outweigh.score.objective import Change
from outweigh.store.experiment_file import ExperimentFile

SHOWN_ARMS = 20


def choose_baseline(experiment: ExperimentFile | None, evidence: Evidence) -> str:
    """The suite's."""
    if experiment is None:
        raise _both_arms_needed(evidence)
    return experiment.baseline


def choose_candidates(
    experiment: ExperimentFile | None, evidence: Evidence, baseline: str, *, several: bool
) -> Sequence[str]:
    """Every other arm, in the suite's order; more than one only where several can be judged together.

    An arm that the suite has and the records do not is among them: leaving it out would have to be asked for.
    """
    if experiment is None:
        raise _both_arms_needed(evidence)
    others = [name for name in dict.fromkeys((*experiment.arms, *evidence.arms)) if name != baseline]
    if len(others) == 1 or several:
        return others
    raise UsageError(f"name the arm to compare {baseline!r} with by --candidate: {quote_names(others, SHOWN_ARMS)}.")


def _both_arms_needed(evidence: Evidence) -> UsageError:
    held = quote_names(list(evidence.arms), SHOWN_ARMS)
    return UsageError(f"name both arms with --baseline and --candidate; the records hold {held}.")


def read_changes(path: str) -> list[Change]:
    """Read `{"id": …, "arm": …, "failed": …, "reverted": …}` lines."""
    decoder = msgspec.json.Decoder(Change)
    changes = []
    try:
        for number, line in enumerate(Path(path).read_bytes().splitlines(), start=1):
            if line.strip():
                changes.append(_decode_change(decoder, line, f"{path}:{number}"))
    except OSError as fault:
        raise UsageError(f"--changes {path} cannot be read: {fault.strerror}.") from fault
    if len({(change.arm, change.id) for change in changes}) < len(changes):
        raise UsageError(f"--changes {path} names a change of one arm twice; list every change once.")
    return changes


def _decode_change(decoder: "msgspec.json.Decoder[Change]", line: bytes, place: str) -> Change:
    try:
        return decoder.decode(line)
    except (msgspec.MsgspecError, UnicodeDecodeError) as fault:
        raise UsageError(f"{place}: {fault}. A change has id, arm, failed and reverted.") from fault
