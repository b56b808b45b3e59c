"""One run becomes numbers: every formula of a single run, and the table of metrics.

Pure; uses model, transcript and stats, no numpy.
"""
