"""One module per page: a shelf and what was asked for in, markup out."""
