"""Sandboxes: the rooms in which agents and checks run, from a plain folder to walls of namespaces."""
