"""What people say about recorded runs, to compare judges with."""

from typing import NamedTuple


class Label(NamedTuple):
    """One person's word on a run, or on one criterion of it: a score from 0 to 1, or only whether it passes."""

    run_id: str
    criterion: str | None
    score: float | None
    passed: bool | None
