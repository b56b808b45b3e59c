"""The languages of the models' APIs, read from the middle: what is asked, what is answered, how one says no. Pure."""
