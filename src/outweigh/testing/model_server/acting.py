"""From a turn of the script to what the model says: tool calls in the agent's own terms, text, tokens."""

from collections.abc import Iterator

import msgspec

from outweigh.testing.model_server.ending_command import ending_command
from outweigh.testing.model_server.position import Place, turn_id
from outweigh.testing.model_server.reply import Reply, Stop, ToolCall
from outweigh.testing.model_server.request import ModelRequest, ToolKind, Wire
from outweigh.testing.model_server.schema_instance import instance_of
from outweigh.testing.model_server.script import Script, Turn
from outweigh.testing.model_server.shell_tool import shell_among, shell_arguments
from outweigh.testing.model_server.tokens import Tokens

DONE = "Done."
REFUSED = "I can't help with that."
NO_SHELL = "(The script says `run`, but no shell is among the tools.)"


def perform(turn: Turn, script: Script, request: ModelRequest, place: Place, number: int, created: int) -> Reply:
    """The answer that a turn gives to a request; `number` is the request's place in the ledger."""
    calls = tuple(_calls(turn, request, place))
    return Reply(
        number=number,
        step=place.step,
        created=created,
        model=request.model,
        text=_text(turn, request) if problem_with(turn, request) is None else NO_SHELL,
        thinking=turn.thinking or "",
        calls=calls,
        stop=_stop(turn, calls),
        tokens=_tokens(turn, script, request.wire),
    )


def problem_with(turn: Turn, request: ModelRequest) -> str | None:
    """Why a turn cannot be played as it is written."""
    if not turn.commands or shell_among(request.tools) is not None:
        return None
    return f"the script says `run`, but no shell is among the tools: {', '.join(tool.name for tool in request.tools)}"


def texts_of(script: Script) -> frozenset[str]:
    """Everything that the model may say by this script."""
    return frozenset({DONE, REFUSED, NO_SHELL, *(turn.text.strip() for _, turn in script.turns() if turn.text)})


def _calls(turn: Turn, request: ModelRequest, place: Place) -> Iterator[ToolCall]:
    kinds = {tool.name: tool.kind for tool in request.tools}
    shell = shell_among(request.tools)
    commands = _commands(turn, place)
    wanted = [(shell.name, shell_arguments(shell, command)) for command in commands if shell is not None]
    wanted += [(call.name, call.arguments) for call in turn.tool_calls]
    for index, (name, arguments) in enumerate(wanted):
        yield ToolCall(
            id=turn_id(place.conversation, place.step, index),
            name=name,
            arguments=arguments,
            kind=kinds.get(name, ToolKind.FUNCTION),
        )


def _commands(turn: Turn, place: Place) -> tuple[str, ...]:
    if turn.acts or turn.refuse or turn.truncate:
        return turn.commands
    ending = ending_command(place.prompt)
    return () if ending is None else (ending,)


def _text(turn: Turn, request: ModelRequest) -> str:
    text = turn.text or ""
    if turn.refuse:
        return text or REFUSED
    if request.output_schema is not None and not turn.acts and not _is_json(text):
        return msgspec.json.encode(instance_of(request.output_schema, text)).decode()
    return text or ("" if turn.acts else DONE)


def _is_json(text: str) -> bool:
    try:
        msgspec.json.decode(text)
    except msgspec.DecodeError:
        return False
    return True


def _stop(turn: Turn, calls: tuple[ToolCall, ...]) -> Stop:
    if turn.refuse:
        return Stop.REFUSAL
    if turn.truncate:
        return Stop.LENGTH
    return Stop.TOOL_CALLS if calls else Stop.END


def _tokens(turn: Turn, script: Script, wire: Wire) -> Tokens:
    usage = turn.usage.over(script.usage)
    tokens = Tokens(**msgspec.structs.asdict(usage))
    return tokens.with_writes_as_input() if wire is Wire.GEMINI else tokens
