"""Prepared workspaces, as inspect_ai scores them in its local sandbox.

It is a program of its own, because inspect_ai lives elsewhere. It reads what to score from a JSON file, and prints
which workspaces were scored as correct.
"""

# mypy: ignore-errors
import json
import sys
from pathlib import Path

from inspect_ai import Task
from inspect_ai import eval as evaluate
from inspect_ai.dataset import Sample
from inspect_ai.scorer import CORRECT, INCORRECT, Score, accuracy, scorer
from inspect_ai.solver import solver
from inspect_ai.util import sandbox


@solver
def left():
    """The agent: its files are in the sandbox already."""

    async def solve(state, generate):
        if script := state.metadata["script"]:
            await sandbox().exec(["sh", "-c", script])
        return state

    return solve


@scorer(metrics=[accuracy()])
def passes_hidden_test(pytest, test):
    """Puts the test into the sandbox, and runs it there."""

    async def score(state, target):
        await sandbox().write_file(Path(test).name, Path(test).read_text())
        result = await sandbox().exec([pytest, "-q", Path(test).name], timeout=60)
        return Score(value=CORRECT if result.returncode == 0 else INCORRECT)

    return score


@scorer(metrics=[accuracy()])
def prints_target(program, given):
    """Runs the program in the sandbox, and compares what it prints outside."""

    async def score(state, target):
        result = await sandbox().exec(["python3", program], input=given, timeout=60)
        return Score(value=CORRECT if result.success and result.stdout.strip() == target.text else INCORRECT)

    return score


def main():
    asked = json.loads(Path(sys.argv[1]).read_text())
    how = asked["inspect"]
    samples = [
        Sample(
            input="Repair the program.",
            target=how.get("target", ""),
            id=one["name"],
            files={
                path.relative_to(one["left"]).as_posix(): str(path)
                for path in sorted(Path(one["left"]).rglob("*"))
                if path.is_file()
            },
            metadata={"script": one["script"]},
        )
        for one in asked["workspaces"]
    ]
    judge = (
        passes_hidden_test(asked["pytest"], asked["test"])
        if "test" in how
        else prints_target(how["program"], how["input"])
    )
    task = Task(dataset=samples, solver=left(), scorer=judge, sandbox="local")
    (log,) = evaluate(task, model="mockllm/model", max_samples=2, display="none", log_dir=sys.argv[2])
    scored = {sample.id: [score.value for score in (sample.scores or {}).values()] for sample in log.samples}
    print(json.dumps({name: values == [CORRECT] for name, values in scored.items()}))


if __name__ == "__main__":
    main()
