"""For adapter authors and tests: builders of records, and the claims every adapter must meet."""
