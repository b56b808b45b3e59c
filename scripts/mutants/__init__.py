"""Mutation testing: small faults are put into the code one at a time, and a test must notice each of them."""
