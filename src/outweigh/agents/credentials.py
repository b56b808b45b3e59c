"""Whether an agent has a key or a login for its model where trials run, told without showing it."""

from collections.abc import Mapping, Sequence
from pathlib import Path


def describe_credentials(
    keys: Sequence[str],
    direct_keys: Sequence[str],
    login_files: Sequence[str],
    environment: Mapping[str, str],
    home: Path,
    *,
    can_log_in: bool = False,
    login_variables: Sequence[str] = (),
) -> str:
    """The variables that hold a key for the gateway; else what else was found, and what it needs to be used.

    With `can_log_in` the gateway can use the agent's login, for arms that ask for it: from its file, or from one of
    `login_variables`.
    """
    held = [name for name in keys if environment.get(name)]
    if held:
        return f"key in {' and '.join(held)}"
    wanted = " or ".join(keys)
    passed_over = [name for name in direct_keys if environment.get(name)]
    stored = [f"login in ~/{path}" for path in login_files if (home / path).is_file()]
    tokens = [name for name in login_variables if environment.get(name)]
    if can_log_in and (found := [*tokens, *stored]):
        return f'{found[0]}, for arms with auth = "login"; for others export {wanted}'
    if passed_over:
        return f'{passed_over[0]} serves mode = "direct" alone; export {wanted}'
    if stored:
        return f"{stored[0]}, which trials do not see; export {wanted}"
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
