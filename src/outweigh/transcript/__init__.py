"""What all readers of agents' output share: trajectories in ATIF, reports, steps, tool calls, token counts.

Pure. The reader of one agent lives with its adapter in `agents`.
"""
