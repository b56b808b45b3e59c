"""The steps of two runs in rows."""

from collections.abc import Sequence

from tests.trajectories import a_step, numbered

from outweigh.report.run_alignment import AlignedStep, StepLikeness, align_steps, first_divergence
from outweigh.report.run_steps import ShownStep, steps_of_trajectory
from outweigh.transcript.atif import AtifStep


def shown(*steps: AtifStep) -> tuple[ShownStep, ...]:
    return steps_of_trajectory(numbered(steps))


def likenesses(rows: Sequence[AlignedStep]) -> list[str]:
    return [row.likeness.value for row in rows]


def test_steps_with_the_same_calls_are_alike_whatever_they_say_or_get() -> None:
    a = shown(a_step("bash", {"command": "ls"}, said="I look around."))
    b = shown(a_step("bash", {"command": "ls"}, said="What is here?", output="other"))

    assert likenesses(align_steps(a, b)) == ["same"]


def test_the_order_of_arguments_and_space_in_them_do_not_count() -> None:
    a = shown(a_step("edit", {"path": "x", "text": "a  b"}))
    b = shown(a_step("edit", {"text": "a b", "path": "x"}))

    assert likenesses(align_steps(a, b)) == ["same"]


def test_the_same_tool_with_other_arguments_is_changed() -> None:
    rows = align_steps(shown(a_step("bash", {"command": "ls"})), shown(a_step("bash", {"command": "pwd"})))

    assert likenesses(rows) == ["changed"]


def test_a_step_of_one_run_alone_shifts_nothing_else() -> None:
    ls, test, edit = a_step("bash", {"command": "ls"}), a_step("bash", {"command": "test"}), a_step("edit", {"p": 1})

    rows = align_steps(shown(ls, edit, test), shown(ls, test))

    assert likenesses(rows) == ["same", "only_a", "same"]
    assert first_divergence(rows) == 1


def test_runs_that_do_the_same_never_part() -> None:
    steps = shown(a_step("bash", {"command": "ls"}), a_step(said="Done."))

    assert first_divergence(align_steps(steps, steps)) is None


def test_every_step_of_both_runs_has_one_row() -> None:
    a = shown(*(a_step("bash", {"command": name}) for name in "abcab"))
    b = shown(*(a_step("read" if name == "x" else "bash", {"command": name}) for name in "xbcxa"))

    rows = align_steps(a, b)

    assert [row.a for row in rows if row.a] == list(a)
    assert [row.b for row in rows if row.b] == list(b)
    assert all((row.likeness is StepLikeness.ONLY_B) == (row.a is None) for row in rows)
