"""How a record says under which rules it was made: so that nobody chooses them once the results are in."""

RULES_LABEL = "rules_sha256"
"""Where a record that an engine made names the hash of the rules that its store was begun under."""
