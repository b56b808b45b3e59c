"""Use cases that command line, viewer and library share: decide, run, judge, promote, import, convert, doctor.

A use case takes a typed request and returns a value. It puts the adapters together and may import everything but
`cli` and `web`; it neither parses arguments nor prints.
"""
