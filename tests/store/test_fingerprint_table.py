"""A table of fingerprints says what a dictionary would say."""

from random import Random

import numpy as np

from outweigh.store.fingerprint_table import FingerprintTable


def test_the_first_value_of_a_key_stays_whatever_comes_later() -> None:
    chance, table, expected = Random(0), FingerprintTable(), dict[int, int]()
    for _ in range(20_000):
        key, value = (
            chance.randrange(-(2**63), 2**63) >> chance.choice((0, 0, 40, 54)),
            chance.randrange(-(2**63), 2**63),
        )
        if key == 0:
            continue
        assert table.claim(key, value) == expected.get(key)
        expected.setdefault(key, value)

    assert all(table.claim(key, 0) == value for key, value in expected.items())


def test_keys_that_want_the_same_place_are_told_apart() -> None:
    table = FingerprintTable()
    keys = [number << 40 for number in range(-800, 800) if number]

    assert {table.claim(key, key + 1) for key in keys} == {None}
    assert [table.claim(key, 0) for key in keys] == [key + 1 for key in keys]


def test_zero_is_a_key_too() -> None:
    table = FingerprintTable()

    assert table.claim(0, 7) is None
    assert table.claim(0, 8) == 7


def test_many_keys_at_once_are_claimed_as_one_by_one() -> None:
    chance, table, expected = Random(1), FingerprintTable(), dict[int, int]()
    for _ in range(200):
        keys = [
            chance.randrange(-(2**63), 2**63) >> chance.choice((0, 40, 44)) for _ in range(chance.randrange(1, 300))
        ]
        is_new = len({*keys}) == len(keys) and expected.keys().isdisjoint(keys) and 0 not in keys
        if 0 in keys:
            continue
        many = np.array(keys, dtype=np.int64)
        places = table.free_places(many)
        assert (places is not None) == is_new
        for key in keys[:3] if not is_new else ():
            assert table.claim(key, key) == expected.get(key)
            expected.setdefault(key, key)
        if places is not None:
            table.claim_all(many, ~many, places)
            expected |= {key: ~key for key in keys}

    assert all(table.claim(key, 0) == value for key, value in expected.items())


def test_zero_is_a_key_among_many_too() -> None:
    table = FingerprintTable()
    keys = np.array([0, 5])
    table.claim_all(keys, np.array([7, 8]), table.free_places(keys))

    assert table.free_places(keys[:1]) is None
    assert table.claim(0, 9) == 7
