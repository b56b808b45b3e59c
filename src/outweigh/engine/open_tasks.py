"""Tasks of a batch that still have trials without an end."""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator


class OpenTasks(Collection[str]):
    """Which tasks have open trials, kept up to date while trials end, so that a look costs nothing per task.

    The thread of the batch counts down. Other threads may ask meanwhile: a task that has left does not come back, and
    the records of its trials were there before it left.
    """

    def __init__(self, tasks: Iterable[str]) -> None:
        self._left = Counter(tasks)

    def __contains__(self, task: object) -> bool:
        return task in self._left

    def __iter__(self) -> Iterator[str]:
        # A copy, because another thread must not see the tasks change while it goes through them.
        return iter(list(self._left))

    def __len__(self) -> int:
        return len(self._left)

    def count_down(self, task: str) -> bool:
        """A trial of a task has ended or is not needed; returns whether it was the last one."""
        self._left[task] -= 1
        if self._left[task]:
            return False
        del self._left[task]
        return True
