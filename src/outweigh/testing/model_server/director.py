"""Decides what a request is answered with: which conversation, which turn, and whether trouble comes first."""

from collections import Counter
from fnmatch import fnmatchcase

import msgspec

from outweigh.testing.model_server.answer import Answer
from outweigh.testing.model_server.failures import failure_for
from outweigh.testing.model_server.position import turn_id
from outweigh.testing.model_server.reply import Reply, Stop, ToolCall
from outweigh.testing.model_server.request import ModelRequest, ToolKind
from outweigh.testing.model_server.schema_instance import instance_of
from outweigh.testing.model_server.script import ErrorSpec, Script, Turn, UsageSpec, When
from outweigh.testing.model_server.shell_tool import shell_among, shell_arguments
from outweigh.testing.model_server.tokens import Tokens

DONE = "Done."
REFUSED = "I can't help with that."
DEFAULT_USAGE = UsageSpec(
    input_tokens=100, output_tokens=10, cache_read_tokens=0, cache_write_tokens=0, reasoning_tokens=0
)
_UNKNOWN_MODEL = ErrorSpec(kind="unknown_model")


class Director:
    """Follows one script. All it remembers is how often a passing trouble has struck; not safe for several threads."""

    def __init__(self, script: Script) -> None:
        self._script = script
        self._struck: Counter[tuple[str, str, str]] = Counter()

    def answer(self, request: ModelRequest, number: int, created: int) -> Answer:
        """The answer to one request; `number` is its place in the ledger."""
        rule, turn = self._turn(request)
        calls, problem = _calls(turn, request)
        known = self._script.models is None or any(fnmatchcase(request.model, model) for model in self._script.models)
        error = _UNKNOWN_MODEL if not known else self._error(turn, rule, request)
        failure = None if error is None else failure_for(error, request.wire, request.model)
        midway = error is not None and error.in_stream and request.stream and request.as_events
        return Answer(
            rule="models" if not known else rule,
            reply=Reply(
                number=number,
                step=request.step,
                created=created,
                model=request.model,
                text=_text(turn, request, rule) if problem is None else f"({problem})",
                thinking=turn.thinking or "",
                calls=calls,
                stop=_stop(turn, calls),
                tokens=_tokens(turn, self._script),
            ),
            refusal=None if midway else failure,
            breakdown=failure if midway else None,
            cut=error is None and self._cuts(turn, rule, request),
            delay_seconds=turn.delay_seconds,
            problem=problem,
        )

    def _turn(self, request: ModelRequest) -> tuple[str, Turn]:
        name, turns = self._conversation(request)
        if not request.tools and any(turn.acts for turn in turns):
            return "side", self._script.side
        if request.step < len(turns):
            return f"{name}turn[{request.step}]", turns[request.step]
        last = turns[-1] if turns else Turn(text=DONE)
        return f"{name}after the last turn", Turn(text=DONE) if last.acts else last

    def _conversation(self, request: ModelRequest) -> tuple[str, list[Turn]]:
        for index, conversation in enumerate(self._script.conversation):
            if _holds(conversation.when, request):
                return f"{conversation.name or f'conversation[{index}]'}.", conversation.turn
        return "", self._script.turn

    def _error(self, turn: Turn, rule: str, request: ModelRequest) -> ErrorSpec | None:
        if turn.error is None or not self._strikes("error", turn.error.times, rule, request):
            return None
        return turn.error

    def _cuts(self, turn: Turn, rule: str, request: ModelRequest) -> bool:
        if isinstance(turn.cut, bool):
            return turn.cut
        return self._strikes("cut", turn.cut.times, rule, request)

    def _strikes(self, what: str, times: int | None, rule: str, request: ModelRequest) -> bool:
        """Troubles are counted per conversation, so that trials that run side by side meet the same ones."""
        if times is None:
            return True
        key = (what, rule, request.conversation)
        self._struck[key] += 1
        return self._struck[key] <= times


def _holds(when: When, request: ModelRequest) -> bool:
    offered = {tool.name for tool in request.tools}
    return (
        (when.model is None or fnmatchcase(request.model, when.model))
        and (when.protocol is None or when.protocol == request.wire)
        and (when.contains is None or when.contains in request.prompt)
        and (when.offers is None or when.offers in offered)
        and (when.lacks is None or when.lacks not in offered)
        and (when.tools is None or when.tools == bool(offered))
        and (when.api_key is None or when.api_key == request.api_key)
    )


def _calls(turn: Turn, request: ModelRequest) -> tuple[tuple[ToolCall, ...], str | None]:
    """The tool calls of a turn, or why they cannot be made."""
    shell = shell_among(request.tools)
    if turn.commands and shell is None:
        offered = ", ".join(tool.name for tool in request.tools)
        return (), f"the script says `run`, and no shell is among the tools: {offered}"
    kinds = {tool.name: tool.kind for tool in request.tools}
    wanted = [(shell.name, shell_arguments(shell, command)) for command in turn.commands if shell is not None]
    wanted += [(call.name, call.arguments) for call in turn.tool_calls]
    return tuple(
        ToolCall(
            id=turn_id(request.conversation, request.step, index),
            name=name,
            arguments=arguments,
            kind=kinds.get(name, ToolKind.FUNCTION),
        )
        for index, (name, arguments) in enumerate(wanted)
    ), None


def _text(turn: Turn, request: ModelRequest, rule: str) -> str:
    text = turn.text or ""
    if turn.refuse:
        return text or REFUSED
    if rule == "side" and request.output_schema is not None:
        return msgspec.json.encode(instance_of(request.output_schema, text)).decode()
    return text or ("" if turn.acts else DONE)


def _stop(turn: Turn, calls: tuple[ToolCall, ...]) -> Stop:
    if turn.refuse:
        return Stop.REFUSAL
    if turn.truncate:
        return Stop.LENGTH
    return Stop.TOOL_CALLS if calls else Stop.END


def _tokens(turn: Turn, script: Script) -> Tokens:
    """Each count from the first that states it: the turn, the script, the defaults."""
    layers = (turn.usage, script.usage, DEFAULT_USAGE)
    found = {
        name: next(count for layer in layers if (count := getattr(layer, name)) is not None)
        for name in UsageSpec.__struct_fields__
    }
    return Tokens(**found)
