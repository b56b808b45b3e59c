"""Stores of arms that are made of parts with known effects, as `outweigh run` leaves them."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from tests.cli.stores import write_store

from outweigh.model.parts import DesignKind, MadeDesign
from outweigh.model.run_record import RunRecord
from outweigh.model.suite import PolicySpec
from outweigh.model.usage import Metering, Usage, reported_cost
from outweigh.testing.builders import a_run
from outweigh.verdict.evidence_settings import CURRENT_VERSION

Sets = Mapping[str, Sequence[str]]


def leave_one_out(parts: Sequence[str], *joint: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """All parts, each left out once, and arms without several of them."""
    return {
        "all-parts": tuple(parts),
        **{f"without-{left}": tuple(part for part in parts if part != left) for left in parts},
        **{f"without-{'-'.join(left)}": tuple(part for part in parts if part not in left) for left in joint},
    }


def part_runs(
    sets: Sets,
    effects: Mapping[str, float],
    *,
    tasks: int = 30,
    repeats: int = 5,
    noise: bool = True,
    base: float = 0.5,
    tokens: Mapping[str, int] | None = None,
    seed: int = 1,
    **fields: Any,
) -> list[RunRecord]:
    """Runs that pass more often by the effect of every part in their arm, and send its tokens on each of five turns.

    Without `noise` every task passes the very share of its runs that its chance says, rounded.
    """
    dice = np.random.default_rng(seed)
    costs = {} if tokens is None else tokens
    records: list[RunRecord] = []
    for task in range(tasks):
        ease, size = dice.normal(0, 0.1), dice.normal(0, 0.4)
        for repeat in range(1, repeats + 1):
            for arm, parts in sets.items():
                chance = base + sum(effects.get(part, 0.0) for part in parts) + ease
                passed = dice.random() < chance if noise else (repeat - 0.5) / repeats < chance
                scale = float(np.exp(size + dice.normal(0, 0.05)))
                sent = Usage(
                    input_tokens=5 * (10_000 + sum(costs.get(part, 0) for part in parts)),
                    output_tokens=round(5000 * scale),
                    cache_read_tokens=0,
                    cache_write_tokens=0,
                )
                measured: dict[str, Any] = {
                    "duration_seconds": 60 * scale,
                    "usage": sent,
                    "cost": reported_cost(0.1 * scale),
                    "metering": Metering(
                        requests=5,
                        failed_requests=0,
                        models={"claude-sonnet-4-5": sent},
                        time_to_first_token_seconds=None,
                        model_seconds=1.0,
                    ),
                }
                records.append(a_run(f"task-{task}", arm, repeat, passed=bool(passed), **(measured | fields)))
    return records


def write_part_store(folder: Path, runs: Sequence[RunRecord], sets: Sets, *kinds: DesignKind, **words: Any) -> str:
    """A store of these runs with the parts of every arm; the first arm is the baseline."""
    parts = {name: tuple(held) for name, held in sets.items() if held}
    known: dict[str, Any] = {
        "parts": parts,
        "designs": tuple(_made(kind, sets) for kind in kinds or ("leave-one-out",)),
        "policy": PolicySpec(version=CURRENT_VERSION),
    }
    return write_store(folder, runs, tuple(sets), **(known | words))


def _made(kind: DesignKind, sets: Sets) -> MadeDesign:
    """A design as the loader makes it; arms of a screen are named so."""
    found = {part for held in sets.values() for part in held}
    parts = tuple(next((held for held in sets.values() if set(held) == found), sorted(found)))
    own = [name for name in sets if name.startswith("screen-") == (kind == "screen")]
    return MadeDesign(
        kind=kind,
        parts=parts,
        arm=next(iter(sets)),
        arms=tuple(own),
        full=next((name for name in own if set(sets[name]) == set(parts)), None),
    )
