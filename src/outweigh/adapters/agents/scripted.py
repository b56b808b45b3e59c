"""An agent that follows a script: real changes and checks, simulated time, tokens and dollars."""

from collections import Counter
from dataclasses import replace
from pathlib import Path
from threading import Lock

from outweigh.adapters.agents.dice import Dice
from outweigh.adapters.agents.outcome import outcome
from outweigh.adapters.agents.script import (
    Behaviour,
    Factors,
    Fault,
    Script,
    behaviour_for,
    parse_options,
    parse_script,
)
from outweigh.adapters.agents.simulated import Simulated, chance, simulate
from outweigh.adapters.agents.steps import perform
from outweigh.errors import UsageError
from outweigh.ports.agents import AttemptOutcome, AttemptRequest
from outweigh.ports.sandboxes import Sandbox
from outweigh.record.cost import reported_cost
from outweigh.record.run_record import AgentIdentity, AgentKind
from outweigh.record.status import Status
from outweigh.record.trial import Trial
from outweigh.task.arm import Arm


class Scripted:
    """Plays scripts. One object serves all trials of an engine, from any thread.

    A script file is read once, so that all trials follow the same words. Only a fault for the `first_attempts`
    depends on anything but the trial: attempts are counted in memory, and a resumed engine counts anew.
    """

    name = "scripted"

    def __init__(self) -> None:
        self._scripts: dict[str, Script] = {}
        self._attempts: Counter[tuple[str, str, int]] = Counter()
        self._lock = Lock()

    def missing(self, arm: Arm) -> str | None:
        """Why the arm's script cannot be followed."""
        try:
            self._script(parse_options(arm.options, arm.name).script)
        except UsageError as error:
            return str(error)
        return None

    def uses_model(self, arm: Arm) -> bool:  # noqa: ARG002 - the port's signature
        """It never does."""
        return False

    def read_only(self, arm: Arm) -> tuple[str, ...]:  # noqa: ARG002 - the port's signature
        """Nothing beyond what every sandbox shows."""
        return ()

    def attempt(self, request: AttemptRequest, sandbox: Sandbox) -> AttemptOutcome:
        """Draw what happens, do it, and report the drawn numbers."""
        try:
            behaviour, factors = self._part(request)
        except UsageError as error:
            return outcome(_identity(request), Status.INFRA_ERROR, str(error))
        dice = Dice(request.trial)
        simulated = simulate(behaviour, factors, dice)
        if behaviour.fault is not None and self._strikes(behaviour.fault, dice, request.trial):
            return _struck(behaviour.fault, simulated, request)
        if limit := _beyond_limit(simulated, request):
            return _report(request, simulated, *limit)
        return _play(behaviour, chance(behaviour, factors), dice, simulated, request, sandbox)

    def _part(self, request: AttemptRequest) -> tuple[Behaviour, Factors]:
        options = parse_options(request.arm.options, request.arm.name)
        return behaviour_for(request.task.id, self._script(options.script), options), options.factors

    def _script(self, path: str | None) -> Script:
        if path is None:
            return Script()
        if path not in self._scripts:
            self._scripts[path] = _read(path)
        return self._scripts[path]

    def _strikes(self, fault: Fault, dice: Dice, trial: Trial) -> bool:
        if not dice.happens("fault", fault.probability):
            return False
        if fault.first_attempts is None:
            return True
        with self._lock:
            place = (trial.task_id, trial.arm, trial.repeat)
            self._attempts[place] += 1
            return self._attempts[place] <= fault.first_attempts


def _read(path: str) -> Script:
    try:
        content = Path(path).read_bytes()
    except OSError as fault:
        raise UsageError(f"the script {path} cannot be read: {fault.strerror}. Name one with options.script.") from None
    return parse_script(content, path)


def _play(
    behaviour: Behaviour,
    probability: float,
    dice: Dice,
    simulated: Simulated,
    request: AttemptRequest,
    sandbox: Sandbox,
) -> AttemptOutcome:
    solves = dice.happens("solve", probability)
    steps = (behaviour.on_success if solves else behaviour.on_failure) or ()
    status, detail = perform(steps, request, sandbox)
    report = _report(request, simulated, status, detail)
    reached = frozenset(step.name for step in request.task.expected_steps) if solves else frozenset()
    return replace(report, reached_steps=reached)


def _struck(fault: Fault, simulated: Simulated, request: AttemptRequest) -> AttemptOutcome:
    status, detail = Status(fault.status), fault.detail or f"the script says {fault.status}"
    if status is Status.INFRA_ERROR:
        # The agent never got to work, so there is nothing to report.
        return outcome(_identity(request), status, detail, retry_after_seconds=fault.retry_after_seconds)
    if status is Status.TIMEOUT:
        simulated = replace(simulated, duration_seconds=request.timeout_seconds)
    if status is Status.BUDGET_EXCEEDED and request.budget_usd is not None:
        simulated = replace(simulated, cost_usd=max(simulated.cost_usd or 0.0, request.budget_usd))
    report = _report(request, simulated, status, detail)
    return replace(report, retry_after_seconds=fault.retry_after_seconds)


def _beyond_limit(simulated: Simulated, request: AttemptRequest) -> tuple[Status, str] | None:
    """Simulated time and money count against the limits of the run as real ones would."""
    if simulated.duration_seconds is not None and simulated.duration_seconds > request.timeout_seconds:
        return Status.TIMEOUT, f"would have taken {simulated.duration_seconds:.1f} s"
    if request.budget_usd is not None and (simulated.cost_usd or 0.0) > request.budget_usd:
        return Status.BUDGET_EXCEEDED, f"spent ${simulated.cost_usd:.4f} of ${request.budget_usd:.4f}"
    return None


def _report(request: AttemptRequest, simulated: Simulated, status: Status, detail: str | None) -> AttemptOutcome:
    seconds, dollars = simulated.duration_seconds, simulated.cost_usd
    return outcome(
        _identity(request),
        status,
        detail,
        duration_seconds=None if seconds is None else round(min(seconds, request.timeout_seconds), 3),
        usage=simulated.usage,
        cost=reported_cost(None if dollars is None else round(dollars, 6)),
        step_count=simulated.step_count,
        tool_call_count=simulated.tool_call_count,
    )


def _identity(request: AttemptRequest) -> AgentIdentity:
    return AgentIdentity(kind=AgentKind.SCRIPTED, name=Scripted.name, version=None, model=request.arm.model)
