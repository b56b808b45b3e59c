"""Proof that a candidate is a task: red before the change, green after it, three times alike."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory

from outweigh.engine.checks.evaluate import CheckEvaluation
from outweigh.engine.checks.untrusted_files import UnsafePathError
from outweigh.engine.preflight import PreflightContext, TaskTries, try_task
from outweigh.errors import quote_names
from outweigh.mining.candidate import Candidate
from outweigh.mining.choose_tests import ChosenTests, TestEvidence, choose_tests, needs_own_tests
from outweigh.mining.dependencies import DependencyError, MissingToolError
from outweigh.mining.leaks import find_leak
from outweigh.mining.proof_bench import ProofBench, ProofContext, set_up_bench
from outweigh.mining.proof_fault import ProofFault, UnprovenError
from outweigh.mining.task_writer import CHECK_NAME, RUN_SCRIPT, MinedDraft
from outweigh.mining.test_results import TestResults
from outweigh.mining.test_runs import SolutionFailedError
from outweigh.mining.workspace_tree import UnsupportedFilesError
from outweigh.model.failure import detail_line
from outweigh.model.task import Task
from outweigh.ports.sandboxes import SandboxError


@dataclass(frozen=True, slots=True, kw_only=True)
class ProvenTask:
    """A candidate whose tests tell. `fail_to_pass` must pass after the change, `pass_to_pass` must stay green.

    Where the runner reports no single tests, both are empty and the exit code decides. `missing_names` are symbols
    without which the hidden tests could not be collected at the base. `passed_at_base` counts the hidden tests that
    pass before the change. `unstable` are tests that were left out because they do not give the same result every time.
    `draft` is all that `write_task` needs besides an instruction.
    """

    candidate: Candidate
    runner: str
    fail_to_pass: tuple[str, ...]
    pass_to_pass: tuple[str, ...]
    passed_at_base: int
    missing_names: tuple[str, ...] = ()
    test_seconds: float
    dependencies: str | None
    variables: Mapping[str, str]
    unstable: tuple[str, ...] = ()
    draft: MinedDraft


@dataclass(frozen=True, slots=True, kw_only=True)
class FailedProof:
    """A candidate that could not be proven. `detail` names tests, commands or output."""

    candidate: Candidate
    fault: ProofFault
    detail: str = ""


def prove(candidate: Candidate, context: ProofContext) -> ProvenTask | FailedProof:
    """Try a candidate in sandboxes. What is wrong with it becomes a FailedProof; nothing is written to the suite."""
    try:
        with TemporaryDirectory(prefix="proof-", dir=context.scratch, ignore_cleanup_errors=True) as folder:
            return _prove(candidate, context, Path(folder))
    except UnprovenError as outcome:
        return FailedProof(candidate=candidate, fault=outcome.fault, detail=outcome.detail)
    except DependencyError as fault:
        kind = ProofFault.TOOL_MISSING if isinstance(fault, MissingToolError) else ProofFault.SETUP_FAILED
        return FailedProof(candidate=candidate, fault=kind, detail=str(fault))
    except UnsupportedFilesError as fault:
        return FailedProof(candidate=candidate, fault=ProofFault.UNSUPPORTED_FILES, detail=str(fault))
    except SolutionFailedError as fault:
        detail = f"it cannot be applied to its base: {fault}"
        return FailedProof(candidate=candidate, fault=ProofFault.FIX_NOT_GREEN, detail=detail)
    except (SandboxError, UnsafePathError, OSError) as fault:
        return FailedProof(candidate=candidate, fault=ProofFault.SANDBOX_FAILED, detail=detail_line(str(fault)))


def _prove(candidate: Candidate, context: ProofContext, folder: Path) -> ProvenTask:
    runner = context.find_runner(candidate)
    if runner is None:
        raise UnprovenError(ProofFault.NO_RUNNER)
    bench = set_up_bench(candidate, context, folder, runner)
    draft, green = _measure(bench)
    limit = context.limits.after(green.seconds)
    chosen = choose_tests(_gather(bench, draft, green, limit), runner)
    draft = _with_names(replace(draft, check_seconds=limit, test_seconds=green.seconds), chosen)
    task = bench.load(draft)
    if (leak := find_leak(task, bench.tries, bench.fix)) is not None:
        raise UnprovenError(ProofFault.LEAK, leak)
    stable = _repeat(task, bench.tries, draft, chosen)
    return ProvenTask(
        candidate=candidate,
        runner=runner.name,
        fail_to_pass=stable.fail_to_pass,
        pass_to_pass=stable.pass_to_pass,
        passed_at_base=stable.passed_at_base,
        missing_names=stable.missing_names,
        test_seconds=green.seconds,
        dependencies=None if draft.dependencies is None else draft.dependencies.key,
        variables={} if draft.dependencies is None else draft.dependencies.variables,
        unstable=stable.unstable,
        draft=_with_names(draft, stable),
    )


def _measure(bench: ProofBench) -> tuple[MinedDraft, TestResults]:
    """Run the hidden tests after the change, with other tests beside them as far as there is time for both."""
    context = bench.context
    limit = context.limits.first(context.green_times.usual())
    for others in dict.fromkeys((bench.other_test_files(), ())):
        draft = bench.draft(others)
        green = bench.runs(draft).run(
            RUN_SCRIPT, solved=True, timeout_seconds=limit, silent_seconds=context.limits.first_silent_seconds
        )
        if green.exit_code is not None:
            if green.shows_success():
                context.green_times.add(green.seconds)
            return draft, green
        if was_stopped_before(green.output, bench.hidden, others):
            break
    raise UnprovenError(ProofFault.TIMED_OUT, f"{green.stopped} after the change")


def was_stopped_before(output: str, hidden: Collection[str], others: Collection[str]) -> bool:
    """Whether a run, as far as its output tells, came to hidden tests and never to the others, which are run last."""
    return any(path in output for path in hidden) and not any(path in output for path in others)


def _gather(bench: ProofBench, draft: MinedDraft, green: TestResults, limit: float) -> TestEvidence:
    """The runs before the change, as far as they matter.

    Where nothing passes after the change, no other run tells more. Where all that does passes before it, too, the tests
    of the base tell nothing more.
    """
    runs = bench.runs(draft)
    evidence = TestEvidence(
        green=green,
        red=green,
        own=green,
        files=bench.changed_files(),
        fix=bench.fix,
        sources=bench.candidate.source_files,
    )
    if not green.shows_success():
        return evidence
    silence = bench.context.limits.silence_after(green.silent_seconds)
    red = runs.run(RUN_SCRIPT, solved=False, timeout_seconds=limit, silent_seconds=silence)
    if red.exit_code is None:
        raise UnprovenError(ProofFault.TIMED_OUT, f"{red.stopped} before the change")
    evidence = replace(evidence, red=red, own=red)
    if red.shows_all_of(green) or not needs_own_tests(evidence, bench.runner):
        return evidence
    own = runs.run(bench.own_command(draft), solved=False, timeout_seconds=limit, silent_seconds=silence)
    return replace(evidence, own=own)


def _with_names(draft: MinedDraft, chosen: ChosenTests) -> MinedDraft:
    names = (*chosen.fail_to_pass, *chosen.pass_to_pass)
    return replace(draft, must_pass=names, fail_to_pass=len(chosen.fail_to_pass))


def _repeat(task: Task, context: PreflightContext, draft: MinedDraft, chosen: ChosenTests) -> ChosenTests:
    """Preflight of the task: red and green twice more. Tests that differ are left out where others still tell."""
    tries = try_task(task, context, solved_tries=2)
    if not tries.untouched:
        raise UnprovenError(ProofFault.SANDBOX_FAILED, tries.result.findings[0].message)
    for evaluation in (*tries.untouched, *tries.solved):
        if evaluation.results[0].exit_code is None:
            raise UnprovenError(ProofFault.TIMED_OUT, evaluation.results[0].detail or "")
    if not draft.must_pass:
        return _require_same_exit_codes(tries, chosen)
    unstable = frozenset(name for each in tries.solved for name in _unmet(each)).union(
        name for each in tries.untouched for name in set(chosen.fail_to_pass).difference(_unmet(each))
    )
    left = tuple(name for name in chosen.fail_to_pass if name not in unstable)
    if not left:
        raise UnprovenError(ProofFault.FLAKY, quote_names(sorted(unstable)))
    return replace(
        chosen,
        fail_to_pass=left,
        pass_to_pass=tuple(name for name in chosen.pass_to_pass if name not in unstable),
        unstable=tuple(sorted(unstable)),
    )


def _unmet(evaluation: CheckEvaluation) -> Sequence[str]:
    """The tests that had to pass and did not."""
    return evaluation.unmet_names.get(CHECK_NAME, ())


def _require_same_exit_codes(tries: TaskTries, chosen: ChosenTests) -> ChosenTests:
    if any(each.results[0].passed for each in tries.untouched) or not all(
        each.results[0].passed for each in tries.solved
    ):
        raise UnprovenError(ProofFault.FLAKY, "its exit codes differ")
    return chosen
