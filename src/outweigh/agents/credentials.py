"""Whether an agent has a key or a login for its model where trials run, told without showing it."""

from collections.abc import Mapping, Sequence
from pathlib import Path


def describe_credentials(
    keys: Sequence[str],
    direct_keys: Sequence[str],
    login_files: Sequence[str],
    environment: Mapping[str, str],
    home: Path,
) -> str:
    """The variables that hold a key for the gateway; else what was found but cannot be used, and what is needed."""
    held = [name for name in keys if environment.get(name)]
    if held:
        return f"key in {' and '.join(held)}"
    wanted = " or ".join(keys)
    passed_over = [name for name in direct_keys if environment.get(name)]
    if passed_over:
        return f'{passed_over[0]} serves mode = "direct" alone; export {wanted}'
    stored = [path for path in login_files if (home / path).is_file()]
    if stored:
        return f"login in ~/{stored[0]}, which trials do not see; export {wanted}"
    return f"no {wanted}"


def describe_missing_login(
    arm: str, names: Sequence[str], login_files: Sequence[str], login_command: str, home: Path
) -> str:
    """What an arm lacks that asks its model directly: a sandbox has a home of its own, so no login reaches it."""
    stored = [path for path in login_files if (home / path).is_file()]
    outside = f" Your login in ~/{stored[0]} stays outside of the sandbox." if stored else ""
    made = f"run `{login_command}`, export {names[0]}" if login_command else f"export {' or '.join(names)}"
    return (
        f'the arm asks its model directly (mode = "direct") and has no key.{outside} To give it one, {made}, and add '
        f'secrets = ["{names[0]}"] to [arms.{arm}].'
    )
