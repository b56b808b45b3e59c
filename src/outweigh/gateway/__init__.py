"""The engine's side of what a sandbox may reach: the model gateway, which meters and limits a run's requests to models
and keeps the real keys, and the egress proxy to allowed hosts. Uses ports, model, transcript and aiohttp (only in
gateway_server); knows no sandbox, agent, store or engine.
"""
