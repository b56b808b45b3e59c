"""Harbor, the harness: a suite's arms as its jobs, its program, and what it leaves behind."""
