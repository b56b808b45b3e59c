"""The action and the examples of workflows are valid, pinned, and without the usual holes."""

import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import msgspec
import pytest

ROOT = Path(__file__).resolve().parents[2]
ACTION = ROOT / "action.yml"
GITHUB = ROOT / "examples" / "ci" / "github.yml"
PLUGIN = ROOT / "examples" / "ci" / "plugin.yml"
GITLAB = ROOT / "examples" / "ci" / "gitlab.yml"
OWN = ROOT / ".github" / "workflows" / "ci.yml"
BIN = Path(sys.executable).parent


def checked(*command: str) -> str:
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr


@pytest.mark.parametrize(
    ("schema", "file", "more"),
    [
        ("vendor.github-actions", ACTION, ()),
        ("vendor.github-workflows", GITHUB, ()),
        ("vendor.github-workflows", PLUGIN, ()),
        ("vendor.github-workflows", OWN, ()),
        ("vendor.gitlab-ci", GITLAB, ("--data-transform", "gitlab-ci")),
    ],
)
def test_each_file_is_what_its_host_expects(schema: str, file: Path, more: tuple[str, ...]) -> None:
    checked(str(BIN / "check-jsonschema"), "--builtin-schema", schema, *more, str(file))


def test_no_known_weakness_is_found(tmp_path: Path) -> None:
    workflows = tmp_path / ".github" / "workflows"
    workflows.mkdir(parents=True)
    shutil.copy(GITHUB, workflows / "outweigh.yml")
    shutil.copy(PLUGIN, workflows / "plugin.yml")
    shutil.copy(OWN, workflows / "ci.yml")
    shutil.copy(ACTION, tmp_path / "action.yml")

    # Below medium: a workflow that tests an agent has to install one.
    checked(str(BIN / "zizmor"), "--offline", "--no-progress", "--min-severity=medium", str(tmp_path))


@pytest.mark.parametrize("file", [ACTION, GITHUB, PLUGIN, OWN])
def test_every_foreign_action_is_pinned_to_a_commit(file: Path) -> None:
    used = [name for name in re.findall(r"uses: (\S+)", file.read_text()) if name != "./"]

    assert used
    assert [name for name in used if not re.fullmatch(r"[\w./-]+@[0-9a-f]{40}", name)] == []


def test_no_script_of_the_action_holds_an_expression() -> None:
    scripts = [step["run"] for step in _action()["runs"]["steps"] if "run" in step]

    assert scripts
    assert [script for script in scripts if "${{" in script] == []


def test_the_token_is_given_to_two_steps_alone_and_neither_runs_an_agent() -> None:
    steps = [step for step in _action()["runs"]["steps"] if "github-token" in str(step)]

    assert [step["name"] for step in steps] == ["Fetch the ledger of verdicts", "Comment on the pull request"]
    commands = [command for step in steps for command in re.findall(r"outweigh [a-z]+(?: [a-z]+)?", step["run"])]
    assert [command for command in commands if command.startswith(("outweigh ci", "outweigh run"))] == [
        "outweigh ci comment"
    ]


def test_every_input_and_output_of_the_action_is_documented() -> None:
    page = (ROOT / "docs" / "ci.md").read_text()
    names = [*_action()["inputs"], *_action()["outputs"]]

    assert [name for name in names if f"`{name}`" not in page] == []


def test_the_example_gives_itself_few_rights_and_one_job_at_a_time() -> None:
    workflow = msgspec.yaml.decode(GITHUB.read_bytes())

    assert workflow["permissions"] == {}
    assert workflow["concurrency"]["cancel-in-progress"] is True
    assert workflow["jobs"]["judge"]["permissions"] == {
        "contents": "read",
        "actions": "read",
        "pull-requests": "write",
    }


def test_our_own_workflow_runs_all_tests_and_judges_pull_requests_by_the_action() -> None:
    workflow = msgspec.yaml.decode(OWN.read_bytes())
    steps = {name: job["steps"] for name, job in workflow["jobs"].items()}

    assert workflow["permissions"] == {}
    assert [step["run"] for step in steps["test"] if step.get("name") == "Test"] == ["make test"]
    assert workflow["jobs"]["judge"]["if"] == "github.event_name == 'pull_request'"
    (judge,) = [step for step in steps["judge"] if step.get("uses") == "./"]
    assert (ROOT / judge["with"]["suite"] / "suite.toml").is_file()
    assert judge["with"].keys() <= _action()["inputs"].keys()


@pytest.mark.parametrize(
    "form", sorted((ROOT / ".github" / "ISSUE_TEMPLATE").glob("*.yml")), ids=lambda form: form.name
)
def test_an_issue_form_is_what_its_host_expects(form: Path) -> None:
    schema = "vendor.github-issue-config" if form.name == "config.yml" else "vendor.github-issue-forms"

    checked(str(BIN / "check-jsonschema"), "--builtin-schema", schema, str(form))


def _action() -> Any:
    return msgspec.yaml.decode(ACTION.read_bytes())
