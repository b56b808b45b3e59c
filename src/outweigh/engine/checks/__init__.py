"""The checks of a task: what each kind looks at, and how untrusted files and output are read.

Uses the sandbox port.
"""
