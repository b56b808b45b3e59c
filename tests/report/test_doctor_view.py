"""The words of `outweigh doctor`."""

from outweigh.report.doctor_view import Checked, Examination, Remark, TriedTask, doctor_report
from outweigh.report.document import Bullets, Table

UNSOLVED = Remark(kind="no_solution", blocking=False, message="There is no solution.")


def tried(task_id: str, *remarks: Remark, checks: Checked | None = ()) -> TriedTask:
    return TriedTask(task_id=task_id, untouched=checks, noop=checks, oracle=None, remarks=remarks)


def bullets(*tasks: TriedTask) -> dict[str, tuple[str, ...]]:
    page = doctor_report(Examination(suite="s", parts=(), tasks=tasks))
    return {block.title: block.items for block in page.blocks if isinstance(block, Bullets)}


def test_what_holds_for_many_tasks_is_said_once() -> None:
    own = Remark(kind="passing", blocking=False, message="One check passes already.")

    said = bullets(*[tried(f"eval-{number}", UNSOLVED) for number in range(1, 8)], tried("other", own))

    assert said == {
        "To know": (
            "tasks eval-1, eval-2, eval-3, eval-4, eval-5 and 2 more: There is no solution.",
            "task other: One check passes already.",
        )
    }


def test_every_task_to_mend_is_named() -> None:
    empty = Remark(kind="passes_untouched", blocking=True, message="There is nothing to do.")

    said = bullets(*[tried(f"eval-{number}", empty) for number in range(1, 8)])

    assert said["To mend"] == tuple(f"task eval-{number}: There is nothing to do." for number in range(1, 8))


def test_a_task_without_checks_neither_passes_nor_fails() -> None:
    page = doctor_report(Examination(suite="s", parts=(), tasks=(tried("eval-1", UNSOLVED),)))

    (table,) = [block for block in page.blocks if isinstance(block, Table) and block.rows]
    assert table.rows == (("eval-1", "no checks", "no checks", "not tried", "yes"),)


def test_tasks_that_were_not_tried_are_not_counted() -> None:
    assert doctor_report(Examination(suite="s", parts=(), tasks=None)).headline == "ready to run s"
