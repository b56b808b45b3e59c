"""Decides what a request is answered with: which conversation, which turn, and whether trouble comes first."""

from collections import Counter
from fnmatch import fnmatchcase

from outweigh.testing.model_server.acting import DONE, perform, problem_with, texts_of
from outweigh.testing.model_server.answer import Answer
from outweigh.testing.model_server.failures import failure_for
from outweigh.testing.model_server.position import Place, place_of
from outweigh.testing.model_server.request import ModelRequest
from outweigh.testing.model_server.script import ErrorSpec, Script, Turn, When

_UNKNOWN_MODEL = Turn(error=ErrorSpec(kind="unknown_model"))
_DONE = Turn(text=DONE)


class Director:
    """Follows one script. All it remembers is how often a passing trouble has struck; not safe for several threads."""

    def __init__(self, script: Script) -> None:
        self._script = script
        self._said = texts_of(script)
        self._struck: Counter[tuple[str, str, str]] = Counter()

    def answer(self, request: ModelRequest, number: int, created: int) -> Answer:
        """The answer to one request; `number` is its place in the ledger, `created` a Unix time."""
        place = place_of(request, self._said)
        rule, turn = self._turn(request, place)
        error = self._error(turn, rule, place)
        failure = None if error is None else failure_for(error, request.wire, request.model)
        midway = error is not None and error.in_stream and request.stream and request.as_events
        return Answer(
            rule=rule,
            place=place,
            reply=perform(turn, self._script, request, place, number, created),
            refusal=None if midway else failure,
            breakdown=failure if midway else None,
            cut=error is None and self._cuts(turn, rule, place),
            delay_seconds=turn.delay_seconds,
            problem=problem_with(turn, request),
        )

    def _turn(self, request: ModelRequest, place: Place) -> tuple[str, Turn]:
        if not self._knows(request.model):
            return "models", _UNKNOWN_MODEL
        name, turns = self._conversation(request, place)
        if not request.tools and any(turn.acts for turn in turns):
            return "side", self._script.side
        if place.step < len(turns):
            return f"{name}turn[{place.step}]", turns[place.step]
        return f"{name}after the last turn", _DONE if not turns or turns[-1].acts else turns[-1]

    def _knows(self, model: str) -> bool:
        return self._script.models is None or any(fnmatchcase(model, known) for known in self._script.models)

    def _conversation(self, request: ModelRequest, place: Place) -> tuple[str, list[Turn]]:
        for index, conversation in enumerate(self._script.conversation):
            if _holds(conversation.when, request, place):
                return f"{conversation.name or f'conversation[{index}]'}.", conversation.turn
        return "", self._script.turn

    def _error(self, turn: Turn, rule: str, place: Place) -> ErrorSpec | None:
        error = turn.error
        if error is None or not self._strikes("error", error.times, rule, "" if error.shared else place.conversation):
            return None
        return error

    def _cuts(self, turn: Turn, rule: str, place: Place) -> bool:
        if isinstance(turn.cut, bool):
            return turn.cut
        return self._strikes("cut", turn.cut.times, rule, place.conversation)

    def _strikes(self, what: str, times: int | None, rule: str, conversation: str) -> bool:
        """Troubles are counted per conversation, so that trials that run side by side meet the same ones."""
        if times is None:
            return True
        key = (what, rule, conversation)
        self._struck[key] += 1
        return self._struck[key] <= times


def _holds(when: When, request: ModelRequest, place: Place) -> bool:
    offered = {tool.name for tool in request.tools}
    return (
        (when.model is None or fnmatchcase(request.model, when.model))
        and (when.protocol is None or when.protocol == request.wire)
        and (when.contains is None or when.contains in place.prompt)
        and (when.offers is None or when.offers in offered)
        and (when.lacks is None or when.lacks not in offered)
        and (when.tools is None or when.tools == bool(offered))
        and (when.api_key is None or when.api_key == request.api_key)
    )
