"""Small changes, written for these tests in the shapes that histories have."""

from collections.abc import Mapping, Sequence

from outweigh.mining.fairness import ChangedCode, TaskInstruction
from outweigh.mining.instruction.write import write_instruction


def change(
    message: str,
    *,
    source: Mapping[str, tuple[str | None, str | None]],
    tests: Mapping[str, tuple[str | None, str]],
    changelog: Sequence[str] = (),
    fail_to_pass: Sequence[str] = (),
    known_at_base: Sequence[str] = (),
    missing_names: Sequence[str] = (),
    subjects: Sequence[str] = (),
) -> ChangedCode:
    """A change from files before and after it; None where there is no file."""
    return ChangedCode(
        message=message,
        subjects=tuple(subjects),
        source_before={path: before for path, (before, _) in source.items() if before is not None},
        source_after={path: after for path, (_, after) in source.items() if after is not None},
        tests_before={path: before for path, (before, _) in tests.items() if before is not None},
        tests_after={path: after for path, (_, after) in tests.items()},
        fail_to_pass=tuple(fail_to_pass),
        passed_at_base=1,
        changelog=tuple(changelog),
        known_at_base=frozenset(known_at_base),
        missing_names=tuple(missing_names),
    )


def instruction(changed: ChangedCode) -> TaskInstruction:
    """The instruction of a change that is a fair task."""
    written = write_instruction(changed)
    assert isinstance(written, TaskInstruction), written
    return written
