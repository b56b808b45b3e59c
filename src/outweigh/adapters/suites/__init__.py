"""Suites that were written for other programs: one reader per format, and what they share."""
