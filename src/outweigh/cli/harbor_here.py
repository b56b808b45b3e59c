"""Whether a suite can be run through Harbor from here."""

import os
from collections.abc import Callable, Iterator
from functools import partial

from outweigh.adapters.harbor.agent_entry import agent_entry
from outweigh.adapters.harbor.program import HarborProgram, environment_for, find_program
from outweigh.cli.harbor_run import harbor_setting
from outweigh.errors import UsageError
from outweigh.report.doctor_view import Part
from outweigh.run.loading import LoadedSuite
from outweigh.task.arm import Arm


def look_at_harbor(suite: LoadedSuite) -> Iterator[Part]:
    """Harbor's program, the suite in its terms, every arm, and the variables that are to be handed on."""
    yield _part("harness", "harbor", lambda: _version(suite))
    yield _part("suite", suite.spec.name, lambda: f"{len(harbor_setting(suite, 1).tasks)} tasks fit for Harbor")
    for arm in suite.arms.values():
        yield _part("arm", arm.name, partial(_agent, arm))
    named = {name for arm in suite.arms.values() for name in arm.secrets} | set(suite.spec.harbor.pass_environment)
    for name in sorted(named):
        missing = None if name in os.environ else "it is not in the environment; export it."
        yield Part(kind="variable", name=name, missing=missing, required=True, detail="")


def _version(suite: LoadedSuite) -> str:
    program = find_program(suite.spec.harbor.program, suite.folder)
    return HarborProgram(program, agrees=False).version(environment_for((), os.environ))


def _agent(arm: Arm) -> str:
    entry = agent_entry(arm)
    return str(entry.get("name") or entry.get("import_path"))


def _part(kind: str, name: str, look: Callable[[], str]) -> Part:
    try:
        detail, missing = look(), None
    except UsageError as fault:
        detail, missing = "", str(fault)
    return Part(kind=kind, name=name, missing=missing, required=True, detail=detail)
