"""An agent that follows a script: real changes and checks, simulated time, tokens and dollars.

What is drawn depends on the trial's seed and coordinates alone, so that every run of a suite draws the same.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import exp
from pathlib import Path
from random import Random
from threading import Lock
from time import monotonic

from outweigh.agents.agent_script import (
    AgentScript,
    AnyScriptStep,
    ArmFactors,
    LognormalNoise,
    RunStep,
    ScriptedBehaviour,
    ScriptedFault,
    ScriptedQuantity,
    SleepStep,
    SolutionStep,
    WriteStep,
    behaviour_for,
    parse_agent_script,
    parse_scripted_options,
)
from outweigh.agents.noop import OfflineAgent
from outweigh.agents.outcomes import early_end
from outweigh.agents.private_folder import SOLUTION_SCRIPT, has_solution, run_solution
from outweigh.errors import UsageError
from outweigh.model.arm import Arm
from outweigh.model.failure import Status
from outweigh.model.run_record import AgentIdentity, AgentKind, ObservedSetup, Trial
from outweigh.model.usage import Usage, reported_cost
from outweigh.ports.agents import AttemptOutcome, AttemptRequest, build_outcome
from outweigh.ports.sandboxes import CompletedCommand, Sandbox


class SeededRandom:
    """The draws of one trial, a stream for each purpose.

    The streams are seeded with the trial's seed and coordinates, not with the attempt, so that a retry after an
    infrastructure error draws what the first attempt would have drawn, and the arms of an A/A pair differ by chance
    even where their trials share a seed. Separate streams keep draws independent: new noise in the tokens does not
    change which trials are solved.
    """

    def __init__(self, trial: Trial) -> None:
        self._trial = f"{trial.seed or 0}/{trial.task_id}/{trial.arm}/{trial.repeat}"

    def occurs(self, purpose: str, probability: float) -> bool:
        """Whether an event with this probability occurs."""
        return self._stream(purpose).random() < probability

    def draw(self, purpose: str, quantity: ScriptedQuantity) -> float:
        """A fixed number, or a draw from its distribution."""
        if not isinstance(quantity, LognormalNoise):
            return float(quantity)
        return quantity.median * exp(quantity.spread * self._stream(purpose).gauss(0.0, 1.0))

    def _stream(self, purpose: str) -> Random:
        return Random(f"{self._trial}/{purpose}")


_TOKENS = ("input_tokens", "output_tokens", "cache_read_tokens", "cache_write_tokens")


@dataclass(frozen=True, slots=True, kw_only=True)
class SimulatedNumbers:
    """The simulated numbers of an attempt; what the script does not state is unknown."""

    duration_seconds: float | None
    usage: Usage
    cost_usd: float | None
    step_count: int | None
    tool_call_count: int | None


def simulate(behaviour: ScriptedBehaviour, factors: ArmFactors, random: SeededRandom) -> SimulatedNumbers:
    """Draw every quantity that the script states."""

    def drawn(name: str, factor: float) -> float | None:
        quantity = getattr(behaviour, name)
        return None if quantity is None else factor * random.draw(name, quantity)

    def counted(name: str, factor: float) -> int | None:
        amount = drawn(name, factor)
        return None if amount is None else round(amount)

    return SimulatedNumbers(
        duration_seconds=drawn("duration_seconds", factors.duration),
        usage=Usage(**{name: counted(name, factors.tokens) for name in _TOKENS}),
        cost_usd=drawn("cost_usd", factors.cost),
        step_count=counted("step_count", factors.steps),
        tool_call_count=counted("tool_call_count", factors.steps),
    )


def solve_probability(behaviour: ScriptedBehaviour, factors: ArmFactors) -> float:
    """The probability to solve, with its odds multiplied by the arm's factor."""
    probability = 1.0 if behaviour.solve_probability is None else behaviour.solve_probability
    return factors.solve_odds * probability / (1 - probability + factors.solve_odds * probability)


