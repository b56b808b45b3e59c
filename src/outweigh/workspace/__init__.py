"""Workspaces on disk, and the git repositories they come from.

Workspaces are prepared, cached, laid out per trial, compared with their pristine state and removed. Repositories
are read and written without the user's hooks and settings. Imports no other adapter package.
"""
