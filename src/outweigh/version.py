"""The version of outweigh, apart from the public API so that reading it loads nothing else."""

__version__ = "0.2.0"
