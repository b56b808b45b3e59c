"""Whether somebody could pay for an agent's model here: names of variables and files, never what is in them."""

from collections.abc import Mapping, Sequence
from pathlib import Path


def sign_in(keys: Sequence[str], logins: Sequence[str], environment: Mapping[str, str], home: Path) -> str:
    """The first variable that holds a key; else a login, which a trial with a home of its own does not see."""
    held = [name for name in keys if environment.get(name)]
    if held:
        return f"key in {held[0]}"
    stored = [path for path in logins if (home / path).is_file()]
    if stored:
        return f"login in ~/{stored[0]}, which trials do not see; export {keys[0]}"
    return f"no {' or '.join(keys)}"
