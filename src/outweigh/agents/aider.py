"""aider, run by `aider --message-file`: its adapter, and the readers of its output, analytics log and chat history.

It exits with 0 whether its model answered or not, so an error that it prints and never recovers from is the
failure. The printed token line is rounded; the analytics log is exact, but counts cached tokens within
`prompt_tokens` without saying how many, so input without cache is unknown. In the chat history the user's words
follow `#### `, aider's own follow `> `, and the rest is the model's.
"""

import re
from dataclasses import replace
from types import MappingProxyType

from outweigh.agents.command_line import (
    CommandLineAgent,
    Launch,
    ProgramOptions,
    build_prompt,
    read_whole,
)
from outweigh.agents.home_files import HomeArtifacts
from outweigh.agents.model_provider import LITELLM_BYPASS_VARIABLES, LITELLM_KEYS, litellm_provider, litellm_route
from outweigh.model.agent_files import file_locations_of
from outweigh.model.arm import Arm
from outweigh.model.failure import FAILURE_DETAIL_LIMIT, Failure, FailureKind, failure_from_text, make_failure
from outweigh.model.json_text import JsonObject
from outweigh.model.untrusted_json import amount_at, as_name, count_at, dict_at, str_at
from outweigh.model.usage import NO_USAGE, Usage
from outweigh.ports.agents import AttemptRequest
from outweigh.transcript.agent_report import AgentReport, EventReader, failure_or_unfinished
from outweigh.transcript.token_counts import add_counts
from outweigh.transcript.trajectory_builder import Speaker, TrajectoryBuilder

UNCOUNTED_REQUESTS = (
    "aider asks models for commit messages and summaries, and counts neither those requests nor their tokens"
)
ROUNDED_COST = "aider rounds the cost that it prints"
PRINTED_LINE_LIMIT = 2**20

_VERSION = re.compile(r"^Aider v(?P<version>\S+)$")
_MODEL = re.compile(r"^(?:Main model|Model): (?P<model>\S+) with \S+ edit format")
_TOKENS = re.compile(r"^Tokens: \S+ sent,.* (?P<received>\S+) received\.")
_COST = re.compile(r"Cost: \$\d[\d.,]* message, \$(?P<session>\d{1,9}(?:\.\d{1,9})?) session\.$")
_ERROR = re.compile(r"^litellm\.\w+: ")
_TOKEN_LIMIT = re.compile(r"^Model \S+ has hit a token limit!$")
_AFTER_ERROR = ("The API provider", "Retrying in ")


class AiderReader:
    """Reads what one `aider --message` prints."""

    def __init__(self) -> None:
        self._unfinished = bytearray()
        self._version: str | None = None
        self._model: str | None = None
        self._cost_usd: float | None = None
        self._answer_count = 0
        self._error: list[str] | None = None
        self._in_error = False
        self._hit_token_limit = False

    def feed(self, chunk: bytes) -> None:
        """Read the next chunk of standard output."""
        *ends, rest = chunk.split(b"\n")
        for end in ends:
            self._extend(end)
            self._take(self._unfinished.decode(errors="replace").rstrip())
            self._unfinished.clear()
        self._extend(rest)

    def report(self) -> AgentReport:
        """The report on the output so far; without the log, the last token line is the only sign of an end."""
        finished = self._answer_count > 0 or self._hit_token_limit
        return AgentReport(
            version=self._version,
            model=self._model,
            session_id=None,
            usage=NO_USAGE,
            usage_by_model={},
            cost_usd=self._cost_usd,
            duration_seconds=None,
            step_count=None,
            tool_call_count=None,
            request_count=self._answer_count,
            finished=finished,
            failure=failure_or_unfinished(finished, self._failure()),
            final_text=None,
            steps=(),
            loaded=None,
            warnings=self._warnings(),
        )

    def _extend(self, piece: bytes) -> None:
        """Add to the current line, up to a limit: longer lines are not needed."""
        self._unfinished += piece[: PRINTED_LINE_LIMIT - len(self._unfinished)]

    def _take(self, line: str) -> None:
        if (found := _VERSION.match(line)) is not None:
            self._version = as_name(found["version"])
        elif (found := _MODEL.match(line)) is not None:
            self._model = as_name(found["model"])
        elif (found := _TOKENS.match(line)) is not None and found["received"] != "0":
            self._answer_count += 1
            self._error, self._hit_token_limit = None, False
        self._hit_token_limit |= _TOKEN_LIMIT.match(line) is not None
        if (found := _COST.search(line)) is not None:
            self._cost_usd = float(found["session"]) or None
        self._take_error(line)

    def _take_error(self, line: str) -> None:
        """Read a line of an error, which is printed in lines of 80 characters before aider's explanation."""
        if _ERROR.match(line):
            self._error, self._in_error = [line], True
        elif not line or line.startswith(_AFTER_ERROR):
            self._in_error = False
        elif self._in_error and self._error is not None and len(self._error) < FAILURE_DETAIL_LIMIT // 80:
            self._error.append(line)

    def _failure(self) -> Failure | None:
        if self._hit_token_limit:
            return make_failure(FailureKind.CONTEXT_OVERFLOW, "the model has hit a token limit")
        return None if self._error is None else failure_from_text(" ".join(self._error), otherwise=FailureKind.CRASH)

    def _warnings(self) -> tuple[str, ...]:
        if not self._answer_count:
            return ()
        return (UNCOUNTED_REQUESTS,) if self._cost_usd is None else (UNCOUNTED_REQUESTS, ROUNDED_COST)


