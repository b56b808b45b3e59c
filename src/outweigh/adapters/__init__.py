"""The outside world, one folder per kind, one file per adapter."""
