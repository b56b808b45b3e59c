"""Fingerprints by fingerprints, a million of them in a few dozen megabytes.

A dictionary would take three times as much, and this is nearly all the memory that importing a large source needs.
"""

from array import array

_FIRST_PLACES = 1024


class FingerprintTable:
    """Numbers of 64 bits by such numbers, in places that are found by the key's last bits; grows before it is full."""

    def __init__(self) -> None:
        self._places(_FIRST_PLACES)

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

    def _places(self, number: int) -> None:
        self._keys = array("q", bytes(8 * number))
        self._values = array("q", bytes(8 * number))
        self._mask = number - 1
        self._free = number // 2

    def _grow(self) -> None:
        """Twice the places; they are half full at most, so that a key is never far from where it is looked for."""
        before = zip(self._keys, self._values, strict=True)
        self._places(2 * len(self._keys))
        keys, values, mask = self._keys, self._values, self._mask
        for key, value in before:
            if key:
                place = key & mask
                while keys[place]:
                    place = (place + 1) & mask
                keys[place] = key
                values[place] = value
                self._free -= 1
