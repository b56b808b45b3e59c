"""What agents and models say about a run, read exactly: streams and requests in, one account out. Pure."""
