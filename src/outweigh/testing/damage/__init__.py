"""What can be wrong with a source: files as others leave them, broken in one way at a time."""
