"""Parts of the machine that a test needs."""

import os

import pytest


def require(part_missing: str | None) -> None:
    """Skip where a part is missing, with the reason; where everything must be there, fail instead."""
    if part_missing is None:
        return
    if os.environ.get("CI"):
        pytest.fail(f"must not be skipped here: {part_missing}")
    pytest.skip(part_missing)
