"""Shipped to adapter authors: builders of records, one contract (a base class of tests) per kind of adapter, corrupted
input files, and the scripted model server. It may use everything below it; nothing but `app`, `cli` and tests uses
it.
"""
