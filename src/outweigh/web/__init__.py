"""The read-only viewer of stores: pages made here, nothing from a network, and no word of an agent taken for markup."""
