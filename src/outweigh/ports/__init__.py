"""One small protocol per kind of adapter, each in a file of its own, so that nobody loads what others need."""
