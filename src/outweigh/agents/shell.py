"""Any command line as an agent.

The program gets the instruction on standard input and in the file that OUTWEIGH_INSTRUCTION names, works in the
current folder, and may write a usage report (`UsageReport`) to the file that OUTWEIGH_USAGE names. Both files are
in the workspace's private folder, which is removed before anything is compared or checked. OUTWEIGH_MODEL,
OUTWEIGH_TIMEOUT_SECONDS and OUTWEIGH_BUDGET_USD are set where the arm or the suite states them; with the option
`model_access`, OUTWEIGH_MODEL_URL and OUTWEIGH_MODEL_KEY lead to the model through the gateway.

A usage report is a small JSON object. All keys are optional and an absent one is unknown. `input_tokens` excludes
what was read from or written to the prompt cache. `status` is `completed` unless stated. A program can report an
error and not that it is innocent: `infra_error` counts as `agent_error`, because nobody but the program saw it, and
so do the exit codes 126 and 127. `retry_after_seconds` asks for a pause of the experiment. Any other key makes the
whole report unusable, with the reason.
"""

from collections.abc import Mapping, Sequence
from shutil import which
from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from outweigh.agents.command_line import build_prompt
from outweigh.agents.outcomes import early_end, missing_in_sandbox
from outweigh.agents.private_folder import PRIVATE_FOLDER, private_folder
from outweigh.errors import UsageError
from outweigh.model.arm import Arm
from outweigh.model.base import Amount, Count, Name, Seconds, Spec
from outweigh.model.failure import Status
from outweigh.model.redact import redact_secrets
from outweigh.model.run_record import AgentIdentity, AgentKind
from outweigh.model.source_document import convert_options
from outweigh.model.usage import Cost, Usage, reported_cost
from outweigh.ports.agents import AttemptOutcome, AttemptRequest, build_outcome
from outweigh.ports.sandboxes import CompletedCommand, Sandbox, SandboxError

_USAGE_REPORT_LIMIT = 1_000_000


class UsageReport(Spec, frozen=True, kw_only=True):
    """The keys of a usage report."""

    input_tokens: Count | None = None
    output_tokens: Count | None = None
    cache_read_tokens: Count | None = None
    cache_write_tokens: Count | None = None
    cost_usd: Amount | None = None
    steps: Count | None = None
    tool_calls: Count | None = None
    status: Literal["completed", "agent_error", "budget_exceeded", "infra_error"] | None = None
    detail: Annotated[str, Meta(max_length=2000)] | None = None
    retry_after_seconds: Seconds | None = None
    version: str | None = None
    model: str | None = None
    reached_steps: list[Name] | None = None

    @property
    def usage(self) -> Usage:
        """The tokens."""
        return Usage(
            input_tokens=self.input_tokens,
            output_tokens=self.output_tokens,
            cache_read_tokens=self.cache_read_tokens,
            cache_write_tokens=self.cache_write_tokens,
        )

    @property
    def cost(self) -> Cost:
        """The dollars, as reported by the program itself."""
        return reported_cost(self.cost_usd)


_EMPTY_REPORT = UsageReport()


def _read_usage_report(content: bytes | None) -> tuple[UsageReport, str | None]:
    """The report, or an empty one with the reason why it cannot be used; a missing file needs no reason."""
    if content is None:
        return _EMPTY_REPORT, None
    if len(content) >= _USAGE_REPORT_LIMIT:
        return _EMPTY_REPORT, f"usage is unknown: its file has {_USAGE_REPORT_LIMIT:,} bytes or more"
    try:
        return msgspec.json.decode(content, type=UsageReport), None
    except (msgspec.MsgspecError, ValueError, RecursionError) as fault:
        return _EMPTY_REPORT, f"usage is unknown: {str(fault) or 'nested too deeply'}"


LONGEST_PAUSE_SECONDS = 3600.0
"""The longest pause of an experiment that a program can ask for."""

DEFAULT_PATH = "/usr/local/bin:/usr/bin:/bin"
"""Where programs are looked for before the first run, unless the arm sets a PATH; a sandbox has its own."""
_INSTRUCTION, _USAGE = "instruction.md", "usage.json"


class ShellOptions(Spec, frozen=True, kw_only=True):
    """A command as a list of arguments, or as a line for `sh -c`; the arm's flags follow, in a line as `"$@"`.

    With `model_access` it is metered: the gateway's address and the run's key are in its environment.
    """

    command: Annotated[str, Meta(min_length=1)] | Annotated[list[str], Meta(min_length=1)]
    model_access: bool = False


