"""Reading and writing the files of other evaluation harnesses: importers of results, readers of suites, exporters, and
Harbor as an executor. One module or package per harness; the modules directly in here are shared. May use agents
(their transcript readers) and everything below; harnesses do not import each other.
"""
