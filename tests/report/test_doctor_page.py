"""The words of `outweigh doctor`."""

from outweigh.report.doctor_page import CheckedTask, CheckResults, DoctorResult, TaskFinding, doctor_report
from outweigh.report.document import BulletList, Table

UNSOLVED = TaskFinding(kind="no_solution", blocking=False, message="There is no solution.")


def tried(task_id: str, *remarks: TaskFinding, checks: CheckResults | None = ()) -> CheckedTask:
    return CheckedTask(task_id=task_id, untouched=checks, noop=checks, oracle=None, remarks=remarks)


def bullets(*tasks: CheckedTask) -> dict[str, tuple[str, ...]]:
    page = doctor_report(DoctorResult(suite="s", parts=(), tasks=tasks))
    return {block.title: block.items for block in page.blocks if isinstance(block, BulletList)}


def test_what_holds_for_many_tasks_is_said_once() -> None:
    own = TaskFinding(kind="passing", blocking=False, message="One check passes already.")

    said = bullets(*[tried(f"eval-{number}", UNSOLVED) for number in range(1, 8)], tried("other", own))

    assert said == {
        "To know": (
            "tasks eval-1, eval-2, eval-3, eval-4, eval-5 and 2 more: There is no solution.",
            "task other: One check passes already.",
        )
    }


def test_every_task_to_fix_is_named() -> None:
    empty = TaskFinding(kind="passes_untouched", blocking=True, message="There is nothing to do.")

    said = bullets(*[tried(f"eval-{number}", empty) for number in range(1, 8)])

    assert said["To fix"] == tuple(f"task eval-{number}: There is nothing to do." for number in range(1, 8))


def test_a_task_without_checks_neither_passes_nor_fails() -> None:
    page = doctor_report(DoctorResult(suite="s", parts=(), tasks=(tried("eval-1", UNSOLVED),)))

    (table,) = [block for block in page.blocks if isinstance(block, Table) and block.rows]
    assert table.rows == (("eval-1", "no checks", "no checks", "not tried", "yes"),)


def test_tasks_that_were_not_tried_are_not_counted() -> None:
    assert doctor_report(DoctorResult(suite="s", parts=(), tasks=None)).headline == "s is set up"
