"""One run becomes numbers: every formula of a single run, pure."""
