"""`outweigh parts list`: what a set-up is made of, what each part costs on every turn, and a suite of the parts."""

import json
import os
from pathlib import Path
from typing import Any

import pytest
from tests.agents.live_agent import TOOL_SERVER
from tests.cli.agent_experiment import INSTALLED, require_agent
from tests.conftest import Outweigh
from tests.prerequisites import require
from tests.repositories import Repository

from outweigh.engine.load_suite import load_suite
from outweigh.plugins import load_adapter
from outweigh.testing.model_server import ModelServer, Script, Turn
from outweigh.verdict.policy import check_policy

PROGRAMS = "/usr/local/bin:/usr/bin:/bin"
SECTIONS = {
    "Testing": "Run pytest before every commit, and never skip a failing test.\n",
    "Style": "Short functions, type hints everywhere, no abbreviations.\n",
    "Commits": "Write the subject in the imperative and explain why in the body.\n",
    "Errors": "Raise early, and say what to do about it.\n",
    "Database": "All access goes through the repository classes in `store/`.\n",
    "Review": "Ask for a review when a change touches more than five files.\n",
}
CLAUDE_MD = "# Our project\n\n" + "\n".join(f"## {title}\n{text}" for title, text in SECTIONS.items())
SKILLS = {
    f".claude/skills/{name}/SKILL.md": f"---\nname: {name}\ndescription: {text}\n---\n{text}\nThen run the tests.\n"
    for name, text in {"tidy": "Sorts imports and removes dead code.", "deploy": "Deploys to staging."}.items()
}
SERVERS = {"mcpServers": {"zoo": {"command": "python3", "args": ["zoo.py"], "env": {"ZOO_TOKEN": "abc123"}}}}
SETUP = {"CLAUDE.md": CLAUDE_MD, **SKILLS, ".mcp.json": json.dumps(SERVERS), "zoo.py": TOOL_SERVER}
NAMES = [*(title.lower() for title in SECTIONS), "skill-deploy", "skill-tidy", "server-zoo"]


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Repository:
    """Six sections, two skills and one tool server, in a repository, without any agent, key or address."""
    found = Repository(tmp_path / "project")
    found.commit(SETUP)
    monkeypatch.chdir(found.folder)
    monkeypatch.setenv("PATH", PROGRAMS)
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in [name for name in os.environ if name.endswith(("_API_KEY", "_BASE_URL", "_TOKEN"))]:
        monkeypatch.delenv(name)
    return found


@pytest.fixture
def claude(repository: Repository, monkeypatch: pytest.MonkeyPatch) -> Repository:
    """The same with the real program on the path."""
    monkeypatch.setenv("PATH", f"{INSTALLED}:{PROGRAMS}")
    return repository


def listed(outweigh: Outweigh, *arguments: str) -> dict[str, Any]:
    ended = outweigh("parts", "list", *arguments, "--format", "json")
    assert ended.code == 0, ended.err
    return ended.json()


@pytest.mark.usefixtures("repository")
class TestWithoutAnAgent:
    def test_parts_are_listed_and_their_tokens_are_not_measured_for_a_reason(self, outweigh: Outweigh) -> None:
        found = listed(outweigh)

        assert [part["name"] for part in found["parts"]] == NAMES
        assert {part["tokens_every_turn"] for part in found["parts"]} == {None}, "unknown is not zero"
        assert all("there is no program 'claude'" in part["not_measured"] for part in found["parts"])
        assert (found["whole_tokens"], found["shared_tokens"]) == (None, None)

    def test_the_page_says_so_once(self, outweigh: Outweigh) -> None:
        ended = outweigh("parts", "list")

        assert "The set-up has 9 parts; tokens were not measured" in ended.out
        assert ended.out.count("there is no program 'claude'") == 1

    def test_an_agent_that_does_not_read_a_part_is_said_not_to(self, outweigh: Outweigh) -> None:
        found = listed(outweigh, "-a", "codex", "--no-tokens")

        reasons = {part["name"]: part["not_measured"] for part in found["parts"]}
        assert reasons["testing"] == "codex does not read CLAUDE.md"
        assert reasons["server-zoo"] == "--no-tokens was given"

    @pytest.mark.parametrize(
        ("arguments", "said"),
        [
            (("nowhere",), "there is no file or folder 'nowhere'"),
            (("zoo.py",), "zoo.py is nothing that a known agent reads"),
            (("-a", "claud-code"), "Did you mean 'claude-code'?"),
            (("-t", "nowhere"), "-t nowhere: it has neither a suite.toml nor a folder with a task.toml"),
            (("-o", "."), "is already there, and nothing is overwritten"),
        ],
    )
    def test_what_cannot_be_done_is_one_sentence_and_exit_2(
        self, outweigh: Outweigh, arguments: tuple[str, ...], said: str
    ) -> None:
        ended = outweigh("parts", "list", *arguments)

        assert (ended.code, ended.out) == (2, "")
        assert said in ended.err
        assert "Traceback" not in ended.err


class TestSuite:
    def test_it_has_every_part_and_no_secret(self, repository: Repository, outweigh: Outweigh) -> None:
        found = listed(outweigh, "--no-tokens", "-o", "parts-suite")

        written = (repository.folder / "parts-suite" / "suite.toml").read_text()
        files = {path.read_text() for path in (repository.folder / "parts-suite").rglob("*") if path.is_file()}
        assert found["suite"]["parts"] == NAMES
        assert 'secrets = ["ZOO_TOKEN"]' in written
        assert 'without = [".claude", ".mcp.json", "CLAUDE.md"]' in written
        assert not any("abc123" in text for text in files)

    def test_without_tasks_it_says_how_to_get_some(self, repository: Repository, outweigh: Outweigh) -> None:
        ended = outweigh("parts", "list", "CLAUDE.md", "--no-tokens", "-o", "parts-suite")

        assert "It has no tasks yet" in ended.out
        assert "--from-git ." in ended.out
        assert (repository.folder / "parts-suite" / "suite.toml").is_file()


