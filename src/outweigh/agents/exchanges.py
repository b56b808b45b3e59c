"""A conversation with a command-line agent: one start of its program for each turn, joined into one outcome."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from msgspec.structs import replace as replace_fields

from outweigh.agents.home_files import HomeArtifacts
from outweigh.model.run_record import ObservedSetup
from outweigh.model.usage import Usage, sum_usage
from outweigh.ports.agents import UserReplies
from outweigh.ports.sandboxes import CommandEnding, CompletedCommand
from outweigh.transcript.agent_report import AgentReport
from outweigh.transcript.atif import AtifStep

LEAST_TURN_SECONDS = 0.1
"""A turn for which no time is left is started with this limit, so that it ends as one that ran out of time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Exchange:
    """One turn: what the user said, None for the instruction, and how the program ended.

    `read` is its report, from its output and from files of its home.
    """

    said: str | None
    done: CompletedCommand
    read: Callable[[HomeArtifacts], AgentReport]


class ReportScope(StrEnum):
    """What a report covers that is made after several turns of one session.

    `TOTALS` is for programs that add up tokens and dollars over the session and report all else for one turn.
    """

    TURN = "turn"
    TOTALS = "totals"
    SESSION = "session"


StartTurn = Callable[[str, str, float], Exchange]
"""Starts the program again: with the id of its session, what the user says, and the seconds that are left."""


def hold_conversation(
    first: Exchange, replies: UserReplies | None, start: StartTurn, timeout_seconds: float
) -> list[Exchange]:
    """All turns of a run: the user speaks as long as the agent answers and there is something to say."""
    exchanges = [first]
    while replies is not None:
        report = exchanges[-1].read({})
        session = _open_session(exchanges[-1].done, report)
        message = None if session is None else replies.next_message(report.final_text)
        if session is None or message is None:
            break
        spent = sum(exchange.done.duration_seconds for exchange in exchanges)
        exchanges.append(start(session, message, max(timeout_seconds - spent, LEAST_TURN_SECONDS)))
    return exchanges


def _open_session(done: CompletedCommand, report: AgentReport) -> str | None:
    """The session to go on in; None where the program failed or did not answer."""
    answered = done.ending is CommandEnding.EXITED and done.exit_code == 0 and report.finished
    return report.session_id if answered and report.failure is None else None


def join_commands(exchanges: Sequence[Exchange]) -> CompletedCommand:
    """All starts of the program as one command; it ended as the last one did."""
    parts = [exchange.done for exchange in exchanges]
    return replace(
        parts[-1],
        stdout=b"".join(part.stdout for part in parts),
        stderr=b"".join(part.stderr for part in parts),
        truncated=any(part.truncated for part in parts),
        duration_seconds=sum(part.duration_seconds for part in parts),
    )


def join_reports(exchanges: Sequence[Exchange], artifacts: HomeArtifacts, scope: ReportScope) -> AgentReport:
    """One report on all turns: amounts are added up, and what is unknown in one of them is unknown in the sum.

    The files of the home are read with the last turn.
    """
    last = exchanges[-1].read(artifacts)
    if len(exchanges) == 1 or scope is ReportScope.SESSION:
        return last
    parts = [*(exchange.read({}) for exchange in exchanges[:-1]), last]
    totals = parts if scope is ReportScope.TURN else parts[-1:]
    return replace(
        last,
        usage=sum_usage([part.usage for part in totals]),
        usage_by_model=_usage_by_model(totals),
        cost_usd=_total([part.cost_usd for part in totals]),
        duration_seconds=_total([part.duration_seconds for part in parts]),
        step_count=_count([part.step_count for part in parts]),
        tool_call_count=_count([part.tool_call_count for part in parts]),
        request_count=_count([part.request_count for part in parts]),
        steps=tuple(
            replace_fields(step, step_id=number) for number, step in enumerate(_steps(exchanges, parts), start=1)
        ),
        loaded=_loaded([part.loaded for part in parts]),
        warnings=tuple(dict.fromkeys(warning for part in parts for warning in part.warnings)),
        billed=tuple(bill for part in parts for bill in part.billed) if all(part.billed for part in parts) else (),
    )


def _usage_by_model(parts: Sequence[AgentReport]) -> dict[str, Usage]:
    models = dict.fromkeys(model for part in parts for model in part.usage_by_model)
    return {
        model: sum_usage([part.usage_by_model[model] for part in parts if model in part.usage_by_model])
        for model in models
    }


def _total(amounts: Sequence[float | None]) -> float | None:
    known = [amount for amount in amounts if amount is not None]
    return sum(known) if len(known) == len(amounts) else None


def _count(counts: Sequence[int | None]) -> int | None:
    known = [count for count in counts if count is not None]
    return sum(known) if len(known) == len(counts) else None


def _steps(exchanges: Sequence[Exchange], parts: Sequence[AgentReport]) -> Iterator[AtifStep]:
    """The steps of all turns, each turn after what the user said, which some programs print as a step of their own."""
    for exchange, part in zip(exchanges, parts, strict=True):
        printed = [step.message for step in part.steps if step.source == "user"]
        if exchange.said is not None and exchange.said not in printed:
            yield AtifStep(step_id=0, source="user", message=exchange.said)
        yield from part.steps


def _loaded(parts: Sequence[ObservedSetup | None]) -> ObservedSetup | None:
    """What was loaded at the start, and the skills that were used in any turn."""
    known = [part for part in parts if part is not None]
    if not known:
        return None
    used = [part.skills_used for part in known if part.skills_used is not None]
    return replace_fields(
        known[0], skills_used=tuple(dict.fromkeys(skill for skills in used for skill in skills)) if used else None
    )
