"""What aider prints with `--message --no-pretty`: words for people, in which little can be counted.

It exits with 0 whether its model answered or not, so an error it prints and never gets over is the failure. Its token
line is rounded and knows cached tokens of some providers only. The analytics log is exact (`aider_log`), and the chat
history tells who said what (`aider_chat`).
"""

import re

from outweigh.record.usage import NO_USAGE
from outweigh.transcript.agent_report import AgentReport
from outweigh.transcript.event_reader import ended
from outweigh.transcript.failure import Failure, FailureKind, failure
from outweigh.transcript.failure_text import DETAIL_LIMIT, failure_of_text
from outweigh.transcript.foreign import name

UNCOUNTED = "aider asks models for commit messages and summaries, and counts neither those requests nor their tokens"
ROUNDED = "aider rounds the cost that it prints"
LINE_LIMIT = 2**20

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
        """Take the next piece of standard output."""
        *ends, rest = chunk.split(b"\n")
        for end in ends:
            self._extend(end)
            self._take(self._unfinished.decode(errors="replace").rstrip())
            self._unfinished.clear()
        self._extend(rest)

    def report(self) -> AgentReport:
        """What was printed so far; without the log, the last token line is the only sign of an end."""
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
            failure=ended(finished, self._failure()),
            final_text=None,
            steps=(),
            loaded=None,
            warnings=self._warnings(),
        )

    def _extend(self, piece: bytes) -> None:
        """Longer lines are of no interest here."""
        self._unfinished += piece[: LINE_LIMIT - len(self._unfinished)]

    def _take(self, line: str) -> None:
        if (found := _VERSION.match(line)) is not None:
            self._version = name(found["version"])
        elif (found := _MODEL.match(line)) is not None:
            self._model = name(found["model"])
        elif (found := _TOKENS.match(line)) is not None and found["received"] != "0":
            self._answer_count += 1
            self._error, self._hit_token_limit = None, False
        self._hit_token_limit |= _TOKEN_LIMIT.match(line) is not None
        if (found := _COST.search(line)) is not None:
            self._cost_usd = float(found["session"]) or None
        self._take_error(line)

    def _take_error(self, line: str) -> None:
        """An error is printed in lines of 80 characters, and its meaning in aider's words after it."""
        if _ERROR.match(line):
            self._error, self._in_error = [line], True
        elif not line or line.startswith(_AFTER_ERROR):
            self._in_error = False
        elif self._in_error and self._error is not None and len(self._error) < DETAIL_LIMIT // 80:
            self._error.append(line)

    def _failure(self) -> Failure | None:
        if self._hit_token_limit:
            return failure(FailureKind.CONTEXT_OVERFLOW, "the model has hit a token limit")
        return None if self._error is None else failure_of_text(" ".join(self._error), otherwise=FailureKind.CRASH)

    def _warnings(self) -> tuple[str, ...]:
        if not self._answer_count:
            return ()
        return (UNCOUNTED,) if self._cost_usd is None else (UNCOUNTED, ROUNDED)
