"""Mining: the solved tasks in a repository's history, made into a suite.

A commit that changes source and tests holds a task: its tests fail before the change and pass after it. This package
finds such changes (`history`), runs their tests (`runners`, `dependencies`), proves them red and green (`proof`),
decides whether the task is fair (`fairness`), and writes it. `app/mine_suite.py` puts the steps together.
"""
