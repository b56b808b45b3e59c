"""Foreign results as records."""