_CACHE_NOT_REPORTED = (
    "aider counts cached tokens as input and does not say how many there were: {sent:,} tokens were sent"
)


class AiderLogReader(EventReader):
    """Reads one analytics log."""

    def __init__(self) -> None:
        super().__init__()
        self._received: list[int | None] = []
        self._sent = 0
        self._cost_usd: float | None = None
        self._finished = False
        self._failure: Failure | None = None

    def _take(self, event: JsonObject) -> None:
        properties = dict_at(event, "properties")
        match str_at(event, "event"):
            case "message_send":
                self._answer(properties)
            case "message_send_exception":
                words = str_at(properties, "exception") or "an exception without a message"
                self._failure = failure_from_text(words, otherwise=FailureKind.CRASH)
            case "exit":
                self._finished = True

    def _answer(self, properties: JsonObject) -> None:
        received = count_at(properties, "completion_tokens")
        if received != 0:
            self._failure = None
            self._received.append(received)
            self._sent += count_at(properties, "prompt_tokens") or 0
        # The last total counts; it is 0 where aider knows no price.
        self._cost_usd = amount_at(properties, "total_cost") or None

    def _summary(self, warnings: tuple[str, ...]) -> AgentReport:
        output = add_counts(*self._received) if self._received else None
        own = (UNCOUNTED_REQUESTS, _CACHE_NOT_REPORTED.format(sent=self._sent)) if self._received else ()
        return AgentReport(
            version=None,
            model=None,
            session_id=None,
            usage=Usage(input_tokens=None, output_tokens=output, cache_read_tokens=None, cache_write_tokens=None),
            usage_by_model={},
            cost_usd=self._cost_usd,
            duration_seconds=None,
            step_count=len(self._received),
            tool_call_count=None,
            request_count=len(self._received),
            finished=self._finished,
            failure=failure_or_unfinished(self._finished, self._failure),
            final_text=None,
            steps=(),
            loaded=None,
            warnings=(*warnings, *own),
        )


def add_log(printed: AgentReport, log: AgentReport) -> AgentReport:
    """The printed report with the figures and the end from the log; only the printed one has the cause of a failure."""
    known = printed.failure if printed.failure and printed.failure.kind is not FailureKind.NO_RESULT else log.failure
    rest = tuple(warning for warning in printed.warnings if warning not in (UNCOUNTED_REQUESTS, ROUNDED_COST))
    return replace(
        printed,
        usage=NO_USAGE if log.usage.output_tokens is None else log.usage,
        cost_usd=log.cost_usd,
        step_count=log.step_count,
        request_count=log.request_count,
        finished=log.finished,
        failure=failure_or_unfinished(log.finished, known),
        warnings=(*rest, *log.warnings),
    )


_CHAT_START = "# aider chat started at "
_MARKS: tuple[tuple[str, Speaker], ...] = (("#### ", "user"), ("> ", "system"))


