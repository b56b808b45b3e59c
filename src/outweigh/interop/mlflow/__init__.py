"""MLflow: results of its evaluations, from databases, run folders and tables."""
