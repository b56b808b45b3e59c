"""`claude plugin eval`: its results, its suites, and our runs and suites in its formats."""
