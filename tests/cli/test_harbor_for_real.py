"""Claims about suites that the real Harbor runs, as their user meets them: processes, words, exit codes, records."""

import shutil
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from tests.cli.engines import until
from tests.cli.harbor_experiment import IDLE, SOLVER, TELLING, WAIT, HarborExperiment, require_harbor
from tests.prerequisites import needs
from tests.repositories import Repository

from outweigh.cli.main import main
from outweigh.interop.harbor.harbor_command import is_job_running
from outweigh.model.failure import EXCLUDED_STATUSES, Status
from outweigh.model.run_record import AgentKind
from outweigh.score.objective import passed
from outweigh.store.experiment_file import read_experiment, read_rule_labels

SECRET = "open sesame"


@pytest.fixture
@needs("agent", "bubblewrap")
def desk(tmp_path: Path) -> Iterator[HarborExperiment]:
    require_harbor()
    with closing(HarborExperiment(tmp_path)) as desk:
        yield desk


def test_what_harbor_ran_is_evidence_under_the_suites_own_names(desk: HarborExperiment) -> None:
    (desk.suite / "laid" / "sub").mkdir(parents=True)
    (desk.suite / "laid" / "sub" / "HINT.md").write_text("try 42\n")
    telling = TELLING | {
        "files": "laid",
        "extra_prompt": "Be brief.",
        "environment": {"GREETING": "hello"},
        "secrets": ["TOKEN"],
    }
    desk.write({"idle": IDLE, "telling": telling}, tasks=2)

    first = desk.run(TOKEN=SECRET, UNNAMED="not to be handed on")

    assert first.code == 0, first.err
    assert first.out.startswith("INCONCLUSIVE: telling passes ")
    assert "done: 4 of 4 trials have a result" in first.err
    made = desk.records()
    assert sorted((run.trial.task_id, run.trial.arm, run.trial.repeat) for run in made) == [
        ("task-1", "idle", 1),
        ("task-1", "telling", 1),
        ("task-2", "idle", 1),
        ("task-2", "telling", 1),
    ]
    experiment = read_experiment(desk.store)
    assert experiment is not None
    for run in made:
        assert run.status is Status.COMPLETED
        assert run.arm_fingerprint == experiment.arms[run.trial.arm]
        assert run.task_checksum == experiment.tasks[run.trial.task_id]
        assert passed(run).value == (run.trial.arm == "telling")
        assert run.position is None
        assert run.extra.items() >= read_rule_labels(desk.store).items()
    told = next(run for run in made if run.trial.arm == "telling")
    assert (told.agent.kind, told.agent.name, told.agent.version) == (AgentKind.REAL, "telling", "7.0")
    assert (told.usage.input_tokens, told.usage.cache_read_tokens, told.usage.output_tokens) == (800, 200, 50)
    assert told.cost.usd == 0.25
    assert main(["compare", str(desk.store)]) == 0

    # The agent had what the arm says, where it works, and nothing else of ours.
    assert (desk.flags / "asked.txt").read_text() == "Write 42 to answer.txt.\n\n\nBe brief."
    assert (desk.flags / "files.txt").read_text().split() == ["./question.txt", "./sub/HINT.md"]
    variables = (desk.flags / "variables.txt").read_text().splitlines()
    assert {"GREETING=hello", f"TOKEN={SECRET}"} <= set(variables)
    assert not any(line.startswith("UNNAMED=") for line in variables)
    assert not [path for path in desk.store.rglob("*") if path.is_file() and SECRET.encode() in path.read_bytes()]

    # Nothing is run twice, and more repeats are added to what is there.
    assert (desk.run(TOKEN=SECRET).code, len(desk.jobs())) == (0, 2)
    assert desk.run("-k", "2", TOKEN=SECRET).code == 0
    assert len(desk.jobs()) == 4
    assert desk.records()[:4] == made
    assert Counter(run.trial.repeat for run in desk.records()) == {1: 4, 2: 4}


def test_two_commits_are_tried_against_each_other(desk: HarborExperiment) -> None:
    desk.write({"agent": {"agent": "local_environment:ReadingAgent"}, "unused": IDLE})
    repository = Repository(desk.folder / "project")
    shutil.move(desk.suite, repository.folder / "evals")
    desk.suite = repository.folder / "evals"
    repository.commit({"CLAUDE.md": "Think before you write.\n"})
    repository.git("checkout", "--quiet", "-b", "better")
    repository.commit({"CLAUDE.md": "The answer is 42.\n"})

    ended = desk.run("--base", "main", "--head", "better")

    assert ended.code == 0, ended.err
    assert {run.trial.arm: passed(run).value for run in desk.records()} == {"base": 0, "head": 1}


def test_an_interrupted_run_keeps_what_has_finished_and_goes_on(desk: HarborExperiment) -> None:
    desk.write({"idle": IDLE, "solver": SOLVER}, solution=WAIT)
    engine = desk.start("--events", str(desk.events))
    until(lambda: (desk.flags / "begun").exists() and desk.has_a_result())

    engine.press_ctrl_c()
    ended = engine.wait()

    assert ended.code == 130, ended.err
    assert not any(is_job_running(path) for path in desk.store.glob("harbor/*.json"))
    (cancelled,) = [run for run in desk.records() if run.trial.arm == "solver"]
    assert cancelled.status is Status.NOT_RUN

    (desk.flags / "go").touch()
    assert desk.run().code == 0
    assert [run.attempt for run in desk.records() if run.trial.arm == "solver" and passed(run).value == 1] == [2]
    assert sum(run.trial.arm == "idle" for run in desk.records()) == 1


def test_a_job_that_outlives_its_engine_is_waited_for_and_taken_in(desk: HarborExperiment) -> None:
    desk.write({"idle": IDLE, "solver": SOLVER}, solution=WAIT)
    engine = desk.start()
    until(lambda: (desk.flags / "begun").exists() and len(list(desk.store.glob("harbor/*.pid"))) == 2)
    engine.kill()
    begun = desk.jobs()

    again = desk.start()
    (desk.flags / "go").touch()
    ended = again.wait()

    assert ended.code == 0, ended.err
    assert desk.jobs() == begun
    assert sorted((run.trial.arm, run.attempt) for run in desk.records()) == [("idle", 1), ("solver", 1)]


def test_what_infrastructure_broke_is_made_again_and_both_attempts_are_kept(desk: HarborExperiment) -> None:
    desk.write({"idle": IDLE, "solver": SOLVER})
    (desk.flags / "break").touch()

    ended = desk.run()

    assert ended.code == 0, ended.err
    (broken,) = [run for run in desk.records() if run.status in EXCLUDED_STATUSES]
    assert broken.status is Status.INFRA_ERROR
    assert "the cloud is having a bad day" in (broken.status_detail or "")
    again = [run for run in desk.records() if run.trial == broken.trial and run.attempt == 2]
    assert [run.status for run in again] == [Status.COMPLETED]
    assert len(desk.jobs()) == 3


def test_what_harbor_would_not_run_is_refused_in_its_words_and_nothing_is_started(desk: HarborExperiment) -> None:
    desk.write({"idle": IDLE, "odd": {"agent": "claude-code", "options": {"colour": "red"}}})

    ended = desk.run()

    assert ended.code == 2
    assert "Harbor refuses" in ended.err
    assert "Unknown option 'colour'" in ended.err
    assert desk.jobs() == []
