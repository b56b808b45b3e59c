"""Sandboxes in which agents and checks run: local (a plain folder), bubblewrap (Linux namespaces) and container
(podman or docker). Uses ports only; knows no gateway, agent, workspace, store or engine.
"""
