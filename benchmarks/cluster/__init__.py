"""A cluster that is simulated event by event, under the lead's own code: docs/scale.md shows what it finds."""
