"""A list of tasks that `outweigh suite prune` chose, and the runs that it chose them by, which must not judge them."""

from typing import Annotated, Literal

from msgspec import Meta

from outweigh.errors import quote_names
from outweigh.model.base import Moment, Name, Spec
from outweigh.model.run_record import RunRecord
from outweigh.model.source_document import SourceDocument

TASK_LIST_FILE = "tasks.toml"
SHOWN_ARMS = 5

Share = Annotated[float, Meta(ge=0)]


class ChosenTasks(Spec, frozen=True, kw_only=True):
    """How tasks were chosen `of` so many: by the runs of these arms, all or those with odd repeats, made until `at`.

    The shares are those of the t statistic of all tasks: as the chosen runs suggest, and as measured on runs that were
    held out, where there were any.
    """

    of: Annotated[int, Meta(ge=1)]
    arms: Annotated[list[Name], Meta(min_length=1)]
    by_repeats: Literal["all", "odd"]
    at: Annotated[Moment, Meta(description="a moment such as 2026-11-16T12:00:00Z")]
    expected_share: Share | None = None
    measured_share: Share | None = None

    def used(self, run: RunRecord) -> bool:
        """Whether the tasks were chosen by this run; a run that began later was not there yet."""
        if run.started_at is not None and run.started_at > self.at:
            return False
        return run.trial.arm in self.arms and (self.by_repeats == "all" or run.trial.repeat % 2 == 1)

    def describe(self, tasks: int) -> str:
        """What a reader of results must know."""
        runs = "the runs" if self.by_repeats == "all" else "every other repeat"
        arms = quote_names(self.arms, SHOWN_ARMS)
        return (
            f"the {tasks} tasks were chosen of {self.of} by {runs} of {arms} that were made before "
            f"{self.at:%Y-%m-%d %H:%M} UTC; those runs do not count."
        )


class TaskList(Spec, frozen=True, kw_only=True):
    """The content of a `tasks.toml`."""

    tasks: Annotated[list[Name], Meta(min_length=1)]
    chosen: ChosenTasks


def parse_task_list(content: bytes, source: str) -> TaskList:
    """Read a task list; UsageError says what is wrong with it."""
    return SourceDocument(content, source).convert(TaskList)
