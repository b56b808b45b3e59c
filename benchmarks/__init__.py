"""How fast outweigh is, as ratios to things everybody has: Python's own start, a scipy import, pydantic."""
