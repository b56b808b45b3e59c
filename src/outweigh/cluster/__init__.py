"""Attempts on the hosts of a cluster: what lead and hosts say to each other, what each side keeps, and the adapter that
carries it over Dask. Uses engine, store, ports and model, and distributed (only in dask_lead, dask_host and
dask_security); knows no suite's machinery, which its host is given.
"""
