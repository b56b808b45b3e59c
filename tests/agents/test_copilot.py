from tests.agents.transcript_samples import calls, read, sample

from outweigh.agents.copilot import CopilotReader
from outweigh.model.failure import FailureKind
from outweigh.model.usage import NO_USAGE


def test_no_tokens_and_no_dollars_are_reported_and_so_none_are_known() -> None:
    report = read(CopilotReader(), sample("copilot/run.txt"))
    assert report.usage == NO_USAGE
    assert report.usage_by_model == {}
    assert report.cost_usd is None


def test_steps_tools_and_the_end_are_told() -> None:
    report = read(CopilotReader(), sample("copilot/run.txt"))
    assert (report.step_count, report.tool_call_count, report.request_count) == (2, 1, 2)
    assert calls(report) == [("bash", False)]
    assert [step.source for step in report.steps] == ["user", "agent", "agent"]
    assert (report.model, report.version, report.duration_seconds) == ("fake-model", None, 0.689)
    assert report.session_id == "1f690555-26a1-4ba4-8110-72d9fe7110d1"
    assert report.final_text == "Done: wrote hello.txt"
    assert report.finished
    assert report.failure is None
    assert report.warnings == ()


def test_the_session_proves_skills_and_servers() -> None:
    loaded = read(CopilotReader(), sample("copilot/run.txt")).loaded
    assert loaded is not None
    assert loaded.skills == ("customize-cloud-agent", "github-pr-media")
    assert loaded.mcp_servers == ()
    assert loaded.skills_used == ()


def test_an_exit_code_is_a_failure_with_the_last_error_as_its_reason() -> None:
    error = b'{"type": "session.error", "data": {"message": "401 Unauthorized"}}\n'
    end = b'{"type": "result", "exitCode": 1}\n'
    told, untold = read(CopilotReader(), error + end).failure, read(CopilotReader(), end).failure
    assert told is not None
    assert told.kind is FailureKind.UNAUTHORIZED
    assert untold is not None
    assert untold.kind is FailureKind.CRASH


def test_a_command_with_another_exit_code_than_0_failed() -> None:
    lines = (
        b'{"type": "assistant.message", "data": {"toolRequests": [{"toolCallId": "a", "name": "bash"}]}}\n'
        b'{"type": "tool.execution_complete", "data": {"toolCallId": "a", "success": true,'
        b' "shellExecution": {"exitCode": 3}}}\n'
    )
    assert calls(read(CopilotReader(), lines)) == [("bash", True)]
