"""Test runners: which one a repository uses, how it is started, and what its report says."""
