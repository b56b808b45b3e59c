"""The planned coordinates of a run."""

from outweigh.record.stored import Count, Name, Stored


class Trial(Stored, frozen=True):
    """One task, one arm, one repeat. outweigh counts repeats from 1; foreign records may start at 0."""

    task_id: Name
    arm: Name
    repeat: Count
    seed: int | None
