"""`outweigh ci`: base against head as one step of a CI job."""

import json
from pathlib import Path
from typing import Any

import pytest
from tests.cli.engines import Ended
from tests.cli.two_sides import Project, agent

from outweigh.app.decide import DecideRequest, decide
from outweigh.app.evidence import EvidenceRequest
from outweigh.cli.main import main
from outweigh.report.ci_outcome import MOST_PAGE_CHARACTERS, comment_marker
from outweigh.report.verdict_sentence import effect_sentence
from outweigh.report.verdict_summary import decision_reason
from outweigh.store.store_set import StoreSet

SOLVES = {"CLAUDE.md": "The answer is 42.\n"}
MANY: dict[str, Any] = {"tasks": 8, "repeats": 5, "policy": {"gates": ["pass_rate"]}}


class Job:
    """A CI job of GitHub: what it is told, and what it has been told at its end."""

    def __init__(self, folder: Path, environment: pytest.MonkeyPatch, said: pytest.CaptureFixture[str]) -> None:
        self._folder, self._environment, self._said = folder, environment, said
        self._output, self._summary = folder / "output", folder / "summary"
        self.event: dict[str, Any] = {"pull_request": self._request("team/project")}
        for name in ("GITLAB_CI", "CI_JOB_URL", "CI_PIPELINE_ID", "GITHUB_ACTOR"):
            environment.delenv(name, raising=False)
        self.set(
            GITHUB_ACTIONS="true",
            GITHUB_OUTPUT=str(self._output),
            GITHUB_STEP_SUMMARY=str(self._summary),
            GITHUB_EVENT_PATH=str(folder / "event.json"),
            GITHUB_RUN_ID="4711",
            GITHUB_SERVER_URL="https://forge.example",
            GITHUB_REPOSITORY="team/project",
        )

    def set(self, **variables: str) -> None:
        for name, value in variables.items():
            self._environment.setenv(name, value)

    def from_fork(self) -> None:
        self.event = {"pull_request": self._request("stranger/project")}

    def run(self, *arguments: str) -> Ended:
        (self._folder / "event.json").write_text(json.dumps(self.event))
        self._said.readouterr()
        code = main(["ci", *arguments])
        said = self._said.readouterr()
        return Ended(code, said.out, said.err)

    @property
    def outputs(self) -> dict[str, str]:
        return dict(line.split("=", 1) for line in self._output.read_text().splitlines())

    @property
    def summary(self) -> str:
        return self._summary.read_text()

    def _request(self, source: str) -> dict[str, Any]:
        return {"number": 3, "head": {"repo": {"full_name": source}}, "base": {"repo": {"full_name": "team/project"}}}


