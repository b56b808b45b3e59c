"""Whether somebody could pay for an agent's model here: names of variables and files, never what is in them."""

from collections.abc import Mapping, Sequence
from pathlib import Path


def sign_in(
    keys: Sequence[str],
    direct_keys: Sequence[str],
    logins: Sequence[str],
    environment: Mapping[str, str],
    home: Path,
) -> str:
    """The variables that hold a key for the gateway; else what is there in vain, and what would be needed."""
    held = [name for name in keys if environment.get(name)]
    if held:
        return f"key in {' and '.join(held)}"
    wanted = " or ".join(keys)
    passed_over = [name for name in direct_keys if environment.get(name)]
    if passed_over:
        return f'{passed_over[0]} serves mode = "direct" alone; export {wanted}'
    stored = [path for path in logins if (home / path).is_file()]
    if stored:
        return f"login in ~/{stored[0]}, which trials do not see; export {wanted}"
    return f"no {wanted}"
