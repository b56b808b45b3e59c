"""A table of fingerprints says what a dictionary would say."""

from random import Random

from outweigh.store.import_folder import FingerprintTable


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
