"""The APIs of model providers as seen by a proxy: what a request asks, what a response says, how an error is reported.
One module per API. Pure: no clock, network or disk.
"""