_SHORTEST_SECONDS = 0.001


def _play_steps(steps: Sequence[AnyScriptStep], request: AttemptRequest, sandbox: Sandbox) -> tuple[Status, str | None]:
    """Run the steps in order within the time limit; the first that fails ends the attempt."""
    deadline = monotonic() + request.timeout_seconds
    for number, step in enumerate(steps, start=1):
        ended = _play_step(step, request, sandbox, max(deadline - monotonic(), _SHORTEST_SECONDS))
        if ended is not None:
            status, detail = ended
            return status, f"step {number} of the script: {detail}"
    return Status.COMPLETED, None


def _play_step(
    step: AnyScriptStep, request: AttemptRequest, sandbox: Sandbox, seconds: float
) -> tuple[Status, str] | None:
    if isinstance(step, WriteStep):
        sandbox.write(step.path, step.content.encode(), executable=step.executable)
        return None
    if isinstance(step, SolutionStep) and not has_solution(request.task):
        return Status.NOT_RUN, f"task {request.task.id!r} has no solution/{SOLUTION_SCRIPT} to run"
    done = _run_step(step, request, sandbox, seconds)
    if done.exit_code == 0:
        return early_end(done)
    return early_end(done) or (Status.AGENT_ERROR, f"exit code {done.exit_code}")


def _run_step(
    step: RunStep | SolutionStep | SleepStep, request: AttemptRequest, sandbox: Sandbox, seconds: float
) -> CompletedCommand:
    if isinstance(step, SolutionStep):
        return run_solution(replace(request, timeout_seconds=seconds), sandbox)
    if isinstance(step, SleepStep):
        command: Sequence[str] = ["sleep", f"{step.seconds:.3f}"]
    else:
        command = ["sh", "-c", step.command] if isinstance(step.command, str) else step.command
    environment = {**request.arm.environment, **request.environment}
    return sandbox.exec(command, environment=environment, timeout_seconds=seconds)


class ScriptedAgent(OfflineAgent):
    """Follows scripts. One object serves all trials of an engine, from any thread.

    A script file is read once, so that all trials follow the same script. Only a fault for the `first_attempts`
    depends on anything but the trial: attempts are counted in memory, and a resumed engine counts anew.
    """

    name = "scripted"
    runs_solution = True

    def __init__(self) -> None:
        self._scripts: dict[str, AgentScript] = {}
        self._attempts: Counter[tuple[str, str, int]] = Counter()
        self._lock = Lock()

    def missing(self, arm: Arm) -> str | None:
        """Why the arm's script cannot be used; None when it can."""
        try:
            self._script(parse_scripted_options(arm.options, arm.name).script)
        except UsageError as error:
            return str(error)
        return None

    def attempt(self, request: AttemptRequest, sandbox: Sandbox) -> AttemptOutcome:
        """Draw what happens, run its steps, and report the drawn numbers."""
        try:
            behaviour, factors = self._part(request)
        except UsageError as error:
            return build_outcome(_identity(request), Status.INFRA_ERROR, str(error))
        random = SeededRandom(request.trial)
        simulated = simulate(behaviour, factors, random)
        if behaviour.fault is not None and self._fault_occurs(behaviour.fault, random, request.trial):
            return _fault_outcome(behaviour.fault, simulated, request)
        if limit := _beyond_limit(simulated, request):
            return _report(request, simulated, *limit)
        return _play(behaviour, solve_probability(behaviour, factors), random, simulated, request, sandbox)

    def _part(self, request: AttemptRequest) -> tuple[ScriptedBehaviour, ArmFactors]:
        options = parse_scripted_options(request.arm.options, request.arm.name)
        return behaviour_for(request.task.id, self._script(options.script), options), options.factors

    def _script(self, path: str | None) -> AgentScript:
        if path is None:
            return AgentScript()
        if path not in self._scripts:
            self._scripts[path] = _read_script(path)
        return self._scripts[path]

    def _fault_occurs(self, fault: ScriptedFault, random: SeededRandom, trial: Trial) -> bool:
        if not random.occurs("fault", fault.probability):
            return False
        if fault.first_attempts is None:
            return True
        with self._lock:
            place = (trial.task_id, trial.arm, trial.repeat)
            self._attempts[place] += 1
            return self._attempts[place] <= fault.first_attempts


