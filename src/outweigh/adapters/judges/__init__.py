"""Who can be asked about a run."""
