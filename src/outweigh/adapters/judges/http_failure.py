"""How long a service asks to wait."""

from collections.abc import Mapping


def asked_wait(headers: Mapping[str, str]) -> float | None:
    """Seconds by `retry-after`; a moment there, or nothing, is no number of seconds."""
    try:
        wait = float(next((value for name, value in headers.items() if name.lower() == "retry-after"), ""))
    except ValueError:
        return None
    return wait if 0 <= wait < float("inf") else None
