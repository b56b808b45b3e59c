"""Numbers in, numbers out: no record, no clock, no global random state."""
