"""mini-swe-agent: its adapter, and the reader of its trajectory file."""
