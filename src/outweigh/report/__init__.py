"""Answers for people and programs: pages as format-independent documents, their JSON, figures, and renderers for text,
Markdown, HTML, JUnit and CSV. Pure: may import verdict, compare, score, transcript, model and stats; no clock, disk
or network.
"""
