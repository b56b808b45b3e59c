"""Decides how a request is answered: which conversation, which turn, and whether an error comes first."""

from collections import Counter
from dataclasses import dataclass
from fnmatch import fnmatchcase

from outweigh.testing.model_server.ledger import Ending
from outweigh.testing.model_server.model_reply import ErrorReply, ModelReply
from outweigh.testing.model_server.model_request import ConversationPosition, ModelRequest, find_position
from outweigh.testing.model_server.model_script import ErrorSpec, Script, Turn, When
from outweigh.testing.model_server.play_turn import DONE_TEXT, play_turn, possible_texts, unplayable_reason
from outweigh.testing.model_server.provider_errors import make_error_reply


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
            problem=unplayable_reason(turn, request),
        )

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
