"""Small suites as people write them for SkillCI, for Skelly's A/B harness and for ProjectScylla."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tests.repositories import Repository


def write(folder: Path, files: Mapping[str, str]) -> Path:
    """Write files below a folder."""
    for name, content in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(content)
    return folder


def skillci_task(**changed: Any) -> dict[str, Any]:
    """A task of SkillCI with one check of every kind."""
    return {
        "id": "round-prices",
        "title": "Round prices",
        "agent": "claude-code",
        "fixtureDir": ".",
        "prompt": "Make `price.sh` print whole euros.",
        "checks": [
            {"kind": "fileExists", "path": "./price.sh"},
            {"kind": "fileContains", "path": "price.sh", "substring": "printf"},
            {"kind": "command", "cmd": 'test "$(sh price.sh)" = 4'},
            {"kind": "command", "cmd": "grep -q TODO price.sh", "expectExitZero": False},
            {"kind": "testSuite", "cmd": "sh tests/run.sh"},
        ],
        "judgeRubric": {"criteria": "Is the change as small as it can be?", "weight": 0.3},
        "timeoutMs": 90_000,
    } | changed


def skillci_suite(folder: Path, **changed: Any) -> Path:
    """A folder with two tasks."""
    second = {
        "id": "greet",
        "title": "Say hello",
        "agent": "claude-code",
        "fixtureDir": "start",
        "prompt": "Write `hello` to `greeting.txt`.",
        "checks": [{"kind": "fileContains", "path": "greeting.txt", "substring": "hello"}],
    }
    return write(
        folder,
        {
            "prices/task.json": json.dumps(skillci_task(**changed), indent=2),
            "prices/price.sh": "echo 3.99 # TODO\n",
            "prices/tests/run.sh": "sh price.sh | grep -qx 4\n",
            "greeting/task.json": json.dumps(second, indent=2),
            "greeting/start/README.md": "Nobody has said hello yet.\n",
        },
    )


AB_SUITE: dict[str, Any] = {
    "suite_id": "parser_pilot",
    "description": "Small repairs of the parser.",
    "tasks": [
        {
            "id": "empty_input",
            "prompt_file": "bench/prompts/empty.md",
            "acceptance_command": "sh check.sh empty",
            "setup_commands": [],
            "timeout_seconds": 900,
            "tags": ["bugfix"],
        },
        {"id": "long_input", "prompt_file": "bench/prompts/long.md", "acceptance_command": "sh check.sh long"},
    ],
}


def ab_suite(folder: Path, suite: Mapping[str, Any] = AB_SUITE, extra: Mapping[str, str] | None = None) -> Path:
    """A suite file in a repository of its own."""
    Repository(folder).commit(
        {
            "check.sh": 'grep -qx "$1" done.txt\n',
            "bench/prompts/empty.md": "Let the parser take empty input.\n",
            "bench/prompts/long.md": "Let the parser take long input.\n",
            "bench/suite.pilot.json": json.dumps(suite, indent=2),
            **(extra or {}),
        },
    )
    return folder / "bench" / "suite.pilot.json"


SCYLLA_TEST = """\
# A test
id: "test-101"
name: "Write a makefile"
description: |
  Move the recipes.
language: python
source:
  repo: "https://git.example.org/tools/recipes"
  hash: "0123456789abcdef0123456789abcdef01234567"
task:
  prompt_file: "prompt.md"
  timeout_seconds: 600
validation:
  criteria_file: "expected/criteria.md"
  rubric_file: "expected/rubric.yaml"
tiers:
  - T0  # words
  - T1  # skills
"""

SCYLLA_RUBRIC = """\
requirements:
  - id: R001
    description: "Every recipe is there"
    weight: 2.0
    evaluation: scaled
    criteria:
      - "names are kept"
      - "order is kept"
  - id: R002
    description: "The old file is gone"
    weight: 1.0
    evaluation: binary
    skill_validation: "make-lint"
categories:
  tidy:
    weight: 0.5
    scoring_type: checklist
    items:
      - id: P1
        check: "Nothing is left over"
        points: 1.0
        na_condition: "nothing was made"
grading:
  pass_threshold: 0.7
  grade_scale: {S: 0.95, A: 0.80, B: 0.60, C: 0.40, D: 0.20, F: 0.0}
