"""In a store with several versions of an arm, the current one is promoted, with the files that it was run with."""

from datetime import UTC, datetime, timedelta
from typing import Any

from tests.cli.promote.promotable import REPEATS, TASKS, Promotable
from tests.engine.engine_fixtures import toml_lines

from outweigh.app.suite_selection import read_suite
from outweigh.app.suite_versions import find_versions
from outweigh.model.run_record import AgentIdentity, AgentKind
from outweigh.store.run_store import FolderRunStore
from outweigh.store.write_experiment import write_experiment
from outweigh.testing.builders import a_run

Outweigh = Any


def run_version(change: Promotable, text: str, *, passed: bool, days_ago: float = 0.0) -> None:
    """Edit the candidate's instructions, and leave the store as `outweigh run` would."""
    file = change.project.suite / "suite.toml"
    kept = [line for line in file.read_text().splitlines() if not line.startswith(('"arms"', '"baseline"'))]
    arms = {"old": {"agent": "claude-code"}, "new": {"agent": "claude-code", "instructions": text}}
    file.write_text("\n".join((*kept, toml_lines({"baseline": "old", "arms": arms}))))
    found = find_versions(read_suite(str(file)), change.store)
    suite = found.suite
    made = suite.arms if found.experiment is None else found.new
    agent = AgentIdentity(kind=AgentKind.REAL, name="claude-code", version="1", model=None)
    with FolderRunStore.open(change.store) as store:
        write_experiment(change.store, suite.spec, suite.tasks, suite.arms, versions=found.names)
        for content in (*suite.overlays.values(), *(arm.manifest for arm in suite.arms.values())):
            store.keep(content)
        for arm in (suite.arms[name] for name in made):
            for task in suite.tasks[:TASKS]:
                for repeat in range(1, REPEATS + 1):
                    store.append(
                        a_run(
                            task.id,
                            arm.name,
                            repeat,
                            passed=passed and arm.name != "old",
                            task_checksum=task.checksum,
                            arm_fingerprint=arm.fingerprint,
                            agent=agent,
                            started_at=datetime.now(UTC) - timedelta(days=days_ago),
                        )
                    )


def test_the_newest_version_is_proposed_with_the_files_that_it_was_run_with(
    untested: Promotable, outweigh: Outweigh
) -> None:
    untested.move_base({"CLAUDE.md": None})
    run_version(untested, "The answer is a number.", passed=False)
    run_version(untested, "The answer is 42.", passed=True)

    answer = outweigh("promote", *untested.words("--format", "json"))

    planned = answer.json()
    assert answer.code == 0, planned
    assert (planned["candidate"], planned["refusals"]) == ("new@2", [])
    artifacts = (path.read_bytes() for path in (untested.store / "artifacts").glob("*/*"))
    assert b"The answer is 42." in artifacts


def test_an_improved_version_that_was_edited_since_is_not_proposed(untested: Promotable, outweigh: Outweigh) -> None:
    untested.move_base({"CLAUDE.md": None})
    run_version(untested, "The answer is 42.", passed=True)
    run_version(untested, "The answer is a number.", passed=False)

    newest = outweigh("promote", *untested.words())
    named = outweigh("promote", *untested.words("--candidate", "new"))

    assert newest.code != 0
    assert (named.code, "'new' is an earlier version" in named.err) == (2, True)


def test_an_old_baseline_that_was_not_run_anew_promotes_nothing(untested: Promotable, outweigh: Outweigh) -> None:
    untested.move_base({"CLAUDE.md": None})
    run_version(untested, "The answer is a number.", passed=False, days_ago=30)
    run_version(untested, "The answer is 42.", passed=True)

    answer = outweigh("promote", *untested.words())

    assert answer.code != 0
    assert "have no fresh run of old" in " ".join(answer.out.split())
