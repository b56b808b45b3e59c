"""`outweigh run --base --head`: one arm as two revisions of a repository configure it."""

import json
from pathlib import Path
from typing import Any

import pytest
from tests.cli.engines import records
from tests.cli.two_sides import Project, agent
from tests.engine.engine_fixtures import toml_lines

from outweigh.app.suite_selection import load_two_revisions
from outweigh.cli.main import main
from outweigh.score.objective import passed
from outweigh.store.artifact_folder import ArtifactFolder
from outweigh.store.experiment_file import read_experiment

SOLVES = {"CLAUDE.md": "The answer is 42.\n"}


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project(tmp_path)


def results(store: Path) -> dict[str, set[float | None]]:
    """Per arm, whether its runs passed."""
    found: dict[str, set[float | None]] = {}
    for run in records(store):
        found.setdefault(run.trial.arm, set()).add(passed(run).value)
    return found


def verdict(store: Path, capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    capsys.readouterr()
    main(["verdict", str(store), "--format", "json"])
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    return found


def test_base_and_head_are_run_as_two_arms_of_one_suite(project: Project) -> None:
    commit = project.branch("better", SOLVES)

    assert main(["run", *project.sides("better")]) == 0

    experiment = read_experiment(project.store)
    assert experiment is not None
    assert results(project.store) == {"base": {0.0}, "head": {1.0}}
    assert (list(experiment.arms), experiment.baseline) == (["base", "head"], "base")
    assert (experiment.origins["head"].ref, experiment.origins["head"].commit) == ("better", commit)


def test_only_configuration_is_laid_over_the_tasks(project: Project) -> None:
    project.branch("mixed", {**SOLVES, "src/main.py": "print()\n", ".claude/skills/a/SKILL.md": "A skill.\n"})

    main(["run", *project.sides("mixed")])

    experiment = read_experiment(project.store)
    assert experiment is not None
    assert [file.path for file in experiment.overlays["head"]] == [".claude/skills/a/SKILL.md", "CLAUDE.md"]


def test_what_differs_is_kept_and_shown_with_its_hashes(project: Project, capsys: pytest.CaptureFixture[str]) -> None:
    project.branch("change", {"CLAUDE.md": None, ".mcp.json": "{}", "AGENTS.md": "Words for others.\n"})

    main(["run", *project.sides("change")])
    found = verdict(project.store, capsys)["setup"]
    main(["verdict", str(project.store), "--verbose"])
    page = capsys.readouterr().out

    changes = {change["path"]: change for change in found["changes"]["head"]}
    assert {path: (one["kind"], one["change"]) for path, one in changes.items()} == {
        ".mcp.json": ("tool servers", "added"),
        "AGENTS.md": ("instructions", "added"),
        "CLAUDE.md": ("instructions", "removed"),
    }
    content = ArtifactFolder(project.store / "artifacts").read(changes["AGENTS.md"]["after_sha256"])
    assert content == b"Words for others.\n"
    assert "What head (change, " in page
    assert "removed" in page


@pytest.mark.parametrize("files", [{"README.md": "Better words.\n"}, {"src/CLAUDE.md": "Deep words.\n"}])
def test_nothing_to_compare_is_said_and_costs_nothing(
    project: Project, files: dict[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    project.branch("other", files)

    assert main(["run", *project.sides("other")]) == 0

    assert "nothing to compare: main and other configure shell in the same way" in capsys.readouterr().out
    assert not project.store.exists()


def test_a_change_for_another_agent_is_nothing_to_compare_and_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    project = Project(tmp_path, {"agent": "claude-code"})
    project.branch("other", {"GEMINI.md": "Words.\n"})

    assert main(["run", *project.sides("other")]) == 0

    assert "What differs is for other agents: 'GEMINI.md'" in capsys.readouterr().out


def test_the_suite_of_the_base_is_used_when_the_head_edits_it(
    project: Project, capsys: pytest.CaptureFixture[str]
) -> None:
    easy = '[metadata.outweigh]\nchecks = [{ type = "file_exists", name = "done", path = "question.txt" }]\n'
    lax = (project.suite / "suite.toml").read_text() + '"policy" = {"margins" = {"pass_rate" = 0.9}}\n'
    project.branch("cheat", {**SOLVES, "evals/task-1/task.toml": easy, "evals/suite.toml": lax})

    code = main(["run", *project.sides("cheat")])
    said = capsys.readouterr().err
    experiment = read_experiment(project.store)
    answer = verdict(project.store, capsys)
    main(["verdict", str(project.store), "--format", "markdown"])
    page = capsys.readouterr().out

    assert code == 0
    assert results(project.store) == {"base": {0.0}, "head": {1.0}}
    assert experiment is not None
    assert experiment.policy.margins == {}
    (note,) = answer["setup"]["notes"]
    assert "cheat changes the suite that it is judged by ('evals/suite.toml', 'evals/task-1/task.toml')" in note
    assert "NOTE: cheat changes the suite" in said
    assert page.index("Read this first") < page.index("Why")


def test_a_suite_that_only_the_head_has_judges_nothing(project: Project, capsys: pytest.CaptureFixture[str]) -> None:
    project.branch("empty", {str(path.relative_to(project.repository.folder)): None for path in _files(project.suite)})
    project.repository.git("checkout", "--quiet", "main")

    assert main(["run", *project.sides("main", base="empty")]) == 2

    assert "cannot be judged by a suite that it adds itself" in " ".join(capsys.readouterr().err.split())


def test_a_head_that_removes_the_suite_is_judged_by_it_all_the_same(
    project: Project, capsys: pytest.CaptureFixture[str]
) -> None:
    gone: dict[str, str | None] = {
        str(path.relative_to(project.repository.folder)): None for path in _files(project.suite)
    }
    project.branch("rid", {**SOLVES, **gone})

    assert main(["run", *project.sides("rid")]) == 0
    assert results(project.store)["head"] == {1.0}
    assert "rid changes the suite that it is judged by" in capsys.readouterr().err


def test_a_repository_without_a_working_copy_will_do(project: Project, tmp_path: Path) -> None:
    project.branch("better", SOLVES)
    project.repository.git("clone", "--quiet", "--bare", ".", str(tmp_path / "bare.git"))

    words = ["-c", str(project.suite), "--repo", str(tmp_path / "bare.git"), "--base", "main", "--head", "better"]
    assert main(["run", *words, "-o", str(project.store), "-y"]) == 0
    assert results(project.store)["head"] == {1.0}


def test_the_base_alone_is_one_arm_and_leads_to_no_verdict(
    project: Project, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["-c", str(project.suite), "--base", "main", "-o", str(project.store), "-y"]

    assert main(["run", *words]) == 0
    assert set(results(project.store)) == {"base"}
    assert "outweigh verdict" not in capsys.readouterr().err


def test_what_is_not_committed_plays_no_part(project: Project) -> None:
    project.branch("better", SOLVES)
    project.repository.write({"CLAUDE.md": "No idea.\n", "evals/suite.toml": "broken ["})

    assert main(["run", *project.sides("better")]) == 0
    assert results(project.store)["head"] == {1.0}


def test_a_suite_outside_of_the_repository_is_read_as_it_is(project: Project, tmp_path: Path) -> None:
    project.branch("better", SOLVES)
    outside = tmp_path / "suite"
    project.suite.rename(outside)

    words = ["-c", str(outside), "--repo", str(project.repository.folder), "--base", "main", "--head", "better"]
    assert main(["run", *words, "-o", str(project.store), "-y"]) == 0
    assert results(project.store)["head"] == {1.0}


def test_a_folder_of_the_repository_can_be_the_configuration(tmp_path: Path) -> None:
    project = Project(tmp_path, agent(git_folder="config"))
    project.branch("better", {"config/CLAUDE.md": "42\n", "CLAUDE.md": "not this\n"})

    main(["run", *project.sides("better")])

    experiment = read_experiment(project.store)
    assert experiment is not None
    assert [file.path for file in experiment.overlays["head"]] == ["CLAUDE.md"]
    assert results(project.store)["head"] == {1.0}


def test_files_named_besides_and_files_brought_in_are_laid_too(tmp_path: Path) -> None:
    project = Project(tmp_path, {"agent": "claude-code", "git_paths": ["docs/agents"]})
    words = {"CLAUDE.md": "See @AGENTS.md and @anybody.\n", "AGENTS.md": "Read @docs/style.md.\n"}
    project.branch("rich", {**words, "docs/style.md": "42\n", "docs/agents/a.md": "a\n", "docs/other.md": "o\n"})

    with load_two_revisions(project.suite, "main", "rich", None) as suite:
        laid = [file.path for file in suite.arms["head"].overlay]

    assert laid == ["AGENTS.md", "CLAUDE.md", "docs/agents/a.md", "docs/style.md"]


def test_arms_of_a_suite_may_come_from_git_too(tmp_path: Path) -> None:
    project = Project(tmp_path)
    commit = project.branch("better", SOLVES)
    text = (project.suite / "suite.toml").read_text().replace('"unused" = {"agent" = "noop"}', "")
    arms = {"old": agent(from_git="main"), "new": agent(from_git=commit)}
    kept = [line for line in text.splitlines() if not line.startswith(('"arms"', '"baseline"'))]
    (project.suite / "suite.toml").write_text("\n".join(kept) + "\n" + toml_lines({"baseline": "old", "arms": arms}))

    assert main(["run", "-c", str(project.suite), "-o", str(project.store), "-y"]) == 0
    assert results(project.store) == {"old": {0.0}, "new": {1.0}}


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (["--head", "main"], "--head needs a --base"),
        (["--base=--exec=x", "--head=main"], "not the name of a branch"),
        (["--base=main", "--head=gone"], "there is no commit 'gone'"),
        (["--base=main", "--head=$(touch x)"], "there is no commit"),
    ],
)
def test_refs_that_cannot_be_meant_are_refused(
    project: Project, words: list[str], complaint: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["run", "-c", str(project.suite), *words, "-o", str(project.store)]) == 2
    assert complaint in capsys.readouterr().err
    assert not project.store.exists()


def test_a_link_out_of_the_repository_is_refused_before_anything_is_run(
    project: Project, capsys: pytest.CaptureFixture[str]
) -> None:
    project.repository.git("checkout", "--quiet", "-b", "evil", "main")
    (project.repository.folder / "CLAUDE.md").unlink()
    (project.repository.folder / "CLAUDE.md").symlink_to("/etc/passwd")
    project.repository.commit()

    assert main(["run", *project.sides("evil")]) == 2
    assert "'CLAUDE.md' is a link to '/etc/passwd'" in capsys.readouterr().err
    assert not project.store.exists()


def test_the_same_command_goes_on_where_it_ended(project: Project) -> None:
    project.branch("better", SOLVES)

    main(["run", *project.sides("better")])
    main(["run", *project.sides("better", "-k", "2")])

    assert len(records(project.store)) == 8


def _files(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file()]
