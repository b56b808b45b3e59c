"""Codex: its adapter, and readers of its output stream and of its session files."""
