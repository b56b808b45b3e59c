"""Real agents: what they take to start, and what sandbox, gateway and adapter together add to a run of one.

Only those that `make agents` installed are measured. The model is scripted and takes its time before every answer, as a
quick real one does: what is added is the same for a run of minutes.
"""

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from tempfile import mkdtemp

from benchmarks.measure import OUTWEIGH, PYTHON, cost_of, median_seconds
from benchmarks.ratio import Ratio
from benchmarks.setting import Setting
from outweigh.agents.aider import AiderAgent
from outweigh.agents.claude_code.agent import ClaudeCodeAgent
from outweigh.agents.cline import ClineAgent
from outweigh.agents.codex.agent import CodexAgent
from outweigh.agents.command_line import CommandLineAgent
from outweigh.agents.copilot import CopilotAgent
from outweigh.agents.gemini_cli import GeminiCliAgent
from outweigh.agents.goose import GooseAgent
from outweigh.agents.kimi import KimiAgent
from outweigh.agents.mini_swe_agent.agent import MiniSweAgent
from outweigh.agents.opencode import OpenCodeAgent
from outweigh.agents.pi import PiAgent
from outweigh.agents.qwen_code import QwenCodeAgent
from outweigh.gateway.model_gateway import ModelGateway
from outweigh.gateway.upstream import ModelUpstream
from outweigh.model.arm import Arm
from outweigh.model.failure import Status
from outweigh.model.pricing import PriceTables
from outweigh.model.provider import ApiFamily
from outweigh.ports.agents import AttemptOutcome
from outweigh.ports.gateways import Gateway, MeterRequest, ModelAccess
from outweigh.sandbox.bubblewrap import BubblewrapSandboxProvider
from outweigh.testing.agent_contract import an_agent_arm, an_attempt
from outweigh.testing.sandbox_fixtures import a_sandbox_request

PROGRAMS = Path(__file__).parents[1] / ".agents" / "bin"
STARTED: tuple[CommandLineAgent, ...] = (
    *(
        ClaudeCodeAgent(),
        CodexAgent(),
        GeminiCliAgent(),
        GooseAgent(),
        QwenCodeAgent(),
        OpenCodeAgent(),
        MiniSweAgent(),
        AiderAgent(),
        PiAgent(),
        CopilotAgent(),
        ClineAgent(),
        KimiAgent(),
    ),
)
WRAPPED: tuple[tuple[CommandLineAgent, str], ...] = (
    (ClaudeCodeAgent(), "claude-sonnet-4-5"),
    (CodexAgent(), "gpt-5"),
    (GeminiCliAgent(), "gemini-2.5-pro"),
    (GooseAgent(), "openai/gpt-4.1"),
    (QwenCodeAgent(), "qwen3-coder"),
    (OpenCodeAgent(), "openai/gpt-5"),
    (MiniSweAgent(), "openai/gpt-4.1"),
    (AiderAgent(), "openai/gpt-4.1"),
    (PiAgent(), "anthropic/claude-sonnet-4-5"),
    (CopilotAgent(), "gpt-5"),
    (ClineAgent(), "openai/gpt-5"),
    (KimiAgent(), "openai/gpt-5"),
)
"""Every agent, with a model of an API that it can be given."""

ADDED = 0.05
"""The part of a run that may be added to it."""

ROUNDS, STARTS = 7, 3
THINKING_SECONDS = 1.5
_SCRIPT = f"""
[[turn]]
run = "echo 42 >answer.txt"
delay_seconds = {THINKING_SECONDS}
[[turn]]
text = "Done."
delay_seconds = {THINKING_SECONDS}
"""


def measure(setting: Setting) -> list[Ratio]:
    """Starts of all agents, and whole runs of each."""
    rows = [row for agent in STARTED for row in _start(agent)]
    if BubblewrapSandboxProvider().missing() is not None:
        return rows
    with _server(setting.folder) as url, ModelGateway(_ways(url), PriceTables()) as gateway:
        return [*rows, *(row for agent, model in WRAPPED for row in _run(agent, model, setting.folder, url, gateway))]


