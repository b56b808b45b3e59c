"""What happened: the only thing stored. Appended, never changed."""
