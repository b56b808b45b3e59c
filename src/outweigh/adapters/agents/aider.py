"""aider, by its own `aider --message-file`."""

from outweigh.adapters.agents.command_line import CommandLineAgent, ProgramOptions
from outweigh.adapters.agents.launch import Launch, Left, read_whole
from outweigh.adapters.agents.litellm_route import KEYS, OWN_WAYS, litellm_route, spoken_provider
from outweigh.adapters.agents.prompt import prompt
from outweigh.ports.agents import AttemptRequest
from outweigh.task.arm import Arm
from outweigh.task.places import places_of
from outweigh.transcript.agent_report import AgentReport
from outweigh.transcript.aider import AiderReader
from outweigh.transcript.aider_chat import with_chat
from outweigh.transcript.aider_log import AiderLogReader, with_log

_PROMPT, _LOG, _CHAT = "aider-prompt.md", "aider-analytics.jsonl", "aider-chat.md"
# With prices of its own at hand, even of no model at all, it does not ask the network for them again and again.
_PRICES = ".aider/caches/model_prices_and_context_window.json"


class AiderOptions(ProgramOptions, frozen=True, kw_only=True):
    """`files` are files of the workspace that it has open from the start."""

    files: list[str] = []  # noqa: RUF012 - msgspec copies defaults


class Aider(CommandLineAgent):
    """Edits what the model answers with; it reads `CONVENTIONS.md` and knows neither skills nor tool servers."""

    name = "aider"
    program = "aider"
    install = "uv tool install aider-chat"
    options = AiderOptions
    starts_servers = False
    needs_model = True
    own_ways = OWN_WAYS
    keys = KEYS

    def provider(self, arm: Arm) -> str | None:
        """That of the model, which is named with it."""
        return spoken_provider(arm.model)

    def launch(self, request: AttemptRequest, home: str) -> Launch:
        """`aider` with the prompt in a file, and its own log as its word."""
        route, printed = litellm_route(request), AiderReader()
        return Launch(
            arguments=(
                *("--model", route.model, "--message-file", f"{home}/{_PROMPT}", "--yes-always"),
                *("--no-check-update", "--no-show-release-notes", "--no-pretty", "--no-stream", "--no-fancy-input"),
                *("--analytics-disable", "--analytics-log", f"{home}/{_LOG}"),
                *("--input-history-file", f"{home}/.aider.input", "--chat-history-file", f"{home}/{_CHAT}"),
                *("--no-gitignore", "--no-auto-commits", "--no-show-model-warnings", "--no-detect-urls"),
                *_conventions(request.arm),
                *self.options_of(request.arm).files,
            ),
            listen=printed.feed,
            report=lambda left: _report(printed.report(), left),
            files={_PROMPT: prompt(request).encode(), _PRICES: b'{"none": {}}'},
            defaults={"LITELLM_LOCAL_MODEL_COST_MAP": "True"},
            access=route.variables,
            leaves={_LOG: _LOG, _CHAT: _CHAT},
            litter=(".aider.tags.cache.v*",),
        )


def _report(printed: AgentReport, left: Left) -> AgentReport:
    """What it prints is for people; the figures are in its log, and the words in its chat."""
    log = read_whole(AiderLogReader(), left.get(_LOG, b""))
    return with_chat(with_log(printed, log), left.get(_CHAT, b""))


def _conventions(arm: Arm) -> tuple[str, ...]:
    """It reads a file of instructions only when told to."""
    known = places_of(Aider.name).instructions
    return tuple(word for file in arm.overlay if file.path in known for word in ("--read", file.path))
