"""Evidence becomes a decision: a closed set of policies, what they rest on, what blocks a promotion.

Pure; no model ever decides.
"""
