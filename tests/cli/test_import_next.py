"""The command that an import ends with: it works when it is pasted, and it knows what was imported before."""

import shutil
from contextlib import chdir
from pathlib import Path
from shlex import split
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from tests.interop.fuzz_sources import samples
from tests.interop.harbor.harbor_jobs import a_job, a_trial, leave_trajectory
from tests.interop.skill_creator.test_skill_creator_importer import benchmark, listed_run

from outweigh.plugins import adapter_names

EXAMPLES = Path(__file__).parents[2] / "examples"
HEADER = "task_id,arm,success\n"
BY_PASSES = ["--gates", "pass_rate"]
"""Such tables have nothing else to decide by."""


def a_table(path: Path, *arms: str) -> str:
    path.write_text(HEADER + "".join(f"task-{task},{arm},yes\n" for arm in arms for task in range(6)))
    return str(path)


def next_command(text: str) -> list[str]:
    (line,) = [line for line in text.splitlines() if line.startswith("Next: ")]
    return split(line.removeprefix("Next: outweigh "))


def test_two_arms_from_two_sources_are_named_in_the_next_command(outweigh: Any, tmp_path: Path) -> None:
    target = str(tmp_path / "runs")
    outweigh("import", a_table(tmp_path / "one.csv", "plain"), "-o", target)

    answer = outweigh("import", a_table(tmp_path / "two.csv", "with notes"), "-o", target)

    expected = ["verdict", target, "--baseline", "plain", "--candidate", "with notes", *BY_PASSES]
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

    assert "import what 'plain' is to be compared with into the same store" in answer.out
    assert f"`outweigh import PATH -o {tmp_path}/runs`" in answer.out
    assert outweigh(*next_command(answer.out)).code == 0
    assert (tmp_path / "runs.csv").read_text().count("\n") == 7


def test_one_arm_of_several_models_is_split_by_them(outweigh: Any, tmp_path: Path) -> None:
    rows = "".join(f"task-{task},all,yes,{model}\n" for model in ("opus", "haiku") for task in range(6))
    (tmp_path / "models.csv").write_text(f"task_id,arm,success,model\n{rows}")
    target = str(tmp_path / "runs")

    answer = outweigh("import", "table", str(tmp_path / "models.csv"), "-o", target, "--map", "model=model")

    assert "the runs of 'all' name 2 models, 'haiku', 'opus'; make an arm of each" in answer.out.lower()
    assert next_command(answer.out) == ["store", "arms", target, "--split", "all", "--by", "agent.model"]


def test_of_many_arms_two_that_share_tasks_are_named_and_all_counted(outweigh: Any, tmp_path: Path) -> None:
    stranger = "other-1,a,yes\nother-2,a,yes\n"
    source = Path(a_table(tmp_path / "all.csv", "b", "c"))
    source.write_text(source.read_text() + stranger)

    answer = outweigh("import", str(source), "-o", str(tmp_path / "runs"))

    assert next_command(answer.out) == [
        "verdict",
        f"{tmp_path}/runs",
        "--baseline",
        "b",
        "--candidate",
        "c",
        *BY_PASSES,
    ]
    assert "any two of the 3 arms can be named" in answer.out
    assert "c against b" in outweigh(*next_command(answer.out)).out


def test_a_baseline_that_is_called_so_is_compared_with_all_others(outweigh: Any, tmp_path: Path) -> None:
    answer = outweigh("import", a_table(tmp_path / "all.csv", "a", "b", "baseline"), "-o", str(tmp_path / "runs"))

    assert next_command(answer.out) == ["verdict", f"{tmp_path}/runs", "--baseline", "baseline", *BY_PASSES]
    assert "of 2 candidates improved on baseline" in outweigh(*next_command(answer.out)).out


def test_the_arm_whose_name_says_less_is_the_baseline(outweigh: Any, tmp_path: Path) -> None:
    answer = outweigh("import", a_table(tmp_path / "all.csv", "opus with-notes", "opus"), "-o", str(tmp_path / "runs"))

    assert next_command(answer.out)[2:] == ["--baseline", "opus", "--candidate", "opus with-notes", *BY_PASSES]


def test_of_equal_pairs_the_one_that_differs_by_a_baseline_is_compared(outweigh: Any, tmp_path: Path) -> None:
    arms = ("round-1/with_skill", "round-2/with_skill", "round-1/without_skill", "round-2/without_skill")

    answer = outweigh("import", a_table(tmp_path / "all.csv", *arms), "-o", str(tmp_path / "runs"))

    expected = ["--baseline", "round-1/without_skill", "--candidate", "round-1/with_skill", *BY_PASSES]
    assert next_command(answer.out)[2:] == expected
    assert "nothing says which arm is the baseline" not in answer.out


@pytest.mark.parametrize("name", ["with space", "it's", 'say "hi"', "-home-me-app", "--fast", "a=b", "$HOME;ls"])
def test_any_name_of_an_arm_or_folder_can_be_pasted(outweigh: Any, tmp_path: Path, name: str) -> None:
    quoted = '"' + name.replace('"', '""') + '"'
    with chdir(tmp_path):
        answer = outweigh("import", a_table(Path("all.csv"), "plain", quoted), f"--output={name}")

        verdict = outweigh(*next_command(answer.out))
    assert f"{name} against plain" in verdict.out or f"plain against {name}" in verdict.out