def test_a_suite_whose_agent_only_pretends_is_taken_as_it_is(repository: Repository, outweigh: Outweigh) -> None:
    assert outweigh("init", "my-suite").code == 0

    ended = outweigh("parts", "list", "CLAUDE.md", "-o", "parts-suite")

    suite = load_suite(repository.folder / "parts-suite", check_policy=check_policy)
    assert ended.code == 0, ended.err
    assert "scripted sends no requests to a model, so there is nothing to measure" in ended.out
    assert suite.arms["all-parts"].options["script"] == str(repository.folder / "my-suite" / "script.toml")
    assert len(suite.tasks) == 2


@pytest.mark.needs_agent
@pytest.mark.needs_bubblewrap
@pytest.mark.usefixtures("claude")
def test_real_claude_is_measured_with_and_without_every_part(outweigh: Outweigh) -> None:
    require_agent("claude")
    require("bubblewrap", load_adapter("sandbox", "bubblewrap").missing())
    pytest.importorskip("bpe_openai")

    found = listed(outweigh)

    tokens = {part["name"]: part["tokens_every_turn"] for part in found["parts"]}
    assert list(tokens) == NAMES
    assert all(tokens[name] > 0 for name in NAMES), tokens
    assert found["shared_tokens"] == found["whole_tokens"] - found["own_tokens"] - sum(tokens.values())
    assert abs(found["shared_tokens"]) <= 5, "what the parts have together is hardly more than what each has"
    assert found["variation_tokens"] == 0, "the same set-up is sent the same way twice"
    assert (found["counted_by"], found["is_provider_count"]) == ("o200k_base", False)
    server = found["parts"][-1]
    assert (server["tools_in_prompt"], server["tools_deferred"]) == ([], ["mcp__zoo__feed_the_zebra"])
    skill = found["parts"][-2]
    assert skill["tokens_when_read"] > 0
    assert skill["usd_per_1000_turns"] > skill["usd_per_1000_turns_cached"] > 0


@pytest.mark.needs_agent
@pytest.mark.needs_bubblewrap
def test_the_written_suite_is_planned_and_run_as_it_is(
    claude: Repository, outweigh: Outweigh, monkeypatch: pytest.MonkeyPatch
) -> None:
    require_agent("claude")
    require("bubblewrap", load_adapter("sandbox", "bubblewrap").missing())
    task = claude.folder / "tasks" / "answer"
    task.mkdir(parents=True)
    (task / "instruction.md").write_text("Write 42 to answer.txt.\n")
    (task / "task.toml").write_text(
        '[metadata.outweigh]\nchecks = [{ type = "file_contains", name = "done", path = "answer.txt", text = "42" }]\n'
    )
    with ModelServer(Script(turn=[Turn(run="echo 42 >answer.txt"), Turn(text="Done.")])) as server:
        monkeypatch.setenv("ANTHROPIC_BASE_URL", server.url)
        monkeypatch.setenv("ANTHROPIC_API_KEY", "a-dummy-key")
        monkeypatch.setenv("ZOO_TOKEN", "for-the-server")
        written = outweigh("parts", "list", ".claude", ".mcp.json", "--no-tokens", "-t", "tasks", "-o", "suite")
        planned = outweigh("plan", "-c", "suite")
        ended = outweigh("run", "-c", "suite", "-o", "runs", "--repeats", "1")

    assert written.code == 0, written.err
    assert "outweigh plan -c suite" in written.out
    assert planned.code == 0, planned.err
    assert ended.code == 0, ended.err
    assert "tried 5 arms on the scripted model, which is free" in ended.err
    assert "all apply as declared" in ended.err
    assert "done: 5 of 5 trials have a result" in ended.err + ended.out


def test_all_parts_together_are_the_set_up_as_it_was(repository: Repository, outweigh: Outweigh) -> None:
    task = repository.folder / "tasks" / "answer"
    task.mkdir(parents=True)
    (task / "instruction.md").write_text("Write 42 to answer.txt.\n")
    (task / "task.toml").write_text(
        '[metadata.outweigh]\nchecks = [{ type = "command", name = "done", run = "true" }]\n'
    )

    ended = outweigh("parts", "list", "--no-tokens", "-t", "tasks", "-o", "suite", "--design", "leave-one-out")

    suite = load_suite(repository.folder / "suite", check_policy=check_policy)
    whole = {file.path: suite.overlays[file.sha256].decode() for file in suite.arms["all-parts"].overlay}
    assert ended.code == 0, ended.err
    assert suite.spec.baseline == "all-parts"
    assert list(suite.arms) == ["bare", "all-parts", *(f"without-{name}" for name in NAMES)]
    assert whole == {path: content for path, content in SETUP.items() if path != ".mcp.json"}
    assert suite.arms["all-parts"].mcp_servers["zoo"].command == ["python3", "zoo.py"]
    without = {file.path: suite.overlays[file.sha256].decode() for file in suite.arms["without-style"].overlay}
    assert without["CLAUDE.md"] == CLAUDE_MD.replace(f"## Style\n{SECTIONS['Style']}\n", "")