def _start(agent: CommandLineAgent) -> list[Ratio]:
    found = agent.installed(_arm(agent, None))
    if found is None:
        return []
    words = [*found.command, agent.version_flag]
    costs = [cost_of(words) for _ in range(STARTS)]
    plain = min(cost_of([*PYTHON, "-c", "pass"]).seconds for _ in range(STARTS))
    quickest, peak = min(cost.seconds for cost in costs), max(cost.peak_bytes for cost in costs)
    return [
        Ratio(
            name=f"{agent.program} {agent.version_flag} : python -c pass",
            measured=quickest / plain,
            target=None,
            better="lower",
            note=f"{1e3 * quickest:.0f} ms : {1e3 * plain:.0f} ms, {peak / 2**20:.0f} MiB",
        )
    ]


def _run(agent: CommandLineAgent, model: str, folder: Path, url: str, gateway: Gateway) -> list[Ratio]:
    arm = _arm(agent, model)
    if agent.missing(arm) is not None:
        return []
    seconds = median_seconds(
        {
            "plain": partial(_plain, agent, arm, folder, url),
            "ours": partial(_ours, agent, arm, folder, gateway),
        },
        ROUNDS,
    )
    added = seconds["ours"] - seconds["plain"]
    return [
        Ratio(
            name=f"what sandbox, gateway and adapter add to a run of {agent.program} : the run alone",
            measured=added / seconds["plain"],
            target=ADDED,
            better="lower",
            note=f"{1e3 * added:.0f} ms more than {seconds['plain']:.2f} s",
        )
    ]


def _plain(agent: CommandLineAgent, arm: Arm, folder: Path, url: str) -> None:
    """The same words, files and variables, as a process of nobody's."""
    place = a_sandbox_request(Path(mkdtemp(dir=folder)))
    launch = agent.launch(an_attempt(arm, model_access=ModelAccess(base_url=url, key="bench")), str(place.home))
    for path, content in launch.files.items():
        (place.home / path).parent.mkdir(parents=True, exist_ok=True)
        (place.home / path).write_bytes(content)
    own = {"PATH": "/usr/local/bin:/usr/bin:/bin", "HOME": str(place.home), "LANG": "C.UTF-8"}
    subprocess.run(
        [*agent.command(arm), *launch.arguments],
        env={**own, **launch.defaults, **launch.gateway_variables},
        cwd=place.workspace,
        input=launch.stdin,
        capture_output=True,
        check=True,
    )


def _ours(agent: CommandLineAgent, arm: Arm, folder: Path, gateway: Gateway) -> None:
    request = MeterRequest(label="bench", budget_usd=None, tokens=None, markers=(), keep_bodies=False)
    with gateway.meter(request) as meter:
        room = replace(
            a_sandbox_request(Path(mkdtemp(dir=folder))), ports=(meter.port,), read_only=agent.read_only(arm)
        )
        with BubblewrapSandboxProvider().open(room) as sandbox:
            access = ModelAccess(base_url=f"http://127.0.0.1:{sandbox.port(meter.port.name)}", key=meter.key)
            _require(agent.attempt(an_attempt(arm, model_access=access), sandbox))
    meter.account()


def _require(outcome: AttemptOutcome) -> None:
    if outcome.status is not Status.COMPLETED:
        raise RuntimeError(f"a run that failed is no measurement: {outcome.status_detail}")


def _arm(agent: CommandLineAgent, model: str | None) -> Arm:
    return an_agent_arm(agent.name, {"program": str(PROGRAMS / agent.program)}, model=model)


def _ways(url: str) -> dict[ApiFamily, ModelUpstream]:
    return {provider: ModelUpstream(url=url, variable="", key="") for provider in ApiFamily}


@contextmanager
def _server(folder: Path) -> Iterator[str]:
    """A process of its own, as a provider is."""
    script = folder / "agents.toml"
    script.write_text(_SCRIPT)
    command = [*OUTWEIGH, "dev", "model-server", str(script)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
        assert process.stdout is not None
        try:
            yield next(word for word in process.stdout.readline().split() if word.startswith("http://"))
        finally:
            process.terminate()
