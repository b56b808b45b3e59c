"""How often the evidence policy is right and wrong, by simulation."""
