"""Sandboxes in which agents and checks run: local (a plain folder), bubblewrap (Linux namespaces) and container
(podman or docker). Imports ports, process and errors only; no gateway, agent, workspace, store or engine.
"""
