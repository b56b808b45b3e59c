"""A table of fingerprints: numbers of 64 bits by such numbers, in a few bytes each, one by one or many at once."""

from array import array
from typing import Any

import numpy as np

_FIRST_SLOTS = 1024


class FingerprintTable:
    """Numbers of 64 bits by such numbers, in places that are found by the key's last bits; grows before it is full."""

    def __init__(self) -> None:
        self._places(_FIRST_SLOTS)

    def claim(self, key: int, value: int) -> int | None:
        """Who has this key; nobody had it before where None is returned, and now this value has."""
        key = key or 1  # as in `_nonzero`
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

    def free_places(self, keys: Any) -> Any:
        """Where many keys could go; None if one of them is claimed, or stands there twice."""
        while self._free <= len(keys):
            self._grow()
        keys = _nonzero(keys)
        if not np.diff(np.sort(keys)).all():
            return None
        taken, mask = self._as_numpy(self._keys), self._mask
        places = keys & mask
        asked, open_ = np.arange(len(keys)), places
        while asked.size:
            found = taken[open_]
            if (found == keys[asked]).any():
                return None
            others = found != 0
            asked, open_ = asked[others], (open_[others] + 1) & mask
            places[asked] = open_
        return places

    def claim_all(self, keys: Any, values: Any, places: Any) -> None:
        """Claim many keys for which `free_places` found these."""
        self._put(_nonzero(keys), values, places)

    def _put(self, keys: Any, values: Any, places: Any) -> None:
        """Put keys that are not there into free places; of several that want one place, one gets it at a time."""
        taken, values_there = self._as_numpy(self._keys), self._as_numpy(self._values)
        self._free -= len(keys)
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
        keys, values = keys[keys != 0], values[keys != 0]
        self._put(keys, values, keys & self._mask)


def _nonzero(keys: Any) -> Any:
    """The keys as they are kept: a 0 is a free place."""
    return np.where(keys == 0, 1, keys)
