"""The A/B harness that comes with Skelly: its results (`collected`) and its suites (`agent-ab`)."""
