"""ProjectScylla: results and judgments from its folders and tables, and its tests as a suite."""
