"""The key that a run sends: it opens this gateway for this run, and nothing anywhere else."""

import secrets
from collections.abc import Mapping
from hmac import compare_digest

KEY_HEADERS = ("x-api-key", "authorization", "x-goog-api-key")
"""Where the APIs have their keys; Gemini also takes one in the address, as `key`."""

KEY_PARAMETER = "key"


def new_run_key() -> str:
    """A key that nobody can guess."""
    return f"ow-run-{secrets.token_hex(24)}"


def opens(key: str, headers: Mapping[str, str], query: Mapping[str, str]) -> bool:
    """Whether a request shows this key, in any of the places that keys are shown in."""
    shown = [headers.get(name, "") for name in KEY_HEADERS] + [query.get(KEY_PARAMETER, "")]
    # Compared as bytes: a header may hold anything, and only ASCII may be compared as text.
    return any(compare_digest(_bare(given).encode(errors="replace"), key.encode()) for given in shown)


def _bare(given: str) -> str:
    scheme, _, token = given.strip().partition(" ")
    return token.strip() if scheme.lower() == "bearer" else given.strip()
