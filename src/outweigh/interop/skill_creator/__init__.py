"""skill-creator: results of a skill's evals, and the evals as a suite."""
