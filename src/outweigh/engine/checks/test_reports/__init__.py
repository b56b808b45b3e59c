"""Test reports: what each format says about single tests. Every report is read as untrusted input."""
