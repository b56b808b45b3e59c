"""Servers are proven by requests; the agent's report and the record of the start decide where those are silent."""

from typing import Any

import pytest
from tests.engine.model_calls import a_call, a_failed_call, an_account
from tests.engine.test_setup_check import an_arm, expected, reported

from outweigh.engine.finish import finish_attempt
from outweigh.engine.run_draft import RunDraft
from outweigh.engine.server_check import ServerCheck, check_servers
from outweigh.engine.setup_check import check_setup
from outweigh.engine.trial_plan import PlannedRun
from outweigh.model.arm import McpServer
from outweigh.model.failure import FailureKind, Status
from outweigh.model.run_record import AgentIdentity, AgentKind, ObservedServer, Trial
from outweigh.model.task import task_of_instruction
from outweigh.ports.agents import AttemptOutcome, ServerEvidence, ServerStart, build_outcome
from outweigh.ports.gateways import MeteredCalls

ARM = an_arm("tooled", mcp_servers={"notes": McpServer(command=["notes"])})
REMOTE = an_arm("remote", mcp_servers={"notes": McpServer(url="https://notes.example.org/mcp")})
FORMS = ("mcp__{server}__{tool}",)
WITHOUT = an_account(a_call(tools=("Bash", "Read")))
WITH = an_account(a_call(tools=("Bash", "mcp__notes__add")))


def a_start(**fields: Any) -> ServerStart:
    """A server that answered and listed a tool."""
    known: dict[str, Any] = {
        "is_recorded": True,
        "was_started": True,
        "has_answered": True,
        "tools": ("add",),
        "fault": None,
    }
    return ServerStart(**(known | fields))


NEVER_STARTED = a_start(was_started=False, has_answered=False, tools=None)
FAILED = a_start(has_answered=False, tools=None, fault="could not be started (notes: No such file or directory)")
UNRECORDED = a_start(is_recorded=False, has_answered=False, tools=None)


def known(start: ServerStart | None = None, forms: tuple[str, ...] | None = FORMS, **fields: Any) -> ServerEvidence:
    return ServerEvidence(starts={} if start is None else {"notes": start}, tool_forms=forms, **fields)


def checked(start: ServerStart | None, account: MeteredCalls | None, state: str | None = None) -> ServerCheck:
    said = None if state is None else reported(servers=(ObservedServer(name="notes", state=state),))
    return check_servers(ARM, said, account, known(start))


@pytest.mark.parametrize("start", [a_start(), FAILED, NEVER_STARTED, UNRECORDED, None])
@pytest.mark.parametrize("state", [None, "connected", "failed"])
def test_a_server_whose_tools_were_offered_worked_whatever_else_is_said(
    start: ServerStart | None, state: str | None
) -> None:
    assert checked(start, WITH, state).faults == ()


@pytest.mark.parametrize("start", [a_start(), FAILED, NEVER_STARTED, UNRECORDED, None])
@pytest.mark.parametrize("state", [None, "connected", "failed"])
def test_no_record_or_report_makes_up_for_tools_that_were_not_offered(
    start: ServerStart | None, state: str | None
) -> None:
    assert len(checked(start, WITHOUT, state).faults) == 1


@pytest.mark.parametrize(
    ("start", "state", "fault"),
    [
        (FAILED, None, "it could not be started (notes: No such file or directory)"),
        (FAILED, "failed", "its state was 'failed': it could not be started (notes: No such file or directory)"),
        (a_start(has_answered=False, tools=None), None, "it never answered the agent"),
        (NEVER_STARTED, None, "the agent never started it"),
        (UNRECORDED, None, "none of its tools was offered to the model"),
        (None, "disconnected", "its state was 'disconnected'"),
        (None, None, "none of its tools was offered to the model"),
        (a_start(), None, "none of its tools was offered to the model, although it answered the agent"),
    ],
)
def test_the_fault_says_what_is_known_about_the_reason(
    start: ServerStart | None, state: str | None, fault: str
) -> None:
    assert checked(start, WITHOUT, state).faults == (f"the MCP server 'notes' is declared and {fault}",)


def test_deferred_tools_are_told_from_absent_ones() -> None:
    deferred = an_account(a_call(tools=("Bash", "ToolSearch"), deferred_tools=("WebFetch", "mcp__notes__add")))
    absent = an_account(a_call(tools=("Bash", "ToolSearch"), deferred_tools=("WebFetch",)))

    assert checked(a_start(), deferred).faults == ()
    assert checked(a_start(), deferred).servers == (ObservedServer(name="notes", state="deferred"),)
    assert len(checked(a_start(), absent).faults) == 1


