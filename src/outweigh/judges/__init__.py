"""Judge backends, found through the entry-point group `outweigh.judges`.

Each puts one question to a model, a program or a person.
"""
