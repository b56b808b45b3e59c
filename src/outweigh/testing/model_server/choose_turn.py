"""Decides how a request is answered: which conversation, which turn of the script, and what the reply says.

`run` uses whichever shell tool the agent offers, so that one script serves all agents.
"""

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from fnmatch import fnmatchcase

import msgspec

from outweigh.testing.model_server.ledger import Ending, Tokens
from outweigh.testing.model_server.model_reply import ErrorReply, ModelReply, ReplyToolCall, StopReason
from outweigh.testing.model_server.model_request import (
    ConversationPosition,
    ModelRequest,
    OfferedToolKind,
    WireProtocol,
    find_position,
    turn_id,
)
from outweigh.testing.model_server.model_script import NO_USAGE_SPEC, ErrorSpec, Script, Turn, When
from outweigh.testing.model_server.provider_errors import make_error_reply
from outweigh.testing.model_server.shell_tool import find_shell_tool, shell_arguments, smallest_instance

# mini-swe-agent ends only on this exact command; it takes a text without a call for a mistake, and asks again.
_ENDING_COMMANDS = {"COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT": "echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT"}


def ending_command(prompt: str) -> str | None:
    """The command by which an agent with this prompt expects to be told that the work is done; None for most agents."""
    return next((command for sign, command in _ENDING_COMMANDS.items() if sign in prompt), None)


DONE_TEXT = "Done."
REFUSAL_TEXT = "I can't help with that."
NO_SHELL_TEXT = "(The script says `run`, but no shell is among the tools.)"


def play_turn(
    turn: Turn, script: Script, request: ModelRequest, position: ConversationPosition, number: int, created: int
) -> ModelReply:
    """The answer that a turn gives to a request; `number` is the request's number in the ledger."""
    calls = tuple(_tool_calls(turn, request, position))
    return ModelReply(
        number=number,
        step=position.step,
        created=created,
        model=turn.answered_by or request.model,
        text=_text(turn, request, position) if unplayable_reason(turn, request) is None else NO_SHELL_TEXT,
        thinking=turn.thinking or "",
        calls=calls,
        stop=_stop_reason(turn, calls),
        tokens=_tokens(turn, script, request.protocol),
        compaction=_compaction(turn, request.protocol),
        billing=turn.billing,
    )


def unplayable_reason(turn: Turn, request: ModelRequest) -> str | None:
    """Why a turn cannot be played as written; None if it can."""
    if not turn.commands or find_shell_tool(request.tools) is not None:
        return None
    return f"the script says `run`, but no shell is among the tools: {', '.join(tool.name for tool in request.tools)}"


def possible_texts(script: Script) -> frozenset[str]:
    """Every text that the model may send by this script."""
    return frozenset(
        {DONE_TEXT, REFUSAL_TEXT, NO_SHELL_TEXT, *(turn.text.strip() for _, turn in script.turns() if turn.text)}
    )


def _tool_calls(turn: Turn, request: ModelRequest, position: ConversationPosition) -> Iterator[ReplyToolCall]:
    kinds = {tool.name: tool.kind for tool in request.tools}
    shell = find_shell_tool(request.tools)
    commands = _commands(turn, position)
    wanted = [(shell.name, shell_arguments(shell, command)) for command in commands if shell is not None]
    wanted += [(call.name, call.arguments) for call in turn.tool_calls]
    for index, (name, arguments) in enumerate(wanted):
        yield ReplyToolCall(
            id=turn_id(position.conversation, position.step, index),
            name=name,
            arguments=arguments,
            kind=kinds.get(name, OfferedToolKind.FUNCTION),
        )


def _commands(turn: Turn, position: ConversationPosition) -> tuple[str, ...]:
    if turn.acts or turn.refuse or turn.truncate:
        return turn.commands
    ending = ending_command(position.prompt)
    return () if ending is None else (ending,)


def _text(turn: Turn, request: ModelRequest, position: ConversationPosition) -> str:
    if turn.score is not None:
        return judge_answer(position.prompt, turn.score)
    text = turn.text or ""
    if turn.refuse:
        return text or REFUSAL_TEXT
    if request.output_schema is not None and not turn.acts and not _is_json(text):
        return msgspec.json.encode(smallest_instance(request.output_schema, text)).decode()
    return text or ("" if turn.acts else DONE_TEXT)


_RUBRIC = re.compile(r"^# Rubric$(.*?)^# Your answer$", re.MULTILINE | re.DOTALL)
_QUESTION = re.compile(r"^id: (?P<id>.+)$(?:\n(?!id: ).*)*?\nscore: (?P<scale>.+)$", re.MULTILINE)
_ENDS = re.compile(r"(?:a number from )?(\S+) (or|to) (\S+)")


def judge_answer(prompt: str, share: float) -> str:
    """The JSON object that a judge is asked for; a prompt without a rubric gets an answer without scores."""
    rubric = _RUBRIC.search(prompt)
    answers = list(_answers(rubric[1], share)) if rubric else []
    return msgspec.json.encode({"answers": answers, "total": share, "confidence": 1.0}).decode()


def _answers(rubric: str, share: float) -> Iterator[dict[str, object]]:
    for question in _QUESTION.finditer(rubric):
        yield {"id": question["id"], "evidence": "as the script says", "score": _score(question["scale"], share)}


def _score(scale: str, share: float) -> float | None:
    """A share of a scale in words; of one with two scores, the nearer one."""
    ends = _ENDS.fullmatch(scale)
    if ends is None:
        return None
    low, high = float(ends[1]), float(ends[3])
    return low + (high - low) * (round(share) if ends[2] == "or" else share)