def test_a_server_that_hangs_is_found_even_where_the_agent_never_got_to_ask_its_model() -> None:
    hung = a_start(has_answered=False, tools=None, fault="did not answer initialize within 60 s")

    check = check_setup(ARM, expected(ARM), None, an_account(), known(hung))

    assert check.faults == ("the MCP server 'notes' is declared and it did not answer initialize within 60 s",)


@pytest.mark.parametrize("start", [NEVER_STARTED, UNRECORDED, None])
def test_an_agent_that_was_stopped_before_it_did_anything_proves_nothing(start: ServerStart | None) -> None:
    failed = an_account(a_failed_call(FailureKind.SERVER_ERROR))

    assert check_setup(ARM, expected(ARM), None, failed, known(start)).faults == ()


def test_without_requests_the_record_decides() -> None:
    said = reported()

    assert check_servers(ARM, said, None, known(a_start())).servers == (ObservedServer(name="notes", state="answered"),)
    assert check_servers(ARM, said, None, known(NEVER_STARTED)).faults != ()
    assert check_servers(ARM, said, None, known(UNRECORDED)).unproven == (
        "the MCP server 'notes' is declared and nothing that this agent shows says whether it worked",
    )


def test_requests_that_offer_no_tools_at_all_show_nothing() -> None:
    title = an_account(a_call(tools=()))

    assert check_servers(ARM, reported(), title, known(a_start())).faults == ()


def test_a_server_without_tools_is_neither_a_fault_nor_proven() -> None:
    check = checked(a_start(tools=()), WITHOUT)

    assert check.faults == ()
    assert check.unproven == (
        "the MCP server 'notes' is declared and it has no tools, so requests cannot show whether it worked",
    )


def test_a_remote_server_is_proven_by_requests_and_reports() -> None:
    assert check_servers(REMOTE, None, WITH, known()).faults == ()
    assert check_servers(REMOTE, None, WITHOUT, known()).faults != ()
    connected = reported(servers=(ObservedServer(name="notes", state="connected"),))
    assert check_servers(REMOTE, connected, None, known()).faults == ()


def test_a_tool_of_the_agent_itself_is_not_taken_for_one_of_a_server() -> None:
    own = an_account(a_call(tools=("notes_patch",)))
    forms = ("{server}_{tool}",)

    assert check_servers(ARM, None, own, known(forms=forms)).faults == ()
    assert check_servers(ARM, None, own, known(forms=forms, own_tools=frozenset({"notes_patch"}))).faults != ()


def test_an_agent_whose_names_are_unknown_is_judged_by_the_tools_that_the_server_listed() -> None:
    prefixed = an_account(a_call(tools=("x-notes-7:add",)))

    assert check_servers(ARM, None, prefixed, known(a_start(), forms=None)).servers == (
        ObservedServer(name="notes", state="offered"),
    )
    unseen = check_servers(ARM, None, WITHOUT, known(a_start(), forms=None))
    assert (unseen.faults, len(unseen.unproven)) == ((), 1)
    assert check_servers(ARM, None, WITHOUT, known(FAILED, forms=None)).faults != ()


def finished(status: Status, start: ServerStart, account: MeteredCalls) -> AttemptOutcome:
    identity = AgentIdentity(kind=AgentKind.REAL, name="codex", version=None, model="model-1")
    draft = RunDraft(
        planned=PlannedRun(trial=Trial(task_id="task-1", arm="tooled", repeat=1, seed=0), block=1, position=1),
        number=1,
        task=task_of_instruction("task-1", "Do it."),
        arm=ARM,
        started_at=None,
        outcome=build_outcome(identity, status, "exit code 1", servers=known(start)),
        account=account,
    )
    finish_attempt(draft, expected(ARM))
    assert draft.outcome is not None
    return draft.outcome


@pytest.mark.parametrize("status", [Status.COMPLETED, Status.AGENT_ERROR, Status.TIMEOUT])
@pytest.mark.parametrize("account", [WITHOUT, an_account()])
def test_a_run_without_its_server_does_not_count_however_it_ended(status: Status, account: MeteredCalls) -> None:
    outcome = finished(status, FAILED, account)

    assert outcome.status is Status.ARM_NOT_APPLIED
    assert "it could not be started (notes: No such file or directory)" in (outcome.status_detail or "")


def test_what_cannot_be_proven_is_a_warning_and_the_run_counts() -> None:
    outcome = finished(Status.COMPLETED, a_start(tools=()), WITHOUT)

    assert outcome.status is Status.COMPLETED
    assert any(
        warning.startswith("not provable with this agent: the MCP server 'notes'") for warning in outcome.warnings
    )