def test_arms_that_share_no_task_are_listed_instead(outweigh: Any, tmp_path: Path) -> None:
    (tmp_path / "all.csv").write_text(f"{HEADER}one,a,yes\ntwo,b,yes\n")

    answer = outweigh("import", str(tmp_path / "all.csv"), "-o", str(tmp_path / "runs"))

    assert "no two arms share a task, so nothing can be compared: 'a' has 'one', 'b' has 'two'" in answer.out.lower()
    assert next_command(answer.out) == ["store", "arms", f"{tmp_path}/runs"]


@pytest.mark.parametrize("name", adapter_names("importer"))
def test_the_command_works_for_every_format(outweigh: Any, tmp_path: Path, name: str) -> None:
    for number, sample in enumerate(each for each in samples()[name] if not each.options):
        with TemporaryDirectory() as folder:
            source = sample.source.write(Path(folder) / "source")
            answer = outweigh("import", name, str(source), "-o", str(tmp_path / f"runs-{number}"))
        if answer.code == 0:
            pasted = outweigh(*next_command(answer.out))
            assert pasted.code == 0 or (pasted.code in (1, 3) and pasted.out), (sample.label, pasted.err)


def test_a_leaderboard_says_that_there_is_nothing_to_compare(outweigh: Any, tmp_path: Path) -> None:
    board = tmp_path / "board.yml"
    board.write_text("- dirname: 2024-12-21--one\n  test_cases: 225\n  model: m\n  pass_rate_1: 20.0\n")

    answer = outweigh("import", "aider-leaderboard", str(board), "-o", str(tmp_path / "runs"))

    assert answer.code == 3
    assert (
        f"there is no run in {board}, so there is nothing to compare; import the runs behind its figures" in answer.err
    )
    assert "Next:" not in answer.out


def test_a_folder_that_has_runs_and_means_of_others_has_something_to_compare(outweigh: Any, tmp_path: Path) -> None:
    results = tmp_path / "results"
    results.mkdir()
    benchmark(results / "a.json", runs=[listed_run(arm) for arm in ("with_skill", "without_skill")])
    benchmark(results / "b.json", run_summary={"with_skill": {"pass_rate": {"mean": 0.5}}})

    answer = outweigh("import", str(results), "-o", str(tmp_path / "runs"))

    assert (answer.code, f"there is no run in {results}/b.json" in answer.err) == (0, True)
    assert next_command(answer.out)[0] == "verdict"


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
    for harness in ("inspect", "promptfoo"):
        shutil.copytree(EXAMPLES / harness, results / harness)

    answer = outweigh("import", str(results), "-o", str(tmp_path / "runs"))

    assert "read as inspect" in answer.out
    assert f"{results} was read as inspect, and holds more that was not read:" in answer.err
    assert f"  outweigh import promptfoo {results / 'promptfoo' / 'output.json'} -o RUNS" in answer.err


def test_a_folder_that_is_of_two_formats_asks_for_one(outweigh: Any, tmp_path: Path) -> None:
    results = tmp_path / "results"
    for harness in ("inspect", "harbor"):
        shutil.copytree(EXAMPLES / harness, results / harness)

    answer = outweigh("import", str(results), "-o", str(tmp_path / "runs"))

    assert answer.code == 2
    assert "FORMAT being one of harbor, inspect." in answer.err
    assert not (tmp_path / "runs").exists()


def test_what_a_format_reads_along_with_its_own_is_nothing_left_aside(outweigh: Any, tmp_path: Path) -> None:
    trials = [a_trial(1, "one"), a_trial(2, "two")]
    job = a_job(tmp_path / "job", trials)
    for trial in trials:
        leave_trajectory(job, trial)

    answer = outweigh("import", str(job), "-o", str(tmp_path / "runs"))

    assert "read as harbor" in answer.out
    assert "holds more" not in answer.err


def test_what_no_run_of_an_arm_has_is_left_out_of_the_decision_and_named(outweigh: Any, tmp_path: Path) -> None:
    answer = outweigh("import", str(EXAMPLES / "harnesses" / "tau-bench"), "-o", str(tmp_path / "runs"))

    assert "an arm has no tokens, so that is not judged" in answer.out
    assert next_command(answer.out)[-2:] == ["--gates", "pass_rate,duration,cost"]
    assert outweigh(*next_command(answer.out)).out.startswith("IMPROVED")


def test_tasks_of_one_family_show_nothing_about_others_and_break_nothing(outweigh: Any, tmp_path: Path) -> None:
    rows = "".join(
        f"task-{task},{arm},{'yes' if arm == 'b' or task else 'no'},all,{number + task}.5\n"
        for number, arm in enumerate(("a", "b"))
        for task in range(8)
    )
    lonely = "task-of-one-arm,a,yes,other,1.5\n"
    (tmp_path / "all.csv").write_text(f"task_id,arm,success,family,duration_seconds\n{rows}{lonely}")
    options = ("--map", "family=family", "--map", "duration_seconds=duration_seconds")
    answer = outweigh("import", "table", str(tmp_path / "all.csv"), "-o", str(tmp_path / "runs"), *options)

    assert outweigh(*next_command(answer.out)).out.startswith("INCONCLUSIVE")
