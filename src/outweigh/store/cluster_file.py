"""`cluster.json`: how the hosts of a cluster know the experiment of a store, whatever folder it is in.

The name is random, because the path of a store says nothing on another machine. `sessions` counts the leads that there
were, so that what an earlier one said is not taken for news.
"""

from pathlib import Path
from secrets import token_hex

import msgspec

from outweigh.errors import EvidenceError
from outweigh.model.base import Stored
from outweigh.store.durable_files import write_atomic

CLUSTER_FILE = "cluster.json"


class ClusterFile(Stored, frozen=True):
    """The name of the experiment, and which lead this is."""

    experiment: str
    sessions: int


def begin_session(folder: Path) -> ClusterFile:
    """Note that one more lead begins; the store's lock is held."""
    path = folder / CLUSTER_FILE
    try:
        known = msgspec.json.decode(path.read_bytes(), type=ClusterFile)
    except FileNotFoundError:
        known = ClusterFile(experiment=token_hex(16), sessions=0)
    except msgspec.MsgspecError as fault:
        raise EvidenceError(
            f"{path} is damaged: {fault}. Restore it from a copy, or run into another folder."
        ) from None
    begun = msgspec.structs.replace(known, sessions=known.sessions + 1)
    write_atomic(path, [msgspec.json.encode(begun) + b"\n"])
    return begun
