"""Two runs side by side: which steps they share, where they part, what each left behind."""
