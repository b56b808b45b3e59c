"""Inspect (inspect_ai): reading and writing its logs."""
