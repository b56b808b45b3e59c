"""What a judge is asked about one run or two, and how its answer is read.

Pure: no clock, disk, network or process.
"""
