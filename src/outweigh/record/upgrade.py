"""Old records stay readable: each schema version has one step to the next."""

from collections.abc import Callable, Mapping

from outweigh.record.stored import Json

CURRENT: Mapping[str, int] = {"outweigh.run": 1, "outweigh.judgment": 1, "outweigh.preference": 1}
"""The version of each stored schema that this release writes."""

STEPS: Mapping[str, Callable[[Json], Json]] = {}
"""From a full schema name such as "outweigh.run/1" to the function that returns the record one version newer."""


class UnreadableSchemaError(ValueError):
    """The record's schema is not one this release can read; the message says what to do."""


def upgrade(raw: Json, steps: Mapping[str, Callable[[Json], Json]] = STEPS) -> Json:
    """Bring a decoded record to the current version of its schema."""
    kind, version = _parse(raw.get("schema"))
    while version < CURRENT[kind]:
        step = steps.get(f"{kind}/{version}")
        if step is None:
            raise UnreadableSchemaError(f"no step leads from {kind}/{version} to the current {kind}/{CURRENT[kind]}")
        raw = step(raw)
        kind, version = _parse(raw.get("schema"))
    if version > CURRENT[kind]:
        raise UnreadableSchemaError(
            f"{kind}/{version} is newer than this outweigh, which reads up to {kind}/{CURRENT[kind]}: upgrade it"
        )
    return raw


def _parse(schema: object) -> tuple[str, int]:
    kind, _, version = schema.rpartition("/") if isinstance(schema, str) else ("", "", "")
    if kind not in CURRENT or not version.isdecimal():
        known = ", ".join(f"{name}/{number}" for name, number in CURRENT.items())
        raise UnreadableSchemaError(f"schema {schema!r} is not one of {known}")
    return kind, int(version)
