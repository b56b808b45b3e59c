"""Running the solution that a task brings along."""

from pathlib import Path

from outweigh.adapters.agents.private_folder import PRIVATE_FOLDER, private_folder
from outweigh.ports.sandboxes import Completed, Sandbox
from outweigh.task.task import Task

ENTRY = "solve.sh"


def has_solution(task: Task) -> bool:
    """Whether the task comes with a solution that can be run."""
    return task.solution_folder is not None and Path(task.solution_folder, ENTRY).is_file()


def run_solution(task: Task, sandbox: Sandbox, timeout_seconds: float) -> Completed:
    """Bring the solution's files in, run `solve.sh` in the workspace, and take them out again.

    The script finds its own files in the folder that OUTWEIGH_SOLUTION names.
    """
    with private_folder(sandbox) as private:
        _bring_in(Path(task.solution_folder or ""), sandbox)
        return sandbox.exec(
            ["sh", "-c", f"exec ./{PRIVATE_FOLDER}/solution/{ENTRY}"],
            environment={"OUTWEIGH_SOLUTION": f"{private}/solution"},
            timeout_seconds=timeout_seconds,
        )


def _bring_in(folder: Path, sandbox: Sandbox) -> None:
    for file in sorted(folder.rglob("*")):
        if file.is_file():
            inside = f"{PRIVATE_FOLDER}/solution/{file.relative_to(folder).as_posix()}"
            executable = file.name == ENTRY or bool(file.stat().st_mode & 0o100)
            sandbox.write(inside, file.read_bytes(), executable=executable)
