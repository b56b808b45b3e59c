"""One small protocol per kind of adapter, with the values that pass through it.

Each is in a file of its own, so that nobody loads what others need.
"""
