"""What all questions to judges share: whom to ask, what was kept of the runs, and whether anybody still waits."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from threading import Event as Signal

from outweigh.ports.judges import Judge
from outweigh.record.pricing import FirstKnown
from outweigh.run.material import Artifact


@dataclass(frozen=True, slots=True, kw_only=True)
class Courtroom:
    """Backends are found by the judge's name. `draw_code` gives a code for fences that nobody can guess."""

    backends: Mapping[str, Judge]
    artifact: Artifact
    prices: FirstKnown
    draw_code: Callable[[], str]
    now: Callable[[], datetime]
    drain: Signal
    cancel: Signal
    first_wait_seconds: float = 1.0
