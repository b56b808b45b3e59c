"""`unfinished-copy.json`: the mark of a copy of a store that is not complete or not verified yet.

It is the first file of a copy, and removed when everything else is there and verified. A store that has it is no
evidence, and nothing is run into it.
"""

from pathlib import Path
from typing import Literal

import msgspec

from outweigh.errors import EvidenceError
from outweigh.model.base import Moment

UNFINISHED_COPY_FILE = "unfinished-copy.json"


class UnfinishedCopy(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What is copied here: the last part of the source's name, because its path is nobody else's business."""

    schema: Literal["outweigh.unfinished-copy/1"] = "outweigh.unfinished-copy/1"
    source: str
    begun_at: Moment


def refuse_unfinished_copy(folder: Path, name: str) -> None:
    """EvidenceError where a store is a copy that was not finished."""
    try:
        content = (folder / UNFINISHED_COPY_FILE).read_bytes()
    except OSError:
        return
    try:
        mark = msgspec.json.decode(content, type=UnfinishedCopy)
        about = f" of {mark.source!r}, begun {mark.begun_at:%Y-%m-%d %H:%M} UTC"
    except (msgspec.MsgspecError, UnicodeDecodeError):
        about = ""
    raise EvidenceError(
        f"{name} is an unfinished copy{about}: it is still being copied, or was interrupted, and some of its runs may "
        "be missing. Run `outweigh store copy` again from the same source; it continues where it ended."
    )
