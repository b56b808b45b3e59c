"""Claims about runs whose diff is not there: only of the engine's own it is known that nothing changed."""

import pytest

from outweigh.model.run_record import RunRecord, changed_nothing
from outweigh.testing.builders import a_run


@pytest.mark.parametrize(
    ("run", "nothing"),
    [
        (a_run(setup_seconds=0.1), True),
        (a_run(setup_seconds=0.1, artifacts={"diff.patch": "1" * 64}), False),
        (a_run(setup_seconds=0.1, check_command_count=None), False),
        (a_run(), False),
    ],
)
def test_only_of_the_engines_own_runs_a_missing_diff_tells_anything(run: RunRecord, nothing: bool) -> None:
    assert changed_nothing(run) is nothing
