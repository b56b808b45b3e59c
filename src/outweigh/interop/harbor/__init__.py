"""Harbor: its results, and Harbor as the executor of a suite's runs."""
