"""Answers as text, JSON and Markdown."""
