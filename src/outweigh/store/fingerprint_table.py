"""A table of fingerprints: numbers of 64 bits by such numbers, in a few bytes each, one by one or many at once."""

from array import array
from collections.abc import Sequence
from typing import Any

import numpy as np

_FIRST_SLOTS = 1024


class FingerprintTable:
    """Numbers of 64 bits by such numbers, in places that are found by the key's last bits; grows before it is full."""

    def __init__(self) -> None:
        self._places(_FIRST_SLOTS)

    def claim(self, key: int, value: int) -> int | None:
        """Who has this key; nobody had it before where None is returned, and now this value has."""
        key = key or 1  # a 0 is a free place
        keys, mask = self._keys, self._mask
        place = key & mask
        while found := keys[place]:
            if found == key:
                return self._values[place]
            place = (place + 1) & mask
        keys[place] = key
        self._values[place] = value
        self._free -= 1
        if not self._free:
            self._grow()
        return None

    def has_any(self, keys: Sequence[int]) -> bool:
        """Whether one of these keys is claimed, or stands there twice."""
        if len({*keys}) < len(keys):
            return True
        taken, mask = self._as_numpy(self._keys), self._mask
        wanted = np.array(keys, dtype=np.int64)
        wanted[wanted == 0] = 1
        places = wanted & mask
        while wanted.size:
            found = taken[places]
            if (found == wanted).any():
                return True
            others = found != 0
            places, wanted = (places[others] + 1) & mask, wanted[others]
        return False

    def claim_all(self, keys: Sequence[int], values: Sequence[int]) -> None:
        """Claim many keys, of which `has_any` says that none is claimed."""
        while self._free <= len(keys):
            self._grow()
        wanted = np.array(keys, dtype=np.int64)
        wanted[wanted == 0] = 1
        self._put(wanted, np.array(values, dtype=np.int64))

    def _put(self, keys: Any, values: Any) -> None:
        """Put keys that are not there into free places; of several that want one place, one gets it at a time."""
        taken, values_there = self._as_numpy(self._keys), self._as_numpy(self._values)
        self._free -= len(keys)
        places = keys & self._mask
        while keys.size:
            free = taken[places] == 0
            taken[places[free]] = keys[free]
            settled = taken[places] == keys
            values_there[places[settled]] = values[settled]
            rest = ~settled
            places, keys, values = (places[rest] + 1) & self._mask, keys[rest], values[rest]

    @staticmethod
    def _as_numpy(numbers: "array[int]") -> Any:
        return np.frombuffer(numbers, dtype=np.int64)

    def _places(self, number: int) -> None:
        self._keys = array("q", [0]) * number
        self._values = array("q", [0]) * number
        self._mask = number - 1
        self._free = number // 2

    def _grow(self) -> None:
        """Twice the places; they are half full at most, so that a key is never far from where it is looked for."""
        keys, values = self._as_numpy(self._keys), self._as_numpy(self._values)
        self._places(2 * len(keys))
        self._put(keys[keys != 0], values[keys != 0])
