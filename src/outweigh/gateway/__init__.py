"""What stands behind the doors of a sandbox: answers to programs inside, given by the engine outside."""
