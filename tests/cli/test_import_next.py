"""The command that an import ends with: it can be typed, and it knows what was imported before."""

import shutil
from pathlib import Path
from shlex import split
from typing import Any

from tests.interop.harbor.harbor_jobs import a_job, a_trial, leave_trajectory

EXAMPLES = Path(__file__).parents[2] / "examples"
HEADER = "task_id,arm,success\n"


def a_table(path: Path, *arms: str) -> str:
    path.write_text(HEADER + "".join(f"task-{task},{arm},yes\n" for arm in arms for task in range(6)))
    return str(path)


def next_command(text: str) -> list[str]:
    (line,) = [line for line in text.splitlines() if line.startswith("Next: ")]
    return split(line.removeprefix("Next: outweigh ").partition(" (")[0])


def test_two_arms_from_two_sources_are_named_in_the_next_command(outweigh: Any, tmp_path: Path) -> None:
    target = str(tmp_path / "runs")
    outweigh("import", a_table(tmp_path / "one.csv", "plain"), "-o", target)

    answer = outweigh("import", a_table(tmp_path / "two.csv", "with notes"), "-o", target)

    expected = ["verdict", target, "--baseline", "plain", "--candidate", "with notes"]
    assert next_command(answer.out) == expected
    assert "with notes against plain" in outweigh(*expected).out


def test_several_sources_at_once_end_with_one_command(outweigh: Any, tmp_path: Path) -> None:
    sources = [a_table(tmp_path / "one.csv", "plain"), a_table(tmp_path / "two.csv", "notes")]

    answer = outweigh("import", *sources, "-o", str(tmp_path / "runs"))

    assert next_command(answer.out)[0] == "verdict"


def test_a_source_that_was_imported_before_still_says_what_is_next(outweigh: Any, tmp_path: Path) -> None:
    source = a_table(tmp_path / "both.csv", "plain", "notes")
    outweigh("import", source, "-o", str(tmp_path / "runs"))

    answer = outweigh("import", source, "-o", str(tmp_path / "runs"))

    assert "nothing to add (12 runs)" in answer.out
    assert next_command(answer.out)[0] == "verdict"


def test_one_arm_wants_another_to_be_compared_with(outweigh: Any, tmp_path: Path) -> None:
    answer = outweigh("import", a_table(tmp_path / "one.csv", "plain"), "-o", str(tmp_path / "runs"))

    assert f"Next: import what 'plain' is to be compared with: outweigh import PATH -o {tmp_path}/runs" in answer.out


def test_of_many_arms_two_are_named_and_all_counted(outweigh: Any, tmp_path: Path) -> None:
    answer = outweigh("import", a_table(tmp_path / "all.csv", "a", "b", "c"), "-o", str(tmp_path / "runs"))

    assert next_command(answer.out) == ["compare", f"{tmp_path}/runs", "--baseline", "a", "--candidate", "b"]
    assert "(or any other two of 3 arms)" in answer.out


def test_a_leaderboard_says_that_there_is_nothing_to_compare(outweigh: Any, tmp_path: Path) -> None:
    board = tmp_path / "board.yml"
    board.write_text("- dirname: 2024-12-21--one\n  test_cases: 225\n  model: m\n  pass_rate_1: 20.0\n")

    answer = outweigh("import", "aider-leaderboard", str(board), "-o", str(tmp_path / "runs"))

    assert answer.code == 3
    assert (
        f"there is no run in {board}, so there is nothing to compare; import the runs behind its figures" in answer.err
    )
    assert "Next:" not in answer.out


def test_of_several_sources_the_one_that_is_refused_is_named(outweigh: Any, tmp_path: Path) -> None:
    (tmp_path / "two.csv").write_text(HEADER + "task-1,notes,perhaps\n")

    answer = outweigh(
        "import", a_table(tmp_path / "one.csv", "plain"), str(tmp_path / "two.csv"), "-o", str(tmp_path / "runs")
    )

    assert answer.code == 3
    assert "6 runs of 1 arm" in answer.out
    assert f"{tmp_path}/two.csv: 1 row cannot be read" in answer.err
    assert "Nothing was imported" in answer.err


def test_a_folder_is_read_as_one_format_and_what_else_lies_in_it_is_named(outweigh: Any, tmp_path: Path) -> None:
    results = tmp_path / "results"
    for harness in ("inspect", "harbor", "promptfoo"):
        shutil.copytree(EXAMPLES / harness, results / harness)

    answer = outweigh("import", str(results), "-o", str(tmp_path / "runs"))

    assert "read as inspect" in answer.out
    assert f"{results} was read as inspect, and holds more that was not read:" in answer.err
    assert f"  outweigh import harbor {results / 'harbor' / 'jobs'} -o RUNS" in answer.err
    assert f"  outweigh import promptfoo {results / 'promptfoo' / 'output.json'} -o RUNS" in answer.err


def test_what_a_format_reads_along_with_its_own_is_nothing_left_aside(outweigh: Any, tmp_path: Path) -> None:
    trials = [a_trial(1, "one"), a_trial(2, "two")]
    job = a_job(tmp_path / "job", trials)
    for trial in trials:
        leave_trajectory(job, trial)

    answer = outweigh("import", str(job), "-o", str(tmp_path / "runs"))

    assert "read as harbor" in answer.out
    assert "holds more" not in answer.err
