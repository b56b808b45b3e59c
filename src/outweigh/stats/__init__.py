"""Statistics on plain numbers: estimates, tests, intervals and sample sizes.

Knows no records, no clock and no global random state; imports nothing of outweigh but errors.
"""
