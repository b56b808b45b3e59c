"""Price data."""
