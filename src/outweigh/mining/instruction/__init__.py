"""The instruction of a mined task: what was wanted in words, and the names and texts that its hidden tests need."""