@pytest.fixture
def job(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Job:
    return Job(tmp_path, monkeypatch, capsys)


def test_an_improvement_is_green_and_every_output_is_set(tmp_path: Path, job: Job) -> None:
    project = Project(tmp_path, **MANY)
    project.branch("better", SOLVES)

    ended = job.run(*project.sides("better", "-j", "4"))

    outputs = job.outputs
    assert ended.code == 0, ended.err
    assert (outputs["decision"], outputs["satisfied"]) == ("improved", "true")
    assert (outputs["delta"], outputs["runs"], outputs["reused-runs"]) == ("1", "80", "0")
    assert (outputs["cost-usd"], outputs["ci-low"]) == ("", "")
    assert outputs["report-path"] == str(project.store / "report.html")
    for suffix in ("html", "md", "json", "xml", "csv"):
        assert (project.store / f"report.{suffix}").is_file()
    assert "IMPROVED" in ended.out


def test_a_regression_is_red_and_the_comment_says_so_first(tmp_path: Path, job: Job) -> None:
    project = Project(tmp_path, agent("grep -q Think CLAUDE.md && echo 42 >answer.txt; true"), **MANY)
    project.branch("worse", {"CLAUDE.md": "No idea.\n"})

    ended = job.run(*project.sides("worse", "-j", "4", "--require", "not-regressed"))

    comment = (project.store / "comment.md").read_text()
    assert ended.code == 1
    assert (job.outputs["decision"], job.outputs["may-promote"]) == ("regressed", "false")
    assert comment.startswith(comment_marker("suite") + "\n\n<!-- outweigh run 4711 -->\n\n> [!CAUTION]\n> **REGRESSED")
    assert "https://forge.example/team/project/actions/runs/4711" in comment
    assert job.summary == comment


def test_the_visible_part_of_the_comment_has_the_sentence_the_reason_and_the_link(tmp_path: Path, job: Job) -> None:
    project = Project(tmp_path, agent("grep -q Think CLAUDE.md && echo 42 >answer.txt; true"), **MANY)
    project.branch("worse", {"CLAUDE.md": "No idea.\n"})

    job.run(*project.sides("worse", "-j", "4", "--require", "not-regressed"))

    visible, _, folded = (project.store / "comment.md").read_text().partition("<details>")
    assert folded
    result = decide(DecideRequest(evidence=EvidenceRequest(stores=StoreSet.open([project.store])))).only
    reason = decision_reason(result.verdict, result.comparison)
    assert f"> {effect_sentence(result.verdict, result.comparison)}" in visible
    assert f"> {reason[0].upper()}{reason[1:]}" in visible
    assert "[The run with its full report](https://forge.example/team/project/actions/runs/4711)" in visible
    assert visible.count("points") == effect_sentence(result.verdict, result.comparison).count("points")


def test_too_little_evidence_is_neither_red_nor_green(tmp_path: Path, job: Job) -> None:
    project = Project(tmp_path, tasks=2)
    project.branch("better", SOLVES)

    assert job.run(*project.sides("better")).code == 3
    assert job.outputs["decision"] == "inconclusive"


def test_nothing_to_compare_is_green_and_free(tmp_path: Path, job: Job) -> None:
    project = Project(tmp_path)
    project.branch("docs", {"README.md": "Other words.\n"})

    ended = job.run(*project.sides("docs"))

    assert ended.code == 0
    assert (job.outputs["decision"], job.outputs["cost-usd"], job.outputs["runs"]) == ("nothing-to-compare", "0", "0")
    assert "nothing to compare" in job.summary
    assert [path.name for path in project.store.iterdir()] == ["comment.md"]


def test_an_edited_suite_is_called_out_in_the_comment_and_as_a_warning(tmp_path: Path, job: Job) -> None:
    project = Project(tmp_path, tasks=2)
    project.branch("cheat", {**SOLVES, "evals/task-1/instruction.md": "Do nothing.\n"})

    ended = job.run(*project.sides("cheat"))

    assert "::warning title=outweigh::cheat changes the suite that it is judged by" in ended.out
    assert job.summary.index("cheat changes the suite") < job.summary.index("<details>")


class TestForks:
    def test_a_fork_without_keys_is_not_run_and_not_failed(self, tmp_path: Path, job: Job) -> None:
        project = self._asking(tmp_path)
        job.from_fork()

        ended = job.run(*project.sides("better"))

        assert ended.code == 0
        assert (job.outputs["decision"], job.outputs["cost-usd"]) == ("not-run", "0")
        assert "::warning title=outweigh::not run: the pull request comes from a fork" in ended.out
        assert "the pull request comes from a fork" in job.summary

    def test_a_deleted_fork_is_one_too(self, tmp_path: Path, job: Job) -> None:
        project = self._asking(tmp_path)
        job.event["pull_request"]["head"]["repo"] = None

        assert job.run(*project.sides("better")).code == 0
        assert job.outputs["decision"] == "not-run"

    def test_so_is_a_bot_that_gets_no_secrets(self, tmp_path: Path, job: Job) -> None:
        project = self._asking(tmp_path)
        job.set(GITHUB_ACTOR="dependabot[bot]")

        assert job.run(*project.sides("better")).code == 0
        assert job.outputs["decision"] == "not-run"

    def test_the_repository_s_own_branch_without_a_key_is_a_mistake(self, tmp_path: Path, job: Job) -> None:
        project = self._asking(tmp_path)

        ended = job.run(*project.sides("better"))

        assert ended.code == 2
        assert "OUTWEIGH_NO_SUCH_KEY" in ended.err

    def test_a_fork_whose_agent_needs_no_key_is_run(self, tmp_path: Path, job: Job) -> None:
        project = Project(tmp_path, tasks=2)
        project.branch("better", SOLVES)
        job.from_fork()

        assert job.run(*project.sides("better")).code == 3
        assert job.outputs["decision"] == "inconclusive"

    def test_a_fork_without_the_variables_of_harbor_is_not_run(self, tmp_path: Path, job: Job) -> None:
        harbor = {"pass_environment": ["OUTWEIGH_NO_SUCH_KEY"]}
        project = Project(tmp_path, {"agent": "openhands"}, executor="harbor", harbor=harbor)
        project.branch("better", SOLVES)
        job.from_fork()

        assert job.run(*project.sides("better")).code == 0
        assert job.outputs["decision"] == "not-run"

    def _asking(self, folder: Path) -> Project:
        """A suite whose agent needs a secret."""
        project = Project(folder, agent(secrets=["OUTWEIGH_NO_SUCH_KEY"]))
        project.branch("better", SOLVES)
        return project


def test_an_exhausted_budget_is_told_from_a_lack_of_evidence(tmp_path: Path, job: Job) -> None:
    costs = 'echo \'{"cost_usd": 0.5}\' >"$OUTWEIGH_USAGE"; '
    project = Project(tmp_path, agent(costs), tasks=2, limits={"budget_usd": 0.5})
    project.branch("better", SOLVES)

    ended = job.run(*project.sides("better", "--budget", "1.2", "-j", "1"))

    assert ended.code == 4
    assert job.outputs["cost-usd"] == "1"


def test_a_gain_does_not_make_up_for_a_run_that_ended_early(tmp_path: Path, job: Job) -> None:
    costs = 'echo \'{"cost_usd": 0.5}\' >"$OUTWEIGH_USAGE"; grep -q 42 CLAUDE.md && echo 42 >answer.txt; true'
    project = Project(tmp_path, agent(costs), **MANY, limits={"budget_usd": 0.5})
    project.branch("better", SOLVES)

    ended = job.run(*project.sides("better", "--budget", "39", "-j", "1"))

    assert (ended.code, job.outputs["decision"], job.outputs["satisfied"]) == (4, "improved", "false")


def test_a_regression_in_a_run_that_ended_early_exits_with_the_worse_of_both(tmp_path: Path, job: Job) -> None:
    costs = 'echo \'{"cost_usd": 0.5}\' >"$OUTWEIGH_USAGE"; grep -q Think CLAUDE.md && echo 42 >answer.txt; true'
    project = Project(tmp_path, agent(costs), **MANY, limits={"budget_usd": 0.5})
    project.branch("worse", {"CLAUDE.md": "No idea.\n"})

    ended = job.run(*project.sides("worse", "--budget", "39", "-j", "1"))

    assert (ended.code, job.outputs["decision"]) == (4, "regressed")


def test_two_commits_must_be_named(tmp_path: Path, job: Job) -> None:
    project = Project(tmp_path)

    assert job.run("-c", str(project.suite), "--base", "main").code == 2


def test_names_cannot_break_out_of_outputs_or_comments(tmp_path: Path, job: Job) -> None:
    project = Project(tmp_path, tasks=2, name="x --><script>alert(1)<b>@team #1")
    evil = "a`-->$(id)|@team<img>"
    project.branch(evil.replace("`", "").replace("$(id)", ""), SOLVES)
    head = project.repository.git("rev-parse", "--abbrev-ref", "HEAD")

    ended = job.run(*project.sides(head, "-o", str(tmp_path / "st\nore")))

    assert ended.code == 3, ended.err

    assert set(job.outputs) >= {"decision", "report-path", "comment-path"}
    assert "<script>" not in job.summary
    assert "<img>" not in job.summary
    assert "@team" not in job.summary.replace("@\u200bteam", "")


def test_a_page_that_is_too_long_for_a_comment_is_cut(tmp_path: Path, job: Job) -> None:
    project = Project(tmp_path, tasks=2)
    project.branch("long", {f".claude/skills/{'x' * 180}-{number:03}/SKILL.md": "Words.\n" for number in range(400)})

    job.run(*project.sides("long"))

    assert len(job.summary) < MOST_PAGE_CHARACTERS + 2_000


def test_a_job_without_any_known_host_is_fine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("GITHUB_ACTIONS", "GITHUB_OUTPUT", "GITHUB_STEP_SUMMARY", "GITHUB_EVENT_PATH", "GITHUB_RUN_ID"):
        monkeypatch.delenv(name, raising=False)
    project = Project(tmp_path, tasks=2)
    project.branch("better", SOLVES)

    assert main(["ci", *project.sides("better")]) == 3
    assert (project.store / "comment.md").is_file()
