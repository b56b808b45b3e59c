"""What people write and what is stored: suites, tasks, arms, records, judgments; and reading untrusted text.

Values only: no disk, clock, network or process. Uses `stats` and `errors`; everything above may use it.
"""
