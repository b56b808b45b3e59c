"""The command line: a file per verb, which parses, makes a typed request, calls `app`, renders and chooses the exit
code.

It decides nothing, knows no file of a store by name, and hands no `argparse.Namespace` beyond the verb's own file.
"""
