"""Workspaces: what a task starts from, prepared once and laid out fresh for every trial."""
