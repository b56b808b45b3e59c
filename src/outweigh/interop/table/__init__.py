"""Tables with one row per run, in CSV, TSV, JSON, JSON Lines or Parquet."""
