"""Numbers in, numbers out: estimates, tests, intervals, sample sizes.

Knows no records, no clock and no global random state; imports nothing of outweigh but errors.
"""
