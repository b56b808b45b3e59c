"""Providers that serve the models of others, with paths, authorisation or responses of their own: one module each."""
