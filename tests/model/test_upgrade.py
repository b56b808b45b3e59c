import pytest

from outweigh.model.codec import UnreadableSchemaError, upgrade


def test_an_old_record_climbs_step_by_step() -> None:
    steps = {"outweigh.run/0": lambda raw: raw | {"schema": "outweigh.run/1", "added": None}}

    assert upgrade({"schema": "outweigh.run/0"}, steps) == {"schema": "outweigh.run/1", "added": None}


def test_a_current_record_stays_as_it_is() -> None:
    assert upgrade({"schema": "outweigh.judgment/1", "x": 1}) == {"schema": "outweigh.judgment/1", "x": 1}


@pytest.mark.parametrize("schema", ["outweigh.run/2", "outweigh.run/0", "outweigh.run/x", "other/1", "", None, 7])
def test_a_schema_nobody_can_read_is_named(schema: object) -> None:
    with pytest.raises(UnreadableSchemaError):
        upgrade({"schema": schema})
