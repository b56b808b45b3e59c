"""What is asked, of whom, how often: checks, tasks, arms, suites. Values only; reading folders is the engine's job."""
