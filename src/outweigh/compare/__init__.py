"""Two arms become evidence: summaries, pairs, deltas, ladders. Pure."""
