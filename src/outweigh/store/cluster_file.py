"""`cluster.json`: how the hosts of a cluster know the experiment of a store, whatever folder it is in.

The name is random, because the path of a store says nothing on another machine. `sessions` counts the leads that there
were, so that what an earlier one said is not taken for news.

A copy of a store is another experiment: hosts could not tell its lead from that of the original. The copy has another
number in its file system, and another path or machine. A store that was only moved keeps its number, and one that was
restored from a backup its path and machine.
"""

import platform
from pathlib import Path
from secrets import token_hex

import msgspec

from outweigh.errors import EvidenceError
from outweigh.model.base import Stored
from outweigh.store.durable_files import write_atomic

CLUSTER_FILE = "cluster.json"


class ClusterFile(Stored, frozen=True):
    """The name of the experiment, which lead this is, and where the store was then; `node` is the lead's machine, empty
    in files of earlier releases.
    """

    experiment: str
    sessions: int
    path: str
    inode: int
    node: str = ""


def begin_session(folder: Path, node: str | None = None) -> ClusterFile:
    """Note that one more lead begins; the store's lock is held."""
    path = folder / CLUSTER_FILE
    try:
        known = msgspec.json.decode(path.read_bytes(), type=ClusterFile)
    except FileNotFoundError:
        known = None
    except msgspec.MsgspecError as fault:
        raise EvidenceError(
            f"{path} is damaged: {fault}. Restore it from a copy, or run into another folder."
        ) from None
    here, inode = str(folder.resolve()), folder.stat().st_ino
    node = platform.node() if node is None else node
    if known is None or not (known.inode == inode or (known.path == here and known.node in ("", node))):
        known = ClusterFile(experiment=token_hex(16), sessions=0, path=here, inode=inode)
    begun = msgspec.structs.replace(known, sessions=known.sessions + 1, path=here, inode=inode, node=node)
    write_atomic(path, [msgspec.json.encode(begun) + b"\n"])
    return begun