"""


def scylla_files(test: str = SCYLLA_TEST) -> dict[str, str]:
    """The files of one test."""
    return {
        "test.yaml": test,
        "prompt.md": "# Task\n\nTurn the recipes into a makefile.\n",
        "expected/criteria.md": "# Criteria\n\nAll recipes, same names.\n",
        "expected/rubric.yaml": SCYLLA_RUBRIC,
    }


SCYLLA_SHARED = {
    "subtests/t0/00-empty.yaml": "name: Empty\nsystem_prompt_mode: none\nresources: {claude_md: {blocks: []}}\n",
    "subtests/t0/01-vanilla.yaml": "name: Vanilla\nsystem_prompt_mode: default\nresources: {claude_md: {blocks: []}}\n",
    "subtests/t0/03-full.yaml": "name: Full\nresources:\n  claude_md:\n    blocks: [B01, B02, B09]\n",
    "subtests/t1/01-quality.yaml": "extends_previous: true\nresources:\n  skills:\n    categories: [quality]\n",
    "subtests/t1/02-again.yaml": "resources:\n  skills:\n    names: [lint, gone]\n",
    "subtests/t2/01-shell.yaml": "tools:\n  enabled: [Bash, Read]\nmcp_servers:\n  - name: clock\n  - notes\n",
    "subtests/t3/01-reviewer.yaml": "agent_teams: true\nresources:\n  agents:\n    levels: [2]\n",
    "subtests/t5/01-best.yaml": "inherit_best_from: [T0, T1]\n",
    "blocks/B01-overview.md": "This is a tool.\n",
    "blocks/B02-rules.md": "Keep it small.\n",
    "skills/quality/lint/SKILL.md": "---\nname: lint\ndescription: Lints.\n---\nRun the linter.\n",
    "agents/L2/reviewer.md": "You review.\n",
}


def scylla_suite(folder: Path, test: str = SCYLLA_TEST) -> Path:
    """Two tests beside the folder that they share."""
    write(folder / "tests/claude-code/shared", SCYLLA_SHARED)
    tests = folder / "tests/fixtures/tests"
    write(tests / "test-101", scylla_files(test))
    write(tests / "test-102", scylla_files(test.replace("test-101", "test-102")))
    return tests


SCENARIOS = """\
scenarios:
  - name: "Convert the notes"
    prompt: |
      Turn notes.txt into a page.
    setup:
      files:
        - path: "notes.txt"
          content: |
            # Notes
        - path: "data/list.csv"
          source: "fixtures/list.csv"
    assertions:
      - type: "file_exists"
        path: "pages/*.html"
      - type: "file_contains"
        path: "pages/notes.html"
        value: "<h1>"
      - type: "output_contains"
        value: "notes.html"
      - type: "run_command_and_assert"
        command_to_run: "grep"
        command_arguments: "-c h1 pages/notes.html"
        expected_std_output_contains: "1"
      - type: "exit_success"
    rubric:
      - "Kept the order of the notes"
      - "Wrote no script for one page"
    expect_tools: ["bash"]
    timeout: 240
  - name: "Say what a page needs"
    prompt: "What does a page need?"
    rubric:
      - "Names a title"
    expect_activation: false
"""


def skill_with_scenarios(folder: Path, scenarios: str = SCENARIOS) -> Path:
    """A skill with its tests in its folder."""
    return write(
        folder,
        {
            "SKILL.md": "---\nname: page-maker\ndescription: Makes pages.\n---\nUse templates.\n",
            "templates/page.html": "<html></html>\n",
            "fixtures/list.csv": "a,b\n",
            "tests/eval.yaml": scenarios,
            "tests/secret.txt": "the answer\n",
        },
    )


STIMULI = """\
name: page-maker
type: capability
defaults:
  timeout: 5m
  runs: 3
scoring: {threshold: 0.7}
environment:
  files:
    - src: common
      dest: .
stimuli:
  - name: Make a page of the notes
    prompt: Turn notes.txt into a page.
    tags: {risk: low}
    environment:
      files:
        - {src: ./notes.txt, dest: inputs/notes.txt}
      commands: [make tools]
    graders:
      - type: file-exists
        config: {path: "pages/*.html"}
      - type: file-not-contains
        config: {path: pages/notes.html, value: TODO}
      - type: output-contains
        config: {substring: notes.html}
      - type: run-command
        config: {command: "grep -q h1 pages/notes.html", expected_exit_code: 0, timeout: 30s}
      - type: run-command
        config: {command: "make check", stdout_matches: "^PASS"}
      - type: exit-success
      - type: prompt
    rubric:
      - Kept the order of the notes
    constraints:
      max_duration: 90s
      reject_tools: [bash]
  - name: Look and leave alone
    prompt: What is wrong with the page?
    graders:
      - type: diff-empty
      - type: prompt
        config: {prompt: Be strict.}
    rubric:
      - Says that the title is missing
"""


def skill_with_stimuli(folder: Path, stimuli: str = STIMULI) -> Path:
    """A skill whose tests are written as stimuli, with files of their own."""
    skill_with_scenarios(folder, stimuli)
    return write(folder, {"tests/common/base.css": "body {}\n", "tests/notes.txt": "# Notes\n"})
