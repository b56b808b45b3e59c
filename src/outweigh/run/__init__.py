"""The engine: plans trials, attempts them in sandboxes, checks what they left, and keeps every record."""