def add_chat(report: AgentReport, chat: bytes) -> AgentReport:
    """The report with the steps of the chat and the model's last message."""
    steps = TrajectoryBuilder()
    speaker: Speaker = "agent"
    lines: list[str] = []
    for line in chat.decode(errors="replace").splitlines():
        if line.startswith(_CHAT_START):
            continue
        who, text = _attribute_line(line, speaker)
        if who != speaker:
            _add_words(steps, speaker, lines)
            speaker, lines = who, []
        lines.append(text)
    _add_words(steps, speaker, lines)
    return replace(
        report,
        final_text=steps.final_text,
        steps=steps.steps(),
        warnings=(*report.warnings, *steps.warnings()),
    )


def _attribute_line(line: str, speaker: Speaker) -> tuple[Speaker, str]:
    for mark, who in _MARKS:
        if line.startswith(mark):
            return who, line.removeprefix(mark).rstrip()
    return ("agent" if line.strip() else speaker), line.rstrip()


def _add_words(steps: TrajectoryBuilder, speaker: Speaker, lines: list[str]) -> None:
    text = "\n".join(lines).strip()
    if text:
        steps.add(speaker, text)


_PROMPT, _LOG, _CHAT = "aider-prompt.md", "aider-analytics.jsonl", "aider-chat.md"
# With a cached price list, even an empty one, it does not request one from the network.
_PRICE_CACHE = ".aider/caches/model_prices_and_context_window.json"


class AiderOptions(ProgramOptions, frozen=True, kw_only=True):
    """`files` are files of the workspace that are open from the start."""

    files: list[str] = []  # noqa: RUF012 - msgspec copies defaults


_PROVIDERS_OF_ALIASES = {
    **dict.fromkeys(("sonnet", "haiku", "opus"), "anthropic"),
    **dict.fromkeys(("flash", "flash-lite", "gemini"), "gemini"),
    "4o": "openai",
}


class AiderAgent(CommandLineAgent):
    """Applies the edits in the model's answers; reads `CONVENTIONS.md` and supports neither skills nor tool servers."""

    name = "aider"
    program = "aider"
    install = "uv tool install aider-chat"
    options = AiderOptions
    starts_servers = False
    needs_model = True
    bypass_variables = LITELLM_BYPASS_VARIABLES
    background_models = ("*-mini*", "*nano*", "*haiku*", "*flash*")
    model_aliases = MappingProxyType(
        {
            "sonnet": ("claude-*sonnet*",),
            "haiku": ("claude-*haiku*",),
            "opus": ("claude-*opus*",),
            "4o": ("gpt-4o",),
            "flash": ("gemini-*flash", "gemini-*flash-preview*"),
            "flash-lite": ("gemini-*flash-lite*",),
            "gemini": ("gemini-*pro*",),
        }
    )
    keys = LITELLM_KEYS

    def provider(self, arm: Arm) -> str | None:
        """The provider in the model's name, or of the alias."""
        return _PROVIDERS_OF_ALIASES.get(arm.model or "") or litellm_provider(arm.model)

    def launch(self, request: AttemptRequest, home: str) -> Launch:
        """`aider` with the prompt in a file; its report is in its log."""
        route, printed = litellm_route(request, _PROVIDERS_OF_ALIASES), AiderReader()
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
            on_output=printed.feed,
            report=lambda artifacts: _read_report(printed.report(), artifacts),
            files={_PROMPT: build_prompt(request).encode(), _PRICE_CACHE: b'{"none": {}}'},
            defaults={"LITELLM_LOCAL_MODEL_COST_MAP": "True"},
            gateway_variables=route.variables,
            artifacts={_LOG: _LOG, _CHAT: _CHAT},
            workspace_litter=(".aider.tags.cache.v*",),
        )


def _read_report(printed: AgentReport, artifacts: HomeArtifacts) -> AgentReport:
    """Combine the printed output with the figures in its log and the messages in its chat history."""
    log = read_whole(AiderLogReader(), artifacts.get(_LOG, b""))
    return add_chat(add_log(printed, log), artifacts.get(_CHAT, b""))


def _conventions(arm: Arm) -> tuple[str, ...]:
    """Options that make it read the instruction file, which it does only when asked."""
    known = file_locations_of(AiderAgent.name).instructions
    return tuple(word for file in arm.overlay if file.path in known for word in ("--read", file.path))
