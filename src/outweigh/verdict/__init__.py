"""Evidence becomes a decision. Policies are a closed, reviewed set; no model ever decides."""
