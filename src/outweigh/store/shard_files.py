"""`shard-I-of-N.json`: which shards of an experiment a store has the runs of.

Every shard writes a file of its own name, and `experiment.json` is the same in all of them. So the folders of shards
can be copied into one, which then is an ordinary store, or be read side by side.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Literal

import msgspec

from outweigh.errors import EvidenceError, UsageError
from outweigh.model.shard import Shard
from outweigh.store.durable_files import write_atomic

SHARD_PATTERN = "shard-*-of-*.json"


class ShardFile(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One shard. `plan_sha256` is of the whole plan, so that shards of different plans are told apart."""

    schema: Literal["outweigh.shard/1"]
    index: int
    count: int
    plan_sha256: str
    planned_runs: int

    @property
    def shard(self) -> Shard:
        """Its place among the others."""
        return Shard(self.index, self.count)


def read_shards(folder: Path) -> tuple[ShardFile, ...]:
    """The shards of a store; none where its plan was not divided."""
    return tuple(_read(path) for path in sorted(folder.glob(SHARD_PATTERN)))


def _read(path: Path) -> ShardFile:
    try:
        return msgspec.json.decode(path.read_bytes(), type=ShardFile)
    except (OSError, msgspec.MsgspecError, UnicodeDecodeError) as fault:
        raise EvidenceError(
            f"{path} cannot be read: {fault}. It says which shard of an experiment is here: copy it again from where "
            "that shard was run, or run the shard again into a new folder."
        ) from fault


def begin_shard(folder: Path, mine: ShardFile | None, *, begun: bool) -> None:
    """Record that a shard is run into this store, None for a whole plan; UsageError where it holds something else."""
    known = read_shards(folder)
    if mine is None:
        if known:
            raise UsageError(
                f"{folder} holds shard {known[0].shard} of a divided plan; name the shard with --shard, or another "
                "folder with -o."
            )
        return
    if begun and not known:
        raise UsageError(
            f"{folder} was begun without --shard, and its plan cannot be divided any more. Leave out --shard, or name "
            "another folder with -o."
        )
    other = next((each for each in known if (each.count, each.plan_sha256) != (mine.count, mine.plan_sha256)), None)
    if other is not None:
        plan = "" if other.count != mine.count else " of another plan"
        raise UsageError(
            f"{folder} holds shard {other.shard}{plan}, and this is shard {mine.shard}. Shards of one experiment have "
            "the same suite, repeats and number of shards; name another folder with -o."
        )
    if mine not in known:
        content = msgspec.json.format(msgspec.json.encode(mine), indent=2)
        write_atomic(folder / f"{mine.shard.file_name}.json", [content, b"\n"])


def check_shards(stores: Mapping[str, Sequence[ShardFile]]) -> None:
    """EvidenceError where a shard is in two stores, or where their shards are of different plans."""
    places: dict[ShardFile, str] = {}
    for name, shards in stores.items():
        for shard in shards:
            if shard in places:
                raise EvidenceError(
                    f"shard {shard.shard} of the experiment is in {places[shard]} and in {name}. A shard that was run "
                    "twice would count twice; leave out one of them."
                )
            places[shard] = name
    plans = {(shard.count, shard.plan_sha256): name for shard, name in places.items()}
    if len(plans) > 1:
        first, second, *_ = plans.values()
        raise EvidenceError(
            f"{first} and {second} hold shards of different plans, so they do not make one experiment. Read the shards "
            "of one plan together."
        )


def missing_shards(shards: Iterable[ShardFile]) -> tuple[Shard, ...]:
    """The shards that are not there."""
    found = {shard.shard for shard in shards}
    return tuple(each for each in _all_shards(found) if each not in found)


def _all_shards(found: Iterable[Shard]) -> Iterator[Shard]:
    for count in sorted({shard.count for shard in found}):
        yield from (Shard(index, count) for index in range(1, count + 1))
