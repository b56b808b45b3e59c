"""The protocols that the scripted model speaks, one module each."""
