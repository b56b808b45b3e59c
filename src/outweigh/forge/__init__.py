"""Forges, where pull requests are opened and commented on: GitHub, GitLab, or plain git with nothing but a pushed
branch. Uses ports only.
"""
