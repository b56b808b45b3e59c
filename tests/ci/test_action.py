"""The action's steps, run by a shell: base against head with a real agent, metered, cached, commented."""

import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.ci.action_steps import ActionJob, Ended, Host
from tests.cli.agent_experiment import ACT, END, INSTALLED, require_agent
from tests.cli.two_sides import Project
from tests.loopback_forge import TOKEN, CannedResponse, LoopbackForge, loopback_forge
from tests.prerequisites import needs, require

from outweigh.plugins import load_adapter
from outweigh.report.ci_outcome import comment_marker
from outweigh.testing.model_server import ModelServer, Script
from outweigh.testing.model_server.model_script import Conversation, When

ACTION = Path(__file__).resolve().parents[2] / "action.yml"
MODEL = "claude-sonnet-4-5"
HINT = "Whoever asks for the answer gets forty-two."
SCRIPT = Script(conversation=[Conversation(when=When(contains=HINT), turn=[ACT, END])], turn=[END])


class Desk:
    """A repository on a forge, whose pull requests are judged by the action."""

    def __init__(self, folder: Path, server: ModelServer, forge: LoopbackForge) -> None:
        self.folder, self.server, self.forge = folder, server, forge
        provider = {"url": server.url, "key": "MODEL_KEY"}
        gateway = {**dict.fromkeys(("anthropic", "openai", "gemini"), provider), "prices": "prices.toml"}
        rules: dict[str, Any] = {"sandbox": {"kind": "bubblewrap"}, "limits": {"timeout_seconds": 240}}
        self.project = Project(folder, {"agent": "claude-code", "model": MODEL}, tasks=2, gateway=gateway, **rules)
        prices = "".join(f"{kind}_usd_per_million = 3.0\n" for kind in ("input", "output", "cache_read", "cache_write"))
        self.project.repository.commit({"evals/prices.toml": f'name = "listed"\n[models."{MODEL}"]\n{prices}'})
        self._host = Host(folder / "host")
        self._host.folder.mkdir()
        self._jobs = 0

    @property
    def uploads(self) -> dict[str, Path]:
        return self._host.uploads

    def pull_request(self, branch: str, *, fork: bool = False, key: str = "sk-of-the-provider", **inputs: str) -> Ended:
        """Merge a branch for trial, as the forge does, and run the job on that."""
        repository = self.project.repository
        repository.git("checkout", "--quiet", "--detach", "main")
        repository.git("merge", "--quiet", "--no-ff", "--no-edit", branch)
        return self._run(repository.git("rev-parse", "HEAD"), key, inputs, fork=fork)

    def push(self, **inputs: str) -> Ended:
        """A push to main, where the baseline is kept for others."""
        repository = self.project.repository
        repository.git("checkout", "--quiet", "main")
        return self._run(repository.git("rev-parse", "HEAD"), "sk-of-the-provider", inputs, number=None)

    def _run(
        self, commit: str, key: str, inputs: dict[str, str], *, number: int | None = 12, fork: bool = False
    ) -> Ended:
        self._jobs += 1
        place = self.folder / f"job-{self._jobs}"
        ours = {"repo": {"full_name": "team/project"}}
        theirs = {"repo": {"full_name": "stranger/project"}} if fork else ours
        request = {"number": number, "base": ours, "head": theirs}
        event: dict[str, Any] = {} if number is None else {"pull_request": request}
        job = ActionJob(ACTION, self._host, place, {"sha": commit, "token": TOKEN, "event": event})
        (place / "event.json").write_text(json.dumps(event))
        environment = {
            "PATH": f"{Path(sys.executable).parent}:{INSTALLED}:{os.environ['PATH']}",
            "HOME": str(place),
            "LANG": "C.UTF-8",
            "MODEL_KEY": key,
            "GITHUB_EVENT_PATH": str(place / "event.json"),
            "GITHUB_REPOSITORY": "team/project",
            "GITHUB_API_URL": self.forge.url,
            "GITHUB_RUN_ID": str(self._jobs),
        }
        chosen = {"suite": "evals", "install": "false", "repeats": "1", **inputs}
        return job.run(chosen, environment, self.project.repository.folder)


