"""A store to view: two runs that diverge, judgments of one, names that try to be markup, and many plain runs."""

from pathlib import Path

from tests.trajectories import Runs, a_step, a_trajectory, store_of

from outweigh.model.judgment import CriterionScore
from outweigh.model.run_record import RunRecord
from outweigh.model.usage import reported_cost
from outweigh.store.run_store import FolderRunStore
from outweigh.testing.builders import a_judgment, a_run
from outweigh.transcript.atif import AtifStep

HOSTILE = "<script>document.title='taken'</script><img src=x onerror=alert(1)>\u202e\x1b[31m" + "x" * 200
FIRST, SECOND = "fix-median/plain/1", "fix-median/careful/1"

_TASK = AtifStep(step_id=1, source="user", message="Fix `median` for an even number of values. All tests must pass.")
_LOOK = a_step(
    "bash",
    {"command": "ls -la && git status"},
    said="Let me look at the repository first.",
    output="total 24\ndrwxr-xr-x 4 me me 4096 src\n-rw-r--r-- 1 me me  512 README.md",
)
_READ = a_step(
    "read_file", {"path": "src/median.py"}, output="def median(values):\n    return sorted(values)[len(values) // 2]"
)
_BY_HAND = a_step(
    "edit",
    {"path": "src/median.py", "old": "return sorted(values)", "new": "middle = len(values) // 2"},
    said="I write it by hand.",
)
_BY_LIBRARY = a_step(
    "edit",
    {"path": "src/median.py", "old": "sorted(values)[len(values) // 2]", "new": "statistics.median(values)"},
    said="The even case is wrong. The standard library knows it.",
)
_SEARCH = a_step("grep", {"pattern": "median"}, said="Is it used elsewhere?", output="src/app.py: import median")
_DONE = a_step(said="Done: the median of an even number of values is the mean of the two in the middle.")


def median_store(folder: Path, others: int = 30) -> Path:
    """The store, with this many tasks beside the one to look at."""
    failing, passing = _test("1 failed, 2 passed"), _test("3 passed in 0.02s")
    plain = {
        "trajectory.json": a_trajectory(_TASK, _LOOK, _READ, _BY_HAND, failing, _DONE),
        "diff.patch": _patch(_HAND),
    }
    careful = {
        "trajectory.json": a_trajectory(_TASK, _LOOK, _SEARCH, _READ, _BY_LIBRARY, passing, _DONE),
        "diff.patch": _patch(_LIBRARY),
    }
    hostile = {
        "trajectory.json": a_trajectory(a_step(HOSTILE, {"command": HOSTILE}, said=HOSTILE, output="A" * 1_000_000)),
        "diff.patch": b"diff --git a/<b> b/<b>\n--- a/<b>\n+++ b/<b>\n@@ -1 +1 @@\n-\xff\n+</pre><script>1</script>\n",
    }
    judged = a_run("fix-median", "careful", 1, duration_seconds=95.2, cost=reported_cost(0.1312))
    runs: Runs = [
        (a_run("fix-median", "plain", 1, passed=False, duration_seconds=133.0, cost=reported_cost(0.1702)), plain),
        (judged, careful),
        (a_run(HOSTILE, "plain", 1, warnings=(HOSTILE,)), hostile),
        *((_plain_run(task, arm, repeat), {}) for task, arm, repeat in _grid(others)),
    ]
    store_of(folder, runs)
    seen = CriterionScore(criterion="correct", weight=2.0, score=1.0, evidence="pytest: 3 passed")
    small = CriterionScore(
        criterion="small change", weight=1.0, score=0.5, evidence="one line, and an import is missing"
    )
    with FolderRunStore.open(folder) as store:
        store.append_judgment(a_judgment(judged, criteria=(seen, small)))
    return folder


_HAND = ("    middle = len(values) // 2", "    ordered = sorted(values)", '    return ordered[middle] or "none"')
_LIBRARY = ("    # the standard library knows the even case", "    return statistics.median(values)")


def _test(output: str) -> AtifStep:
    return a_step("bash", {"command": "pytest -q"}, output=output)


def _patch(lines: tuple[str, ...]) -> bytes:
    file = "src/median.py"
    head = f"diff --git a/{file} b/{file}\nindex 1bd6c34..9f2a1c0 100644\n--- a/{file}\n+++ b/{file}\n"
    added = "".join(f"+{line}\n" for line in lines)
    before = " def median(values):\n-    return sorted(values)[len(values) // 2]\n"
    return f"{head}@@ -1,2 +1,{len(lines) + 1} @@\n{before}{added}".encode()


def _grid(tasks: int) -> list[tuple[int, str, int]]:
    return [(task, arm, repeat) for task in range(tasks) for arm in ("plain", "careful") for repeat in (1, 2, 3)]


def _plain_run(task: int, arm: str, repeat: int) -> RunRecord:
    effort = (40 + 3 * task + 11 * repeat) * (1.0 if arm == "plain" else 0.8)
    return a_run(
        f"task-{task:02d}",
        arm,
        repeat,
        passed=_luck(task, repeat, arm),
        duration_seconds=effort,
        cost=reported_cost(effort / 900),
    )


def _luck(task: int, repeat: int, arm: str) -> bool:
    return (task * 7 + repeat * 5 + len(arm)) % (3 if arm == "plain" else 5) > 0
