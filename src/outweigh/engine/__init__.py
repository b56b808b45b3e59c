"""Runs experiments.

Loads suites, plans trials, makes attempts in sandboxes, evaluates checks, judges runs, and stores every record as
soon as it exists. Uses ports for agents, sandboxes, gateways, workspaces and stores, and imports none of their
implementations; `app` puts them together.
"""