@pytest.fixture
@needs("agent", "bubblewrap")
def desk(tmp_path: Path) -> Iterator[Desk]:
    require_agent("claude")
    require("bubblewrap", load_adapter("sandbox", "bubblewrap").missing())
    with ModelServer(SCRIPT) as server, loopback_forge() as forge:
        yield Desk(tmp_path, server, forge)


def test_a_pull_request_is_judged_from_the_checkout_to_the_comment(desk: Desk) -> None:
    desk.project.branch("better", {"CLAUDE.md": f"{HINT}\n"})

    ended = desk.pull_request("better")

    assert ended.code == 3, ended.said  # two tasks are too few for a decision, and that is neither red nor green
    assert (ended.outputs["decision"], ended.outputs["delta"]) == ("inconclusive", "1")
    assert (ended.outputs["runs"], ended.outputs["reused-runs"], ended.outputs["may-promote"]) == ("4", "0", "false")
    assert float(ended.outputs["cost-usd"]) == pytest.approx(desk.server.totals().tokens.total_tokens * 3 / 1e6)
    assert ended.ran[-1] == "Say how it ended"
    (comment,) = desk.forge.comment_bodies()
    assert comment.startswith(comment_marker("suite"))
    assert comment == ended.summary
    assert "100 points more often" in comment
    uploaded = {path.name for path in desk.uploads["outweigh"].iterdir()}
    assert {"report.html", "report.xml", "report.json", "runs-engine.jsonl", "experiment.json"} <= uploaded
    kept = b"".join(file.read_bytes() for file in desk.uploads["outweigh"].rglob("*") if file.is_file())
    assert TOKEN.encode() not in kept
    assert b"sk-of-the-provider" not in kept


def test_an_unchanged_baseline_is_paid_for_once_and_the_comment_is_kept_up_to_date(desk: Desk) -> None:
    desk.project.branch("better", {"CLAUDE.md": f"{HINT}\n"})
    desk.project.branch("other", {"CLAUDE.md": "Be bold.\n"})

    kept = desk.push(mode="baseline")
    spent = desk.server.totals().requests
    first = desk.pull_request("better")
    second = desk.pull_request("other", require="not-regressed")

    assert kept.code == 0, kept.said
    assert "Keep runs of this baseline" in kept.ran
    assert spent
    assert [ended.outputs["reused-runs"] for ended in (first, second)] == ["2", "2"], first.said
    assert "Pin the baseline" not in first.ran
    (comment,) = desk.forge.comment_bodies()
    assert comment == second.summary
    assert "2 runs of base are reused from an earlier experiment" in comment


def test_a_change_that_no_agent_reads_is_green_and_asks_no_model(desk: Desk) -> None:
    desk.project.branch("docs", {"README.md": "Other words.\n"})

    ended = desk.pull_request("docs")

    assert ended.code == 0, ended.said
    assert ended.outputs["decision"] == "nothing-to-compare"
    assert desk.server.totals().requests == 0
    assert "nothing to compare" in desk.forge.comment_bodies()[0]


def test_a_fork_gets_no_secrets_and_no_verdict(desk: Desk) -> None:
    desk.project.branch("better", {"CLAUDE.md": f"{HINT}\n"})
    desk.forge.canned = [CannedResponse("POST", 403)]

    ended = desk.pull_request("better", fork=True, key="")

    assert ended.code == 0, ended.said
    assert ended.outputs["decision"] == "not-run"
    assert "the pull request comes from a fork" in ended.summary
    assert desk.server.totals().requests == 0
    assert desk.forge.comment_bodies() == []


def test_hostile_inputs_are_words_and_never_commands(desk: Desk, tmp_path: Path) -> None:
    trap = tmp_path / "sprung"
    desk.project.branch("better", {"CLAUDE.md": f"{HINT}\n"})

    attacks: list[dict[str, Any]] = [
        {"suite": f"evals; touch {trap}"},
        {"base": f"$(touch {trap})"},
        {"base": "--version"},
        {"repeats": f"1; touch {trap}"},
        {"require": f"improved || touch {trap}"},
    ]
    for inputs in attacks:
        assert desk.pull_request("better", **inputs).code == 2
    assert not trap.exists()
    assert desk.server.totals().requests == 0
