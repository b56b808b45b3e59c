"""One small protocol per kind of adapter, with the values that it takes and returns.

Each protocol has its own file, so that importing one does not load the others.
"""
