"""The viewer of stores (`outweigh view`): a Starlette application, an in-memory index of each store, and the pages.

It writes nothing but labels, loads nothing from the network, and escapes every text that comes from a record. It may
use everything but `cli`; it needs the extra `web`.
"""
