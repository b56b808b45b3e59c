"""A no-op sample with one check, as inspect_ai runs it; a program of its own, because inspect_ai lives elsewhere."""

# mypy: ignore-errors
import sys

from inspect_ai import Task
from inspect_ai import eval as evaluate
from inspect_ai.dataset import Sample
from inspect_ai.scorer import Score, accuracy, scorer
from inspect_ai.solver import solver
from inspect_ai.util import sandbox


@solver
def noop():
    async def solve(state, generate):
        return state

    return solve


@scorer(metrics=[accuracy()])
def answered():
    async def score(state, target):
        result = await sandbox().exec(["sh", "-c", "test -e answer.txt"])
        return Score(value=int(result.returncode == 0))

    return score


if __name__ == "__main__":
    samples, logs = int(sys.argv[1]), sys.argv[2]
    task = Task(
        dataset=[Sample(input="Do nothing.", id=str(number)) for number in range(samples)],
        solver=noop(),
        scorer=answered(),
        sandbox="local",
    )
    evaluate(task, model="mockllm/model", max_samples=2, display="none", log_dir=logs)
