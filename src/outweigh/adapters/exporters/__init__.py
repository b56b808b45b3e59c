"""Evidence in the formats of other harnesses."""
