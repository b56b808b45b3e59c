"""The reward that a verifier wrote: one number between 0 and 1, in `reward.txt` or `reward.json`."""

from dataclasses import dataclass
from pathlib import Path

import msgspec

from outweigh.run import confined

_LIMIT = 64 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class Reward:
    """The number, or why there is none."""

    value: float | None
    fault: str | None


def read_reward(root: Path, folder: str) -> Reward:
    """Read what the verifier left; a number that is missing, garbled or out of range is unknown, not 0."""
    text = confined.read(root, f"{folder}/reward.txt", _LIMIT)
    if text is not None:
        return _number(text.strip(), "reward.txt")
    content = confined.read(root, f"{folder}/reward.json", _LIMIT)
    if content is not None:
        return _from_json(content)
    return _none("no reward was written to the path in OUTWEIGH_REWARD, nor a reward.json beside it")


def _number(text: bytes, source: str) -> Reward:
    try:
        value = float(text.decode("ascii"))
    except (UnicodeDecodeError, ValueError):
        return _none(f"{source} holds {text[:40]!r}, which is not a number")
    return _in_range(value, source)


def _from_json(content: bytes) -> Reward:
    try:
        raw = msgspec.json.decode(content)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as fault:
        return _none(f"reward.json is not JSON: {fault}")
    if isinstance(raw, dict):
        # A verifier may state several; the one called reward decides, or the only one there is.
        raw = raw.get("reward", next(iter(raw.values())) if len(raw) == 1 else None)
    if isinstance(raw, bool) or not isinstance(raw, int | float):
        return _none("reward.json holds no single number and none called 'reward'")
    return _in_range(raw, "reward.json")


def _in_range(value: float, source: str) -> Reward:
    if not 0 <= value <= 1:
        return _none(f"{source} holds {str(value)[:40]}, which is not between 0 and 1")
    return Reward(value=float(value), fault=None)


def _none(fault: str) -> Reward:
    return Reward(value=None, fault=fault)
