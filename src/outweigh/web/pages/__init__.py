"""One module per page of the viewer, each a function from a store and the query to HTML, and the layout they share."""
