"""The planned coordinates of a run."""

from outweigh.record.stored import Count, Name, Stored

REPEAT_LABEL = "repeat_label"
ARBITRARY = "arbitrary"
"""What `extra` says of a run whose repeat was numbered by whoever read it: the number alone makes no pair."""


class Trial(Stored, frozen=True):
    """One task, one arm, one repeat. outweigh counts repeats from 1; foreign records may start at 0."""

    task_id: Name
    arm: Name
    repeat: Count
    seed: int | None
