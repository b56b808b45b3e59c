"""Everything that two runs can be compared by."""

from dataclasses import dataclass

from outweigh.record.run_record import RunRecord
from outweigh.report.run_diff.alignment import AlignedStep, Likeness, align, first_divergence
from outweigh.report.run_diff.patches import PatchPair, compare_patches
from outweigh.report.run_steps import ShownStep


@dataclass(frozen=True, slots=True, kw_only=True)
class RunSide:
    """One run with what was kept of it. `patch` is empty where nothing changed, None where nobody knows.

    `warnings` says what could not be read, so that nothing missing is taken for nothing done.
    """

    record: RunRecord
    steps: tuple[ShownStep, ...] | None
    patch: str | None
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class RunDiff:
    """Two runs, their steps in rows, and their patches; rows and files are None where a side is unknown."""

    a: RunSide
    b: RunSide
    rows: tuple[AlignedStep, ...] | None
    files: tuple[PatchPair, ...] | None

    @property
    def divergence(self) -> int | None:
        """The place of the first row that differs."""
        return None if self.rows is None else first_divergence(self.rows)

    def count(self, likeness: Likeness) -> int:
        """How many rows are so."""
        return sum(row.likeness is likeness for row in self.rows or ())


def diff_runs(a: RunSide, b: RunSide) -> RunDiff:
    """Put two runs side by side."""
    return RunDiff(
        a=a,
        b=b,
        rows=None if a.steps is None or b.steps is None else align(a.steps, b.steps),
        files=None if a.patch is None or b.patch is None else compare_patches(a.patch, b.patch),
    )
