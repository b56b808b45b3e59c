"""Claims about the `[harbor]` table of a suite."""

import pytest

from outweigh.errors import UsageError
from outweigh.model.parse import parse_suite
from outweigh.model.suite import Executor, SuiteSpec, settings_fingerprint

SUITE = """
name = "suite"
tasks = ["*"]
baseline = "a"
arms.a.agent = "oracle"
arms.b.agent = "noop"
"""


def parsed(more: str = "") -> SuiteSpec:
    return parse_suite((SUITE + more).encode(), "suite.toml")


def test_a_suite_is_run_by_the_engine_unless_it_says_otherwise() -> None:
    assert parsed().executor is Executor.ENGINE
    assert parsed('executor = "harbor"').executor is Executor.HARBOR


def test_harbors_own_tables_are_taken_as_they_are() -> None:
    spec = parsed('[harbor.environment]\ntype = "daytona"\nkwargs.a = "x"\n[harbor.job]\nartifacts = ["/logs"]\n')

    assert spec.harbor.environment == {"type": "daytona", "kwargs": {"a": "x"}}
    assert spec.harbor.job == {"artifacts": ["/logs"]}


@pytest.mark.parametrize("key", ["agents", "tasks", "n_attempts", "retry", "environment"])
def test_a_job_cannot_contradict_the_suite(key: str) -> None:
    with pytest.raises(UsageError, match=f"{key} follows from the suite and the command line"):
        parsed(f"[harbor.job]\n{key} = 1\n")


def test_a_name_that_is_no_variable_is_refused() -> None:
    with pytest.raises(UsageError, match="pass_environment"):
        parsed('[harbor]\npass_environment = ["A=B"]\n')


def test_runs_in_other_environments_were_made_under_other_settings() -> None:
    harbor = 'executor = "harbor"\n'
    made = [
        settings_fingerprint(parsed(words))
        for words in (
            "",
            harbor,
            f'{harbor}[harbor.environment]\ntype = "daytona"\n',
            f'{harbor}[harbor.environment]\ntype = "modal"\n',
        )
    ]

    assert len(set(made)) == 4
    # What the engine does has nothing to do with a table that it does not read, nor with who holds which key.
    assert settings_fingerprint(parsed('[harbor.environment]\ntype = "modal"\n')) == made[0]
    assert settings_fingerprint(parsed(f'{harbor}[harbor]\npass_environment = ["KEY"]\n')) == made[1]
