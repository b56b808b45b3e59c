"""Asks judges about stored runs: pending calls, retries, timeouts, budgets and the pool.

What is asked and how an answer is read is in `outweigh.judging`.
"""
