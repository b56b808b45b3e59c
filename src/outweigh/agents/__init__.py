"""Agents that attempt trials inside a sandbox: one file per agent with its adapter and the reader of its output.

An agent is a folder where importers or judges need its reader without the adapter, which takes longer to load.
Cline, Copilot and pi have a reader only. Agents use ports, transcript and model, and know no sandbox, gateway or
store.
"""
