"""Names and fingerprints that come out the same whenever the same source is read."""

import os
from hashlib import sha256
from typing import Any

import msgspec

from outweigh.transcript.foreign import LONGEST_NAME

_encoder = msgspec.json.Encoder(order="deterministic")


def fingerprint(value: Any) -> str:
    """The hash of a JSON value; the order of its keys does not matter."""
    return sha256(_encoder.encode(value)).hexdigest()


def readable(path: str) -> str:
    """The name of a file or folder as a text that can be kept; older programs on Windows wrote names in cp1252."""
    try:
        path.encode()
    except UnicodeEncodeError:
        return os.fsencode(path).decode("cp1252", "replace")
    return path


def stable_id(*parts: object) -> str:
    """A run's id of its coordinates in the source; a long one is cut and told apart by its hash."""
    whole = "/".join(map(str, parts))
    if len(whole) <= LONGEST_NAME:
        return whole
    return f"{whole[: LONGEST_NAME - 17]}-{sha256(whole.encode('utf-8', 'backslashreplace')).hexdigest()[:16]}"


def stable_ids(wholes: list[str]) -> list[str]:
    """The same for many that were put together already."""
    return wholes if max(map(len, wholes)) <= LONGEST_NAME else [*map(stable_id, wholes)]
