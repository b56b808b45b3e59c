"""The JSON of what was seen of the arms beside their figures. Keys are added, never renamed."""

import msgspec

from outweigh.compare.comparison import Comparison
from outweigh.compare.sightings import Sighting
from outweigh.report.payload import Payload


def sightings_payload(comparison: Comparison) -> Payload:
    """`sightings` of `compare` and `verdict --format json`, by arm."""
    return {arm: _sighting(sighting) for arm, sighting in comparison.sightings.items()}


def _sighting(sighting: Sighting) -> Payload:
    return {
        "agents": [{**msgspec.to_builtins(agent), "runs": runs} for agent, runs in sighting.agents.items()],
        "proven": sighting.proven,
        "pieces": [{**piece._asdict(), "runs": runs} for piece, runs in sorted(sighting.pieces.items())],
        "warned": sighting.warned,
        "warnings": [{"words": words, "runs": runs} for words, runs in sorted(sighting.warnings.items())],
        "past_gateway": sighting.past_gateway,
        "setbacks": [{**setback._asdict(), "status": setback.status.value} for setback in sighting.setbacks],
    }