class ShellAgent:
    """Runs the command of the arm's options."""

    name = "shell"

    def missing(self, arm: Arm) -> str | None:
        """Why the program of a list is not installed; what a line for `sh` needs is not known before the run."""
        try:
            program = _command(arm)[0]
        except UsageError as error:
            return str(error)
        # A relative path lies in the workspace, which does not exist yet.
        if ("/" in program and not program.startswith("/")) or which(
            program, path=arm.environment.get("PATH", DEFAULT_PATH)
        ):
            return None
        return (
            f"arms.{arm.name}.options.command: there is no program {program!r} on the PATH of the arm. Install it, "
            f"name it by its full path, or set environment.PATH; if it is only in the sandbox's image, write the "
            f"command as one line."
        )

    def uses_model(self, arm: Arm) -> bool:
        """Whether the options ask for access through the gateway; other requests of the command are not metered."""
        return bool(arm.options.get("model_access"))

    def read_only(self, arm: Arm) -> tuple[str, ...]:  # noqa: ARG002 - the port's signature
        """Nothing beyond what every sandbox has."""
        return ()

    def attempt(self, request: AttemptRequest, sandbox: Sandbox) -> AttemptOutcome:
        """Run the command and build the outcome from its usage report."""
        try:
            command = _command(request.arm)
        except UsageError as error:
            return build_outcome(_identity(request, None), Status.INFRA_ERROR, str(error))
        with private_folder(sandbox) as private:
            prompt = build_prompt(request).encode()
            sandbox.write(f"{PRIVATE_FOLDER}/{_INSTRUCTION}", prompt)
            environment = _environment(request, private)
            missing = missing_in_sandbox(sandbox, command[0], environment)
            if missing is not None:
                return build_outcome(_identity(request, None), Status.INFRA_ERROR, missing)
            done = sandbox.exec(
                command,
                environment=environment,
                timeout_seconds=request.timeout_seconds,
                stdin=prompt,
            )
            report, usage_error = _read_usage(sandbox)
        return _outcome(request, done, report, usage_error)


def _read_usage(sandbox: Sandbox) -> tuple[UsageReport, str | None]:
    """The program's report. A link in its place was made by the program and is no infrastructure failure."""
    try:
        return _read_usage_report(sandbox.read(f"{PRIVATE_FOLDER}/{_USAGE}", _USAGE_REPORT_LIMIT))
    except SandboxError as refusal:
        return _EMPTY_REPORT, f"usage is unknown: {refusal}"


def _command(arm: Arm) -> Sequence[str]:
    command = convert_options(arm.options, ShellOptions, ("arms", arm.name, "options")).command
    return ["sh", "-c", command, "sh", *arm.flags] if isinstance(command, str) else [*command, *arm.flags]


def _environment(request: AttemptRequest, private: str) -> Mapping[str, str]:
    stated = {
        "OUTWEIGH_MODEL": request.arm.model,
        "OUTWEIGH_BUDGET_USD": None if request.budget_usd is None else f"{request.budget_usd:g}",
        "OUTWEIGH_TIMEOUT_SECONDS": f"{request.timeout_seconds:g}",
        "OUTWEIGH_INSTRUCTION": f"{private}/{_INSTRUCTION}",
        "OUTWEIGH_USAGE": f"{private}/{_USAGE}",
        "OUTWEIGH_MODEL_URL": None if request.model_access is None else request.model_access.base_url,
        "OUTWEIGH_MODEL_KEY": None if request.model_access is None else request.model_access.key,
    }
    known = {name: value for name, value in stated.items() if value is not None}
    return {**request.arm.environment, **request.environment, **known}


def _outcome(
    request: AttemptRequest, done: CompletedCommand, report: UsageReport, usage_error: str | None
) -> AttemptOutcome:
    status, reason = early_end(done) or _ended(request, done, report)
    detail = "; ".join(part for part in (reason, usage_error) if part) or None
    secrets = [request.environment.get(name, "") for name in request.arm.secrets]
    outputs = {"stdout.txt": done.stdout, "stderr.txt": done.stderr}
    return build_outcome(
        _identity(request, report),
        status,
        None if detail is None else redact_secrets(detail.encode(), secrets).decode(errors="replace"),
        duration_seconds=done.duration_seconds,
        usage=report.usage,
        cost=report.cost,
        step_count=report.steps,
        tool_call_count=report.tool_calls,
        reached_steps=None if report.reached_steps is None else frozenset(report.reached_steps),
        retry_after_seconds=_pause(report),
        artifacts={name: redact_secrets(text, secrets) for name, text in outputs.items()},
    )


def _ended(request: AttemptRequest, done: CompletedCommand, report: UsageReport) -> tuple[Status, str | None]:
    """The status of a run that ended by itself: as the report says, unless its exit code is worse."""
    cap, spent = request.budget_usd, report.cost_usd
    if report.status == "infra_error":
        why = "the program itself reports an infrastructure error, which nothing else confirms"
        return Status.AGENT_ERROR, f"{why}: {report.detail}" if report.detail else why
    if report.status == "budget_exceeded" or (cap is not None and spent is not None and spent > cap):
        return Status.BUDGET_EXCEEDED, report.detail or _overspent(spent, cap)
    if done.exit_code != 0:
        return Status.AGENT_ERROR, report.detail or f"exit code {done.exit_code}"
    return Status(report.status or Status.COMPLETED), report.detail


def _pause(report: UsageReport) -> float | None:
    return None if report.retry_after_seconds is None else min(report.retry_after_seconds, LONGEST_PAUSE_SECONDS)


def _overspent(spent: float | None, cap: float | None) -> str | None:
    return None if spent is None or cap is None else f"spent ${spent:.4f}, which is more than ${cap:.4f}"


def _identity(request: AttemptRequest, report: UsageReport | None) -> AgentIdentity:
    version, model = (None, None) if report is None else (report.version, report.model)
    return AgentIdentity(kind=AgentKind.REAL, name=ShellAgent.name, version=version, model=model or request.arm.model)
