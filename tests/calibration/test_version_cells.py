"""Ten versions of a candidate, decided one after the other: what the cells of the study measure, on a few draws."""

from calibration.version_cells import ALONE, COUNTED, version_readings
from calibration.worlds import NULLS, WIN


def test_ten_identical_versions_rarely_have_one_that_is_called_improved() -> None:
    found = version_readings(NULLS[0], 20, 5, 200, 5)

    assert found["improved"].value <= 0.02 + 3 * found["improved"].error
    assert found["improved"].value <= found[COUNTED].value <= found[ALONE].value


def test_a_real_gain_is_found_in_the_first_version_and_still_in_the_tenth() -> None:
    found = version_readings(WIN, 50, 5, 30, 5)

    assert found["first"].value > 0.9
    assert 0.5 < found["last"].value <= found["first"].value
