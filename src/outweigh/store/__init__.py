"""Where records are stored and read: one folder per experiment, with judgments, artifacts, rules, pins and imports.

`Store` answers every question about such a folder. It imports the model and the pure packages, and no other
adapter.
"""
