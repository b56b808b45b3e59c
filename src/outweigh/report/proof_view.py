"""Whether the arms were what they say: which agents ran, what they had at hand, and what went wrong."""

from collections.abc import Iterator, Mapping

from outweigh.compare.arm_summary import ArmSummary
from outweigh.compare.comparison import Comparison
from outweigh.compare.sightings import Piece, Setback, Sighting
from outweigh.record.run_record import AgentIdentity
from outweigh.record.status import Status
from outweigh.report.document import Block, Bullets, Table, Tone, notes

MOST_PIECES = 40
MOST_SETBACKS = 20
MOST_WARNINGS = 12


def proof_blocks(comparison: Comparison) -> list[Block]:
    """Agents, proof of what was loaded, attempts that do not count, and the runs' own warnings."""
    arms = [
        (arm, comparison.sightings[arm.name])
        for arm in (comparison.baseline, comparison.candidate)
        if arm.name in comparison.sightings
    ]
    seen = {arm.name: sighting for arm, sighting in arms}
    return [
        Bullets(title="Who ran, and with what", items=tuple(_agents(arms)), tone=Tone.PLAIN),
        *_pieces(seen),
        *notes("Attempts that do not count", tuple(_setbacks(seen))),
        *notes("Warnings of the runs themselves", tuple(_warnings(seen))),
    ]


def agent_words(agent: AgentIdentity) -> str:
    """Name, version and model, and what kind of agent it is."""
    name = " ".join(part for part in (agent.name or "unnamed agent", agent.version) if part)
    return f"{name}, {agent.model or 'model unknown'} ({agent.kind.value})"


def _agents(arms: list[tuple[ArmSummary, Sighting]]) -> Iterator[str]:
    for arm, sighting in arms:
        agents = "; ".join(f"{agent_words(agent)}, {runs} runs" for agent, runs in sighting.agents.items())
        yield f"{arm.name}: {agents or 'no counted run'}"
    for arm, sighting in arms:
        misapplied = arm.excluded.get(Status.ARM_NOT_APPLIED, 0)
        wrong = f"; {misapplied} runs did not have what the arm declares and do not count" if misapplied else ""
        yield f"{arm.name}: what was loaded was seen in {sighting.proven} of {arm.runs} runs{wrong}"


def _pieces(seen: Mapping[str, Sighting]) -> list[Block]:
    pieces = sorted({piece for sighting in seen.values() for piece in sighting.pieces})
    if not pieces:
        return []
    rows = [_piece_row(piece, seen) for piece in pieces[:MOST_PIECES]]
    if len(pieces) > MOST_PIECES:
        rows.append((f"and {len(pieces) - MOST_PIECES} more", *[""] * (len(seen) + 1)))
    columns = ("", "kind", *(f"runs, {arm}" for arm in seen))
    return [Table(title="What the agents were seen to have at hand", columns=columns, rows=tuple(rows))]


def _piece_row(piece: Piece, seen: Mapping[str, Sighting]) -> tuple[str, ...]:
    return piece.name, piece.kind, *(str(sighting.pieces.get(piece, 0)) for sighting in seen.values())


def _setbacks(seen: Mapping[str, Sighting]) -> Iterator[str]:
    found = [(arm, setback) for arm, sighting in seen.items() for setback in sighting.setbacks]
    for arm, setback in found[:MOST_SETBACKS]:
        yield _setback(arm, setback)
    if len(found) > MOST_SETBACKS:
        yield f"and {len(found) - MOST_SETBACKS} more"


def _setback(arm: str, setback: Setback) -> str:
    why = setback.status.value if setback.detail is None else f"{setback.status.value}, {setback.detail}"
    return f"{setback.task_id}, {arm}, repeat {setback.repeat}, attempt {setback.attempt}: {why}"


def _warnings(seen: Mapping[str, Sighting]) -> Iterator[str]:
    found = sorted(
        ((number, arm, words) for arm, sighting in seen.items() for words, number in sighting.warnings.items()),
        key=lambda item: (-item[0], item[1], item[2]),
    )
    for number, arm, words in found[:MOST_WARNINGS]:
        yield f"{arm}, {number} runs: {words}"
    if len(found) > MOST_WARNINGS:
        yield f"and {len(found) - MOST_WARNINGS} more"
