"""What a judge is asked about a run, and what its answer says: pure, and on its guard."""
