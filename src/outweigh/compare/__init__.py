"""Records of several arms become evidence: arms as tables, pairs, deltas, intervals, tiers, agreement of judges,
sample plans. Pure; uses score, model and stats.
"""