def _read_script(path: str) -> AgentScript:
    try:
        content = Path(path).read_bytes()
    except OSError as fault:
        raise UsageError(f"the script {path} cannot be read: {fault.strerror}. Name one with options.script.") from None
    return parse_agent_script(content, path)


def _play(
    behaviour: ScriptedBehaviour,
    probability: float,
    random: SeededRandom,
    simulated: SimulatedNumbers,
    request: AttemptRequest,
    sandbox: Sandbox,
) -> AttemptOutcome:
    solves = random.occurs("solve", probability)
    steps = (behaviour.on_success if solves else behaviour.on_failure) or ()
    status, detail = _play_steps(steps, request, sandbox)
    report = _report(request, simulated, status, detail)
    reached = frozenset(step.name for step in request.task.expected_steps) if solves else frozenset()
    return replace(report, reached_steps=reached, loaded=_asked_skills(behaviour, random, request))


def _asked_skills(behaviour: ScriptedBehaviour, random: SeededRandom, request: AttemptRequest) -> ObservedSetup | None:
    """The skills of the arm and the one that is asked for; None where the task or the script says nothing about any."""
    case = request.task.trigger
    chance = None if case is None else behaviour.recall if case.should_fire else behaviour.false_triggers
    if case is None or chance is None:
        return None
    fires = random.occurs("trigger", chance)
    instead = behaviour.asks_instead if case.should_fire else None
    asked = case.skill if fires else instead
    return ObservedSetup(
        skills=request.arm.skills,
        skills_used=(asked,) if asked in request.arm.skills else (),
        mcp_servers=None,
        tools=None,
        memory_files=None,
        seen_by=("script",),
    )


def _fault_outcome(fault: ScriptedFault, simulated: SimulatedNumbers, request: AttemptRequest) -> AttemptOutcome:
    status, detail = Status(fault.status), fault.detail or f"the script says {fault.status}"
    if status is Status.INFRA_ERROR:
        # The agent never started, so there is nothing to report.
        return build_outcome(_identity(request), status, detail, retry_after_seconds=fault.retry_after_seconds)
    if status is Status.TIMEOUT:
        simulated = replace(simulated, duration_seconds=request.timeout_seconds)
    if status is Status.BUDGET_EXCEEDED and request.budget_usd is not None:
        simulated = replace(simulated, cost_usd=max(simulated.cost_usd or 0.0, request.budget_usd))
    report = _report(request, simulated, status, detail)
    return replace(report, retry_after_seconds=fault.retry_after_seconds)


def _beyond_limit(simulated: SimulatedNumbers, request: AttemptRequest) -> tuple[Status, str] | None:
    """Whether simulated time or cost exceeds the limits of the run, as real ones would."""
    if simulated.duration_seconds is not None and simulated.duration_seconds > request.timeout_seconds:
        return Status.TIMEOUT, f"would have taken {simulated.duration_seconds:.1f} s"
    if request.budget_usd is not None and (simulated.cost_usd or 0.0) > request.budget_usd:
        return Status.BUDGET_EXCEEDED, f"spent ${simulated.cost_usd:.4f} of ${request.budget_usd:.4f}"
    return None


def _report(request: AttemptRequest, simulated: SimulatedNumbers, status: Status, detail: str | None) -> AttemptOutcome:
    seconds, dollars = simulated.duration_seconds, simulated.cost_usd
    return build_outcome(
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
    return AgentIdentity(kind=AgentKind.SCRIPTED, name=ScriptedAgent.name, version=None, model=request.arm.model)
