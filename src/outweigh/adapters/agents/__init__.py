"""Agents: whoever attempts a trial inside a sandbox."""