def _is_json(text: str) -> bool:
    try:
        msgspec.json.decode(text)
    except msgspec.DecodeError:
        return False
    return True


def _stop_reason(turn: Turn, calls: tuple[ReplyToolCall, ...]) -> StopReason:
    if turn.refuse:
        return StopReason.REFUSAL
    if turn.truncate:
        return StopReason.LENGTH
    return StopReason.TOOL_CALLS if calls else StopReason.END


def _tokens(turn: Turn, script: Script, protocol: WireProtocol) -> Tokens:
    usage = turn.usage.over(script.usage)
    tokens = Tokens(**msgspec.structs.asdict(usage))
    return tokens.with_writes_as_input() if protocol is WireProtocol.GEMINI else tokens


def _compaction(turn: Turn, protocol: WireProtocol) -> Tokens | None:
    """The tokens of a summary; only Anthropic's protocol has it."""
    if turn.billing.compaction is None or protocol is not WireProtocol.ANTHROPIC:
        return None
    return Tokens(**msgspec.structs.asdict(turn.billing.compaction.over(NO_USAGE_SPEC)))


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedResponse:
    """A response before it is sent.

    `rule` names the part of the script that it comes from, `problem` what the script asked for and the request did not
    allow. An `error` replaces the answer, a `mid_stream_error` interrupts it.
    """

    rule: str
    position: ConversationPosition
    reply: ModelReply
    error: ErrorReply | None
    mid_stream_error: ErrorReply | None
    cut: bool
    delay_seconds: float
    stall_seconds: float
    problem: str | None

    @property
    def ending(self) -> Ending:
        """The ending as the ledger records it."""
        if self.error is not None or self.mid_stream_error is not None:
            return Ending.REFUSED
        return Ending.CUT if self.cut else Ending.ANSWERED


_UNKNOWN_MODEL_TURN = Turn(error=ErrorSpec(kind="unknown_model"))
_DONE_TURN = Turn(text=DONE_TEXT)


class TurnChooser:
    """Follows one script. It remembers only how often each temporary error was sent; not thread-safe."""

    def __init__(self, script: Script) -> None:
        self._script = script
        self._possible_texts = possible_texts(script)
        self._error_counts: Counter[tuple[str, str, str]] = Counter()

    def answer(self, request: ModelRequest, number: int, created: int) -> PlannedResponse:
        """Plan the response to a request; `number` is its number in the ledger, `created` a Unix time."""
        position = find_position(request, self._possible_texts)
        rule, turn = self._turn(request, position)
        error = self._error(turn, rule, position)
        failure = None if error is None else make_error_reply(error, request.protocol, request.model)
        midway = error is not None and error.in_stream and request.stream and request.as_events
        return PlannedResponse(
            rule=rule,
            position=position,
            reply=play_turn(turn, self._script, request, position, number, created),
            error=None if midway else failure,
            mid_stream_error=failure if midway else None,
            cut=error is None and self._cuts(turn, rule, position),
            delay_seconds=turn.delay_seconds,
            stall_seconds=turn.stall_seconds,
            problem=unplayable_reason(turn, request),
        )

    def prompt_tokens(self, request: ModelRequest) -> int:
        """What the answer to a request will say about the tokens of its prompt."""
        _, turn = self._turn(request, find_position(request, self._possible_texts))
        return _tokens(turn, self._script, request.protocol).prompt_tokens

    def _turn(self, request: ModelRequest, position: ConversationPosition) -> tuple[str, Turn]:
        if not self._knows(request.model):
            return "models", _UNKNOWN_MODEL_TURN
        name, turns = self._conversation(request, position)
        if not request.tools and any(turn.acts for turn in turns):
            return "side", self._script.side
        if position.step < len(turns):
            return f"{name}turn[{position.step}]", turns[position.step]
        return f"{name}after the last turn", _DONE_TURN if not turns or turns[-1].acts else turns[-1]

    def _knows(self, model: str) -> bool:
        return self._script.models is None or any(fnmatchcase(model, known) for known in self._script.models)

    def _conversation(self, request: ModelRequest, position: ConversationPosition) -> tuple[str, list[Turn]]:
        for index, conversation in enumerate(self._script.conversation):
            if _matches(conversation.when, request, position):
                return f"{conversation.name or f'conversation[{index}]'}.", conversation.turn
        return "", self._script.turn

    def _error(self, turn: Turn, rule: str, position: ConversationPosition) -> ErrorSpec | None:
        error = turn.error
        if error is None or not self._still_fails(
            "error", error.times, rule, "" if error.shared else position.conversation
        ):
            return None
        return error

    def _cuts(self, turn: Turn, rule: str, position: ConversationPosition) -> bool:
        if isinstance(turn.cut, bool):
            return turn.cut
        return self._still_fails("cut", turn.cut.times, rule, position.conversation)

    def _still_fails(self, what: str, times: int | None, rule: str, conversation: str) -> bool:
        """Whether a temporary error still occurs. It is counted per conversation, so that parallel trials meet the same
        errors.
        """
        if times is None:
            return True
        key = (what, rule, conversation)
        self._error_counts[key] += 1
        return self._error_counts[key] <= times


def _matches(when: When, request: ModelRequest, position: ConversationPosition) -> bool:
    offered = {tool.name for tool in request.tools}
    return (
        (when.model is None or fnmatchcase(request.model, when.model))
        and (when.protocol is None or when.protocol == request.protocol)
        and (when.contains is None or when.contains in position.prompt)
        and (when.offers is None or when.offers in offered)
        and (when.lacks is None or when.lacks not in offered)
        and (when.tools is None or when.tools == bool(offered))
        and (when.api_key is None or when.api_key == request.api_key)
    )
